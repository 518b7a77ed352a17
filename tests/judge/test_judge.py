"""The judge's numbers, the boundaries of its verdicts, and what it says bound a run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from landspeed.base.text import grouped
from landspeed.judge.judge import judge, score
from landspeed.judge.window_note import window_note
from landspeed.results.check import Check
from landspeed.results.record import CalibrationResult, RunRecord, StreamResult
from landspeed.results.sample_columns import LINK_COLUMNS, SAMPLE_COLUMNS, convert_links, convert_samples
from landspeed.results.tool_result import WindowResult
from landspeed.scenario.plan.plan import Plan
from tests.support.judge_bound import sampled
from tests.support.path_record import path_record
from tests.support.results_fixture import BUS_GOODPUT, NS, make_bundle, make_plan, make_record

HEADER = ",".join(SAMPLE_COLUMNS)
BUS = {"bus of geneva (fitted)": BUS_GOODPUT}


def _record(goodput: float | None = 6.6e9, **fields: Any) -> RunRecord:
    known: dict[str, Any] = {"bytes": 1000, "duration_s": 60.0, "retransmits": 0, "rtt_ms": 264.0}
    return path_record("x", goodput_bps=goodput, **(known | fields))


def _streams(*rates: float, **fields: Any) -> list[StreamResult]:
    return [StreamResult(stream=number, goodput_bps=rate, **fields) for number, rate in enumerate(rates)]


def _verdict(record: RunRecord, name: str) -> Check:
    (found,) = [each for each in record.verdicts if each.name == name]
    return found


def _samples(folder: Path, rows: list[tuple[float, int, int]], end: str = "receiver", window: int = 0) -> None:
    """A parquet with (time in s, stream, bytes) rows of one end."""
    lines = [HEADER]
    for time_s, stream, count in rows:
        known = {
            "time_ns": round(time_s * NS),
            "stream": stream,
            "bytes": count,
            "snd_wnd_bytes": window,
            "srtt_us": 264_000,
        }
        lines.append(",".join(str(known.get(name, 0)) for name in SAMPLE_COLUMNS))
    (folder / f"{end}.csv").write_text("\n".join(lines) + "\n")
    files = {each: folder / f"{each}.csv" for each in ("sender", "receiver")}
    convert_samples(files["sender"], files["receiver"], folder / "samples.parquet")


# --- Numbers ---------------------------------------------------------------------------------------------------------


def test_score_of_the_record() -> None:
    assert score(6.626513e9, 15_766_000) == pytest.approx(1.0447360e17, rel=1e-7)
    assert score(6.63e9, 15_766_000) == pytest.approx(1.0452858e17, rel=1e-9)
    assert score(983e6, 7_067_000) == pytest.approx(6.947e15, rel=1e-4)
    assert score(None, 1.0) is None
    assert score(1.0, None) is None


def test_distance_is_the_submitted_one_else_the_links(tmp_path: Path) -> None:
    assert judge(make_plan(expect={"distance_m": 1_000}), _record(8.0), tmp_path).score_bit_m_per_s == 8_000.0
    assert judge(make_plan(with_expect=False), _record(1.0), tmp_path).score_bit_m_per_s == 15_766_000.0


def test_steady_goodput_from_known_samples(tmp_path: Path) -> None:
    # 1 MB until 10 s, then 10 MB/s and 5 MB/s for 20 s; the sample at 9.5 s and 10.5 s makes it interpolate
    rows = [(9.5, 0, 1_000_000), (10.5, 0, 11_000_000), (30.0, 0, 206_000_000)]
    rows += [(10.0, 1, 0), (30.0, 1, 100_000_000)]
    _samples(tmp_path, rows)
    steady = judge(make_plan(), _record(), tmp_path).steady_goodput_bps
    assert steady == pytest.approx((200e6 + 100e6) * 8 / 20)


@pytest.mark.parametrize(
    ("transfer", "duration_s", "steady_bps"),
    [
        ({"bytes": 125_000_000, "duration_ns": None}, 20.0, 1e8),  # it ends with its data, whoever samples longer
        ({}, 20.0, 1e8),  # by the clock, which a sample comes after
        ({}, 60.0, 1e9 / 19),  # by the clock, and it stood still before that
    ],
)
def test_steady_goodput_ends_with_the_transfer(
    tmp_path: Path, transfer: dict[str, Any], duration_s: float, steady_bps: float
) -> None:
    _samples(tmp_path, [(10.0, 0, 0), (20.0, 0, 125_000_000), (29.0, 0, 125_000_000)])
    judged = judge(make_plan(transfer), _record(duration_s=duration_s), tmp_path)
    assert judged.steady_goodput_bps == pytest.approx(steady_bps)


def test_a_transfer_that_stands_still_has_a_steady_goodput_of_nothing(tmp_path: Path) -> None:
    _samples(tmp_path, [(1.0, 0, 125_000_000), (12.0, 0, 125_000_000), (60.0, 0, 125_000_000)])
    assert judge(make_plan(), _record(), tmp_path).steady_goodput_bps == 0.0


def test_no_steady_goodput_in_a_short_run(tmp_path: Path) -> None:
    _samples(tmp_path, [(5.0, 0, 1000), (10.9, 0, 2000)])
    assert judge(make_plan(), _record(), tmp_path).steady_goodput_bps is None


def test_steady_goodput_is_the_receivers(tmp_path: Path) -> None:
    _samples(tmp_path, [(10.0, 0, 0), (20.0, 0, 9_000_000_000)], end="sender")
    assert judge(make_plan(), _record(), tmp_path).steady_goodput_bps is None


# --- Verdicts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("goodput", "ok"), [(1.01e9, True), (0.99e9, True), (1.0101e9, False), (0.9899e9, False)])
def test_goodput_boundary_belongs_to_the_tolerance(goodput: float, ok: bool) -> None:
    plan = make_plan(expect={"goodput_bps": 1_000_000_000, "goodput_tolerance": 0.01})
    verdict = _verdict(judge(plan, _record(goodput)), "goodput")
    assert (verdict.ok, verdict.measured, verdict.expected, verdict.allowed) == (ok, goodput, 1e9, 1e7)


def test_goodput_from_a_time_on(tmp_path: Path) -> None:
    _samples(tmp_path, [(5.0, 0, 0), (15.0, 0, 125_000_000)])
    for begin, wanted in ((5.0, 100_000_000), (10.0, 100_000_000)):
        plan = make_plan(expect={"goodput_bps": wanted, "goodput_from_s": begin, "goodput_tolerance": 0.001})
        assert _verdict(judge(plan, _record(7.0), tmp_path), "goodput").ok
    assert _verdict(judge(make_plan(expect={"goodput_from_s": 20.0}), _record(), tmp_path), "goodput").ok is False


@pytest.mark.parametrize(("rtt_ms", "ok"), [(264.264, True), (263.736, True), (264.265, False), (None, None)])
def test_rtt_boundary(rtt_ms: float | None, ok: bool | None) -> None:
    assert _verdict(judge(make_plan(), _record(rtt_ms=rtt_ms)), "rtt").ok is ok


def test_streams_within_three_per_cent_of_their_mean() -> None:
    even = [100.0] * 6
    assert _verdict(judge(make_plan(), _record(streams=_streams(*even, 97.0, 103.0))), "streams").ok
    apart = _verdict(judge(make_plan(), _record(streams=_streams(*even, 96.9, 103.1))), "streams")
    assert apart.ok is False
    assert apart.measured == pytest.approx(0.031)
    assert _verdict(judge(make_plan(), _record(streams=_streams(*even, 100.0))), "streams").ok is False


def test_bytes_only_compared_when_the_same_was_asked() -> None:
    wanted = 859_052_821_760
    same = make_plan(transfer={"bytes": wanted, "duration_ns": None})
    assert _verdict(judge(same, _record(bytes=wanted)), "bytes").ok
    assert _verdict(judge(same, _record(bytes=wanted - 1)), "bytes").ok is False
    assert _verdict(judge(make_plan(), _record(bytes=5)), "bytes").ok is None
    timed = make_plan(transfer={"duration_ns": 1_037_200_000_000}, expect={"goodput_tolerance": 0.01})
    assert _verdict(judge(timed, _record(bytes=round(wanted * 0.991))), "bytes").ok
    assert _verdict(judge(timed, _record(bytes=round(wanted * 0.989))), "bytes").ok is False


def test_delivery() -> None:
    plan = make_plan(transfer={"bytes": 1000, "duration_ns": None})
    assert _verdict(judge(plan, _record(bytes=1000)), "delivery").ok
    assert _verdict(judge(plan, _record(bytes=999)), "delivery").ok is False
    assert _verdict(judge(plan, _record(bytes=1000, tool_result={"complete": False})), "delivery").ok is False
    assert _verdict(judge(plan, _record(bytes=None)), "delivery").text == "no transfer was made"


def test_one_failed_verdict_fails_the_run_and_none_does_not() -> None:
    plan = make_plan(with_expect=False)
    assert judge(plan, _record()).passed
    failed = CalibrationResult(passed=False, failures=["link 3 (a – b): RTT is off"])
    record = judge(plan, _record(calibration=failed))
    assert record.passed is False
    assert _verdict(record, "calibration").text == "link 3 (a – b): RTT is off"


def test_raw_record_is_left_alone() -> None:
    raw = _record()
    judge(make_plan(), raw)
    assert raw.verdicts == []
    assert raw.score_bit_m_per_s is None


# --- What bound the run ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "kind"),
    [
        ({"window": 4_350_000_000, "line rate of link 1 a–b": 9_900_000_000}, "window"),
        ({"window": 9_900_000_000, "line rate of link 1 a–b": 4_350_000_000}, "line rate"),
        ({"bus of geneva": 4_350_000_000, "window": 5_000_000_000}, "bus"),
        ({"bus of geneva (fitted)": 4_350_000_000, "window": 4_430_000_000}, "bus (fitted)"),
        ({"pacing": 4_350_000_000}, "pacing"),
        ({"loss (square-root law)": 4_350_000_000}, "loss"),
    ],
)
def test_nearest_limit_of_the_plan(limits: dict[str, int], kind: str) -> None:
    record = judge(make_plan(limits=limits), _record(4.36e9))
    assert record.limited_by == kind
    nearest = next(name for name, rate in limits.items() if rate == 4_350_000_000)
    said = f"goodput over the whole run was 4.360 Gbit/s, 0.23 % above the 4.350 Gbit/s that the {nearest} allows"
    assert record.limited_by_why == said + (" after headers" if kind == "line rate" else "")


@pytest.mark.parametrize(("goodput", "near"), [(0.98, True), (1.02, True), (0.9799, False), (1.0201, False)])
def test_nearness_of_two_per_cent(goodput: float, near: bool) -> None:
    record = judge(make_plan(limits={"line rate of link 1 a–b": 1_000_000_000}), _record(goodput * 1e9))
    assert (record.limited_by == "line rate") is near


@pytest.mark.parametrize(("retransmits", "word"), [(3, "line rate"), (0, "unknown")])
def test_a_goodput_above_the_line_filled_a_hole(retransmits: int, word: str) -> None:
    """A line carries no more than its rate: the rest had come before and waited, which takes a loss."""
    plan = make_plan(limits={"line rate of link 1 a–b": 1_000_000_000})
    record = judge(plan, _record(1.04e9).with_flow(retransmits=retransmits))
    assert record.limited_by == word
    assert ("some of it had come before" in (record.limited_by_why or "")) is (word == "line rate")


def test_steady_goodput_decides_where_there_is_one() -> None:
    plan = make_plan(limits={"line rate of link 1 a–b": 9_900_000_000})
    assert judge(plan, _record(8.4e9)).limited_by == "unknown"
    assert judge(plan, _record(8.4e9, steady_goodput_bps=9.89e9)).limited_by == "line rate"


def test_second_half_decides_in_a_short_run(tmp_path: Path) -> None:
    _samples(tmp_path, [(2.0, 0, 0), (4.0, 0, 250_000_000)])
    record = judge(make_plan(limits={"line rate of link 1 a–b": 1_000_000_000}), _record(0.5e9), tmp_path)
    assert record.limited_by == "line rate"
    assert "in the second half" in (record.limited_by_why or "")


def test_window_or_a_slow_reader(tmp_path: Path) -> None:
    waiting = _streams(1e9, duration_s=60.0, busy_us=60_000_000, rwnd_limited_us=54_000_000, sndbuf_limited_us=0)
    _samples(tmp_path, [(1.0, 0, 1)], end="sender", window=33_000_000)  # 33 MB / 264 ms = 1 Gbit/s
    window = judge(make_plan(limits=BUS), _record(0.95e9, streams=waiting), tmp_path)
    assert window.limited_by == "window"
    assert "90 % of the time; 33 MB per 264.0 ms allow 1.000 Gbit/s" in (window.limited_by_why or "")
    slow = judge(make_plan(limits=BUS), _record(0.5e9, streams=waiting), tmp_path)
    assert slow.limited_by == "receiver"


def test_send_buffer_application_loss(tmp_path: Path) -> None:
    plan = make_plan(limits=BUS)
    full = _streams(1e9, duration_s=60.0, busy_us=60_000_000, rwnd_limited_us=0, sndbuf_limited_us=40_000_000)
    assert judge(plan, _record(1e9, streams=full)).limited_by == "send buffer"
    idle = _streams(1e9, duration_s=60.0, busy_us=6_000_000, rwnd_limited_us=0, sndbuf_limited_us=0)
    assert judge(plan, _record(1e9, streams=idle, retransmits=3)).limited_by == "application"
    busy = _streams(1e9, duration_s=60.0, busy_us=60_000_000, rwnd_limited_us=0, sndbuf_limited_us=0)
    links = [",".join(LINK_COLUMNS), "0,4,0,1,1,0,0,0,0", "1000,4,0,9,9,17,0,0,0", "0,5,1,1,1,3,0,0,0"]
    (tmp_path / "links.csv").write_text("\n".join(links) + "\n")
    convert_links(tmp_path / "links.csv", tmp_path / "links.parquet")
    lossy = judge(plan, _record(1e9, streams=busy, retransmits=17), tmp_path)
    assert lossy.limited_by == "unknown"
    assert "no samples tell what 17 retransmissions did to the window" in (lossy.limited_by_why or "")


def test_slow_start(tmp_path: Path) -> None:
    growing = {"ssthresh_packets": 10**6, "mss_bytes": 1000, "snd_wnd_bytes": 10**9}
    rows = [(4.0, 1_000_000, 1000), (4.6, 10_000_000, 10_000), (5.0, 40_000_000, 40_000)]
    told = [{"time_s": s, "bytes": b, "cwnd_packets": w, "in_flight_packets": w, **growing} for s, b, w in rows]
    sampled(tmp_path, *told, end="sender")
    assert judge(make_plan(limits=BUS), _record(64e6), tmp_path).limited_by == "slow start"


@pytest.mark.parametrize(("acks_per_s", "kind"), [(1000, "ack path"), (960, "unknown")])
def test_a_full_line_back_is_the_ack_path(tmp_path: Path, acks_per_s: int, kind: str) -> None:
    """52 B, 14 B as a veth counts, 38 B of framing: 720 bits an ACK; a line of 720 kbit/s is full of 1000 a second."""
    plan = make_plan(limits=BUS)
    links = [*plan.links]
    links[4] = replace(links[4], reverse=replace(links[4].reverse, rate_bps=720_000), framing_bytes=38)
    plan = replace(plan, links=links)
    rows = [",".join(LINK_COLUMNS)]
    rows += [f"{second * 10**9},4,1,{second * acks_per_s * 66},{second * acks_per_s},0,0,0,0" for second in range(61)]
    (tmp_path / "links.csv").write_text("\n".join(rows) + "\n")
    convert_links(tmp_path / "links.csv", tmp_path / "links.parquet")
    sampled(tmp_path, *({"time_s": at, "bytes": at, "in_flight_packets": 1} for at in (30, 60)), end="sender")
    record = judge(plan, _record(1e8, world="emu"), tmp_path)
    assert record.limited_by == kind
    if kind == "ack path":
        assert "was full 100 % of the time from 0 s on: 1000 packets a second" in (record.limited_by_why or "")


def test_paced_below_its_pace() -> None:
    plan = make_plan(limits={"pacing": 1_000_000_000}, transfer={"pacing_rate_bps": 1_010_000_000})
    assert judge(plan, _record(0.93e9)).limited_by == "pacing"
    assert judge(plan, _record(0.89e9)).limited_by == "unknown"


def test_no_transfer_has_no_limit() -> None:
    record = judge(make_plan(), _record(None, bytes=None))
    assert (record.limited_by, record.limited_by_why, record.passed) == (None, None, False)


def test_whole_fixture(tmp_path: Path) -> None:
    from landspeed.results.bundle import load_record

    record = load_record(make_bundle(tmp_path, 60))
    assert record.limited_by == "bus (fitted)"
    assert record.steady_goodput_bps == pytest.approx(BUS_GOODPUT, rel=1e-3)
    assert record.passed
    assert {each.name for each in record.verdicts} == {"calibration", "rtt", "delivery", "goodput", "bytes", "streams"}


def test_iperf3_without_tcp_figures_is_judged_too(tmp_path: Path) -> None:
    plan: Plan = make_plan()
    raw = make_record(plan, [1] * 8, 60).model_copy(update={"tool": "iperf3"})
    for stream in raw.streams:
        stream.busy_us = stream.rwnd_limited_us = stream.sndbuf_limited_us = None
    assert judge(plan, raw, tmp_path).limited_by in {"loss", "unknown"}


@pytest.mark.parametrize(
    ("asked", "limited_by", "said"),
    [
        (5_000_000, "window", "a larger transfer.window, or more transfer.streams, allow more"),
        (None, "window", "it is what autotuning makes: a transfer.window of its own, or more transfer.streams"),
        (1 << 30, "window", "it is the largest that TCP can have: more transfer.streams allow more"),
        (5_000_000, "loss", None),
    ],
)
def test_what_would_allow_more_is_said_beside_the_cause_only(
    asked: int | None, limited_by: str, said: str | None
) -> None:
    """The engine's account of the window is no second cause, and its options are none of a run."""
    engine_says = "the receiver's window held the streams back for 25 % of the time; ask for a larger --window"
    plan = make_plan(transfer={"window_bytes": asked})
    record = _record(1e9, limited_by=limited_by)
    record.flows[0].window = WindowResult(asked_bytes=asked, warning=engine_says)
    note = window_note(plan, record)
    assert (note is None) if said is None else (said in (note or ""))
    assert "--window" not in (note or "")


def test_a_window_that_was_not_granted_is_still_told() -> None:
    record = _record(1e9, limited_by="loss")
    record.flows[0].window = WindowResult(
        asked_bytes=5_000_000, sender_granted_bytes=212_992, receiver_granted_bytes=5_000_000, warning="the sender was"
    )
    assert window_note(make_plan(), record) == (
        f"the sender was granted {grouped(212_992)} of the {grouped(5_000_000)} B asked for: "
        "sysctl -w net.core.wmem_max=5000000 there"
    )
