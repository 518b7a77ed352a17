"""Differences of two sides of a comparison beyond the tolerance, and the causes that their samples make likely."""

from __future__ import annotations

import math
from dataclasses import dataclass

from landspeed.base.limits import LINE_RATE, PACING, SLOW_START, UNKNOWN, WINDOW
from landspeed.base.text import NARROW, bytes_text, rate_text, signed_percent
from landspeed.report.comparison_sides import Side
from landspeed.results.record import QueueDelay

DELAY = "Round-trip time under load"
TIME_TOLERANCE = 0.10  # of a time, beyond one round trip and one sample


@dataclass(frozen=True)
class Difference:
    """One thing that differs. `cause` is at most likely; without evidence in the samples it is empty.

    Attributes:
        also: weaker causes, each with its evidence.
    """

    what: str
    apart: str
    cause: str = ""
    evidence: str = ""
    also: str = ""


def differences(first: Side, other: Side, tolerance: float) -> list[Difference]:
    """Find the differences of two sides.

    Args:
        first: the side that others are held against.
        other: another one.
        tolerance: of rates and volumes, 0…1.
    """
    found = _delay_difference(first, other, tolerance)
    slack_s = _slack_s(first, other)
    for what, one, two in (
        ("Goodput", first.record.goodput_bps, other.record.goodput_bps),
        ("Settled goodput", first.settled_bps, other.settled_bps),
    ):
        if one is not None and two is not None and abs(two - one) > tolerance * one:
            causes = _level_causes(first, other) if what == "Settled goodput" else _start_causes(first, other, slack_s)
            causes = causes or _shorter_queue(first, other)
            apart = signed_percent(two / one - 1, 2) if one else f"nothing, and {rate_text(two)}"
            found.append(_difference(what, apart, causes))
    if first.full_s is not None and other.full_s is not None and _full_differs(first, other, slack_s):
        apart = f"{first.full_s:.2f} s and {other.full_s:.2f} s"
        found.append(_difference("Time to full rate", apart, _start_causes(first, other, slack_s)))
    one, two = first.slow_start, other.slow_start
    if one and two and _times_differ(one.exit_s, two.exit_s, slack_s):
        apart = f"left after {one.exit_s:.2f} s and {two.exit_s:.2f} s"
        found.append(_difference("Slow start", apart, _start_causes(first, other, slack_s)))
    found += _response_differences(first, other, tolerance)
    return found


def _delay_difference(first: Side, other: Side, tolerance: float) -> list[Difference]:
    """The round trip under load, with what was gained or lost of the goodput for it; it comes first where it differs.

    Median or p99 has to be further apart than times may be. The cause is a queue that accounts for half of it or more.
    """
    medians = [side.record.rtt_loaded_median_ms for side in (first, other)]
    tails = [side.record.rtt_loaded_p99_ms for side in (first, other)]
    if None in medians or None in tails:
        return []
    one, two = [each or 0.0 for each in medians], [each or 0.0 for each in tails]
    if not any(abs(a - b) > TIME_TOLERANCE * min(a, b) for a, b in (one, two)):
        return []
    apart = f"{one[0]:.3f} ms and {one[1]:.3f} ms median, {two[0]:.3f} ms and {two[1]:.3f} ms p99"
    rates = [side.record.goodput_bps for side in (first, other)]
    if rates[0] and rates[1]:
        share = rates[1] / rates[0] - 1
        same = "the same goodput" if abs(share) <= tolerance else f"{signed_percent(share, 2)} of goodput"
        apart += f", with {same}"
    queues = [longest_queue(side) for side in (first, other)]
    waits = [queue.median_ms if queue else 0.0 for queue in queues]
    long = queues[0] if waits[0] >= waits[1] else queues[1]
    if long is None or abs(waits[0] - waits[1]) < abs(one[0] - one[1]) / 2 or waits[0] == waits[1]:
        return [Difference(DELAY, apart)]
    cause = f"the queue before {long.source} → {long.target}"
    return [Difference(DELAY, apart, cause, f"packets waited {waits[0]:.3f} ms and {waits[1]:.3f} ms there, median")]


def longest_queue(side: Side) -> QueueDelay | None:
    """The queue on a side's path in which packets waited longest in the median."""
    ends = {end for link in side.plan.links for end in ((link.a, link.b), (link.b, link.a))}
    on_the_path = [each for each in side.record.queue_delays if (each.source, each.target) in ends]
    return max(on_the_path, key=lambda each: (each.median_ms, each.p99_ms), default=None)


def _difference(what: str, apart: str, causes: list[tuple[str, str]]) -> Difference:
    if not causes:
        return Difference(what, apart)
    return Difference(what, apart, *causes[0], "; ".join(f"{cause} ({why})" for cause, why in causes[1:]))


def _start_causes(first: Side, other: Side, slack_s: float) -> list[tuple[str, str]]:
    """Find the causes of different beginnings."""
    causes: list[tuple[str, str]] = []
    one, two = first.slow_start, other.slow_start
    if one and two and _times_differ(one.exit_s, two.exit_s, slack_s):
        early, late = sorted(((first, one), (other, two)), key=lambda each: each[1].exit_s)
        told = (
            f"{early[0].label} left slow start after {early[1].exit_s:.2f} s at {early[1].exit_packets:.0f} packets, "
            f"{late[0].label} after {late[1].exit_s:.2f} s at {late[1].exit_packets:.0f}"
        )
        if not early[1].by_loss:
            causes.append(
                (_leaving(first, other), f"{told}; nothing had been sent again when the first of them left it")
            )
        else:
            causes.append(("loss in slow start", f"{told}; the first of them had sent packets again"))
    elif (one is None) != (two is None):
        left, stayed = (first, other) if one else (other, first)
        at = left.slow_start
        if at and not at.by_loss:
            why = f"{left.label} left slow start after {at.exit_s:.2f} s without a loss, {stayed.label} never did"
            causes.append((_leaving(first, other), why))
    if first.packets_per_ack and other.packets_per_ack:
        ratio = other.packets_per_ack / first.packets_per_ack
        if not 0.8 <= ratio <= 1.25:
            why = ", ".join(f"{side.packets_per_ack:.1f} packets per ACK {side.label}" for side in (first, other))
            causes.append(("ACK policy", why))
    return causes + _pacing(first, other)


def _leaving(first: Side, other: Side) -> str:
    """Name what ends slow start without a loss: HyStart if both use CUBIC; else each congestion control's own way."""
    controls = {side.plan.transfer.congestion_control for side in (first, other)}
    return "HyStart" if controls == {"cubic"} else f"the congestion control ({', '.join(sorted(controls))})"


def _level_causes(first: Side, other: Side) -> list[tuple[str, str]]:
    """Find the causes of different levels."""
    causes: list[tuple[str, str]] = []
    one, two = first.offered_window_bytes, other.offered_window_bytes
    if one and two and abs(two / one - 1) > 0.02:
        bound = [side for side in (first, other) if side.record.limited_by == WINDOW]
        if bound:
            why = f"{bytes_text(one)} offered {first.label}, {bytes_text(two)} {other.label}"
            causes.append(("buffer granting", f"{why}; {bound[0].label} used its window in full"))
    if shorter := _shorter_queue(first, other):
        return shorter
    losses = _losses(first, other)
    retransmits = [each for side in (first, other) if (each := side.record.retransmits) is not None]
    if not losses and len(retransmits) == 2 and max(retransmits) > 2 * min(retransmits) + 10:
        why = f"{retransmits[0]} retransmissions {first.label}, {retransmits[1]} {other.label}"
        losses = [("loss and its recovery", why)]
    causes += losses + _pacing(first, other)
    bounds = [side.record.limited_by for side in (first, other)]
    if not causes and bounds == [WINDOW] * 2 and one and two and first.settled_bps and other.settled_bps:
        packets = min(one, two) / first.plan.physics.mss_bytes / first.plan.transfer.streams
        if abs(other.settled_bps / first.settled_bps - 1) <= 0.02 + 1 / packets:
            causes.append(("a small window in whole packets", f"a stream's window holds {packets:.1f} packets"))
    if SLOW_START in bounds:
        why = f"bound by {bounds[0]} {first.label} and by {bounds[1]} {other.label}: it had not settled"
        return [*causes, (SLOW_START, why)]
    if not causes and None not in bounds and UNKNOWN not in bounds and bounds[0] != bounds[1]:
        causes.append(
            ("another bound", "; ".join(f"{side.label}: {side.record.limited_by_why}" for side in (first, other)))
        )
    return causes


def _shorter_queue(first: Side, other: Side) -> list[tuple[str, str]]:
    """The slower side's queue is smaller or managed, and its line was full for so much less of the time."""
    slower, faster = sorted((first, other), key=lambda side: side.settled_bps or 0.0)
    queue = longest_queue(faster)
    if queue is None or not faster.settled_bps or len({len(side.plan.links) for side in (first, other)}) > 1:
        return []
    ways = [getattr(side.plan.links[queue.link], queue.direction) for side in (first, other)]
    kept = {(way.rate_bps, way.queue_bytes, way.discipline, str(way.parameters)) for way in ways}
    waits = [each.median_ms if each else 0.0 for each in map(longest_queue, (slower, faster))]
    full = {side.label: side.record.limit_shares.get(LINE_RATE, 0.0) for side in (first, other)}
    missing = 1 - (slower.settled_bps or 0.0) / faster.settled_bps
    if len(kept) < 2 or ways[0].rate_bps != ways[1].rate_bps or waits[0] >= waits[1]:
        return []
    if full[faster.label] - full[slower.label] < missing / 2:
        return []
    told = " and ".join(f"{share * 100:.0f}{NARROW}%" for share in full.values())
    return [("the shorter queue", f"{queue.source} → {queue.target} was full {told} of the time")]


def _losses(first: Side, other: Side) -> list[tuple[str, str]]:
    """The slower side alone lost packets, or both lost so few that where these fell decides.

    By the square-root law (Mathis et al. 1997) goodput is as 1/sqrt(p). Of n independent losses p is known to
    1/sqrt(n), so the goodput of a run to 1/(2 sqrt(n)); twice that of both together is 95 %. Of a single one
    nothing is known of p: goodput is decided by where it fell.
    """
    slower, faster = sorted((first, other), key=lambda side: side.settled_bps or 0.0)
    if slower.recoveries and not faster.recoveries:
        why = f"{slower.recoveries} recoveries {slower.label}, none {faster.label}"
        return [("loss and its recovery", why)]
    if not slower.recoveries or not faster.recoveries or not faster.settled_bps:
        return []
    timeouts = _timeouts(slower, faster)
    if timeouts or not slower.settled_bps:
        return timeouts
    spread = math.sqrt(1 / slower.recoveries + 1 / faster.recoveries)  # two standard deviations
    apart = math.log(faster.settled_bps / slower.settled_bps)
    single = min(slower.recoveries, faster.recoveries) == 1
    if single or apart <= spread:
        told = " and ".join(
            f"{side.recoveries} {'recovery' if side.recoveries == 1 else 'recoveries'} {side.label}"
            for side in (first, other)
        )
        most = "any difference" if single else f"up to {math.expm1(spread):.0%}"
        why = f"{told}: where so few fall makes {most} between two runs"
        return [("chance" if _leaves_to_chance(first) else "few losses", why)]
    packets = [(side.record.bytes or 0) / side.plan.physics.mss_bytes / side.recoveries for side in (first, other)]
    if not all(packets):
        return []
    told = ", ".join(
        f"a recovery in {each:.0f} packets {side.label}" for each, side in zip(packets, (first, other), strict=True)
    )
    more = math.log(packets[1] / packets[0]) * (1 if faster is other else -1)  # above 0: the faster one lost less
    return [("loss and its recovery" if more / 2 > apart / 2 else "the control's answer to losses", told)]


def _timeouts(slower: Side, faster: Side) -> list[tuple[str, str]]:
    """The slower side waited for timeouts, or stood still, so much longer that it explains half of the difference."""
    if not slower.settled_bps and slower.backs_off:
        return [("timeouts", f"{slower.label} ended waiting for a timeout, each of twice the time of the one before")]
    missing = 1 - (slower.settled_bps or 0.0) / (faster.settled_bps or 1.0)
    for name, one, two in (
        ("made a timeout good", slower.waiting, faster.waiting),
        ("received nothing", slower.standing, faster.standing),
    ):
        if one - two >= missing / 2:
            return [("timeouts", f"{name} in {one:.0%} of the samples {slower.label}, in {two:.0%} {faster.label}")]
    return []


def _leaves_to_chance(side: Side) -> bool:
    """Return whether packets are lost, or seem so, at random."""
    directions = [direction for link in side.plan.links for direction in (link.forward, link.reverse)]
    return any(direction.loss or direction.corrupt or direction.reorder for direction in directions) or any(
        event.kind == "loss" and event.probability not in (None, 1.0) for event in side.plan.events
    )


def _pacing(first: Side, other: Side) -> list[tuple[str, str]]:
    """Paced on one side only, and near the rate that was reached there."""
    for side, against in ((first, other), (other, first)):
        if side.paced_bps and side.settled_bps and against.settled_bps and not against.paced_bps:
            near = side.paced_bps <= 1.25 * side.settled_bps
            if near and side.settled_bps < against.settled_bps:
                return [(PACING, f"{side.label} was paced at no more than {rate_text(side.paced_bps)}")]
    return []


def _response_differences(first: Side, other: Side, tolerance: float) -> list[Difference]:
    found: list[Difference] = []
    theirs = {response.number: response for response in other.responses}
    for one in first.responses:
        two = theirs.get(one.number)
        if two is None:
            continue
        if abs(two.share - one.share) > max(tolerance, 0.05):
            apart = f"{one.share * 100:.0f} % and {two.share * 100:.0f} % of the window were left"
            evidence = f"{one.before_mb:.1f} → {one.least_mb:.1f} MB {first.label}, "
            evidence += f"{two.before_mb:.1f} → {two.least_mb:.1f} MB {other.label}"
            cause = "loss and its recovery" if one.kind in ("loss", "down") else ""
            if abs(two.before_mb / one.before_mb - 1) > tolerance:
                cause = "the window that the event met"
            found.append(Difference(f"Response to event {one.number} ({one.kind})", apart, cause, evidence))
    return found


def _slack_s(first: Side, other: Side) -> float:
    """Times this near are the same: a round trip and a sample."""
    interval_s = max(side.plan.transfer.sample_interval_ns for side in (first, other)) / 1e9
    return interval_s + first.plan.physics.rtt_ns / 1e9


def _full_differs(first: Side, other: Side, slack_s: float) -> bool:
    """Return whether one reached its rate later than the other, and nearly that rate, too."""
    early_s, late_s = sorted(side.full_s or 0.0 for side in (first, other))
    late = first if first.full_s == late_s else other
    nearly_s = max(early_s, late.nearly_full_s or 0.0)
    return _times_differ(early_s, late_s, slack_s) and _times_differ(early_s, nearly_s, slack_s)


def _times_differ(one: float, two: float, slack_s: float) -> bool:
    return abs(one - two) > slack_s + TIME_TOLERANCE * min(one, two)
