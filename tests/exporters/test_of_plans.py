"""Scripts and topologies of scenarios: each is opened by the program that it is for."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import landspeed as ls
from landspeed.exporters.export import all_exporters, exported_of, exporter_of
from landspeed.exporters.exporter import Exported
from landspeed.exporters.stock_qdiscs import WORDS, qdisc_lines
from landspeed.scenario.file.packaged import packaged_names
from landspeed.scenario.plan.plan import Plan
from tests.support.command import landspeed_here

HOPS = {
    "format": 1,
    "name": "hops",
    "title": "Three links",
    "hosts": {"alpha": {"role": "sender"}, "omega": {"role": "receiver"}},
    "routers": {"one": {}, "two": {}},
    "mtu": "1500 B",
    "path": [
        {"from": "alpha", "to": "one", "line_rate": "1 Gbit/s", "rtt": "2 ms"},
        {"from": "one", "to": "two", "line_rate": "10 Mbit/s", "rtt": "20 ms", "queue": "60 kB"},
        {"from": "two", "to": "omega", "line_rate": "1 Gbit/s", "rtt": "8 ms"},
    ],
    "transfer": {"duration": "10 s"},
}


def plan(**changes: Any) -> Plan:
    return ls.Scenario.build(HOPS).with_(changes).plan()


def write(folder: Path, form: str, **changes: Any) -> dict[str, str]:
    """The files of a changed `HOPS`, by what stands behind its name."""
    scenario = folder / "hops.yaml"
    scenario.write_text(yaml.safe_dump(HOPS))
    made = ls.Scenario.load(scenario, [f"{key}={value}" for key, value in changes.items()])
    files = exporter_of(form).write(exported_of(scenario).__class__("hops", made.plan()))
    return {suffix: text if isinstance(text, str) else text.decode() for suffix, text in files.items()}


@pytest.mark.slow
@pytest.mark.parametrize("form", [each.word for each in all_exporters().values() if each.of == "plan"])
def test_every_packaged_scenario_is_written_or_refused_with_a_reason(form: str, tmp_path: Path) -> None:
    written = 0
    for name in packaged_names():
        try:
            files = ls.export(name, form, tmp_path)
        except ls.ExportError as refused:
            assert name in str(refused)
            assert ";" in str(refused) or ":" in str(refused)
            continue
        written += 1
        for file in files:
            if file.suffix == ".sh":
                assert subprocess.run(["sh", "-n", file], check=False).returncode == 0
            elif file.suffix == ".py":
                compile(file.read_text(), str(file), "exec")
            elif file.suffix == ".yml":
                assert yaml.safe_load(file.read_text())["topology"]["links"]
            assert file.stat().st_size > 0
    assert written >= {"mahimahi": 4}.get(form, 10)


def test_the_script_of_tc_has_the_whole_path_in_one_line_each_way(tmp_path: Path) -> None:
    text = write(tmp_path, "tc")[".sh"]
    sender = text.partition("sender)\n")[2].partition(";;")[0]
    assert "netem limit" in sender
    assert "delay 15000us" in sender  # 1 + 10 + 4 ms
    assert "tbf rate 10000000bit" in sender
    assert "limit 61514" in sender  # the queue, and what is being sent
    assert "mtu 1500" in sender


def test_losses_of_several_links_add_up_as_chances_do(tmp_path: Path) -> None:
    text = write(tmp_path, "tc", **{"path.0.loss": "10 %", "path.2.loss": "20 %"})[".sh"]
    assert "loss 28%" in text  # 1 − 0.9 × 0.8


def test_a_network_is_refused_for_two_machines_and_red_by_name(tmp_path: Path) -> None:
    with pytest.raises(ls.ExportError, match="mininet"):
        ls.export("dumbbell", "tc", tmp_path)
    with pytest.raises(ls.ExportError, match=r"link 3 .*'red'"):
        ls.export("dumbbell", "mininet", tmp_path)


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ls.NetworkPath, Path]]:
    """A guest, and a folder that its programs see."""
    folder = tmp_path_factory.mktemp("guest")
    with ls.path("lan", visible=[folder]) as path:
        yield path, folder


@pytest.fixture
def node(guest: tuple[ls.NetworkPath, Path]) -> Iterator[ls.PathNode]:
    """A node of the guest with a pair of interfaces, `one` and `two`."""
    at = guest[0].sender
    assert at.run(["ip", "link", "add", "one", "type", "veth", "peer", "name", "two"]).returncode == 0
    yield at
    at.run(["ip", "link", "del", "one"])


def qdiscs(at: ls.PathNode) -> dict[str, Any]:
    """What the kernel says of `one`, by kind."""
    told = json.loads(at.run(["tc", "-j", "-d", "qdisc", "show", "dev", "one"]).stdout)
    return {each["kind"]: each for each in told}


@pytest.mark.guest
@pytest.mark.parametrize("kind", ["fifo", *WORDS])
def test_the_kernel_takes_each_discipline_as_it_is_planned(kind: str, node: ls.PathNode) -> None:
    if kind == "dualpi2":
        pytest.skip("Debian 12's tc does not know dualpi2")
    extra = {"tbf": {"tbf": {"rate": "8 Mbit/s", "burst": "20 kB"}}}
    asked = plan(**({} if kind == "fifo" else {"path.1.discipline": extra.get(kind, kind)}))
    for line in qdisc_lines(asked, asked.links[1], forward=True):
        done = node.run(["tc", "qdisc", "add", "dev", "one", *line.split()])
        assert done.returncode == 0, (line, done.stderr)
    shown = qdiscs(node)
    assert shown["netem"]["options"]["delay"]["delay"] == 0.01
    assert shown["tbf"]["options"]["rate"] * 8 == (8e6 if kind == "tbf" else 1e7)
    assert kind in shown or kind == "fifo"


@pytest.mark.guest
def test_the_script_of_tc_shapes_a_device_and_puts_it_back(
    guest: tuple[ls.NetworkPath, Path], node: ls.PathNode, tmp_path: Path
) -> None:
    file = guest[1] / "hops.sh"
    file.write_text(write(tmp_path, "tc", mtu="1400 B")[".sh"])
    state = "ip link show dev one; tc qdisc show dev one; ethtool -k one | grep -E '^(tcp-seg|generic-(seg|rec))'"
    before = node.run(["sh", "-c", state]).stdout
    for _ in range(2):  # once more does no harm
        done = node.run(["sh", str(file), "sender", "one"])
        assert done.returncode == 0, done.stderr
    shown = qdiscs(node)
    assert shown["netem"]["options"]["delay"]["delay"] == 0.015  # of all links
    assert shown["tbf"]["options"]["rate"] * 8 == 1e7
    changed = node.run(["sh", "-c", state]).stdout
    assert "mtu 1400" in changed and changed.count("offload: off") == 3
    assert node.run(["sh", str(file), "remove", "one"]).returncode == 0
    assert node.run(["sh", "-c", state]).stdout == before


@pytest.mark.guest
def test_the_script_of_mininet_is_the_path_in_mininet(guest: tuple[ls.NetworkPath, Path], tmp_path: Path) -> None:
    """In the guest, as root there: its own Mininet, stock qdiscs, virtual time."""
    path, folder = guest
    (folder / "hops.py").write_text(write(tmp_path, "mininet")[".py"])
    done = path.sender.run(
        [sys.executable, str(folder / "hops.py"), "alpha", "ping", "-c", "4", "10.0.0.10"], timeout="60 s"
    )
    said = done.stdout
    times = [float(line.split("time=")[1].split()[0]) for line in said.splitlines() if "time=" in line]
    assert len(times) == 4, said
    assert done.returncode == 0
    # Propagation; a stock token bucket lets a lone packet through at once. The first waits for ARP.
    assert times[1:] == pytest.approx([30.0] * 3, abs=0.02)


@pytest.mark.slow
def test_the_program_of_ns3_is_built_and_carries_what_theory_says(tmp_path: Path) -> None:
    (tmp_path / "hops.cc").write_text(write(tmp_path, "ns3", **{"path.1.queue": "200 kB"})[".cc"])
    libraries = [f"-lns3-{name}" for name in ("applications", "point-to-point", "internet", "network", "core")]
    words = ["g++", "-std=c++17", "-Wall", "-Wextra", "-o", "hops", "hops.cc", *libraries]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    said = subprocess.run(["./hops"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    mbps = float(said.split(" bytes, ")[1].split()[0])
    # 1448 of 1538 bytes are data; less the slow start of some round trips of 31 ms in ten seconds.
    assert 0.97 * 10 * 1448 / 1538 < mbps <= 10 * 1448 / 1538


@pytest.mark.parametrize(("rate", "mbps"), [("8 Mbit/s", 8.0), ("97.3 Mbit/s", 97.3), ("300 kbit/s", 0.3)])
def test_a_trace_of_mahimahi_has_the_rate(rate: str, mbps: float, tmp_path: Path) -> None:
    files = write(tmp_path, "mahimahi", **{"path.1.line_rate": rate})
    times = [int(line) for line in files[".up"].splitlines()]
    assert times == sorted(times)
    extra = 0 if times.count(times[-1]) > 1 or times[-1] - times[-2] <= 1 else 1  # the line that only ends it
    assert (len(times) - extra) * 12_000 / times[-1] / 1e3 == pytest.approx(mbps, rel=2e-3)
    assert "mm-delay 15" in files[".mahimahi.sh"]
    assert "--uplink-queue-args=bytes=60000" in files[".mahimahi.sh"]


def test_a_trace_of_a_line_that_changes_is_read_back_as_it_was(tmp_path: Path) -> None:
    (trace, *_) = [file for file in ls.export("cellular", "mahimahi", tmp_path) if file.suffix == ".down"]
    link = next(each for each in ls.Scenario.load("cellular").plan().links if each.reverse.trace or each.forward.trace)
    direction = link.reverse if link.reverse.trace else link.forward
    assert direction.trace is not None
    other = trace if direction is link.reverse else trace.with_suffix(".up")
    count = len(other.read_text().splitlines())
    assert direction.trace.rate_bps is not None
    bits = direction.trace.mean(direction.trace.rate_bps, direction.trace.lasts_ns) * direction.trace.lasts_ns / 1e9
    assert count * 12_000 == pytest.approx(bits, abs=24_000)


def test_the_command_lists_refuses_and_never_overwrites(tmp_path: Path) -> None:
    listed = landspeed_here("export").stdout
    assert all(f"  {word} " in listed for word in all_exporters())
    assert landspeed_here("export", "mininet", "first", "--out", tmp_path).returncode == 0
    again = landspeed_here("export", "mininet", "first", "--out", tmp_path)
    assert again.returncode == 2
    assert "exists already" in again.stderr
    assert "did you mean mininet" in landspeed_here("export", "mininett", "first").stderr
    refused = landspeed_here("export", "iperf3", "first", "--out", tmp_path)
    assert refused.returncode == 2
    assert "give the folder of a run" in refused.stderr
    assert "missing: what to export" in landspeed_here("export", "tc").stderr


WAYS = {
    "format": 1,
    "name": "ways",
    "title": "Answers take another way",
    "line_rate": "10 Mbit/s",
    "queue": "60 kB",
    "links": [
        {"from": "a", "to": "r1", "one_way_delay": "1 ms"},
        {"from": "r1", "to": "r2", "one_way_delay": "5 ms", "reverse": {"one_way_delay": "9 ms"}},
        {"from": "r1", "to": "x", "one_way_delay": "20 ms"},
        {"from": "x", "to": "r2", "one_way_delay": "20 ms"},
        {"from": "r2", "to": "b", "one_way_delay": "1 ms"},
    ],
    "transfer": {"duration": "10 s"},
    "flows": [
        {
            "name": "data",
            "from": "a",
            "to": "b",
            "route": ["a", "r1", "r2", "b"],
            "route_back": ["b", "r2", "x", "r1", "a"],
        },
    ],
}


def test_a_way_back_over_other_nodes_is_written_as_routes() -> None:
    def written(form: str, **changes: Any) -> str:
        made = ls.Scenario.build(WAYS).with_(changes).plan()
        (text,) = exporter_of(form).write(Exported("ways", made)).values()
        return text if isinstance(text, str) else text.decode()

    nodes = yaml.safe_load(written("containerlab"))["topology"]["nodes"]
    for name, destination, gateway in (("r1", "10.0.0.18", "10.0.0.6"), ("r2", "10.0.0.1", "10.0.0.13")):
        assert f"ip route add {destination} via {gateway}" in nodes[name]["exec"]
        assert "rp_filter" in nodes[name]["exec"][0]  # what comes from elsewhere than it would go is taken
    assert "rp_filter" in written("mininet")
    assert "two delays of link 2, of which data passes one" in written("ns3")
    more = [*WAYS["flows"], {"name": "more", "from": "a", "to": "b", "route": ["a", "r1", "x", "r2", "b"]}]
    assert "the way of more by itself" in written("mininet", flows=more)
    assert "rp_filter" not in written("mininet", flows=[{"name": "data", "from": "a", "to": "b"}])
