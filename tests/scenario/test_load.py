"""Building on other files, overrides, the resolved text, and the time it takes."""

import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

from landspeed.base.errors import ScenarioError
from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.resolve.resolve import make_plan
from landspeed.worlds.registry import plan_for
from tests.support.stopwatch import uncounted

BASE = """\
format: 1
name: base
title: base
mtu: 9000 B
hosts:
  a: {role: sender, nic: 10 Gbit/s, bus: {rate: 6 Gbit/s, fitted: true}}
  b: {role: receiver}
path:
  - {from: a, to: r, one_way_delay: 10 ms, line_rate: 10 Gbit/s}
  - {from: r, to: b, rtt: 9 ms, line_rate: 1 Gbit/s, distance: 100 km}
transfer: {streams: 2, window: 1 MB, bytes: 1 GB}
expect: {source: none, goodput: 900 Mbit/s, tolerance: 2 %, bytes: 1 GB, duration: 9 s}
"""


@pytest.fixture
def base(tmp_path: Path) -> Path:
    path = tmp_path / "base.yaml"
    path.write_text(BASE)
    return path


def child(base: Path, text: str, name: str = "child.yaml") -> Path:
    path = base.parent / name
    path.write_text(f"extends: base.yaml\n{text}")
    return path


def refused(path: Path, *overrides: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        plan_for(load_scenario(path, overrides))
    return str(caught.value)


def test_extends_merges_mappings_and_replaces_lists(base: Path) -> None:
    text = "name: child\nhosts: {b: {place: Basel}}\ntransfer: {streams: 4}\n"
    text += "path: [{from: a, to: b, one_way_delay: 1 ms, line_rate: 1 Gbit/s}]\n"
    scenario = load_scenario(child(base, text)).scenario
    assert scenario.name == "child"
    assert scenario.title == "base"
    assert scenario.hosts["b"].role == "receiver"
    assert scenario.hosts["b"].place == "Basel"
    assert (scenario.transfer.streams, scenario.transfer.window) == (4, 1_000_000)
    assert len(scenario.path) == 1


def test_null_removes_and_one_of_two_replaces_the_other(base: Path) -> None:
    text = "hosts: {a: {bus: null}}\ntransfer: {duration: 5 s, window: null}\n"
    scenario = load_scenario(child(base, text)).scenario
    assert scenario.hosts["a"].bus is None
    assert scenario.transfer.window is None
    assert (scenario.transfer.bytes, scenario.transfer.duration) == (None, 5 * 10**9)


def test_extends_through_two_files_and_folders(base: Path) -> None:
    child(base, "name: middle\nseed: 7\n", "middle.yaml")
    folder = base.parent / "below"
    folder.mkdir()
    path = folder / "leaf.yaml"
    path.write_text("extends: ../middle.yaml\nname: leaf\n")
    scenario = load_scenario(path).scenario
    assert (scenario.name, scenario.seed, scenario.title) == ("leaf", 7, "base")


def test_errors_are_in_the_file_they_are_in(base: Path) -> None:
    base.write_text(BASE.replace("mtu: 9000 B", "mtu: 9000"))
    message = refused(child(base, "name: child\nseed: x\n"))
    assert f"{base}:4:6: mtu" in message
    assert f"{base.parent / 'child.yaml'}:3:7: seed is a count" in message


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("extends: nothing.yaml\n", ":1:10: 'nothing.yaml' is not a file"),
        ("extends: child.yaml\n", ":1:10: files extend each other in a loop: child.yaml → child.yaml"),
        ("extends: 5\n", ":1:10: 'extends' names a file"),
        ("extends: [base.yaml]\n", ":1:10: 'extends' names a file"),
    ],
)
def test_bad_extends(base: Path, text: str, what: str) -> None:
    path = base.parent / "child.yaml"
    path.write_text(text)
    assert what in refused(path)


def test_loop_over_three_files(base: Path) -> None:
    for name, other in (("x", "y"), ("y", "z"), ("z", "x")):
        (base.parent / f"{name}.yaml").write_text(f"extends: {other}.yaml\n")
    message = refused(base.parent / "x.yaml")
    assert "x.yaml → y.yaml → z.yaml → x.yaml" in message
    assert f"{base.parent / 'z.yaml'}:1:10" in message


def test_overrides(base: Path) -> None:
    overrides = ["transfer.streams=4", "path.1.loss=1 %", "path.0.reverse.one_way_delay=12 ms", "queue=0.5 BDP"]
    plan = make_plan(load_scenario(base, overrides))
    assert plan.transfer.streams == 4
    assert plan.links[1].forward.loss == plan.links[1].reverse.loss == 0.01
    assert (plan.links[0].forward.delay_ns, plan.links[0].reverse.delay_ns) == (10_000_000, 12_000_000)
    assert plan.links[1].forward.queue_bytes == round(0.5 * 10**9 * 0.031 / 8)


def test_override_replaces_the_other_end_of_the_transfer(base: Path) -> None:
    plan = make_plan(load_scenario(base, ["transfer.duration=20 s"]))
    assert plan.transfer.bytes is None
    assert plan.transfer.duration_ns == 20 * 10**9
    assert plan.expect
    assert plan.expect.bytes is None, "the recorded amount says nothing about a shorter run"
    assert plan.expect.duration_ns is None
    whole = make_plan(load_scenario(base))
    assert whole.expect
    assert (whole.expect.bytes, whole.expect.duration_ns) == (10**9, 9 * 10**9)


def test_override_with_a_mapping_merges(base: Path) -> None:
    scenario = load_scenario(base, ["transfer={streams: 3}", "hosts.a.bus=null", "path.1.reverse={loss: 1 %}"]).scenario
    assert (scenario.transfer.streams, scenario.transfer.window) == (3, 1_000_000)
    assert scenario.hosts["a"].bus is None
    assert scenario.path[1].reverse
    assert scenario.path[1].reverse.loss == 0.01


@pytest.mark.parametrize(
    ("override", "column", "what"),
    [
        ("transfer.streams=x", 18, "is a count"),
        ("transfer.sterams=4", 10, "did you mean 'streams'"),
        ("transfer.window=64", 17, "write 64 kB"),
        ("path.9.loss=1 %", 6, "index from 0 to 1"),
        ("path.first.loss=1 %", 6, "index from 0 to 1"),
        ("transfer.streams.x=1", 18, "shorten the path"),
        ("transfer.streams", 1, "write --set key.key=value"),
        ("=4", 1, "write --set key.key=value"),
        ("a..b=4", 3, "empty step"),
        ("transfer={streams: 1", 21, "not YAML"),
        ("transfer.congestion_control=fast", 29, "not in the world"),
        ("path.0.packet_limit=5", 21, "below what the delay needs"),
    ],
)
def test_bad_override_is_named(base: Path, override: str, column: int, what: str) -> None:
    message = refused(base, override)
    assert f"--set:1:{column}: " in message
    assert f"    1 | {override}\n" in message
    assert what in message


def test_resolved_text_is_the_same_scenario(base: Path, tmp_path: Path) -> None:
    loaded = load_scenario(child(base, "name: child\ntransfer: {duration: 5 s}\n"), ["seed=9"])
    path = tmp_path / "resolved.yaml"
    path.write_text(loaded.text_resolved)
    again = load_scenario(path)
    assert again.scenario == loaded.scenario
    assert "extends" not in loaded.text_resolved
    assert make_plan(again).sha256 == make_plan(loaded).sha256
    assert again.text_resolved == loaded.text_resolved


def test_anchors_and_merge_keys(base: Path) -> None:
    text = BASE.replace("- {from: a", "- &link {from: a").replace(
        "- {from: r, to: b, rtt: 9 ms, ", "- {<<: *link, from: r, to: b, "
    )
    base.write_text(text)
    second = load_scenario(base).scenario.path[1]
    assert (second.one_way_delay, second.line_rate, second.distance) == (10_000_000, 10**9, 100_000)


def test_windows_line_ends_and_byte_order_mark(base: Path) -> None:
    base.write_bytes(b"\xef\xbb\xbf" + BASE.replace("\n", "\r\n").encode())
    assert load_scenario(base).scenario.name == "base"


@pytest.mark.slow
def test_import_is_quick() -> None:
    """What reads scenarios costs at most one and a half times the two libraries that it needs, measured after them."""
    code = """
import sys, time
times = [time.process_time()]
import pydantic.main, ruamel.yaml
times.append(time.process_time())
import landspeed.scenario.file.load, landspeed.scenario.resolve.resolve
times.append(time.process_time())
assert "rich" not in sys.modules
print((times[2] - times[1]) / (times[1] - times[0]))
"""
    shares = [
        float(
            subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=uncounted()
            ).stdout
        )
        for _ in range(7)
    ]
    assert median(shares) < 1.5, shares
