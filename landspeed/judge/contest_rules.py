"""The contest's rules, one by one: met, not met, or not shown, with the evidence.

The rules of the Internet2 Land Speed Record as the records' documents quote them (CERN and Caltech 2003; SUNET 2004,
rule 7), and those that submissions name beside them: unique data, and ten per cent above the record before. A rule is
*not shown* where a run in the guest cannot show it, or where nothing in its bundle does; then the evidence says what
the recorded team's documents have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from landspeed.base.text import NARROW, bytes_text, grouped, scientific, signed_percent
from landspeed.judge.distance import every_place_known, legs
from landspeed.results.record import RuleCheck, RunRecord

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Plan

LEAST_BYTES = 100 * 10**6
LEAST_DISTANCE_M = 100_000
LEAST_ROUTERS = 2
LEAST_IMPROVEMENT = 0.10
DISTANCE_TOLERANCE = 0.02  # cities are not points, and teams measured with other tools
DELIVERING_MODES = ("memory", "verify", "file")


def check_rules(plan: Plan, record: RunRecord, distance_m: int | None) -> list[RuleCheck]:
    """Every rule, judged from plan and record alone.

    Args:
        plan: what was to be done, with what the documents say.
        record: what was measured; goodput, bytes, calibration and score already filled in.
        distance_m: the distance that counts.
    """
    return [
        _amount(record),
        _distance(distance_m),
        _legs(plan, distance_m),
        _routers(plan, record),
        _networks(plan),
        _class(plan, record),
        _delivered(record),
        _unique(plan, record),
        _improvement(plan, record),
    ]


def contest_class(plan: Plan) -> str:
    """IPv4 or IPv6, single or multiple stream."""
    return f"IPv{plan.ip_version} {'single' if plan.transfer.streams == 1 else 'multiple'} stream"


def previous_score(plan: Plan) -> float | None:
    """Score of the record that had to be beaten; from the recorded score where only the improvement is known."""
    before = plan.contest.previous if plan.contest else None
    if before is None:
        return None
    if before.score_bit_m_per_s is not None:
        return float(before.score_bit_m_per_s)
    own = plan.expect.score_bit_m_per_s if plan.expect else None
    return own / (1 + before.improvement) if own and before.improvement is not None else None


def _check(name: str, rule: str, met: bool | None, evidence: str) -> RuleCheck:
    state = "not shown" if met is None else "met" if met else "not met"
    return RuleCheck(name=name, rule=rule, state=state, evidence=evidence)


def _amount(record: RunRecord) -> RuleCheck:
    rule = "At least 100 megabytes are transferred"
    if record.bytes is None:
        return _check("amount", rule, None, "no transfer was made")
    return _check("amount", rule, record.bytes >= LEAST_BYTES, f"{grouped(record.bytes)} B read by the receiver")


def _distance(distance_m: int | None) -> RuleCheck:
    rule = "Over a terrestrial distance of at least 100 km"
    if distance_m is None:
        return _check("distance", rule, None, "the scenario states no distance")
    return _check("distance", rule, distance_m >= LEAST_DISTANCE_M, f"{_km(distance_m)}, as stated")


def _legs(plan: Plan, distance_m: int | None) -> RuleCheck:
    rule = "Distance counted between the cities of the router hops (rule 7)"
    known = legs(plan)
    total = sum(leg.computed_m for leg in known)
    if distance_m is None or not known:
        return _check("legs", rule, None, "no positions, or no distance stated")
    if not every_place_known(plan):
        missing = sum(1 for node in plan.nodes if node.latitude_deg is None)
        at_least = (
            f"{missing} of {len(plan.nodes)} places are not known; geodesics between the known ones: {_km(total)}"
        )
        if total > distance_m * (1 + DISTANCE_TOLERANCE):
            return _check("legs", rule, False, f"{at_least}, more than the {_km(distance_m)} stated")
        return _check("legs", rule, None, f"{at_least}, of {_km(distance_m)} stated")
    apart = total / distance_m - 1
    text = f"geodesics leg by leg {_km(total)}, stated {_km(distance_m)} ({signed_percent(apart, 2)})"
    return _check("legs", rule, abs(apart) <= DISTANCE_TOLERANCE, text)


def _routers(plan: Plan, record: RunRecord) -> RuleCheck:
    rule = "At least two router hops in each direction"
    calibration = record.calibration
    routers = {node.name for node in plan.nodes if node.kind == "router"}
    if calibration is None or not calibration.hops:
        return _check("routers", rule, None, f"{len(routers)} routers in the scenario; no traceroute was made")
    counts = [sum(1 for hop in hops if hop.get("node") in routers and hop.get("rtt_ms") is not None)
              for hops in (calibration.hops, calibration.reverse_hops)]  # fmt: skip
    text = f"routers that answered a traceroute: {counts[0]} from the sender, {counts[1]} from the receiver"
    return _check("routers", rule, min(counts) >= LEAST_ROUTERS, text)


def _networks(plan: Plan) -> RuleCheck:
    rule = "Across operational, production-oriented research and education networks"
    said = plan.contest.networks if plan.contest else None
    text = "a rehearsal crosses no network but its own"
    return _check("networks", rule, None, f"{text}; recorded: {said.strip()}" if said else text)


def _class(plan: Plan, record: RunRecord) -> RuleCheck:
    rule = "In one class: IPv4 or IPv6, single or multiple stream"
    if not record.streams:
        return _check("class", rule, None, f"{contest_class(plan)} was planned; no stream was measured")
    same = len(record.streams) == plan.transfer.streams
    text = f"{contest_class(plan)}: {len(record.streams)} TCP connection{'s' if len(record.streams) > 1 else ''}"
    return _check("class", rule, same, text)


def _delivered(record: RunRecord) -> RuleCheck:
    rule = "The data reaches the receiving application"
    mode = record.tool_result.receive_mode
    if mode is None:
        return _check("delivered", rule, None, f"{record.tool} does not say how it received")
    text = f"received in mode {mode}"
    if mode not in DELIVERING_MODES:
        return _check("delivered", rule, False, f"{text}: the kernel counted the payload and threw it away")
    return _check("delivered", rule, True, text)


def _unique(plan: Plan, record: RunRecord) -> RuleCheck:
    rule = "The data is unique, not one buffer again and again"
    said = plan.contest.payload if plan.contest else None
    recorded = f"; recorded: {said.strip()}" if said else ""
    if record.tool_result.receive_mode == "verify":
        each = [stream.verified for stream in record.streams]
        blocks = sum(one.blocks for one in each if one)
        faults = sum(one.faults for one in each if one)
        if not blocks or not all(each):
            return _check("unique", rule, None, f"verification was asked for, and no block is in the result{recorded}")
        counted = f"{grouped(blocks)} blocks, {grouped(faults)} faults"
        text = f"each block numbered, of generated data of its own, its checksum verified by the receiver: {counted}"
        return _check("unique", rule, faults == 0, text + recorded)
    text = "the payload is one memory file, sent again and again"
    return _check("unique", rule, False if record.tool == "engine" else None, text + recorded)


def _improvement(plan: Plan, record: RunRecord) -> RuleCheck:
    rule = "At least 10 % above the record of its class before it"
    before = plan.contest.previous if plan.contest else None
    least = previous_score(plan)
    if before is None or least is None or record.score_bit_m_per_s is None:
        said = before.what.strip() if before else "the scenario names no record before it"
        return _check("improvement", rule, None, said)
    gain = record.score_bit_m_per_s / least - 1
    text = (
        f"{scientific(record.score_bit_m_per_s)} against {scientific(least)} bit·m/s ({signed_percent(gain, 1)}); "
        f"before: {before.what.strip()}"
    )
    return _check("improvement", rule, gain >= LEAST_IMPROVEMENT, text)


def _km(metres: float) -> str:
    return f"{metres / 1000:,.0f}".replace(",", NARROW) + " km"


def rules_summary(checks: list[RuleCheck]) -> str:
    """`6 met, 1 not met, 2 not shown`."""
    counts = [(sum(1 for check in checks if check.state == state), state) for state in ("met", "not met", "not shown")]
    return ", ".join(f"{count} {state}" for count, state in counts if count)


def transferred_text(record: RunRecord) -> str:
    """Start, amount, time and rate in one line, as the submissions begin."""
    size, unit = (1e3, "kbit/s") if (record.goodput_bps or 0) < 1e6 else (1e6, "Mbit/s")
    rate = f"{record.goodput_bps / size:.3f} {unit}" if record.goodput_bps else "–"
    return f"{bytes_text(record.bytes)} in {record.duration_s or 0:.3f} s, {rate}"
