"""What runs at several round-trip times say together, and what one run says: from figures whose answer is known."""

from dataclasses import replace
from pathlib import Path

import pytest

from landspeed.base.limits import ProbeLimit
from landspeed.judge.sockets.answer import ProbeRun, answers, fit_window
from landspeed.judge.sockets.direction import bound_by
from landspeed.judge.sockets.phases import line, slope
from landspeed.judge.sockets.series import SocketSamples
from landspeed.judge.sockets.socket_limits import Bound
from landspeed.judge.sockets.ways import Way
from landspeed.programs.probe.paths import at_rtt, usual_path
from landspeed.report.probe_page import tcp_alone_bps
from landspeed.results.sample_columns import SamplesError
from landspeed.results.socket_columns import RAW_LINKS, RAW_OWNERS, RAW_SOCKETS, SOCKET_COLUMNS, keep_samples
from landspeed.scenario.plan.plan import Plan

LIMIT_BPS = 1e9
WAY = ("a", "b")
MSS = 1448


def run_at(
    rtt_s: float, kind: ProbeLimit, *, rate_bps: float = 0.0, elapsed_s: float = 0.0, window: float | None = None
):
    """One run with one direction."""
    bound = Bound(
        kind=kind,
        source="a",
        target="b",
        explanation=f"{kind}; seen",
        bytes=1000,
        goodput_bps=rate_bps,
        steady_bps=rate_bps,
        connections=1,
        window_bytes=window,
    )
    return ProbeRun(rtt_s * 1e3, elapsed_s, {WAY: bound}, {WAY: Way(rtt_s, LIMIT_BPS)})


def test_a_window_is_fitted_through_what_does_not_depend_on_the_rtt() -> None:
    window, overhead_s = 1e6, 0.003
    fit = fit_window([(rtt, window / (rtt + overhead_s)) for rtt in (0.01, 0.05, 0.264)])
    assert fit is not None
    assert (fit.window_bytes, fit.overhead_s, fit.error) == pytest.approx((window, overhead_s, 0.0), rel=1e-9, abs=1e-9)
    assert fit_window([(0.1, 5.0)]) is None
    assert fit_window([(0.1, 5.0), (0.2, 50.0)]) is None  # a goodput that grows is no window's


def test_lines() -> None:
    assert line([0, 1, 2], [1, 3, 5]) == pytest.approx((2.0, 1.0))
    assert line([1, 1], [1, 2]) is None
    assert slope([0, 1, 2, 3], [0, 1, 2, 30], [1, 1, 1, 0]) == pytest.approx(1.0)


def test_the_same_window_at_several_rtts_is_a_window() -> None:
    runs = [run_at(0.001, "line rate", rate_bps=9.5e8)]
    runs += [
        run_at(rtt, "application window", rate_bps=8e6 / (rtt + 0.001), window=1e6 * part)
        for rtt, part in ((0.05, 1.01), (0.1, 0.99))
    ]
    runs += [run_at(0.264, "slow start", rate_bps=2e7)]
    (answer,) = answers(runs)
    assert answer.bound_by == "application window"
    assert (answer.window_bytes, answer.window_error) == pytest.approx((1e6, 0.01))
    assert answer.effective_bytes == pytest.approx(1e6)
    assert answer.kinds == ["line rate", "application window", "application window", "slow start"]
    assert answer.allowed_bps == pytest.approx([LIMIT_BPS, 8e6 / 0.051, 8e6 / 0.101, 8e6 / 0.265])


def test_a_goodput_that_does_not_depend_on_the_rtt_is_the_programs() -> None:
    (answer,) = answers([run_at(rtt, "application window", rate_bps=8e6, window=1e6 * rtt) for rtt in (0.01, 0.1, 0.2)])
    assert answer.bound_by == "application"
    assert "does not depend on the RTT" in answer.explanation


def test_two_points_alone_make_no_window() -> None:
    """Any two lie on a curve. What grows with the time, as a congestion window does, leaves a constant too large."""
    runs = [run_at(rtt, "application window", rate_bps=8 * 1.6e6 / (rtt + 0.13), window=1e5) for rtt in (0.02, 0.1)]
    for run in runs:
        run.bounds[WAY] = replace(run.bounds[WAY], datagrams=True)
    (answer,) = answers(runs)
    assert (answer.bound_by, answer.window_bytes) == ("application", None)
    assert "congestion control" in answer.explanation


def test_round_trips_are_the_slope_of_the_time() -> None:
    runs = [run_at(rtt, "round trips", elapsed_s=0.3 + 21 * rtt) for rtt in (0.01, 0.1, 0.2)]
    (answer,) = answers(runs)
    assert (answer.bound_by, answer.round_trips) == ("round trips", pytest.approx(20.0))  # one opened the connection


@pytest.mark.parametrize("kind", ["line rate", "loss", "slow start", "window", "send buffer", "idle", "application"])
def test_else_the_longest_rtt_decides(kind: ProbeLimit) -> None:
    runs = [run_at(0.01, "line rate", rate_bps=9e8), run_at(0.1, kind, rate_bps=1e7, window=5.0)]
    (answer,) = answers(runs)
    assert answer.bound_by == kind
    assert answer.window_bytes == (5.0 if kind in ("window", "send buffer") else None)


def path(rtt_s: float) -> Plan:
    """Two hosts and 1 Gbit/s after headers."""
    rate_bps = round(LIMIT_BPS * 1538 / MSS)
    return at_rtt(usual_path(["a", "b"]), ("a", "b"), round(rtt_s * 1e9), rate_bps=rate_bps).plan()


# --- one run ---------------------------------------------------------------------------------------------------------


def flow(folder: Path, rows: list[dict[str, int]], back: int = 100) -> SocketSamples:
    """Samples of a connection from a to b; the other end has read all, and sent `back` bytes over the whole time."""
    usual = dict.fromkeys(SOCKET_COLUMNS, 0) | {
        "tcp_state": 1,
        "cwnd_packets": 1000,
        "ssthresh_packets": 0x7FFFFFFF,
        "mss_bytes": MSS,
        "snd_wnd_bytes": 10**9,
        "rcvbuf_bytes": 1000,
        "sndbuf_bytes": 2000,
    }
    last = len(rows) - 1
    lines = [",".join(SOCKET_COLUMNS)]
    for number, row in enumerate(rows):
        given = row | {"time_ns": number * 1_000_000}
        other = {
            "socket": 1,
            "time_ns": given["time_ns"],
            "bytes_received": row.get("bytes_acked", 0),
            "rqueue_bytes": row.get("unread", 0),
            "bytes_sent": back * number // last,
            "bytes_acked": back * number // last,
        }
        for each in (given, other):
            lines.append(",".join(str((usual | each)[name]) for name in SOCKET_COLUMNS))
    (folder / RAW_SOCKETS).write_text("\n".join(lines) + "\n")
    (folder / RAW_OWNERS).write_text(
        "socket,node,protocol,local,local_port,remote,remote_port,pid,program\n"
        "0,0,6,10.0.0.1,1000,10.0.0.2,9000,5,client\n1,1,6,10.0.0.2,9000,10.0.0.1,1000,6,server\n"
    )
    (folder / RAW_LINKS).write_text("time_ns,link,direction,bytes,packets,drops,backlog_bytes,backlog_packets,marks\n")
    keep_samples(folder, folder, ["a", "b"])
    return SocketSamples(folder)


def steps(count: int, each: int, flight: int, **more: int) -> list[dict[str, int]]:
    """So many bytes more each millisecond, with so many in flight while it lasts."""
    sent = [min(number * each, count * each) for number in range(count + 1)]
    rows = [{"bytes_sent": 0, "bytes_acked": 0} | {key: each for key, each in more.items() if key == "cwnd_packets"}]
    rows += [
        {"bytes_sent": at, "bytes_acked": max(at - flight, 0), "in_flight_packets": flight // MSS}
        | {name: value * number // count if name.endswith("_us") else value for name, value in more.items()}
        for number, at in enumerate(sent[1:], 1)
    ]
    return [*rows, {**rows[-1], "bytes_acked": sent[-1]}]


CUT = {"retransmits": 3, "ssthresh_packets": 1}  # the threshold that a loss leaves


@pytest.mark.parametrize(
    ("more", "kind", "said"),
    [
        ({"rwnd_limited_us": 90_000}, "window", "server set SO_RCVBUF"),
        ({"rwnd_limited_us": 90_000, "unread": 10**9}, "receiver", "whose program did not read"),
        ({"sndbuf_limited_us": 90_000}, "send buffer", "client set SO_SNDBUF"),
        ({"notsent_bytes": 9 * MSS, "cwnd_packets": 1, **CUT}, "loss", "3 retransmissions"),
        ({"notsent_bytes": 9 * MSS, "cwnd_packets": 1}, "slow start", "would do"),
        # TCP may hold back a part of its window (tcp_tso_should_defer); 863 packets fill the path
        (
            {"notsent_bytes": 9 * MSS, "cwnd_packets": 200, **CUT},
            "loss",
            "it was 289.600 kB and full 100 % of the time",
        ),
    ],
)
def test_what_tcp_says_itself(more: dict[str, int], kind: ProbeLimit, said: str, tmp_path: Path) -> None:
    samples = flow(tmp_path, steps(100, 1000, 50 * MSS, **more))
    bound = bound_by(samples, path(0.01), "a", "b")
    assert (bound.kind, said in bound.explanation) == (kind, True), bound.explanation


def test_round_trips_that_nagles_algorithm_makes_are_told(tmp_path: Path) -> None:
    """Ten answers of 2000 B, one after the other: 1448 B go at once, 552 B when they are acknowledged, 10 ms later."""
    rows = [{"bytes_sent": 0, "bytes_acked": 0}]
    for answer in range(10):
        done = 2000 * answer
        rows += [{"bytes_sent": done + MSS, "bytes_acked": done, "notsent_bytes": 552, "in_flight_packets": 1}] * 10
        rows += [{"bytes_sent": done + 2000, "bytes_acked": done + MSS, "in_flight_packets": 1}] * 10
    rows += [{"bytes_sent": 20_000, "bytes_acked": 20_000}]
    bound = bound_by(flow(tmp_path, rows), path(0.01), "a", "b")
    assert (bound.kind, bound.round_trips, bound.held_tails) == ("round trips", 20, 10)
    assert "in 10 of them Nagle's algorithm kept a packet that was not full" in bound.explanation


def test_a_window_is_where_the_bytes_in_flight_stand(tmp_path: Path) -> None:
    window, rtt_s = 100_000, 0.02
    samples = flow(tmp_path, steps(400, round(window * 0.001 / rtt_s), window), back=4000)
    bound = bound_by(samples, path(rtt_s), "a", "b")
    assert (bound.kind, bound.window_bytes) == ("application window", window)
    assert bound.steady_bps == pytest.approx(window / rtt_s * 8, rel=0.02)
    assert bound_by(samples, path(rtt_s), "b", "a").kind == "idle"


@pytest.mark.parametrize("answered", [True, False])
def test_messages_one_after_the_other_look_like_a_window(answered: bool, tmp_path: Path) -> None:
    """Twenty messages of 50 kB, each when the last one was answered, 20 ms later; or so much always under way."""
    size, rtt_s = 50_000, 0.02
    rows = [{"bytes_sent": 0, "bytes_acked": 0}, {"bytes_sent": size // 2, "bytes_acked": 0}]
    for number in range(400):
        done = size * (number // 20) if answered else size * number // 20
        rows.append({"bytes_sent": done + size, "bytes_acked": done, "in_flight_packets": size // MSS})
    rows.append({**rows[-1], "bytes_acked": rows[-1]["bytes_sent"]})
    bound = bound_by(flow(tmp_path, rows, back=4000), path(rtt_s), "a", "b")
    assert (bound.kind, bound.window_bytes) == ("application window", size)
    assert ("each sent when the last one was answered, look the same" in bound.explanation) == answered


def test_a_window_that_is_granted_in_halves_is_the_whole_of_it(tmp_path: Path) -> None:
    """nghttp2 grants when half was used: the whole is in flight 4 ms of 10, and half of it else."""
    window, rtt_s = 100_000, 0.02
    rows = [{"bytes_sent": 0, "bytes_acked": 0}]
    for number in range(400):
        half, millisecond = divmod(number, 10)
        sent = window + half * window // 2
        rows.append({"bytes_sent": sent, "bytes_acked": sent - (window if millisecond < 4 else window // 2)})
    rows.append({**rows[-1], "bytes_acked": rows[-1]["bytes_sent"]})
    bound = bound_by(flow(tmp_path, rows, back=4000), path(rtt_s), "a", "b")
    assert (bound.kind, bound.window_bytes) == ("application window", window)


def test_the_line(tmp_path: Path) -> None:
    samples = flow(tmp_path, steps(100, 125_000, 50 * MSS))
    assert bound_by(samples, path(0.001), "a", "b").kind == "line rate"


def test_samples_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(SamplesError, match=r"sockets\.parquet"):
        _ = SocketSamples(tmp_path).ends


def test_what_tcp_alone_would_do() -> None:
    """10 + 20 + 40 packets are three round trips; then the line is full."""
    way = Way(0.01, 80 * MSS * 8 / 0.01)
    assert tcp_alone_bps(70 * MSS, way) == pytest.approx(70 * MSS * 8 / 0.03)
    assert tcp_alone_bps(150 * MSS, way) == pytest.approx(150 * MSS * 8 / (0.03 + 0.01 + 0.01))


def test_a_loss_before_the_judged_half_is_told_with_its_time(tmp_path: Path) -> None:
    """It ended slow start, so the window is what it is because of it, as in every other command."""
    rows = steps(100, 1000, 50 * MSS, notsent_bytes=9, cwnd_packets=1, retransmits=3)
    cut = [rows[0], *({**row, "ssthresh_packets": 1000} for row in rows[1:])]
    bound = bound_by(flow(tmp_path, cut), path(0.01), "a", "b")
    assert bound.kind == "loss" and "3 retransmissions, the last at 0.011 s, held" in bound.explanation


def test_only_what_was_sent_again_in_the_judged_half_is_counted(tmp_path: Path) -> None:
    rows = steps(100, 1000, 50 * MSS, notsent_bytes=9, cwnd_packets=1)
    counts = [(3, 100) if number < 60 else (5, 50) for number in range(len(rows))]
    late = [{**row, "retransmits": r, "ssthresh_packets": t} for row, (r, t) in zip(rows, counts, strict=True)]
    bound = bound_by(flow(tmp_path, late), path(0.01), "a", "b")
    assert bound.kind == "loss" and bound.explanation.startswith("2 retransmissions held"), bound.explanation
