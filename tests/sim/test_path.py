"""The simulated path against theory: times to the nanosecond, queues to the byte, losses, events, joined links."""

import json
import math
import os
import signal
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.support.sim_fixtures import FRAMING, MS, SIMULATOR, S, direction, path_plan, simulate

GBIT = 1_000_000_000
FIRST_FLIGHT = 10  # packets (RFC 6928)
SENDS_AFTER_NS = 1  # ns-3's socket sends a nanosecond after it was given data
HEADERS = {4: 20 + 32, 6: 40 + 32}  # IP, TCP with timestamps

# A gigabit, an STM-16 and an STM-1: serialization times with fractions of a nanosecond.
ODD_PATH = [
    direction(GBIT, 1_234_567),
    direction(2_396_160_000, 7_654_321, framing="pos"),
    direction(149_760_000, 333_333, framing="pos"),
]


def arrivals_ns(plan: dict[str, Any], packets: int) -> tuple[list[int], list[int]]:
    """When packets of full size, all sent at once, are at the far end; and how many are lost at each link.

    The line keeps fractions of a nanosecond; what crosses to the next one is rounded up.
    """
    mtu = plan["links"][0]["mtu_bytes"]
    times, drops = [SENDS_AFTER_NS] * packets, []
    for index, link in enumerate(plan["links"]):
        lane = link["forward"]
        takes = Fraction((mtu + FRAMING[link["framing"]]) * 8 * S, lane["rate_bps"])
        free, waiting, passed = Fraction(0), [], []
        for time in times:
            waiting = [start for start in waiting if math.floor(start) > time]
            # The sender's own line is not limited: the socket waits.
            if index > 0 and free > time and (len(waiting) + 1) * mtu > lane["queue_bytes"]:
                continue
            start = max(free, Fraction(time))
            waiting.append(start)
            free = start + takes
            passed.append(math.ceil(free) + lane["delay_ns"])
        drops.append(len(times) - len(passed))
        times = passed
    return times, drops


@pytest.mark.parametrize("ip", [4, 6])
@pytest.mark.parametrize("packets", [1, FIRST_FLIGHT])
def test_serialization_and_propagation_are_exact(tmp_path: Path, ip: int, packets: int) -> None:
    plan = path_plan(ODD_PATH, ip=ip, bytes=packets * (9000 - HEADERS[ip]))
    times, _ = arrivals_ns(plan, packets)
    for words in ((), ("--collapse",), ("--whole-stack",)):
        run = simulate(plan, tmp_path / f"run{len(words)}{words}", *words)
        assert run.status == 0, run.error
        (stream,) = run.result["streams"]
        assert (stream["first_byte_ns"], stream["last_byte_ns"]) == (times[0], times[-1]), words


def test_the_initial_window_is_the_plan_s(tmp_path: Path) -> None:
    plan = path_plan(ODD_PATH, bytes=7 * 8948, initial_window_packets=3)
    run = simulate(plan, tmp_path / "run")
    rtt_ns = sum(2 * lane["delay_ns"] for lane in ODD_PATH)
    # Three at first; the first acknowledgment comes a round trip later.
    (stream,) = run.result["streams"]
    assert rtt_ns < stream["last_byte_ns"] - stream["first_byte_ns"] < 2 * rtt_ns


@pytest.mark.parametrize("seed", [7, 21, 22, 23, 24])
def test_a_handshake_that_loses_packets_is_made_good(tmp_path: Path, seed: int) -> None:
    """A third of all is lost: SYN, answer or the answer's acknowledgment (seed 7 with 2 %: that last one)."""
    loss = 0.02 if seed == 7 else 0.33
    path = [direction(GBIT, MS), direction(GBIT, MS, loss=loss, seed=seed), direction(GBIT, MS)]
    run = simulate(path_plan(path, mtu=1500, bytes=3000), tmp_path / "run")
    assert run.status == 0, run.error
    assert run.result["bytes"] == 3000


def test_a_timeout_that_is_too_short_is_put_right(tmp_path: Path) -> None:
    """A queue makes a second of 45 ms: what comes back after the timeout measures it all the same (docs/ns3/08)."""
    slow = direction(107_600, 30_000, queue_bytes=12_000)
    plan = path_plan([direction(430_400, 6_000), slow], mtu=1500, streams=4, duration_ns=20 * S, window_bytes=100_000)
    run = simulate(plan, tmp_path / "run")
    assert run.goodput_bps(10, 20) > 0.9 * 107_600 * 1448 / 1538


def test_calibration_is_the_echo_s_time_on_every_link(tmp_path: Path) -> None:
    run = simulate(path_plan(ODD_PATH, bytes=1000), tmp_path / "run")
    rtt_ns, expected = 0, []
    for lane in ODD_PATH:
        framing = FRAMING[lane.get("framing", "ethernet")]
        one_way = math.ceil(Fraction((84 + framing) * 8 * S, lane["rate_bps"])) + lane["delay_ns"]
        rtt_ns += 2 * one_way
        expected.append(rtt_ns / 1e6)
    calibration = run.result["calibration"]
    assert [hop["rtt_ms"] for hop in calibration["hops"]] == expected
    assert calibration["rtt_ms"] == calibration["reverse_hops"][-1]["rtt_ms"] == expected[-1]
    assert calibration["rate_bps"] == pytest.approx(149_760_000 * 9000 / 9009, rel=1e-6)


@pytest.mark.parametrize(("queue_bytes", "lost"), [(9 * 9000, 0), (9 * 9000 - 1, 1), (2 * 9000, 7)])
def test_a_queue_overflows_at_its_size(tmp_path: Path, queue_bytes: int, lost: int) -> None:
    path = [direction(10 * GBIT, MS), direction(GBIT, MS, queue_bytes=queue_bytes), direction(10 * GBIT, MS)]
    plan = path_plan(path, bytes=FIRST_FLIGHT * 8948)
    # All at once: the second link still sends the first when the last one comes, and holds the rest.
    assert arrivals_ns(plan, FIRST_FLIGHT)[1] == [0, lost, 0]
    run = simulate(plan, tmp_path / "run")
    assert run.status == 0, run.error
    assert [run.lane(link)["drops"] for link in range(3)] == [0, lost, 0]
    assert run.result["retransmits"] == lost
    assert run.result["bytes"] == FIRST_FLIGHT * 8948


@pytest.mark.parametrize("ip", [4, 6])
def test_a_bus_limits_and_drops_nothing(tmp_path: Path, ip: int) -> None:
    for name, lanes in (
        ("sender", [direction(GBIT, MS, bus=600_000_000), direction(GBIT, 4 * MS)]),
        ("receiver", [direction(GBIT, MS), direction(GBIT, 4 * MS, bus=600_000_000)]),
    ):
        run = simulate(path_plan(lanes, ip=ip, duration_ns=3 * S), tmp_path / name)
        assert run.status == 0, run.error
        assert run.goodput_bps(2, 3) == pytest.approx(600e6 * (9000 - HEADERS[ip]) / 9000, rel=2e-3), name
        assert sum(lane["drops"] for lane in run.result["lanes"]) == 0
        assert run.result["retransmits"] == 0


@pytest.mark.slow
def test_framing_limits_the_goodput(tmp_path: Path) -> None:
    for mtu in (1500, 9000):
        plan = path_plan([direction(GBIT, MS), direction(GBIT, 9 * MS)], ip=6, mtu=mtu, duration_ns=2 * S)
        run = simulate(plan, tmp_path / str(mtu))
        assert run.goodput_bps(1, 2) == pytest.approx(GBIT * (mtu - 72) / (mtu + 38), rel=1e-3)


@pytest.mark.slow
def test_losses_come_at_their_rate_and_with_their_seed(tmp_path: Path) -> None:
    def lossy(seed: int) -> dict[str, Any]:
        lanes = [direction(GBIT, MS), direction(GBIT, MS, loss=0.002, corrupt=0.001, seed=seed)]
        return path_plan(lanes, mtu=1500, duration_ns=3 * S)

    first = simulate(lossy(7), tmp_path / "first")
    again = simulate(lossy(7), tmp_path / "again")
    other = simulate(lossy(8), tmp_path / "other")
    assert first.status == 0, first.error
    assert first.series() == again.series()
    assert first.series() != other.series()
    entered, lost = first.lane(0)["packets"], first.lane(1)["drops"]
    assert lost == pytest.approx(0.002 * entered, abs=5 * math.sqrt(0.002 * entered))
    corrupted = first.result["corrupted_packets"]
    assert corrupted == pytest.approx(0.001 * entered, abs=5 * math.sqrt(0.001 * entered))
    assert first.result["retransmits"] >= 0.9 * (lost + corrupted)


def events_plan(*events: dict[str, Any], **transfer: Any) -> dict[str, Any]:
    """Two links of 1 Gbit/s, 10 ms in all, with events on the second."""
    lanes = [direction(GBIT, 2 * MS), direction(GBIT, 3 * MS)]
    plan = path_plan(lanes, **({"duration_ns": 4 * S} | transfer))
    plan["events"] = [{"link": 1, "direction": "forward"} | event for event in events]
    return plan


def test_a_loss_event_takes_its_packets(tmp_path: Path) -> None:
    events = [{"kind": "loss", "at_ns": S, "packets": 3}, {"kind": "rate", "at_ns": 3 * S, "rate_bps": GBIT}]
    run = simulate(events_plan(*events), tmp_path / "run")
    assert run.status == 0, run.error
    assert run.lane(1)["drops"] == 3
    assert run.result["event_packets"] == [3, None]
    assert run.result["retransmits"] == 3
    before = [row["drops"] for row in run.rows("links") if row["link"] == 1 and (row["time_ns"] or 0) <= S]
    assert set(before) == {0}


@pytest.mark.parametrize(("asked", "name", "kept"), [("reno", "TcpLinuxReno", 0.5), ("cubic", "CUBIC", 0.7)])
def test_the_congestion_control_is_the_plan_s(tmp_path: Path, asked: str, name: str, kept: float) -> None:
    event = {"kind": "loss", "at_ns": 2 * S, "packets": 1}
    run = simulate(events_plan(event, congestion_control=asked, window_bytes=1_200_000), tmp_path / "run")
    assert run.status == 0, run.error
    assert run.result["congestion_control"] == name
    rows = run.rows("sender")
    before = next(row["cwnd_packets"] for row in rows if row["time_ns"] == 2 * S)
    after = next(row["ssthresh_packets"] for row in rows if row["time_ns"] == 2 * S + 100 * MS)
    assert before is not None
    assert after == pytest.approx(kept * before, abs=1)
    # Not far above what was in flight: a window that is not the limit does not grow (mend/validation.h).
    assert before <= 2 * 1_200_000 * 2 / 8948


def test_a_link_that_is_down_loses_all(tmp_path: Path) -> None:
    run = simulate(events_plan({"kind": "down", "at_ns": 2 * S, "duration_ns": 2 * MS}), tmp_path / "run")
    assert run.result["event_packets"] == [run.lane(1)["drops"]]
    # 2 ms of a full line; the last packets before it are acknowledged meanwhile and keep more coming.
    assert run.lane(1)["drops"] == pytest.approx(2 * MS / (9038 * 8), abs=1)
    assert run.goodput_bps(3, 4) > 0.5 * GBIT


def test_a_rate_event_slows_the_link_and_ends(tmp_path: Path) -> None:
    event = {"kind": "rate", "at_ns": 2 * S, "duration_ns": S, "rate_bps": GBIT // 4}
    run = simulate(events_plan(event, window_bytes=2_000_000), tmp_path / "run")
    full = GBIT * 8948 / 9038
    assert run.goodput_bps(1, 2) == pytest.approx(full, rel=1e-2)
    assert run.goodput_bps(2.1, 2.9) == pytest.approx(full / 4, rel=2e-3)
    assert run.goodput_bps(3.1, 4) == pytest.approx(full, rel=1e-2)


def test_a_delay_event_moves_the_rtt(tmp_path: Path) -> None:
    event = {"kind": "delay", "at_ns": 2 * S, "delay_ns": 23 * MS}
    run = simulate(events_plan(event, window_bytes=100_000), tmp_path / "run")
    rtt_us = {row["time_ns"]: row["srtt_us"] for row in run.rows("sender")}
    before, after = rtt_us[2 * S], rtt_us[4 * S]
    assert before is not None and after is not None
    assert after - before == pytest.approx(20_000, abs=200)


def test_background_traffic_takes_its_share(tmp_path: Path) -> None:
    event = {"kind": "background", "at_ns": S, "duration_ns": 3 * S, "rate_bps": 400_000_000}
    # A window that fills the link and a short queue: a growing queue would give the stream more than what is left over.
    run = simulate(events_plan(event, window_bytes=2_000_000), tmp_path / "run")
    shared = (GBIT - 400e6 * 9038 / 9000) * 8948 / 9038
    assert run.goodput_bps(2, 4) == pytest.approx(shared, rel=5e-3)
    assert run.result["event_packets"] == [pytest.approx(3 * 400e6 / (9000 * 8), abs=1)]
    # It leaves where it came from: the link before carries none of it, and drops nothing.
    waiting = [row["backlog_packets"] for row in run.rows("links") if (row["link"], row["direction"]) == (1, 0)][-1]
    entered = run.lane(1)["packets"] + (waiting or 0) - run.lane(0)["packets"]
    on_the_way = 2 * MS * GBIT / S / (9038 * 8)  # at most, between the two links
    assert 0 <= 3 * 400e6 / (9000 * 8) - entered <= on_the_way + 2


def test_joining_links_changes_nothing_but_the_work(tmp_path: Path) -> None:
    lanes = [direction(GBIT, MS, bus=700_000_000), *[direction(10 * GBIT, MS) for _ in range(8)], direction(GBIT, MS)]
    lanes[3] |= {"loss": 0.0005, "seed": 3}
    plan = path_plan(lanes, streams=3, duration_ns=2 * S, window_bytes=2_000_000)
    whole, joined = simulate(plan, tmp_path / "whole"), simulate(plan, tmp_path / "joined", "--collapse")
    assert whole.status == joined.status == 0, joined.error
    assert whole.series() == joined.series()
    assert sum(lane["joined"] for lane in joined.result["lanes"]) >= 16
    assert joined.result["events"] < whole.result["events"] / 2
    assert joined.result["calibration"] == whole.result["calibration"]
    for lane in joined.result["lanes"]:
        assert lane["why"]


def test_what_can_queue_is_not_joined(tmp_path: Path) -> None:
    lanes = [direction(10 * GBIT, MS), direction(GBIT, MS), direction(GBIT, MS), direction(GBIT, MS, jitter_ns=1000)]
    lanes += [direction(GBIT, MS), direction(10 * GBIT, MS)]
    plan = path_plan(lanes, bytes=100_000)
    run = simulate(plan, tmp_path / "run", "--collapse")
    joined = [run.lane(link)["joined"] for link in range(6)]
    # slower than what comes; as slow; with jitter; after jitter; after a slower one
    assert joined == [True, False, True, False, False, True]
    plan["events"] = [{"kind": "rate", "at_ns": 0, "link": 2, "direction": "forward", "rate_bps": GBIT // 2}]
    run = simulate(plan, tmp_path / "event", "--collapse")
    assert not run.lane(2)["joined"]


@pytest.mark.slow
@pytest.mark.parametrize("discipline", ["fifo", "red", "fq_codel"])
def test_ip_is_only_its_header(tmp_path: Path, discipline: str) -> None:
    for ip in (4, 6):
        lossy = direction(GBIT, 3 * MS, loss=0.001, seed=5, queue_bytes=200_000, discipline=discipline)
        lanes = [direction(GBIT, MS), lossy]
        plan = path_plan(lanes, ip=ip, streams=2, duration_ns=S)
        carried, whole = simulate(plan, tmp_path / f"c{ip}"), simulate(plan, tmp_path / f"w{ip}", "--whole-stack")
        assert carried.status == whole.status == 0, whole.error
        assert carried.series() == whole.series()


def test_copies_and_disorder_cost_no_data(tmp_path: Path) -> None:
    lanes = [direction(GBIT, MS), direction(GBIT, MS, duplicate=0.01, reorder=0.01, jitter_ns=20_000, seed=2)]
    run = simulate(path_plan(lanes, bytes=50_000_000), tmp_path / "run")
    assert run.status == 0, run.error
    assert run.result["bytes"] == 50_000_000
    entered, left = run.lane(0)["packets"], run.lane(1)["packets"]
    assert left - entered == pytest.approx(0.01 * entered, abs=5 * math.sqrt(0.01 * entered))


COPIES = 0.02


@pytest.mark.parametrize(
    ("lane", "seconds"),
    [
        ({}, 2),
        ({"reverse": {"duplicate": COPIES, "loss": 0.01, "seed": 4}}, 2),
        ({"rate_bps": 2_000_000, "queue_bytes": 30_000}, 20),
        ({"rate_bps": GBIT}, 1),
    ],
)
def test_copies_take_their_share_of_a_line_that_is_as_fast_as_the_one_before(
    tmp_path: Path, lane: dict[str, Any], seconds: int
) -> None:
    """Each packet passes 1.02 times, in the mean: what a full line delivers is a part of that smaller."""
    rate_bps, copies = lane.get("rate_bps", 100_000_000), {"duplicate": COPIES, "seed": 2}
    lanes = [
        direction(rate_bps, 5 * MS),
        direction(**{"rate_bps": rate_bps, "delay_ns": 5 * MS, "queue_bytes": rate_bps // 8 // 30} | copies | lane),
    ]
    plan = path_plan(
        [*lanes, direction(rate_bps, MS)], mtu=1500, duration_ns=seconds * S, window_bytes=rate_bps // 8 // 10
    )
    run = simulate(plan, tmp_path / "run")
    assert run.status == 0, run.error
    left, payload = rate_bps / 8 / 1538 * seconds / 2, rate_bps * (1500 - HEADERS[4]) / 1538
    error = 4 * math.sqrt(COPIES / left) + 8 / left
    assert run.goodput_bps(seconds / 2, seconds) == pytest.approx(payload / (1 + COPIES), rel=error)


@pytest.mark.parametrize("discipline", ["fifo", "codel"])
def test_a_loss_takes_the_copy(tmp_path: Path, discipline: str) -> None:
    """As netem does: of what comes twice, one is left. Nothing is lost where all is copied; a cut line takes both."""
    copied = direction(100_000_000, 5 * MS, duplicate=1.0, loss=0.3, loss_burst=5, seed=3, discipline=discipline)
    plan = path_plan(
        [direction(GBIT, MS), copied, direction(GBIT, MS)], mtu=1500, duration_ns=3 * S, window_bytes=100_000
    )
    run = simulate(plan, tmp_path / "run")
    assert run.status == 0, run.error
    assert run.result["flows"][0]["retransmits"] == 0
    assert run.result["bytes"] > 10_000_000
    down = {"kind": "down", "at_ns": S, "duration_ns": S, "link": 1, "direction": "forward"}
    cut = simulate(plan | {"events": [down]}, tmp_path / "cut")
    assert cut.status == 0, cut.error
    assert cut.goodput_bps(1.1, 2) == 0 < cut.goodput_bps(0, 1)


@pytest.mark.slow
def test_managed_queues_stay_short(tmp_path: Path) -> None:
    def longest(discipline: str | dict[str, Any]) -> int:
        slow = direction(100_000_000, 5 * MS, queue_bytes=2_000_000, discipline=discipline)
        plan = path_plan([direction(GBIT, MS), slow], mtu=1500, streams=2, duration_ns=6 * S, window_bytes=4_000_000)
        run = simulate(plan, tmp_path / (discipline if isinstance(discipline, str) else "told"))
        assert run.status == 0, run.error
        assert run.goodput_bps(3, 6) > 85e6
        return max(row["backlog_bytes"] or 0 for row in run.rows("links") if (row["time_ns"] or 0) >= 3 * S)

    fifo, red, fq_codel = longest("fifo"), longest("red"), longest("fq_codel")
    # Slow start has filled it before that, and both Renos have halved since.
    assert fifo > 2_000_000 / 2 - 100_000
    assert red < 2_000_000 / 4 * 1.5  # above a quarter, on average, everything is dropped
    assert fq_codel < 400_000  # 5 ms are 62 500 bytes for each stream's own queue
    # One queue for both; PIE steers to 15 ms (187 500 bytes) on average, and may be told to steer to less.
    assert longest("codel") < 400_000
    pie = longest("pie")
    assert pie < 3 * 187_500
    assert longest({"pie": {"target": "8 ms"}}) < pie
    assert longest("fq_pie") < 3 * 187_500


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"transfer": {"congestion_control": "fast"}}, "transfer.congestion_control: ns-3 has no 'fast'"),
        ({"transfer": {"streams": 0}}, "flows[0].transfer.streams: 0 is not between 1 and"),
        ({"transfer": {"bytes": 5}}, "flows[0].transfer: exactly one of bytes and duration_ns"),
        ({"flows": [{}, {}]}, "flows[0].name is missing"),
        ({"nodes": []}, "links[0].a: there is no node 'n0'"),
        ({"ip_version": 5}, "ip_version: 4 or 6 is wanted"),
        ({"events": [{"at_ns": 0, "kind": "loss", "link": 7, "direction": "both"}]}, "events[0].link: 7 is not"),
    ],
)
def test_a_bad_plan_is_told_in_one_line(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    plan = path_plan([direction(GBIT, MS), direction(GBIT, MS)], duration_ns=S)
    for key, value in change.items():
        part = plan["flows"][0] if key == "transfer" else plan
        part[key] = part[key] | value if isinstance(value, dict) else value
    run = simulate(plan, tmp_path / "run")
    assert run.status == 2
    assert says in run.error
    assert run.error.count("\n") == 1


@pytest.mark.slow
def test_a_stopped_simulation_keeps_what_it_had(tmp_path: Path) -> None:
    plan = path_plan([direction(GBIT, MS), direction(GBIT, MS)], duration_ns=3600 * S)
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    command = [str(SIMULATOR), str(tmp_path / "plan.json"), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        told = json.loads(process.stdout.readline())
        assert {"time_s", "goodput_bps", "bytes", "wall_s"} <= told.keys()
        os.kill(process.pid, signal.SIGTERM)
        process.stdout.read()
        assert "stopped by signal 15" in process.stderr.read()
    assert process.returncode == 1
    result = json.loads((tmp_path / "result.json").read_text())
    assert not result["complete"]
    assert 0 < result["simulated_s"] < 3600
    assert result["flows"][0]["bytes"] > 0
    rows = (tmp_path / "flows" / "0" / "receiver.csv").read_text().splitlines()
    assert int(rows[-1].split(",")[2]) == result["flows"][0]["bytes"]
