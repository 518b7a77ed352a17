"""The judge: what the run is worth, whether it is what was expected, and what bound it.

`judge` is a function of the plan, the raw record and the bundle's samples; it looks at nothing else.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .bound import limited_by
from .record import RunRecord, Verdict
from .rules import check_rules
from .wording import grouped, signed_percent, tolerance_text

if TYPE_CHECKING:
    from ..scenarios.plan import Plan
    from .series import ByteCurves

STEADY_FROM_S = 10.0
STEADY_LEAST_S = 1.0  # a shorter steady part says nothing
STREAM_SPREAD = 0.03  # each stream within this of the mean
GOODPUT_TOLERANCE = 0.01  # when the scenario states none
SLACK = 1e-9  # boundaries belong to the tolerance


def judge(plan: Plan, raw: RunRecord, bundle_dir: Path | None = None) -> RunRecord:
    """Fill in steady goodput, score, limit and verdicts.

    Args:
        plan: what was to be done.
        raw: what was measured.
        bundle_dir: folder with `samples.parquet` and `links.parquet`; without it `raw.steady_goodput_bps` stays.

    Returns:
        a copy of the record with `steady_goodput_bps`, `score_bit_m_per_s`, `limited_by`, `limited_by_why`,
        `verdicts` and `passed`.
    """
    from .series import receiver_curves

    curves = receiver_curves(bundle_dir) if bundle_dir else None
    record = raw.model_copy(deep=True)
    if curves is not None and curves.end_s >= STEADY_FROM_S + STEADY_LEAST_S:
        record.steady_goodput_bps = curves.goodput_bps(STEADY_FROM_S)
    if record.rtt_ms is None and record.calibration is not None:
        record.rtt_ms = record.calibration.rtt_ms
    record.score_bit_m_per_s = score(record.goodput_bps, distance_m(plan))
    record.limited_by, record.limited_by_why = limited_by(plan, record, curves, bundle_dir)
    record.verdicts = _verdicts(plan, record, curves)
    record.rules = check_rules(plan, record, distance_m(plan)) if plan.contest else []
    record.passed = all(verdict.ok is not False for verdict in record.verdicts)
    return record


def distance_m(plan: Plan) -> int | None:
    """Terrestrial distance that counts: the submitted one where there is one, else the sum of the links."""
    if plan.expect is not None and plan.expect.distance_m is not None:
        return plan.expect.distance_m
    return plan.physics.distance_m


def score(goodput_bps: float | None, distance: float | None) -> float | None:
    """Internet2 Land Speed Record score: rate times terrestrial distance, in bit·m/s."""
    return None if goodput_bps is None or distance is None else goodput_bps * distance


# --- Verdicts --------------------------------------------------------------------------------------------------------


def _verdicts(plan: Plan, record: RunRecord, curves: ByteCurves | None) -> list[Verdict]:
    found = [_calibration(record), _rtt(plan, record), _delivery(plan, record)]
    found += [_goodput(plan, record, curves), _bytes(plan, record), _streams(plan, record)]
    return [verdict for verdict in found if verdict is not None]


def _within(measured: float, wanted: float, tolerance: float) -> bool:
    return abs(measured - wanted) <= tolerance * abs(wanted) * (1 + SLACK) + SLACK


def _calibration(record: RunRecord) -> Verdict:
    calibration = record.calibration
    if calibration is None or calibration.passed is None:
        return Verdict(name="calibration", ok=None, text="the path was not calibrated")
    if calibration.passed:
        return Verdict(name="calibration", ok=True, text="RTT, MTU and rate of the built path match the plan")
    return Verdict(name="calibration", ok=False, text="; ".join(calibration.failures) or "calibration failed")


def _rtt(plan: Plan, record: RunRecord) -> Verdict:
    recorded = plan.expect is not None and plan.expect.rtt_ns is not None
    wanted = (plan.expect.rtt_ns if plan.expect and plan.expect.rtt_ns else plan.physics.rtt_ns) / 1e6
    tolerance = plan.calibration.rtt_tolerance
    whose = "the record's" if recorded else "the plan's"
    if record.rtt_ms is None:
        return Verdict(name="rtt", ok=None, wanted=wanted, tolerance=tolerance, text="RTT was not measured")
    ok = _within(record.rtt_ms, wanted, tolerance)
    text = f"{record.rtt_ms:.3f} ms, {whose} {wanted:g} ms ({tolerance_text(tolerance)})"
    return Verdict(name="rtt", ok=ok, measured=record.rtt_ms, wanted=wanted, tolerance=tolerance, text=text)


def _delivery(plan: Plan, record: RunRecord) -> Verdict:
    wanted = plan.transfer.bytes
    if record.bytes is None or record.error is not None:
        why = record.error or "no transfer was made"
        return Verdict(name="delivery", ok=False, measured=record.bytes, wanted=wanted, text=why)
    if wanted is not None:
        ok = record.bytes >= wanted and record.engine.get("complete", True) is True
        text = f"{grouped(record.bytes)} B read by the receiver, {grouped(wanted)} B asked for"
        return Verdict(name="delivery", ok=ok, measured=record.bytes, wanted=wanted, text=text)
    ok = record.engine.get("complete", True) is True and record.bytes > 0
    text = f"{grouped(record.bytes)} B read by the receiver"
    return Verdict(name="delivery", ok=ok, measured=record.bytes, text=text)


def _goodput(plan: Plan, record: RunRecord, curves: ByteCurves | None) -> Verdict | None:
    expect = plan.expect
    if expect is None or expect.goodput_bps is None:
        return None
    tolerance = GOODPUT_TOLERANCE if expect.goodput_tolerance is None else expect.goodput_tolerance
    wanted, begin = float(expect.goodput_bps), expect.goodput_from_s
    if begin <= 0:
        measured, span = record.goodput_bps, "over the whole run"
    else:
        measured = record.steady_goodput_bps if begin == STEADY_FROM_S else None
        if measured is None and curves is not None:
            measured = curves.goodput_bps(begin)
        span = f"from {begin:g} s on"
    if measured is None:
        text = f"not measured {span}"
        return Verdict(name="goodput", ok=False, wanted=wanted, tolerance=tolerance, text=text)
    text = (
        f"{measured / 1e6:.3f} Mbit/s {span}, expected {wanted / 1e6:.3f} Mbit/s "
        f"({signed_percent(measured / wanted - 1)}, {tolerance_text(tolerance)})"
    )
    ok = _within(measured, wanted, tolerance)
    return Verdict(name="goodput", ok=ok, measured=measured, wanted=wanted, tolerance=tolerance, text=text)


def _bytes(plan: Plan, record: RunRecord) -> Verdict | None:
    expect, transfer = plan.expect, plan.transfer
    if expect is None or expect.bytes is None:
        return None
    same = transfer.bytes == expect.bytes or (transfer.bytes is None and transfer.duration_ns == expect.duration_ns)
    if not same:
        text = "not compared: this run was asked for another amount than the record's"
        return Verdict(name="bytes", ok=None, measured=record.bytes, wanted=expect.bytes, text=text)
    if record.bytes is None:
        return Verdict(name="bytes", ok=False, wanted=expect.bytes, text="no bytes were moved")
    tolerance = 0.0
    if transfer.bytes is None:
        tolerance = GOODPUT_TOLERANCE if expect.goodput_tolerance is None else expect.goodput_tolerance
    ok = _within(record.bytes, expect.bytes, tolerance)
    text = f"{record.bytes / 1e9:.3f} GB moved, the record moved {expect.bytes / 1e9:.3f} GB"
    return Verdict(
        name="bytes", ok=ok, measured=record.bytes, wanted=expect.bytes, tolerance=tolerance or None, text=text
    )


def _streams(plan: Plan, record: RunRecord) -> Verdict | None:
    if plan.expect is None or not plan.expect.streams_goodput_bps:
        return None
    rates = [stream.goodput_bps for stream in record.streams if stream.goodput_bps is not None]
    if len(rates) != plan.transfer.streams or not sum(rates):
        text = f"{len(rates)} of {plan.transfer.streams} streams were measured"
        return Verdict(name="streams", ok=False, wanted=0.0, tolerance=STREAM_SPREAD, text=text)
    mean = sum(rates) / len(rates)
    spread = max(abs(rate / mean - 1) for rate in rates)
    limit = f"at most {STREAM_SPREAD * 100:g} %"
    text = f"every stream within {spread * 100:.2g} % of the mean of {mean / 1e6:.1f} Mbit/s ({limit})"
    ok = spread <= STREAM_SPREAD * (1 + SLACK)
    return Verdict(name="streams", ok=ok, measured=spread, wanted=0.0, tolerance=STREAM_SPREAD, text=text)
