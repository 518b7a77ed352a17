"""The checks of a calibration, made once for every world: what was planned, what was measured, what was allowed.

A world measures and says its tolerances (`tolerance`, `rate_tolerance`: scenario/plan/plan.py has the usual ones;
`rtt_floor_ms` and the rest: scenario/theory/tolerances.py); here they become checks, which its gate decides by, the
record keeps and the report draws. The guest imports this module, so it stays light.
"""

# The guest imports this: dataclasses and typing are guest/stdlib_stand_ins there.
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from landspeed.results.check import Check
from landspeed.scenario.theory.tolerances import (
    FORMER_RTT_FLOOR_MS,
    QUEUE_FLOOR_BYTES,
    QUEUE_TOLERANCE,
    rate_allowed,
    rtt_allowed_ms,
)

if TYPE_CHECKING:
    from landspeed.results.record import CalibrationResult
    from landspeed.scenario.plan.plan import Plan

WHAT = {"rtt": "RTT", "mtu": "path MTU", "rate": "bottleneck rate", "queue": "queue", "hop": "RTT", "ttl": "TTL"}
IN_ONE_STEP, HOP_BY_HOP = "in one step", "hop by hop"
BY_BOTH_WAYS = (IN_ONE_STEP, HOP_BY_HOP)
"""How the places of checks end where some links are passed in one step, and both ways are measured."""


class Calibrated(Protocol):
    """Measurements of a world: a `CalibrationResult`, or the guest's values before it is one. In ms and bit/s."""

    @property
    def rtt_ms(self) -> float | None: ...
    @property
    def rtt_expected_ms(self) -> float | None: ...
    @property
    def tolerance(self) -> float | None: ...
    @property
    def rtt_floor_ms(self) -> float | None: ...
    @property
    def hops(self) -> list[dict[str, Any]]: ...
    @property
    def reverse_hops(self) -> list[dict[str, Any]]: ...
    @property
    def path_mtu_bytes(self) -> int | None: ...
    @property
    def mtu_expected_bytes(self) -> int | None: ...
    @property
    def rate_bps(self) -> float | None: ...
    @property
    def rate_expected_bps(self) -> float | None: ...
    @property
    def rate_reverse_bps(self) -> float | None: ...
    @property
    def rate_reverse_expected_bps(self) -> float | None: ...
    @property
    def rate_tolerance(self) -> float | None: ...
    @property
    def joined(self) -> list[dict[str, Any]]: ...
    @property
    def queue(self) -> list[dict[str, Any]] | None: ...


def with_checks(plan: Plan, calibration: CalibrationResult) -> CalibrationResult:
    """The calibration with its checks."""
    return calibration.model_copy(update={"checks": calibration_checks(plan, calibration)})


def calibration_checks(plan: Plan, calibration: Calibrated) -> list[Check]:
    """End to end, then the queues, then hop by hop from both ends.

    Times are in ms, rates in bit/s of IP packets of full size, sizes in bytes.
    """
    last = plan.hops
    found: list[Check] = []
    if calibration.rtt_expected_ms is not None:
        allowed = _rtt_allowed_ms(plan, calibration, 0, last, calibration.rtt_expected_ms)
        place = f"{plan.nodes[0].name} → {plan.nodes[last].name}"
        found.append(_check("rtt", place, calibration.rtt_expected_ms, calibration.rtt_ms, allowed=allowed, unit="ms"))
    if calibration.mtu_expected_bytes is not None:
        wanted, seen = calibration.mtu_expected_bytes, calibration.path_mtu_bytes
        found.append(_check("mtu", "", wanted, seen, allowed=0, unit="B"))
    for way, expected, measured in (
        ("forward", calibration.rate_expected_bps, calibration.rate_bps),
        ("reverse", calibration.rate_reverse_expected_bps, calibration.rate_reverse_bps),
    ):
        if expected is not None:
            share = rate_allowed(plan, calibration.rate_tolerance or 0.0, forward=way == "forward")
            found.append(_check("rate", way, expected, measured, allowed=share * expected, unit="bit/s"))
    for joined in calibration.joined:
        found += _joined(plan, calibration, joined)
    for queue in calibration.queue or []:
        expected = queue.get("expected_bytes")
        if expected is not None:
            allowed = queue.get("allowed_bytes") or max(QUEUE_TOLERANCE * expected, QUEUE_FLOOR_BYTES)
            seen = queue.get("measured_bytes")
            found.append(_check("queue", queue_place(plan, queue), expected, seen, allowed=allowed, unit="B"))
    for origin, hops in ((0, calibration.hops), (last, calibration.reverse_hops)):
        found += [_hop(plan, calibration, origin, hop) for hop in hops if hop.get("expected_ms") is not None]
    return found


def hop_place(plan: Plan, origin: int, ttl: int) -> str:
    """`a → c`: from an end to its hop of this number."""
    target = plan.nodes[ttl].name if origin == 0 else plan.returned[ttl - 1].a
    return f"{plan.nodes[origin].name} → {target}"


def queue_place(plan: Plan, queue: dict[str, Any]) -> str:
    """`a → b`: the way that a queue's packets go."""
    link = plan.links[int(queue["link"])]
    return f"{link.a} → {link.b}" if queue["direction"] == "forward" else f"{link.b} → {link.a}"


def _joined(plan: Plan, calibration: Calibrated, joined: dict[str, Any]) -> list[Check]:
    origin = int(joined["origin"])
    forward, target = origin == 0, plan.hops - origin
    place = f"{plan.nodes[origin].name} → {plan.nodes[target].name} {IN_ONE_STEP}"
    expected = float(joined["expected_ms"])
    allowed = _rtt_allowed_ms(plan, calibration, origin, target, expected)
    found = [_check("rtt", place, expected, joined["rtt_ms"], allowed=allowed, unit="ms")]
    found.append(_check("ttl", place, joined["expected_ttl"], joined["reply_ttl"], allowed=0, unit=""))
    rate = calibration.rate_expected_bps if forward else calibration.rate_reverse_expected_bps
    if rate is not None and "every_hop_rate_bps" in joined:
        share, seen = (
            rate_allowed(plan, calibration.rate_tolerance or 0.0, forward=forward),
            joined["every_hop_rate_bps"],
        )
        every_hop = f"{'forward' if forward else 'reverse'}, {HOP_BY_HOP}"
        found.append(_check("rate", every_hop, rate, seen, allowed=share * rate, unit="bit/s"))
    return found


def _hop(plan: Plan, calibration: Calibrated, origin: int, hop: dict[str, Any]) -> Check:
    ttl, expected = int(hop["ttl"]), float(hop["expected_ms"])
    allowed = _rtt_allowed_ms(plan, calibration, origin, origin + ttl if origin == 0 else origin - ttl, expected)
    measured = hop.get("rtt_ms", hop.get("forward_rtt_ms"))
    if hop.get("answered_by") not in (None, hop.get("address")):
        measured = None  # another node's answer says nothing of this one
    return _check("hop", hop_place(plan, origin, ttl), expected, measured, allowed=allowed, unit="ms")


def _rtt_allowed_ms(plan: Plan, calibration: Calibrated, origin: int, target: int, expected_ms: float) -> float:
    floor_ms = FORMER_RTT_FLOOR_MS if calibration.rtt_floor_ms is None else calibration.rtt_floor_ms
    tolerance = calibration.tolerance or 0.0
    return rtt_allowed_ms(plan, origin, target, expected_ms, tolerance=tolerance, floor_ms=floor_ms)


def _check(name: str, place: str, expected: float, measured: float | None, *, allowed: float, unit: str) -> Check:
    ok = measured is not None and abs(measured - expected) <= allowed * (1 + 1e-9)
    digits = 3 if unit == "ms" else 0
    what = WHAT[name]
    unit_after = f" {unit}" if unit else ""
    seen = "not measured" if measured is None else f"{measured:.{digits}f}{unit_after}"
    limit = f" ± {allowed:.{digits}f}" if allowed else ""
    text = f"{what}{' ' if place else ''}{place}: {seen}, the plan says {expected:.{digits}f}{limit}{unit_after}"
    return Check(
        name=name,
        what=what,
        place=place,
        expected=expected,
        measured=measured,
        allowed=allowed,
        unit=unit,
        ok=ok,
        text=text,
    )
