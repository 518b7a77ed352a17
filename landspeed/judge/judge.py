"""The judge: what the run is worth, whether it is what was expected, and what bound it.

`judge` is a function of the plan, the raw record and the bundle's samples; it looks at nothing else.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from landspeed.base.text import NARROW, grouped, rate_text, signed_percent, tolerance_text
from landspeed.base.units_text import time_text
from landspeed.judge.attribution.attribution import Attribution, SharedTimes
from landspeed.judge.bound import limited_by
from landspeed.judge.contest_rules import check_rules
from landspeed.judge.datagram_limit import datagram_limit
from landspeed.judge.fairness import FlowShares, contenders, jain_index
from landspeed.judge.loaded_delay import STEADY_FROM_S, held_rtts, loaded_rtt, ping_figures, queue_delays, settled_s
from landspeed.judge.shared_limit import SharedLanes
from landspeed.judge.window_note import window_note
from landspeed.results.check import Check
from landspeed.results.flow_result import LimitPhase
from landspeed.results.record import RunRecord
from landspeed.results.samples_reader import Samples
from landspeed.results.tool_result import bytes_of_subflows
from landspeed.scenario.plan.flow_path import path_of
from landspeed.scenario.theory.speech import heard_opinion
from landspeed.scenario.theory.timing import echo_ns
from landspeed.scenario.theory.tolerances import GOODPUT_TOLERANCE, RTT_FLOOR_MS, rtt_allowed_ms

if TYPE_CHECKING:
    from landspeed.results.series import ByteCurves
    from landspeed.scenario.plan.plan import Plan

STREAM_SPREAD = 0.03  # each stream within this of the mean
SLACK = 1e-9  # boundaries belong to the tolerance


def judge(plan: Plan, raw: RunRecord, bundle_dir: Path | None = None) -> RunRecord:
    """Judge each flow as the transfer over its path, and all of them together.

    Args:
        plan: what was to be done.
        raw: what was measured.
        bundle_dir: folder with `samples.parquet` and `links.parquet`; without it `steady_goodput_bps` stays.

    Returns:
        a copy of the record; each of its flows has `steady_goodput_bps`, the delays under load, `limited_by`,
        `limited_by_why`, `verdicts` and `passed`; the record has the delay of each queue, the score of one flow and the
        contest's rules, and Jain's index of several.
    """
    samples = Samples(bundle_dir) if bundle_dir else None
    flows = [flow.model_copy(update={"window": flow.window.model_copy()}) for flow in raw.flows]
    record = raw.model_copy(update={"flows": flows})  # the rest of it is not changed, and large where hosts are many
    own = {flow.name: samples.alone(plan, flow) for flow in record.flows} if samples else {}
    shares = FlowShares(record, own)
    shared = SharedLanes(plan, record, shares)
    for flow, planned in zip(record.flows, plan.flows, strict=True):
        path = path_of(plan, planned)
        _judge_flow(path, record.alone(flow), own.get(flow.name), shared.others_beside(planned, path))
        if planned.transfer.protocol == "tcp":
            flow.limited_by, flow.limited_by_why = shared.limit_of(planned, path, flow)
    if record.flows[1:]:
        names = contenders(record)
        record.jain_index = jain_index(list(shares.goodput_bps(names).values())) if names[1:] else None
    else:
        path = path_of(plan, plan.flow)
        record.score_bit_m_per_s = score(record.goodput_bps, distance_m(path))
        record.rules = check_rules(path, record, distance_m(path)) if plan.contest else []
    if samples is not None and record.duration_s:
        record.queue_delays = queue_delays(plan, record.world, samples, settled_s(record.duration_s))
    return record


def _judge_flow(plan: Plan, record: RunRecord, samples: Samples | None, others: SharedTimes) -> None:
    """Judge the one flow of a record as the transfer over its path, whose links `others` pass at times."""
    (flow,) = record.flows
    curves = samples.curves if samples else None
    end_s = curves.stopped_s(flow.duration_s if plan.transfer.bytes is None else None) if curves else 0.0
    from_s, _ = settled_s(end_s)
    if curves is not None and from_s == STEADY_FROM_S:
        flow.steady_goodput_bps = curves.goodput_bps(from_s, end_s)
    if curves is not None:
        flow.settled_goodput_bps = flow.steady_goodput_bps or curves.goodput_bps(curves.end_s / 2)
    if samples is not None and (loaded := loaded_rtt(samples, (from_s, end_s))):
        for name, value in asdict(loaded).items():
            setattr(flow, f"rtt_loaded_{name}", value)
    if samples is not None and plan.transfer.ping:
        figures = ping_figures(samples.pings, (from_s, end_s), held_rtts(samples, (from_s, end_s)))
        for name, value in figures.items():
            setattr(flow, name, value)
    if flow.rtt_ms is None and flow.calibration is not None:
        flow.rtt_ms = flow.calibration.rtt_ms
    datagrams = plan.transfer.protocol == "udp"
    attribution = Attribution.of_flow(plan, record.world, samples, others) if samples and not datagrams else None
    if attribution is not None:
        shares = attribution.shares(from_s, attribution.end_s)
        flow.limit_shares = {state: round(share, 3) for state, share in shares.items()}
        flow.limit_phases = [
            LimitPhase(state=span.state, begin_s=round(span.begin_s, 3), end_s=round(span.end_s, 3))
            for span in attribution.phases()
        ]
    if datagrams:
        flow.limited_by, flow.limited_by_why = datagram_limit(plan, flow, samples, others)
        steps = flow.tool_result.one_way_delay_steps_ms
        if plan.transfer.call and steps and flow.udp_lost is not None:
            flow.udp_call_mos = round(heard_opinion(steps, flow.udp_lost), 3)
    else:
        flow.limited_by, flow.limited_by_why = limited_by(plan, record, samples, attribution)
        flow.window.warning = window_note(plan, record)
    flow.verdicts = _verdicts(plan, record, curves)
    flow.passed = all(verdict.ok is not False for verdict in flow.verdicts)


def distance_m(plan: Plan) -> int | None:
    """Terrestrial distance that counts: the submitted one where there is one, else the sum of the links."""
    if plan.expect is not None and plan.expect.distance_m is not None:
        return plan.expect.distance_m
    return plan.physics.distance_m


def score(goodput_bps: float | None, distance: float | None) -> float | None:
    """Internet2 Land Speed Record score: rate times terrestrial distance, in bit·m/s."""
    return None if goodput_bps is None or distance is None else goodput_bps * distance


# --- Verdicts --------------------------------------------------------------------------------------------------------


def _verdicts(plan: Plan, record: RunRecord, curves: ByteCurves | None) -> list[Check]:
    found = [_calibration(record), _rtt(plan, record), _delivery(plan, record), _subflows(plan, record)]
    found += [_goodput(plan, record, curves), _bytes(plan, record), _streams(plan, record)]
    return [verdict for verdict in found if verdict is not None]


def _ok(measured: float, expected: float, allowed: float) -> bool:
    return abs(measured - expected) <= allowed * (1 + SLACK) + SLACK


def _calibration(record: RunRecord) -> Check:
    name, what, calibration = "calibration", "the path before the transfer", record.calibration
    if calibration is None or calibration.passed is None:
        return Check(name, None, "the path was not calibrated", what=what)
    if calibration.passed:
        return Check(name, True, "RTT, MTU and rate of the built path match the plan", what=what)
    return Check(name, False, "; ".join(calibration.failures) or "calibration failed", what=what)


def _rtt(plan: Plan, record: RunRecord) -> Check:
    recorded = plan.expect is not None and plan.expect.rtt_ns is not None
    expected = (plan.expect.rtt_ns if plan.expect and plan.expect.rtt_ns else echo_ns(plan)) / 1e6
    tolerance = plan.calibration.rtt_tolerance
    floor_ms = record.calibration.rtt_floor_ms if record.calibration else None
    allowed = rtt_allowed_ms(
        plan, 0, plan.hops, expected, tolerance=tolerance, floor_ms=RTT_FLOOR_MS if floor_ms is None else floor_ms
    )
    ok, text = None, "RTT was not measured"
    if record.rtt_ms is not None:
        ok = _ok(record.rtt_ms, expected, allowed)
        limit = tolerance_text(tolerance)
        if allowed > tolerance * expected * (1 + SLACK):
            limit = f"±{NARROW}{time_text(allowed * 1e6)}"
        whose = "the plan's" if not recorded else "measured" if plan.expect and plan.expect.measured else "the record's"
        text = f"{time_text(record.rtt_ms * 1e6)}, {whose} {time_text(expected * 1e6)} ({limit})"
    return Check("rtt", ok, text, expected, record.rtt_ms, allowed, "ms", "RTT")


def _delivery(plan: Plan, record: RunRecord) -> Check:
    expected, what = plan.transfer.bytes, "bytes that the receiver read"
    if record.bytes is None or record.error is not None:
        return Check("delivery", False, record.error or "no transfer was made", expected, record.bytes, 0, "B", what)
    text = f"{grouped(record.bytes)} B read by the receiver"
    if expected is not None:
        ok = record.bytes >= expected and record.tool_result.complete
        return Check("delivery", ok, f"{text}, {grouped(expected)} B asked for", expected, record.bytes, 0, "B", what)
    ok = record.tool_result.complete and record.bytes > 0
    return Check("delivery", ok, text, None, record.bytes, None, "B", what)


def _subflows(plan: Plan, record: RunRecord) -> Check | None:
    """Check that MPTCP sent data over both routes; None without MPTCP."""
    if not plan.transfer.mptcp:
        return None
    moved = bytes_of_subflows(record.streams)
    shares = ", ".join(f"{100 * count / max(sum(moved), 1):.1f} %" for count in moved)
    text = f"of the data that was acknowledged, the routes carried {shares}" if moved else "no subflow was joined"
    what = "routes that carried data"
    return Check("routes", len(moved) >= 2 and all(moved), text, 2, sum(count > 0 for count in moved), 0, "", what)


def _goodput_tolerance(plan: Plan) -> float:
    stated = plan.expect.goodput_tolerance if plan.expect else None
    return GOODPUT_TOLERANCE if stated is None else stated


def _goodput(plan: Plan, record: RunRecord, curves: ByteCurves | None) -> Check | None:
    expect = plan.expect
    if expect is None or expect.goodput_bps is None:
        return None
    tolerance, expected, begin = _goodput_tolerance(plan), float(expect.goodput_bps), expect.goodput_from_s
    if begin <= 0:
        measured, span = record.goodput_bps, "over the whole run"
    else:
        measured = record.steady_goodput_bps if begin == STEADY_FROM_S else None
        if measured is None and curves is not None:
            measured = curves.goodput_bps(begin)
        span = f"from {begin:g} s on"
    allowed = tolerance * expected
    ok, text = False, record.tool_result.goodput_reason or f"not measured {span}"
    if measured is not None:
        ok = _ok(measured, expected, allowed)
        error = f"{signed_percent(measured / expected - 1)}, {tolerance_text(tolerance)}"
        wanted = "measured" if expect.measured else "expected"
        text = f"{rate_text(measured)} {span}, {wanted} {rate_text(expected)} ({error})"
    return Check("goodput", ok, text, expected, measured, allowed, "bit/s", "goodput")


def _bytes(plan: Plan, record: RunRecord) -> Check | None:
    expect, transfer, what = plan.expect, plan.transfer, "bytes moved, beside the record's"
    if expect is None or expect.bytes is None:
        return None
    expected, moved = expect.bytes, record.bytes
    same = transfer.bytes == expected or (transfer.bytes is None and transfer.duration_ns == expect.duration_ns)
    if not same:
        text = "not compared: this run was asked for another amount than the record's"
        return Check("bytes", None, text, expected, moved, None, "B", what)
    allowed = 0.0 if transfer.bytes is not None else _goodput_tolerance(plan) * expected
    if moved is None:
        return Check("bytes", False, "no bytes were moved", expected, None, allowed, "B", what)
    text = f"{moved / 1e9:.3f} GB moved, the record moved {expected / 1e9:.3f} GB"
    return Check("bytes", _ok(moved, expected, allowed), text, expected, moved, allowed, "B", what)


def _streams(plan: Plan, record: RunRecord) -> Check | None:
    if plan.expect is None or not plan.expect.streams_goodput_bps:
        return None
    what = "share of the mean by which a stream differs from it, at most"
    rates = [stream.goodput_bps for stream in record.streams if stream.goodput_bps is not None]
    if len(rates) != plan.transfer.streams or not sum(rates):
        text = f"{len(rates)} of {plan.transfer.streams} streams were measured"
        return Check("streams", False, text, 0.0, None, STREAM_SPREAD, "", what)
    mean = sum(rates) / len(rates)
    spread = max(abs(rate / mean - 1) for rate in rates)
    limit = f"at most {STREAM_SPREAD * 100:g} %"
    text = f"every stream within {spread * 100:.2g} % of the mean of {rate_text(mean)} ({limit})"
    return Check("streams", spread <= STREAM_SPREAD * (1 + SLACK), text, 0.0, spread, STREAM_SPREAD, "", what)
