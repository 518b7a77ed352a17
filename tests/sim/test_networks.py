"""Networks simulated, against theory: who gets what of a shared line, from when to when, and over which links."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.sim_fixtures import MS, S, Simulated, direction, flow, network_plan, path_plan, simulate

GBIT = 1_000_000_000
MTU, FRAME, PAYLOAD, ACK = 1500, 1538, 1448, 52 + 38  # bytes; of an ACK: IP, TCP with timestamps, Ethernet
FAST = direction(10 * GBIT, MS)
LINE_BPS = 100_000_000
LINE = direction(LINE_BPS, 8 * MS)
FULL_BPS = LINE_BPS * PAYLOAD / FRAME


def window(packets: int) -> dict[str, Any]:
    """A window of so many full packets, to the byte."""
    return {"window_bytes": packets * PAYLOAD, "window_exact": True}


def run_of(plan: dict[str, Any], folder: Path, *words: str) -> Simulated:
    run = simulate(plan, folder, *words)
    assert run.status == 0, run.error
    return run


def dumbbell(flows: list[dict[str, Any]], line: dict[str, Any] = LINE, delays_ms: tuple[int, ...] = (1, 91)) -> Any:
    """Hosts a0, a1, … through one line to b0, b1, …; `delays_ms` are those of the links at the left."""
    left = [(f"a{number}", "left", direction(10 * GBIT, delay * MS)) for number, delay in enumerate(delays_ms)]
    right = [("right", f"b{number}", FAST) for number in range(len(delays_ms))]
    return network_plan([*left, ("left", "right", line), *right], flows, mtu=MTU)


def across(number: int, of: int, **transfer: Any) -> dict[str, Any]:
    """A flow from left to right through a dumbbell of so many hosts at each side."""
    return flow(f"f{number}", f"a{number}", f"b{number}", [number, of, of + 1 + number], **transfer)


def waiting_s(windows: list[int], rtts_s: list[float], line_bps: float = FULL_BPS) -> float:
    """How long a packet waits in the queue of a line that flows of fixed windows keep full.

    Each has its window under way in its own round trip and the wait that all have: Σ wᵢ / (Rᵢ + q) = C.
    """
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        sent = sum(size * PAYLOAD * 8 / (rtt + middle) for size, rtt in zip(windows, rtts_s, strict=True))
        low, high = (middle, high) if sent > line_bps else (low, middle)
    return low


@pytest.mark.slow
def test_flows_that_share_nothing_are_the_paths_that_they_are_alone(tmp_path: Path) -> None:
    """To the byte: with losses, streams, managed queues and traces of their own, beside each other or one by one."""
    lossy = direction(GBIT, 3 * MS, loss=0.001, seed=5, queue_bytes=200_000)
    paths = [
        ([direction(GBIT, MS), lossy], {"streams": 3, "congestion_control": "cubic", "duration_ns": S}),
        ([direction(GBIT, MS), direction(GBIT, 7 * MS), FAST], {"bytes": 30_000_000, "sample_interval_ns": 30 * MS}),
        ([lossy | {"seed": 9}, direction(GBIT, 2 * MS, discipline="codel")], {"duration_ns": 2 * S}),
    ]
    lanes: list[tuple[str, str, dict[str, Any]]] = []
    flows: list[dict[str, Any]] = []
    for number, (links, transfer) in enumerate(paths):
        first = len(lanes)
        lanes += [(f"{number}n{place}", f"{number}n{place + 1}", link) for place, link in enumerate(links)]
        route = range(first, len(lanes))
        asked = {"window_bytes": 10_000_000} | transfer
        flows.append(flow(f"f{number}", f"{number}n0", f"{number}n{len(links)}", route, **asked))
    together = run_of(network_plan(lanes, flows), tmp_path / "network")
    joined = run_of(network_plan(lanes, flows), tmp_path / "joined", "--collapse")
    assert joined.series() == together.series()
    for number, (links, transfer) in enumerate(paths):
        alone = run_of(path_plan(links, **transfer), tmp_path / str(number))
        for name in ("sender", "receiver"):
            assert together.file(name, number).read_bytes() == alone.file(name).read_bytes(), (number, name)
        one, two = together.result["flows"][number], alone.result["flows"][0]
        assert all(one[key] == two[key] for key in ("bytes", "duration_s", "retransmits", "streams", "window"))
        measured, known = one["calibration"], two["calibration"]
        assert all(measured[key] == known[key] for key in ("rtt_ms", "path_mtu_bytes", "rate_bps", "rate_reverse_bps"))


@pytest.mark.slow
@pytest.mark.parametrize("windows", [(600, 600), (300, 900)])
def test_shares_of_fixed_windows_are_as_the_windows_and_as_one_over_the_round_trips(
    tmp_path: Path, windows: tuple[int, int]
) -> None:
    flows = [across(n, 2, duration_ns=12 * S, **window(size)) for n, size in enumerate(windows)]
    run = run_of(dumbbell(flows), tmp_path / "run")
    rtts_s = [each["calibration"]["rtt_ms"] / 1e3 for each in run.result["flows"]]
    assert rtts_s == [pytest.approx(0.020, abs=1e-4), pytest.approx(0.200, abs=1e-4)]
    wait_s = waiting_s(list(windows), rtts_s)
    for number, size in enumerate(windows):
        theory = size * PAYLOAD * 8 / (rtts_s[number] + wait_s)
        assert run.goodput_bps(6, 11, number) == pytest.approx(theory, rel=5e-3), number
    assert sum(each["retransmits"] for each in run.result["flows"]) == 0


@pytest.mark.slow
def test_a_parking_lot(tmp_path: Path) -> None:
    """One flow over three lines in a row, and one over each: on each line both together have all of it."""
    lines = [(f"r{number}", f"r{number + 1}", direction(LINE_BPS, 5 * MS)) for number in range(3)]
    ends = [("long", "r0", FAST), ("r3", "long-sink", FAST)]
    for number in range(3):
        ends += [(f"h{number}", f"r{number}", FAST), (f"r{number + 1}", f"s{number}", FAST)]
    sent = {"duration_ns": 12 * S}
    flows = [flow("long", "long", "long-sink", [3, 0, 1, 2, 4], **sent, **window(900))]
    flows += [
        flow(f"f{number}", f"h{number}", f"s{number}", [5 + 2 * number, number, 6 + 2 * number], **sent, **window(300))
        for number in range(3)
    ]
    run = run_of(network_plan([*lines, *ends], flows, mtu=MTU), tmp_path / "run")
    long_s, short_s = (run.result["flows"][number]["calibration"]["rtt_ms"] / 1e3 for number in (0, 1))
    low, high = 0.0, 1.0
    for _ in range(60):  # each line makes all wait equally long: w / (R + q) + W / (R' + 3 q) = C
        wait_s = (low + high) / 2
        sent_bps = (300 / (short_s + wait_s) + 900 / (long_s + 3 * wait_s)) * PAYLOAD * 8
        low, high = (wait_s, high) if sent_bps > FULL_BPS else (low, wait_s)
    goodput = [run.goodput_bps(6, 11, number) for number in range(4)]
    assert goodput[0] == pytest.approx(900 * PAYLOAD * 8 / (long_s + 3 * low), rel=0.01)
    for number in range(1, 4):
        assert goodput[0] + goodput[number] == pytest.approx(FULL_BPS, rel=2e-3)


@pytest.mark.slow
def test_a_flow_against_its_own_reverse_direction_shares_each_line_with_acks(tmp_path: Path) -> None:
    """A line has a full packet and half an ACK for each of them: every second packet is acknowledged.

    So it is where ACKs need not wait behind data. In one queue they come in bunches, and both lines were idle at times
    (Zhang, Shenker, Clark: Observations on the Dynamics of a Congestion Control Algorithm, SIGCOMM 1991): the flows had
    less than 99 % of it. Hosts that pace, as Linux's do over fq, send no bunch for a bunch.
    """
    sent = {"duration_ns": 8 * S, **window(1000)}
    flows = [flow("there", "a", "b", [0, 1, 2], **sent), flow("back", "b", "a", [2, 1, 0], **sent)]
    theory = LINE_BPS * PAYLOAD / (FRAME + ACK / 2)
    managed = {"fq_codel": {"target": "1 s", "interval": "10 s"}}  # nothing is dropped
    fair = direction(LINE_BPS, 8 * MS, discipline=managed)
    kept = {key: fair[key] for key in ("discipline", "parameters")}
    lanes = [("a", "r", FAST), ("r", "s", fair | {"reverse": kept}), ("s", "b", FAST)]
    run = run_of(network_plan(lanes, flows, mtu=MTU), tmp_path / "fair")
    for number in range(2):
        assert run.goodput_bps(4, 7, number) == pytest.approx(theory, rel=3e-3)
    lanes = [("a", "r", FAST), ("r", "s", LINE), ("s", "b", FAST)]
    run = run_of(network_plan(lanes, flows, mtu=MTU), tmp_path / "fifo")
    for number in range(2):
        assert run.goodput_bps(4, 7, number) == pytest.approx(theory, rel=3e-3)
    alone = run_of(network_plan(lanes, flows[:1], mtu=MTU), tmp_path / "alone")
    assert alone.goodput_bps(4, 7) == pytest.approx(FULL_BPS, rel=1e-3)


@pytest.mark.slow
def test_cross_traffic_begins_in_the_middle_and_ends_before(tmp_path: Path) -> None:
    flows = [
        across(0, 2, duration_ns=9 * S, **window(600)),
        across(1, 2, start_ns=3 * S, duration_ns=3 * S, **window(600)),
    ]
    run = run_of(dumbbell(flows, delays_ms=(1, 1)), tmp_path / "run")
    first, second = run.result["flows"]
    round_trip_ns = second["calibration"]["rtt_ms"] * 1e6
    # Its SYN, and the ACK that ends the handshake, wait for what the window of the first has in the queue.
    queue_ns = 600 * FRAME * 8 / LINE_BPS * S - round_trip_ns
    assert second["start_ns"] - 3 * S == pytest.approx(1.5 * round_trip_ns + 2 * queue_ns, rel=0.01)
    assert run.goodput_bps(1, 2.9) == pytest.approx(FULL_BPS, rel=2e-3)
    part = pytest.approx(FULL_BPS / 2, rel=0.03)  # a window comes in one piece, a tenth of these times
    assert run.goodput_bps(4.5, 6) == part and run.goodput_bps(1.5, 2.9, 1) == part
    assert run.goodput_bps(7, 9) == pytest.approx(FULL_BPS, rel=2e-3)
    assert (first["duration_s"], second["duration_s"]) == (9, 3)
    rows = run.rows("receiver", 1)
    assert (len(rows), rows[-1]["time_ns"], rows[-1]["bytes"]) == (30, 3 * S, second["bytes"])
    assert second["goodput_bps"] == pytest.approx(second["bytes"] * 8 / 3)


def test_a_flow_of_bytes_ends_with_them_and_leaves_the_line_to_the_others(tmp_path: Path) -> None:
    flows = [across(0, 2, bytes=20_000_000, **window(600)), across(1, 2, duration_ns=8 * S, **window(600))]
    run = run_of(dumbbell(flows, delays_ms=(1, 1)), tmp_path / "run")
    short, long = run.result["flows"]
    assert short["bytes"] == 20_000_000 and short["complete"] and long["duration_s"] == 8
    assert short["duration_s"] == pytest.approx(20e6 * 8 / (FULL_BPS / 2), rel=0.02)
    assert run.goodput_bps(5, 7.5, 1) == pytest.approx(FULL_BPS, rel=2e-3)


def test_a_given_route_is_taken_both_ways(tmp_path: Path) -> None:
    lanes = [
        ("a", "r", FAST),
        ("r", "s", direction(GBIT, 2 * MS)),
        ("r", "s", direction(GBIT, 9 * MS)),
        ("s", "b", FAST),
    ]
    sent = {"bytes": 1_000_000}
    flows = [flow("short", "a", "b", [0, 1, 3], **sent), flow("long", "a", "b", [0, 2, 3], **sent)]
    run = run_of(network_plan(lanes, flows, mtu=MTU), tmp_path / "run")
    rtts = [each["calibration"]["rtt_ms"] for each in run.result["flows"]]
    assert rtts == [pytest.approx(8, abs=0.02), pytest.approx(22, abs=0.02)]
    assert [hop["node"] for hop in run.result["flows"][1]["calibration"]["hops"]] == ["r", "s", "b"]
    data = -(-1_000_000 // PAYLOAD)
    for link in (1, 2):
        assert data <= run.lane(link)["packets"] <= data + 5  # SYN, the handshake's ACK
        assert data / 4 <= run.lane(link, "reverse")["packets"] <= data  # the last ACKs are on the way


def test_flows_of_one_host_share_its_interface(tmp_path: Path) -> None:
    lanes = [("a", "r", direction(10 * GBIT, MS, nic=LINE_BPS)), ("r", "b", FAST), ("r", "c", FAST)]
    sent = {"duration_ns": 6 * S, **window(600)}
    flows = [flow("one", "a", "b", [0, 1], **sent), flow("two", "a", "c", [0, 2], streams=3, **sent)]
    run = run_of(network_plan(lanes, flows, mtu=MTU), tmp_path / "run")
    goodput = [run.goodput_bps(3, 5, number) for number in range(2)]
    assert sum(goodput) == pytest.approx(FULL_BPS, rel=2e-3)
    assert goodput[0] == pytest.approx(FULL_BPS / 4, rel=0.02)  # four streams, all alike
    hosts = [lane for lane in run.result["lanes"] if lane["link"] is None]
    assert [lane["name"] for lane in hosts] == ["host a", "host b", "host c"]


@pytest.mark.slow
@pytest.mark.parametrize("discipline", ["fifo", "red", "fq_codel"])
def test_joining_and_carrying_change_nothing(tmp_path: Path, discipline: str) -> None:
    """Links in a row are joined, those where flows meet or part are not."""
    line = direction(LINE_BPS, 8 * MS, queue_bytes=200_000, discipline=discipline, loss=0.0005, seed=4)
    left = [("a0", "m", FAST), ("m", "left", FAST), ("a1", "left", FAST), ("left", "right", line)]
    right = [("right", "n", FAST), ("n", "b0", FAST), ("n", "o", FAST), ("o", "b1", FAST)]
    sent = {"duration_ns": 2 * S, "window_bytes": 4_000_000}
    flows = [
        flow("f0", "a0", "b0", [0, 1, 3, 4, 5], streams=2, **sent),
        flow("f1", "a1", "b1", [2, 3, 4, 6, 7], congestion_control="cubic", **sent),
    ]
    plan = network_plan([*left, *right], flows, mtu=MTU)
    plan["events"] = [{"kind": "down", "link": 3, "direction": "forward", "at_ns": S, "duration_ns": 5 * MS}]
    whole = run_of(plan, tmp_path / "whole")
    joined, stack = (run_of(plan, tmp_path / word, f"--{word}") for word in ("collapse", "whole-stack"))
    assert whole.series() == joined.series() == stack.series()
    assert joined.result["event_packets"] == whole.result["event_packets"] != [0]
    assert joined.result["events"] < whole.result["events"]
    after_line = discipline == "fifo"  # nothing is joined with a managed queue
    row = [joined.lane(link)["joined"] for link in range(8)]
    assert row == [True, True, True, False, after_line, False, False, True]
    assert joined.lane(3)["why"] in ("it can queue: flows meet before it", "its queue is managed")
    assert "flows part before it" in {joined.lane(5)["why"], joined.lane(6)["why"]}


@pytest.mark.slow
def test_a_fair_queue_gives_flows_equal_shares_whatever_their_round_trip_and_streams_hash_apart(tmp_path: Path) -> None:
    line = direction(LINE_BPS, 8 * MS, queue_bytes=3_000_000, discipline="fq_codel")
    flows = [across(n, 2, duration_ns=20 * S, window_bytes=4_000_000, congestion_control="cubic") for n in range(2)]
    run = run_of(dumbbell(flows, line, delays_ms=(1, 11)), tmp_path / "run")
    for number in range(2):
        assert run.goodput_bps(10, 19, number) == pytest.approx(FULL_BPS / 2, rel=0.05)


@pytest.mark.slow
def test_as_many_flows_as_files_may_be_open(tmp_path: Path) -> None:
    """Fan-in of 600 hosts: 1200 files. All windows are alike, and so are all shares."""
    count = 600
    lanes = [(f"a{number}", "hub", FAST) for number in range(count)] + [("hub", "sink", direction(GBIT, MS))]
    sent = {"duration_ns": S, "sample_interval_ns": 500 * MS, **window(20)}
    flows = [flow(f"f{number}", f"a{number}", "sink", [number, count], **sent) for number in range(count)]
    run = run_of(network_plan(lanes, flows, mtu=MTU), tmp_path / "run")
    goodput = [each["goodput_bps"] for each in run.result["flows"]]
    assert sum(goodput) == pytest.approx(GBIT * PAYLOAD / FRAME, rel=0.02)
    assert sum(goodput) ** 2 / (count * sum(each**2 for each in goodput)) > 0.99  # a window is a seventh of it


def test_the_flow_that_cannot_connect_is_named(tmp_path: Path) -> None:
    lanes = [("a", "r", FAST), ("r", "b", FAST), ("r", "c", direction(GBIT, MS, loss=1.0))]
    flows = [flow("fine", "a", "b", [0, 1], duration_ns=400 * S, **window(1)), flow("cut", "a", "c", [0, 2], bytes=1)]
    flows[0]["transfer"]["sample_interval_ns"] = 10 * S
    run = simulate(network_plan(lanes, flows, mtu=MTU), tmp_path / "run")
    assert run.status == 1 and "cut: a stream could not connect" in run.error
    fine, cut = run.result["flows"]
    assert fine["bytes"] > 0 and not fine["complete"] and (cut["start_ns"], cut["bytes"]) == (-1, 0)
    assert not run.result["complete"]
