"""Delay under load: the round trip of TCP and of echoes while the path was full, and the wait in each queue.

Both are of the settled part of a transfer: from its tenth second on, in a shorter one of its second half. A sample
holds until the next one, so each counts by the time that it held, however often anybody looked.

The round trip is that of the streams' samples, which TCP smooths (RFC 6298, `srtt_us`). The wait in a queue is the time
that its line takes to send what stood before it: what a packet that came then waited in a FIFO. A discipline that
serves flows in turn lets a packet of a short flow pass earlier.

Echoes (`transfer.ping`) are packets of a flow of their own, as those of a call.

Round trips a minute are those of draft-ietf-ippm-responsiveness (-04 to -09, "Aggregating the Measurements"), without
TLS: the mean of 60 s / TM(foreign probes) and 60 s / TM(self probes), where TM is the mean of the shortest 95 %. A
foreign probe is a handshake and a request on a connection of its own, each of one round trip: an echo stands for both.
A self probe is a request on a connection that makes the load: TCP's own round trip stands for it, as the draft allows
where no request can be sent there.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from landspeed.judge.line_capacity import COUNTED_HEADER_BYTES, LineCapacity
from landspeed.results.record import QueueDelay
from landspeed.scenario.theory.speech import call_opinion
from landspeed.scenario.theory.timing import IDLE_ECHOES, packet_mtu

if TYPE_CHECKING:
    from landspeed.results.samples_reader import Samples
    from landspeed.results.series import Series
    from landspeed.scenario.plan.plan import Plan

STEADY_FROM_S = 10.0
STEADY_LEAST_S = 1.0  # a shorter steady part says nothing
SHARES = (0.5, 0.95, 0.99)
TRIMMED_SHARE = 0.95  # of the draft's trimmed mean
MS_A_MINUTE = 60_000
DIGITS = 6  # of ms: beyond a nanosecond there are errors of floating point only

Held: TypeAlias = Sequence[tuple[float, float]]
"""Values, each with how long it held, or how much it counts."""


@dataclass(frozen=True)
class Spread:
    """Percentiles of a delay over time, in ms."""

    median_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float


class QueueSample(NamedTuple):
    """Backlog before a line, as one sample has it."""

    time_s: float
    counted_bytes: int  # with the header that the world counts
    packets: int


def settled_s(end_s: float) -> tuple[float, float]:
    """Begin and end of the settled part of a transfer that ended at `end_s`, in s."""
    return STEADY_FROM_S if end_s >= STEADY_FROM_S + STEADY_LEAST_S else end_s / 2, end_s


def loaded_rtt(samples: Samples, span_s: tuple[float, float]) -> Spread | None:
    """The round-trip time of all streams together; None where TCP told none."""
    return _spread(held_rtts(samples, span_s))


def held_rtts(samples: Samples, span_s: tuple[float, float]) -> Held:
    """Round-trip times of all streams in ms, each with how long it held, in s."""
    streams = samples.by_stream("sender", "srtt_us", per=1e3).values()
    told = [[point for point in series if point[1] > 0] for series in streams]
    return [each for series in told for each in _held(series, span_s)]


def ping_figures(pings: Series, span_s: tuple[float, float], held: Held) -> dict[str, float]:
    """Figures of echoes, by the names that they have in a record; those that nothing tells are left out.

    Args:
        pings: when each was sent, and its round trip in ms; infinite: it was lost. The first ones went over the idle
            path (`idle_ns`).
        span_s: the settled part of the flow.
        held: TCP's own round trips in it.
    """
    idle = [rtt_ms for _, rtt_ms in pings[:IDLE_ECHOES] if math.isfinite(rtt_ms)]
    sent = [rtt_ms for sent_s, rtt_ms in pings if span_s[0] <= sent_s < span_s[1]]
    loaded = sorted(rtt_ms for rtt_ms in sent if math.isfinite(rtt_ms))
    found: dict[str, float] = {"ping_lost": 1 - len(loaded) / len(sent)} if sent else {}
    for name, values in (("idle", idle), ("loaded", loaded)):
        if spread := _spread([(value, 1.0) for value in values]):
            found |= {f"ping_{name}_{key}": value for key, value in asdict(spread).items()}
    if sent:
        found["ping_call_mos"] = round(call_opinion(sent), 3)
    if loaded and held:
        foreign_ms, self_ms = _trimmed_mean([(value, 1.0) for value in loaded]), _trimmed_mean(held)
        found["rpm"] = (MS_A_MINUTE / foreign_ms + MS_A_MINUTE / self_ms) / 2
    return found


def queue_delays(plan: Plan, world: str, samples: Samples, span_s: tuple[float, float]) -> list[QueueDelay]:
    """The wait in each queue in which anything stood, in the order of the plan's links, forward first."""
    found: list[QueueDelay] = []
    for (index, way), rows in _waiting(samples).items():
        link, ahead = plan.links[index], way == "forward"
        line = LineCapacity(plan, link, ahead=ahead, until_s=span_s[1])
        header = COUNTED_HEADER_BYTES.get(world, 0)
        full = link.line_bytes(packet_mtu(plan, link)) if link.pads else packet_mtu(plan, link) + header
        waits: Series = []
        for time_s, counted, packets in rows:
            each = max(packets, counted / full)  # a super-packet is several on the line
            beside = 0 if line.pads else line.framing_bytes - header
            wait_s = line.takes_s(time_s, 8 * (counted + each * beside))
            waits += [(time_s, 1e3 * wait_s)] if math.isfinite(wait_s) else []
        spread = _spread(list(_held(waits, span_s)))
        if spread is not None and spread.max_ms > 0:
            source, target = (link.a, link.b) if ahead else (link.b, link.a)
            found.append(QueueDelay(link=index, direction=way, source=source, target=target, **asdict(spread)))
    return found


def _trimmed_mean(held: Held) -> float:
    """The mean of the least values that held for 95 % of the time."""
    left_s = total_s = TRIMMED_SHARE * sum(for_s for _, for_s in held)
    summed = 0.0
    for value, for_s in sorted(held):
        taken_s = min(for_s, left_s)
        summed, left_s = summed + value * taken_s, left_s - taken_s
    return summed / total_s


def _spread(held: Held) -> Spread | None:
    """Percentiles of values, each for the time that it held: the least that is not exceeded for so much of it."""
    ordered = sorted(held)
    until_s = list(itertools.accumulate(for_s for _, for_s in ordered))
    if not ordered:
        return None
    places = (bisect_right(until_s, share * until_s[-1]) for share in SHARES)
    found = [ordered[min(place, len(ordered) - 1)][0] for place in places]
    return Spread(*(round(value, DIGITS) for value in (*found, ordered[-1][0])))


def _held(series: Series, span_s: tuple[float, float]) -> Iterator[tuple[float, float]]:
    """Each value, and for how long of the span it held."""
    begin_s, end_s = span_s
    for (at_s, value), (next_s, _) in itertools.pairwise([*series, (math.inf, 0.0)]):
        for_s = min(next_s, end_s) - max(at_s, begin_s)
        if for_s > 0:
            yield value, for_s


def _waiting(samples: Samples) -> dict[tuple[int, str], list[QueueSample]]:
    """Samples of the queues that were not always empty."""
    found: dict[tuple[int, str], list[QueueSample]] = {}
    for lane, times_ns, counts in samples.lanes("backlog_bytes", "backlog_packets"):
        rows = zip(times_ns, *counts, strict=True)
        known = [QueueSample(row[0] / 1e9, row[1], row[2] or 0) for row in rows if row[0] >= 0 and row[1] is not None]
        if any(row.counted_bytes for row in known):
            found[lane] = known
    return found
