"""A BBR stream below its limit by its own probing: when the samples show it, and when the cause stays unknown."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from landspeed.judge.attribution.attribution import Attribution
from landspeed.judge.bbr_probing import Startup
from landspeed.judge.bound import limited_by
from landspeed.results.record import RunRecord
from landspeed.results.samples_reader import Samples
from landspeed.scenario.plan.plan import Plan
from tests.support.judge_bound import record_of, sampled
from tests.support.results_fixture import make_plan

LIMIT_BPS = 100_000_000


def probed(
    folder: Path, *, looks: tuple[float, ...] = (5.0, 15.0), between_bps: float = 99.25e6, window: int = 4
) -> Samples:
    """20 s of a stream that stands still for 0.2 s at each look, and runs at a rate in the rest; samples each 0.1 s."""
    moved, sender, receiver = 0.0, list[dict[str, Any]](), list[dict[str, Any]]()
    for tenth in range(1, 201):
        at_s = tenth / 10
        look = any(begin < at_s <= begin + 0.2 + 1e-9 for begin in looks)
        moved += 0 if look else between_bps / 8 / 10
        sender.append({"time_s": at_s, "bytes": round(moved), "cwnd_packets": window if look else 700})
        receiver.append({"time_s": at_s, "bytes": round(moved)})
    sampled(folder, *sender, end="sender")
    return sampled(folder, *receiver)


def bbr(**more: Any) -> Plan:
    return make_plan(limits={"bus of geneva": LIMIT_BPS}, transfer={"congestion_control": "bbr", "streams": 1} | more)


def probing_record(goodput: float) -> RunRecord:
    return record_of(goodput, {"duration_s": 20.0}, steady_goodput_bps=goodput, duration_s=20.0, rtt_ms=50.0)


def test_bbr_below_a_limit_by_its_own_looks_is_named(tmp_path: Path) -> None:
    """One look in the settled half: from the sample before it, 15.0 s, to a sample and two round trips after it.

    That is 15.0 to 15.4 s, 4 % of the ten seconds, of which 0.2 s stood still: 0.98 × 99.25 Mbit/s altogether.
    """
    kind, why = limited_by(bbr(), probing_record(97.265e6), probed(tmp_path))
    assert kind == "RTT probing"
    assert why == (
        "97.27 Mbit/s is 2.73 % below the 100.00 Mbit/s that the bus of geneva allows: BBR kept 4 packets in flight "
        "once to see the round trip; this took 4.0 % of the time, and in the rest it ran at 99.25 Mbit/s"
    )


@pytest.mark.parametrize(
    ("changed", "control", "goodput"),
    [
        ({"looks": ()}, "bbr", 97.2e6),  # no sample shows a look
        ({"window": 5}, "bbr", 97.2e6),  # a small window is no look
        ({}, "cubic", 97.2e6),
        ({"between_bps": 97.9e6}, "bbr", 95.9e6),  # 2.1 % below the limit between the looks, too
        ({"between_bps": 102.1e6}, "bbr", 97.2e6),
        ({"looks": tuple(10 + 0.7 * n for n in range(14))}, "bbr", 71e6),  # less than half is left between them
    ],
)
def test_what_the_samples_do_not_show_stays_unknown(
    changed: dict[str, Any], control: str, goodput: float, tmp_path: Path
) -> None:
    plan = bbr(congestion_control=control)
    assert limited_by(plan, probing_record(goodput), probed(tmp_path, **changed))[0] == "unknown"


def test_other_causes_come_before_probing(tmp_path: Path) -> None:
    samples = probed(tmp_path)
    assert limited_by(bbr(), probing_record(98.1e6), samples)[0] == "bus"
    lossy = probing_record(97.2e6).with_flow(retransmits=3)
    assert limited_by(bbr(), lossy, samples)[0] == "RTT probing"  # BBR's window does not follow losses
    mixed = replace(
        bbr(), flows=[replace(bbr().flow, transfer=replace(bbr().transfer, congestion_controls=["bbr", "cubic"]))]
    )
    assert limited_by(mixed, probing_record(97.2e6), samples)[0] == "unknown"


def test_bbrs_startup_ends_after_three_rounds_without_a_quarter_more() -> None:
    """bbr_check_full_bw_reached; what grows again afterwards does not begin it again."""
    start = Startup()
    rates = (0, 1, 2, 2, 2.4, 4, 5, 5, 6.2, 6.2, 16)
    wanted = (True,) * 9 + (False,) * 2
    assert tuple(start.goes_on(rate) for rate in rates) == wanted


def test_bbr_is_in_slow_start_until_then_and_bound_by_the_window_after_it(tmp_path: Path) -> None:
    """Six seconds, a round trip of 264 ms: doubling to 4 s, then window / RTT. No slow reader is to blame."""
    window, rtt_s = 100_000_000, 0.264
    rows, sent, held_us = list[dict[str, Any]](), 0.0, 0.0
    for number in range(1, 23):
        full = window * min(1.0, 2.0 ** (number - 15))
        sent, held_us = sent + full, held_us + (rtt_s * 1e6 if number > 15 else 0)
        told = {"busy_us": round(number * rtt_s * 1e6), "rwnd_limited_us": round(held_us), "snd_wnd_bytes": window}
        told |= {"bytes": round(sent), "mss_bytes": 8948, "srtt_us": 264_000, "cwnd_packets": 20_000}
        rows.append({"time_s": number * rtt_s, **told})
    sampled(tmp_path, *rows)
    samples = sampled(tmp_path, *rows, end="sender")
    plan = make_plan(limits={"bus of geneva": 10**12}, transfer={"congestion_control": "bbr", "streams": 1})
    made = Attribution.of_flow(plan, "emu", samples)
    assert [(each.state, round(each.end_s, 1)) for each in made.phases()] == [("slow start", 4.0), ("window", 5.8)]
    record = record_of(1e9, {"duration_s": 5.8}, duration_s=5.8, rtt_ms=264.0)
    kind, why = limited_by(plan, record, samples, made)
    assert (kind, "too slowly" in (why or "")) == ("window", False), why
