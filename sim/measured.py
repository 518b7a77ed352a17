"""What the simulator measured of its path before the transfer, against the plan, and what became of the events."""

from __future__ import annotations

from typing import Any

from ..scenarios import physics as ph
from ..scenarios.plan import Plan

ECHO_BYTES = 84  # the IP packet of an ordinary ping
RTT_FLOOR_MS = 0.05  # as the emulated world has it: a tolerance in per cent of a hop next door would be nothing


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
    mtu, found_mtu = min(link.mtu_bytes for link in plan.links), measured.get("path_mtu_bytes")
    failures = [
        f"RTT to {hop['node']} is {hop['rtt_ms']:.3f} ms, the plan says {hop['expected_ms']:.3f} ms"
        for hop in (*hops, *reverse_hops)
        if abs(hop["rtt_ms"] - hop["expected_ms"]) > max(tolerance * hop["expected_ms"], RTT_FLOOR_MS)
    ]
    if found_mtu != mtu:
        failures.append(f"path MTU is {found_mtu} B, the plan says {mtu} B")
    rates = {}
    for name, key, forward in (("forward", "rate_bps", True), ("reverse", "rate_reverse_bps", False)):
        expected, rate = _slowest_rate_bps(plan, forward=forward), measured.get(key)
        rates |= {key: rate, key.replace("_bps", "_expected_bps"): expected}
        if rate is None or abs(rate / expected - 1) > rate_tolerance:
            seen = "not measured" if rate is None else f"{rate / 1e6:.2f} Mbit/s"
            failures.append(f"{name} bottleneck rate: {seen}, the plan says {expected / 1e6:.2f} Mbit/s of IP packets")
    return {
        **measured,
        **rates,
        "rtt_expected_ms": hops[-1]["expected_ms"] if hops else None,
        "tolerance": tolerance,
        "hops": hops,
        "reverse_hops": reverse_hops,
        "mtu_expected_bytes": mtu,
        "rate_tolerance": rate_tolerance,
        "passed": not failures,
        "failures": failures,
    }


def happened(plan: Plan, simulated_s: float, counts: list[int | None] | None = None) -> list[dict[str, Any]]:
    """The plan's events as records: a simulator's happen at their time to the nanosecond, if it came so far.

    Args:
        plan: what was to happen.
        simulated_s: how far the simulation came.
        counts: packets that each event took, null for one that takes none; None: not told.
    """
    found = []
    for number, event in enumerate(plan.events):
        counted = counts[number] if counts and event.kind in ("loss", "down") else None
        planned_s = event.at_ns / 1e9
        until_s = planned_s + event.duration_ns / 1e9 if event.duration_ns else None
        reached = planned_s <= simulated_s
        found.append(
            {
                "kind": event.kind,
                "link": event.link,
                "direction": event.direction,
                "planned_s": planned_s,
                "at_s": planned_s if reached else None,
                "until_s": until_s if until_s is not None and until_s <= simulated_s else None,
                "packets_lost": counted if reached else None,
            }
        )
    return found


def _with_expected(plan: Plan, hops: list[dict[str, Any]], *, from_sender: bool) -> list[dict[str, Any]]:
    """Each hop with what the plan says: propagation, and an echo's serialization on every link, both ways."""
    links = plan.links if from_sender else plan.links[::-1]
    round_trips_ms = [
        sum(
            lane.delay_ns + ph.serialization_ns(ECHO_BYTES, link.framing_bytes, lane.rate_bps)
            for lane in (link.forward, link.reverse)
        )
        / 1e6
        for link in links
    ]
    return [{**hop, "expected_ms": sum(round_trips_ms[: hop["ttl"]])} for hop in hops]


def _slowest_rate_bps(plan: Plan, *, forward: bool) -> float:
    """Bits of full-size IP packets per second that the slowest part of a direction carries."""
    mtu = min(link.mtu_bytes for link in plan.links)
    lanes = [(link, link.forward if forward else link.reverse) for link in plan.links]
    rates = [lane.rate_bps * mtu / (mtu + link.framing_bytes) for link, lane in lanes]
    for node, link in ((plan.nodes[0], plan.links[0]), (plan.nodes[-1], plan.links[-1])):
        if node.nic_rate_bps is not None:
            rates.append(node.nic_rate_bps * mtu / (mtu + link.framing_bytes))
        if node.bus_rate_bps is not None:
            rates.append(node.bus_rate_bps)
    return min(rates)
