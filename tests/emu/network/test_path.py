"""The path as programs in the guest see it: hops, round trips, MTU, names, and the gate that measures it."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from landspeed.base.errors import ScenarioError
from landspeed.base.failures import RunFailed
from landspeed.judge.calibration_checks import calibration_checks
from landspeed.worlds.emu.guest.calibration.calibrate import MeasuredCalibration, _failures
from tests.support.command import landspeed
from tests.support.emu_fixtures import FIRST, execute, plan_of, scenario, transfer, write_scenario

HOP = re.compile(r"^\s*(\d+)\s+(\S+) \((\S+)\)\s+([\d.]+) ms\s+([\d.]+) ms\s+([\d.]+) ms", re.MULTILINE)
LINKS: list[dict[str, Any]] = [
    {"one_way_delay": "4 ms", "line_rate": "10 Gbit/s"},
    {"one_way_delay": "20 ms", "reverse": {"one_way_delay": "30 ms"}},
    {"rtt": "11 ms"},
    {"one_way_delay": "1 ms"},
]
RTT_MS = [8, 58, 69, 71]  # to each hop from alpha
BACK_MS = [2, 13, 63, 71]  # and from omega


@pytest.mark.guest
@pytest.mark.parametrize("ip", [4, 6])
def test_traceroute_shows_the_hops_of_the_scenario_both_ways(tmp_path: Path, ip: int) -> None:
    plan = plan_of(tmp_path, scenario(LINKS, ip=ip))
    names = [node.name for node in plan.nodes]
    words = ["sh", "-c", "traceroute -w 2 $1; exec ip netns exec omega traceroute -w 2 $2", "sh", "omega", "alpha"]
    shown = execute(plan, tmp_path, *words)
    assert shown.status == 0, shown.err
    there, back = (HOP.findall(part) for part in shown.out.split("traceroute to ")[1:])
    for hops, wanted_names, wanted_ms in ((there, names[1:], RTT_MS), (back, names[-2::-1], BACK_MS)):
        assert [int(hop[0]) for hop in hops] == [1, 2, 3, 4]
        assert [hop[1].removesuffix("-eth1") for hop in hops] == wanted_names
        for hop, rtt_ms in zip(hops, wanted_ms, strict=True):
            assert [float(time) for time in hop[3:]] == pytest.approx([rtt_ms] * 3, rel=1e-3, abs=0.02)
        assert (":" in hops[0][2]) == (ip == 6)


@pytest.mark.guest
def test_ping_by_name_keeps_its_second(tmp_path: Path) -> None:
    """Names resolve, the round trip is the scenario's, and a second passes between two packets."""
    shown = execute(plan_of(tmp_path, scenario(LINKS)), tmp_path, "ping", "-c", "3", "omega")
    assert shown.status == 0
    assert re.search(r"3 packets transmitted, 3 received, 0% packet loss, time 200\dms", shown.out)
    assert [float(ms) for ms in re.findall(r"time=([\d.]+) ms", shown.out)] == pytest.approx([71, 71, 71], rel=1e-3)


@pytest.mark.guest
@pytest.mark.parametrize(("ip", "header"), [(4, 28), (6, 48)])
def test_a_smaller_link_in_the_middle_bounds_the_path_mtu(tmp_path: Path, ip: int, header: int) -> None:
    links = [{"one_way_delay": "5 ms", "mtu": mtu} for mtu in ("9000 B", "9000 B", "4470 B", "9000 B")]
    plan = plan_of(tmp_path, scenario(links, ip=ip, mtu="9000 B"))
    script = (
        f"ping -c 1 -W 2 -M do -s {4470 - header} omega; ping -c 1 -W 2 -M do -s {4471 - header} omega;"
        f"ping -c 1 -W 2 -M do -s {4470 - header} omega; ip route get $(getent hosts omega | cut -d' ' -f1)"
    )
    shown = execute(plan, tmp_path, "sh", "-c", script)
    received = [int(count) for count in re.findall(r"(\d+) received", shown.out)]
    assert received == [1, 0, 1], shown.out
    assert re.search(r"mtu ?= ?4470|mtu: 4470", shown.out + shown.err)
    assert "r2" in shown.out, "the router before the small link answers"


# --- The gate --------------------------------------------------------------------------------------------------------


@pytest.mark.guest
@pytest.mark.parametrize("ip", [4, 6])
def test_calibration_measures_what_was_built(tmp_path: Path, ip: int) -> None:
    """Every figure of a transfer's calibration, all queues included."""
    links = [{**link, "mtu": mtu} for link, mtu in zip(LINKS, ("9000 B", "9000 B", "1500 B", "9000 B"), strict=True)]
    content = scenario(links, ip=ip, queue="200 kB", transfer={"duration": "1 s"}, nic="10 Gbit/s")
    record, folder = transfer(plan_of(tmp_path, content), tmp_path, queues=True)
    found = record.calibration
    assert found is not None
    assert found.passed
    assert found.rtt_ms == pytest.approx(71, rel=1e-3)
    assert found.path_mtu_bytes == found.mtu_expected_bytes == 1500
    assert found.rate_bps == pytest.approx(1e9 * 1500 / 1538, rel=1e-3)
    assert found.rate_reverse_bps == pytest.approx(1e9 * 1500 / 1538, rel=1e-3)
    for hops, wanted in ((found.hops, RTT_MS), (found.reverse_hops, BACK_MS)):
        assert [hop["rtt_ms"] for hop in hops] == pytest.approx(wanted, rel=1e-3, abs=0.05)
    measured = [queue for queue in found.queue or [] if queue["expected_bytes"] is not None]
    assert measured
    for queue in measured:
        assert queue["measured_bytes"] == pytest.approx(200_000, abs=2 * 9014)
    shown = json.loads((folder / "result.json").read_text())["flows"][0]["calibration"]
    assert shown["hops"][2]["node"] == "r3"


@pytest.mark.guest
def test_a_path_out_of_tolerance_ends_the_run_and_names_the_link(tmp_path: Path) -> None:
    """A train is timed in whole nanoseconds, 0.0001 % at 10 Gbit/s: a tolerance of 0.00001 % cannot be met."""
    links = [{"one_way_delay": "4 ms"}, {"one_way_delay": "20 ms", "line_rate": "10 Gbit/s"}, {"one_way_delay": "1 ms"}]
    content = scenario(links, mtu="9000 B", line_rate="40 Gbit/s", calibration={"rate_tolerance": "0.00001 %"})
    done = landspeed("run", write_scenario(tmp_path, content), "--json", "--out", tmp_path)
    assert done.returncode == 1
    result = json.loads(done.stdout)
    assert not result["complete"]
    assert not result["passed"]
    assert result["bytes"] is None, "no transfer was made"
    assert result["calibration"]["passed"] is False
    assert result["calibration"]["hops"][0]["rtt_ms"] == pytest.approx(8, rel=1e-3)
    for told in (result["error"], done.stderr):
        assert "forward bottleneck rate" in told
        assert "set by link 2 (r1 – r2)" in told


@pytest.mark.guest
def test_what_the_scenario_does_to_packets_is_no_error_of_the_path(tmp_path: Path) -> None:
    """Loss, jitter, duplicates and reordering are planned: the gate measures round them, with the usual tolerances."""
    plain = {"one_way_delay": "4 ms"}
    links = [
        plain,
        *({**plain, **each} for each in ({"loss": "5 %"}, {"duplicate": "20 %"}, {"reorder": "3 %"})),
        plain,
    ]
    record, _ = transfer(plan_of(tmp_path, scenario(links)), tmp_path)
    assert record.complete
    assert record.rtt_ms == pytest.approx(40, rel=1e-3)
    assert record.calibration is not None
    assert record.calibration.rate_bps == pytest.approx(1e9 * 1500 / 1538, rel=1e-6)


@pytest.mark.guest
def test_jitter_widens_the_tolerance_by_itself_and_no_more(tmp_path: Path) -> None:
    links = [{"one_way_delay": "4 ms"}, {"one_way_delay": "20 ms", "jitter": "1 ms"}, {"one_way_delay": "1 ms"}]
    record, _ = transfer(plan_of(tmp_path, scenario(links)), tmp_path)
    assert record.rtt_ms == pytest.approx(50, abs=2.1)
    assert _judged(tmp_path, hops__1_rtt_ms=60.1) != []


@pytest.mark.guest
def test_loss_of_every_packet_is_no_answer_not_a_hang(tmp_path: Path) -> None:
    links = [{"one_way_delay": "4 ms"}, {"one_way_delay": "2 ms", "loss": "100 %"}, {"one_way_delay": "1 ms"}]
    with pytest.raises(RunFailed, match=r"link 2 \(r1 – r2\): no answer from r2"):
        transfer(plan_of(tmp_path, scenario(links)), tmp_path)


def _judged(tmp_path: Path, **changes: Any) -> list[str]:
    """The gate's verdict on a calibration as theory would have it, with some figures changed."""
    plan = plan_of(tmp_path, scenario(LINKS))
    names = [node.name for node in plan.nodes]
    network = SimpleNamespace(plan=plan, names=names, nodes=names)

    def hops(order: list[str], times: list[float]) -> list[dict[str, Any]]:
        return [
            {"ttl": ttl, "node": node, "address": node, "answered_by": node, "rtt_ms": ms, "expected_ms": ms}
            for ttl, (node, ms) in enumerate(zip(order, times, strict=True), start=1)
        ]

    result = MeasuredCalibration(
        tolerance=0.001,
        rate_tolerance=0.01,
        hops=hops(names[1:], [float(ms) for ms in RTT_MS]),
        reverse_hops=hops(names[-2::-1], [float(ms) for ms in BACK_MS]),
        path_mtu_bytes=1500,
        mtu_expected_bytes=1500,
        rate_bps=975e6,
        rate_expected_bps=975e6,
        rate_reverse_bps=975e6,
        rate_reverse_expected_bps=975e6,
    )
    for name, value in changes.items():
        target, _, hop = name.partition("__")
        if hop:
            position, key = hop.split("_", 1)
            getattr(result, target)[int(position)][key] = value
        else:
            setattr(result, target, value)
    result.checks = calibration_checks(plan, result)
    return _failures(network, result)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, []),
        ({"hops__1_rtt_ms": 58.05}, []),
        (
            {"hops__1_rtt_ms": 58.07},
            [r"link 2 \(r1 – r2\): RTT to r2 is 58.070 ms, the plan says 58.000 ms .*from alpha"],
        ),
        ({"hops__1_rtt_ms": 57.9}, [r"link 2 .*\(−100.00 µs; the hop before it was at 8.000 ms"]),
        ({"reverse_hops__0_rtt_ms": 3.0}, [r"link 4 \(r3 – omega\): RTT to r3 .*from omega"]),
        ({"hops__2_rtt_ms": None}, [r"link 3 \(r2 – r3\): no answer from r3"]),
        ({"hops__2_answered_by": "x"}, [r"link 3 .*hop 3 is x, not r3"]),
        ({"path_mtu_bytes": 1400}, [r"path MTU is 1400 B, the plan says 1500 B"]),
        ({"path_mtu_bytes": None}, [r"path MTU is None"]),
        (
            {"rate_bps": 985e6},
            [r"forward bottleneck rate.*985.00 Mbit/s, the plan says 975.00.*set by link 2 \(r1 – r2\), link 3"],
        ),
        ({"rate_bps": 984e6}, []),
        ({"rate_reverse_bps": None}, [r"reverse bottleneck rate.*too little arrived"]),
    ],
)
def test_the_gate_names_what_is_wrong(tmp_path: Path, changes: dict[str, Any], wanted: list[str]) -> None:
    failures = _judged(tmp_path, **changes)
    assert len(failures) == len(wanted), failures
    for failure, pattern in zip(failures, wanted, strict=True):
        assert re.search(pattern, failure)


@pytest.mark.guest
def test_the_example_of_the_front_page_traces(tmp_path: Path) -> None:
    """`landspeed exec` with node names as anybody would type it, calibrated first."""
    done = landspeed("exec", FIRST, "--at", "athens", "--", "traceroute", "-n", "amsterdam")
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^ \d+  (\S+)", done.stdout, re.MULTILINE) == ["10.0.0.13", "10.0.0.9", "10.0.0.5", "10.0.0.1"]


@pytest.mark.guest
def test_a_path_may_be_as_long_as_a_ttl_allows(tmp_path: Path) -> None:
    """255 links, calibrated from both ends hop by hop, and TCP over them; one more is an error that says so."""
    content = scenario([{"one_way_delay": "10 us", "line_rate": "10 Mbit/s"}] * 255)
    record, _ = transfer(plan_of(tmp_path, content), tmp_path, stall=60.0)
    assert record.passed, record.verdicts
    assert record.calibration is not None
    assert len(record.calibration.hops) == len(record.calibration.reverse_hops) == 255
    assert record.rtt_ms == pytest.approx(2 * 255 * (0.01 + 122 * 8e3 / 1e7), rel=1e-6)
    with pytest.raises(ScenarioError, match=r"a path of 256 links is longer than the TTL of an IP packet allows"):
        plan_of(tmp_path, scenario([{"one_way_delay": "10 us"}] * 256))
