"""What bound a run, cause by cause: each with the figures at its edge, and the words that name them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from landspeed.judge.bound import limited_by
from landspeed.results.sample_columns import convert_samples
from landspeed.results.samples_reader import Samples
from tests.support.judge_bound import linked, record_of, sampled
from tests.support.results_fixture import BUS_GOODPUT, make_plan

FAR = {"bus of geneva (fitted)": BUS_GOODPUT}  # a limit that no run here is near


# --- A limit of the plan ---------------------------------------------------------------------------------------------


def test_of_two_limits_that_are_near_the_nearer() -> None:
    limits = {"window": 1_000_000_000, "pacing": 1_019_000_000, "line rate of every link": 990_000_000}
    assert limited_by(make_plan(limits=limits), record_of(1.011e9))[0] == "pacing"
    assert limited_by(make_plan(limits=limits), record_of(1.009e9))[0] == "window"
    assert limited_by(make_plan(limits=limits), record_of(0.994e9))[0] == "line rate"


@pytest.mark.parametrize(
    ("goodput", "said"),
    [
        (1.0e9, "was 1.000 Gbit/s, at the 1.000 Gbit/s that the window allows"),
        (1.00004e9, "was 1.000 Gbit/s, at the 1.000 Gbit/s that"),
        (1.00006e9, "0.01 % above the"),
        (0.99994e9, "0.01 % below the"),
        (1.02e9, "2.00 % above the"),
    ],
)
def test_how_far_from_the_limit(goodput: float, said: str) -> None:
    why = limited_by(make_plan(limits={"window": 10**9}), record_of(goodput))[1]
    assert why is not None and said in why and why.startswith("goodput over the whole run was ")


def test_the_goodput_that_counts_and_since_when(tmp_path: Path) -> None:
    plan = make_plan(limits={"window": 10**9})
    samples = sampled(tmp_path, {"time_s": 2.0, "bytes": 0}, {"time_s": 4.0, "bytes": 250_000_000})
    assert limited_by(plan, record_of(5e8, steady_goodput_bps=1e9), samples)[1] == (
        "goodput from 10 s on was 1.000 Gbit/s, at the 1.000 Gbit/s that the window allows"
    )
    assert limited_by(plan, record_of(5e8), samples)[1] == (
        "goodput in the second half was 1.000 Gbit/s, at the 1.000 Gbit/s that the window allows"
    )
    assert limited_by(plan, record_of(5e8))[0] == "unknown"
    assert limited_by(plan, record_of(None)) == limited_by(plan, record_of(0.0)) == (None, None)


def test_a_bus_is_called_fitted_where_it_is() -> None:
    assert limited_by(make_plan(limits={"bus of geneva": 10**9}), record_of(1e9))[0] == "bus"
    assert limited_by(make_plan(limits={"bus of geneva (fitted)": 10**9}), record_of(1e9))[0] == "bus (fitted)"


# --- What TCP tells --------------------------------------------------------------------------------------------------


def waiting(rwnd: float = 0, sndbuf: float = 0, busy: float = 60) -> dict[str, Any]:
    names = {"rwnd_limited_us": rwnd, "sndbuf_limited_us": sndbuf, "busy_us": busy}
    return {"duration_s": 60.0} | {name: round(seconds * 1e6) for name, seconds in names.items()}


@pytest.mark.parametrize(
    ("stream", "kind", "said"),
    [
        (waiting(rwnd=30), "unknown", "near no limit of the plan, and TCP names no reason"),
        (waiting(rwnd=30.6), "window", "TCP waited for the receiver's window 51 % of the time"),
        (waiting(sndbuf=30), "unknown", "near no limit of the plan"),
        (waiting(sndbuf=30.6), "send buffer", "TCP waited for room in the send buffer 51 % of the time"),
        (waiting(rwnd=31, sndbuf=31), "window", "TCP waited for the receiver's window 52 %"),
        (waiting(sndbuf=31, busy=1), "send buffer", "TCP waited for room in the send buffer 52 %"),
        (waiting(busy=30), "unknown", "100.00 Mbit/s is near no limit of the plan, and TCP names no reason"),
        (waiting(busy=29.4), "application", "there was something to send only 49 % of the time"),
        ({"duration_s": 60.0}, "unknown", "near no limit of the plan"),
    ],
)
def test_the_larger_part_of_the_time_decides(stream: dict[str, Any], kind: str, said: str) -> None:
    got, why = limited_by(make_plan(limits=FAR), record_of(1e8, stream))
    assert got == kind
    assert why is not None and said in why


def test_shares_are_means_over_the_streams_that_tell() -> None:
    plan = make_plan(limits=FAR)
    assert limited_by(plan, record_of(1e8, waiting(rwnd=60), waiting(rwnd=2)))[0] == "window"
    assert limited_by(plan, record_of(1e8, waiting(rwnd=59), waiting(rwnd=1)))[0] == "unknown"
    silent = {"duration_s": 60.0}
    assert limited_by(plan, record_of(1e8, waiting(rwnd=31), silent))[0] == "window"
    # A stream without a duration of its own has the run's.
    whole = waiting(rwnd=31) | {"duration_s": None}
    assert limited_by(plan, record_of(1e8, whole))[0] == "window"
    assert limited_by(plan, record_of(1e8, whole, duration_s=80.0))[0] == "unknown"
    assert limited_by(plan, record_of(1e8, whole, duration_s=None))[0] == "unknown"


def windowed(folder: Path, *rtts_ms: float, window: int = 12_500_000, until_s: float = 10.0) -> Samples:
    """Two streams whose window of the receiver is full, sampled each second; the RTT changes evenly over the time."""
    full = {"snd_wnd_bytes": window, "in_flight_packets": window // 1000, "mss_bytes": 1000, "cwnd_packets": 10**6}
    rows: list[dict[str, Any]] = []
    for stream in (0, 1):
        for second in range(1, round(until_s) + 1):
            rtt_ms = rtts_ms[min(int((second - 1) / until_s * len(rtts_ms)), len(rtts_ms) - 1)]
            told = {"time_s": second, "stream": stream, "bytes": second, "srtt_us": round(rtt_ms * 1e3)}
            rows.append(full | told | {"rwnd_limited_us": round(second * 0.9e6)})
    return sampled(folder, *rows, end="sender")


def test_the_window_or_a_receiver_that_reads_too_slowly(tmp_path: Path) -> None:
    """Two streams of 12.5 MB over 100 ms: 2 Gbit/s. Within a tenth of that it was the window."""
    samples, plan = windowed(tmp_path, 100.0), make_plan(limits=FAR)
    kind, why = limited_by(plan, record_of(1.8e9, rtt_ms=100.0), samples)
    assert (kind, why) == (
        "window",
        "TCP waited for the receiver's window 90 % of the time; 25 MB per 100.0 ms allow 2.000 Gbit/s",
    )
    kind, why = limited_by(plan, record_of(1.79e9, rtt_ms=100.0), samples)
    assert (kind, why) == (
        "receiver",
        "TCP waited for the receiver's window 90 % of the time, though 25 MB per 100.0 ms allow 2.000 Gbit/s: "
        "it reads too slowly",
    )


def test_the_window_is_divided_by_the_rtt_of_each_moment(tmp_path: Path) -> None:
    """25 MB per 100 ms for five seconds and per 400 ms for five: 2 and 0.5 Gbit/s, in the mean 1.25."""
    samples = windowed(tmp_path, 100.0, 400.0)
    kind, why = limited_by(make_plan(limits=FAR), record_of(1.2e9, rtt_ms=100.0), samples)
    assert kind == "window" and why is not None and why.endswith("25 MB per 160.0 ms allow 1.250 Gbit/s")


def test_only_the_window_of_the_judged_span_counts(tmp_path: Path) -> None:
    """From 10 s on, where the RTT was 400 ms: 0.5 Gbit/s."""
    samples = windowed(tmp_path, 100.0, 400.0, until_s=20.0)
    record = record_of(1.2e9, rtt_ms=100.0, steady_goodput_bps=0.5e9)
    kind, why = limited_by(make_plan(limits=FAR), record, samples)
    assert kind == "window" and why is not None and why.endswith("25 MB per 400.0 ms allow 500.00 Mbit/s")


def test_without_a_sampled_window_it_is_the_window() -> None:
    kind, why = limited_by(make_plan(limits=FAR), record_of(1e8, waiting(rwnd=54)))
    assert (kind, why) == ("window", "TCP waited for the receiver's window 90 % of the time")


# --- Pacing, loss, the start -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("goodput", "kind"), [(1.0999e9, "pacing"), (1.1002e9, "unknown"), (0.9001e9, "pacing"), (0.8998e9, "unknown")]
)
def test_not_far_from_its_pace(goodput: float, kind: str) -> None:
    plan = make_plan(limits={"window": 9 * 10**9, "pacing": 10**9})
    got, why = limited_by(plan, record_of(goodput))
    assert got == kind
    if kind == "pacing":
        apart = f"{abs(goodput / 1e9 - 1) * 100:.2f} % {'above' if goodput > 1e9 else 'below'}"
        assert why is not None and why.endswith(f"is {apart} the 1.000 Gbit/s to which it was paced")


def losing(folder: Path, *, at_s: tuple[int, ...], flight: int = 100, **first: int) -> Samples:
    """20 s of a window of 100 packets that is halved at these times, each time for ten packets sent again."""
    rows = [
        {
            "time_s": second,
            "bytes": 10**6 * second,
            "mss_bytes": 1000,
            "cwnd_packets": 100,
            "in_flight_packets": flight,
            "snd_wnd_bytes": 10**9,
            "ssthresh_packets": 50 + sum(second >= at for at in at_s),
            "retransmits": 10 * sum(second >= at for at in at_s),
        }
        | first
        for second in range(1, 21)
    ]
    return sampled(folder, *rows, end="sender")


def lost(folder: Path, retransmits: int, samples: Samples, **transfer: Any) -> tuple[str | None, str | None]:
    record = record_of(1e8, steady_goodput_bps=1e8, retransmits=retransmits)
    return limited_by(make_plan(limits=FAR, transfer=transfer), record, samples)


def test_its_pace_comes_before_its_losses(tmp_path: Path) -> None:
    paced = make_plan(limits={"pacing": 10**9})
    assert limited_by(paced, record_of(0.95e9, retransmits=5), losing(tmp_path, at_s=(12,)))[0] == "pacing"


def test_losses_of_the_judged_span_are_counted_and_told_with_their_links(tmp_path: Path) -> None:
    """Of twelve losses before 10 s, nothing; of those after it, where."""
    samples = losing(tmp_path, at_s=(3, 12, 15))
    linked(tmp_path, "1,0,0,0,0,3", "10,0,0,9,9,12", "20,0,0,9,9,20", "10,4,1,0,0,0", "20,4,1,9,9,2")
    assert lost(tmp_path, 30, samples, congestion_control="reno") == (
        "loss",
        "20 retransmissions held the window down: the window was full 100 % of the time from 10 s on "
        "(8 dropped at geneva → cern, 2 dropped at washington → new-york)",
    )


def test_a_loss_before_the_span_counts_where_its_window_is_still_full(tmp_path: Path) -> None:
    kind, why = lost(tmp_path, 10, losing(tmp_path, at_s=(3,)), congestion_control="reno")
    assert (kind, why) == (
        "loss",
        "10 retransmissions, the last at 3 s, held the window down: the window was full 100 % of the time from 10 s on",
    )


@pytest.mark.parametrize(("control", "flight"), [("bbr", 100), ("reno", 80)])
def test_losses_that_did_not_hold_the_window_down_are_no_cause(control: str, flight: int, tmp_path: Path) -> None:
    """BBR's window does not follow losses; and one with room held nothing."""
    kind, why = lost(tmp_path, 10, losing(tmp_path, at_s=(12,), flight=flight), congestion_control=control)
    assert kind != "loss", why


def test_without_samples_of_the_sender_nobody_can_tell_what_losses_did() -> None:
    kind, why = limited_by(make_plan(limits=FAR), record_of(1e8, retransmits=17))
    assert (kind, why) == (
        "unknown",
        "100.00 Mbit/s is near no limit of the plan, and no samples tell what 17 retransmissions did to the window",
    )


@pytest.mark.parametrize(("dropped", "kind"), [(4, "reordering"), (5, "loss")])
def test_what_was_sent_again_and_not_lost_was_reordered(dropped: int, kind: str, tmp_path: Path) -> None:
    """Ten packets sent again: more than twice as many as were dropped, or not."""
    samples = losing(tmp_path, at_s=(12,))
    linked(tmp_path, "10,0,0,0,0,0", f"20,0,0,9,9,{dropped}")
    plan = make_plan(limits=FAR, transfer={"congestion_control": "reno"})
    first = replace(plan.links[0], forward=replace(plan.links[0].forward, reorder=0.01))
    record = record_of(1e8, steady_goodput_bps=1e8, retransmits=10)
    assert limited_by(replace(plan, links=[first, *plan.links[1:]]), record, samples)[0] == kind


def _unfinished(folder: Path, *, windows: tuple[int, ...]) -> Samples:
    rows = [{"time_s": 1.0 + n, "cwnd_packets": w, "ssthresh_packets": 100} for n, w in enumerate(windows)]
    return sampled(folder, *rows, end="sender")


def test_a_run_that_ended_in_slow_start_is_bound_by_it(tmp_path: Path) -> None:
    """6.6265 Gbit/s × 264 ms / 8 streams: 27.33 MB are 3055 packets, 9 doublings of 10: 2.376 s."""
    samples = _unfinished(tmp_path, windows=(25, 50, 99))
    kind, why = limited_by(make_plan(limits=FAR), record_of(1e8, duration_s=4.75), samples)
    assert (kind, why) == ("slow start", "no stream left it in 4.75 s; it takes 2.38 s to the plan's goodput")
    one = make_plan(limits=FAR, transfer={"streams": 1})  # 24 438 packets: 12 doublings, 3.168 s
    assert limited_by(one, record_of(1e8), samples)[1] == (
        "no stream left it in 60.00 s; it takes 3.17 s to the plan's goodput"
    )


@pytest.mark.parametrize(("window", "kind"), [(690, "slow start"), (340, "unknown")])
def test_a_start_that_ended_with_its_last_packet_on_the_way(window: int, kind: str, tmp_path: Path) -> None:
    """A window grows with what is acknowledged, here 700 packets, only while it is used, whatever is in flight last."""
    row = {"time_s": 0.3, "bytes": 700_000, "mss_bytes": 1000, "in_flight_packets": 1, "snd_wnd_bytes": 2**30}
    samples = sampled(tmp_path, row | {"cwnd_packets": window, "ssthresh_packets": 2**31 - 1}, end="sender")
    assert limited_by(make_plan(limits=FAR), record_of(1e8, duration_s=0.3), samples)[0] == kind


@pytest.mark.parametrize("windows", [(50, 100), (99, 99), (0, 0)])
def test_a_window_that_left_slow_start_or_does_not_grow_is_no_start(windows: tuple[int, ...], tmp_path: Path) -> None:
    """Nobody tells what is in flight: a window that stays as it is was not used."""
    samples = _unfinished(tmp_path, windows=windows)
    assert limited_by(make_plan(limits=FAR), record_of(1e8, duration_s=1.0), samples)[0] == "unknown"


# --- What a simulator's samples say ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("flight", "kind"), [(99, "window"), (98, "unknown")])
def test_without_an_account_the_samples_tell_of_a_full_window(flight: int, kind: str, tmp_path: Path) -> None:
    """A window of 99.5 packets, full or with room for one more; 32 ms of it are 35 Mbit/s."""
    row = {"in_flight_packets": flight, "snd_wnd_bytes": 99_500, "mss_bytes": 1000, "cwnd_packets": 300}
    samples = sampled(tmp_path, *({**row, "time_s": time_s, "bytes": time_s} for time_s in (1, 2, 3)), end="sender")
    record = record_of(24e6, {"duration_s": 60.0}, rtt_ms=32.0)
    found, why = limited_by(make_plan(limits=FAR), record, samples)
    assert found == kind
    assert kind == "unknown" or "window 100 % of the time" in (why or "")


@pytest.mark.parametrize(
    ("last", "flight", "srtt_us", "kind"),
    [(1000, 5, 100_000, "loss"), (1001, 5, 1, "unknown"), (1000, 0, 1, "unknown"), (1000, 5, 100_001, "unknown")],
)
def test_a_run_that_stands_was_held_by_a_loss(last: int, flight: int, srtt_us: int, kind: str, tmp_path: Path) -> None:
    """Nothing was sent again: the transfer was over before the timeout. A round trip without a word is due."""
    rows = [{"time_s": 0.1, "bytes": 1000}, {"time_s": 0.2, "bytes": 1000}, {"time_s": 0.3, "bytes": last}]
    more = {"in_flight_packets": flight, "cwnd_packets": 100, "srtt_us": srtt_us}
    samples = sampled(tmp_path, *({**row, **more} for row in rows), end="sender")
    plan = make_plan(limits=FAR)
    plan = replace(plan, flows=[replace(plan.flow, physics=replace(plan.physics, rtt_ns=100_000_000))])
    found, why = limited_by(plan, record_of(24e6, {"duration_s": 0.3}, duration_s=0.3), samples)
    assert found == kind, why
    assert kind == "unknown" or "nothing was acknowledged from 0.1 s on" in (why or "")


@pytest.mark.parametrize(("window", "kind"), [(100, "congestion window"), (111, "congestion window"), (112, "unknown")])
def test_a_full_window_without_a_loss_is_what_held_it(window: int, kind: str, tmp_path: Path) -> None:
    """Vegas left slow start by the delay: 100 packets in flight fill a window of up to 111."""
    row = {"in_flight_packets": 100, "cwnd_packets": window, "ssthresh_packets": 50, "snd_wnd_bytes": 10**9}
    rows = [{**row, "time_s": tenth / 10, "bytes": tenth, "mss_bytes": 1000} for tenth in (1, 2, 3)]
    samples = sampled(tmp_path, *rows, end="sender")
    linked(tmp_path, "0.1,0,0,1,1,0", "0.3,0,0,2,2,0")
    found, why = limited_by(make_plan(limits=FAR), record_of(24e6, {"duration_s": 0.3}, duration_s=0.3), samples)
    assert found == kind
    assert kind == "unknown" or "nothing was lost or marked" in (why or "")


@pytest.mark.parametrize(("srtt_us", "kind"), [(105_000, "loss"), (106_000, "unknown")])
def test_where_nobody_counts_the_lines_a_loss_beside_a_queue_stays_open(
    srtt_us: int, kind: str, tmp_path: Path
) -> None:
    """On a real path a line slower than the plan's, or others' traffic, drops and delays as this does."""
    samples = losing(tmp_path, at_s=(12,), srtt_us=srtt_us)
    rows = (tmp_path / "sender.csv").read_text().splitlines()
    rows[1] = rows[1].replace(str(srtt_us), "100000")  # the smallest one
    (tmp_path / "sender.csv").write_text("\n".join(rows) + "\n")
    convert_samples(tmp_path / "sender.csv", None, tmp_path / "samples.parquet")
    found, why = lost(tmp_path, 10, Samples(samples.bundle), congestion_control="reno")
    assert found == kind, why
    assert kind == "loss" or "nobody counted what the lines of the path carried" in (why or "")
