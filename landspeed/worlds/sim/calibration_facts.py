"""Measurements of the simulator on its path before the transfer, against the plan, and the outcome of the events."""

from __future__ import annotations

from typing import Any

from landspeed.base.units_text import rate_text, time_text
from landspeed.results.record import EventResult
from landspeed.scenario.plan.plan import Plan
from landspeed.scenario.theory.timing import echo_bytes, path_mtu, slowest_rate_bps, way
from landspeed.scenario.theory.tolerances import RTT_FLOOR_MS


def calibration(plan: Plan, measured: dict[str, Any]) -> dict[str, Any]:
    """The fields of `CalibrationResult`.

    Args:
        plan: what was to be built.
        measured: `calibration` of the simulator's result: `hops`, `reverse_hops`, `rtt_ms`, `path_mtu_bytes`,
            `rate_bps`, `rate_reverse_bps`.
    """
    tolerance, rate_tolerance = plan.calibration.rtt_tolerance, plan.calibration.rate_tolerance
    hops = _with_expected(plan, measured.get("hops") or [], from_sender=True)
    reverse_hops = _with_expected(plan, measured.get("reverse_hops") or [], from_sender=False)
    mtu, found_mtu = path_mtu(plan), measured.get("path_mtu_bytes")
    failures = [
        f"RTT to {hop['node']} is {time_text(hop['rtt_ms'] * 1e6)}, the plan says {time_text(hop['expected_ms'] * 1e6)}"
        for hop in (*hops, *reverse_hops)
        if abs(hop["rtt_ms"] - hop["expected_ms"]) > max(tolerance * hop["expected_ms"], RTT_FLOOR_MS)  # no jitter here
    ]
    if found_mtu != mtu:
        failures.append(f"path MTU is {found_mtu} B, the plan says {mtu} B")
    rates: dict[str, float | None] = {}
    for name, key, forward in (("forward", "rate_bps", True), ("reverse", "rate_reverse_bps", False)):
        expected, rate = slowest_rate_bps(plan, forward=forward), measured.get(key)
        rates |= {key: rate, key.replace("_bps", "_expected_bps"): expected}
        if rate is None or abs(rate / expected - 1) > rate_tolerance:
            seen = "not measured" if rate is None else rate_text(rate)
            failures.append(f"{name} bottleneck rate: {seen}, the plan says {rate_text(expected)} of IP packets")
    return {
        **measured,
        **rates,
        "rtt_expected_ms": hops[-1]["expected_ms"] if hops else None,
        "tolerance": tolerance,
        "rtt_floor_ms": RTT_FLOOR_MS,
        "hops": hops,
        "reverse_hops": reverse_hops,
        "mtu_expected_bytes": mtu,
        "rate_tolerance": rate_tolerance,
        "passed": not failures,
        "failures": failures,
    }


def happened(plan: Plan, simulated_s: float, counts: list[int | None] | None = None) -> list[EventResult]:
    """The plan's events as records: a simulator's happen at their time to the nanosecond, if it came so far.

    Args:
        plan: what was to happen.
        simulated_s: how far the simulation came.
        counts: packets that each event took, null for one that takes none; None: not told.
    """
    found: list[EventResult] = []
    for number, event in enumerate(plan.events):
        counted = counts[number] if counts and event.kind in ("loss", "down") else None
        planned_s = event.at_ns / 1e9
        until_s = planned_s + event.duration_ns / 1e9 if event.duration_ns else None
        reached = planned_s <= simulated_s
        found.append(
            EventResult(
                kind=event.kind,
                link=event.link,
                direction=event.direction,
                planned_s=planned_s,
                at_s=planned_s if reached else None,
                until_s=until_s if until_s is not None and until_s <= simulated_s else None,
                packets_lost=counted if reached else None,
            )
        )
    return found


def _with_expected(plan: Plan, hops: list[dict[str, Any]], *, from_sender: bool) -> list[dict[str, Any]]:
    """Each hop with what the plan says. What answers here is as large as what asked, at routers too."""
    last, asked = plan.hops, echo_bytes(plan.ip_version)
    there, back = list(way(plan, 0, last)), list(way(plan, last, 0))
    begins, returns = [link.a for link in plan.links[:last]], [link.b for link in plan.returned]
    if not from_sender:
        there, back, returns = back, there, begins
    found: list[dict[str, Any]] = []
    for hop in hops:
        lines = (*there[: hop["ttl"]], *back[returns.index(hop["node"]) :])
        found.append({**hop, "expected_ms": sum(line.takes_ns(asked) for line in lines) / 1e6})
    return found
