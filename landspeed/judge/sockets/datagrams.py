"""Datagrams: what one node sent to another by UDP, as the counters of its link tell it, and what held it back.

The kernel knows of a UDP socket neither what it sent nor what was acknowledged. The link's counters have every packet,
when it arrived at the link's other end; less what TCP's segments took. What a program has of its own (QUIC's headers,
acknowledgments and cryptography) is in them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from landspeed.base import limits
from landspeed.base.text import bytes_text, rate_text
from landspeed.judge.sockets.phases import slope
from landspeed.judge.sockets.series import SocketSamples
from landspeed.judge.sockets.socket_limits import HIDDEN, Bound
from landspeed.judge.sockets.ways import first_link, way_between

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Plan

HEADERS_BYTES = 14 + 20 + 8  # Ethernet, IPv4 and UDP; IPv6 has 20 more
MORE_IPV6_BYTES = 20
LEAST_BYTES = 15_000  # what TCP would send at once: less is no bulk
SETTLED = (0.3, 0.95)  # parts of the bytes between which the rate is taken


@dataclass(frozen=True)
class ArrivalSeries:
    """Payload of datagrams over time, as it had arrived at the link's other end: s and bytes."""

    times_s: list[float]
    counts: list[float]

    def between(self, low: float, high: float) -> float | None:
        """Bytes per second while these parts of all bytes arrived: slope of a straight line."""
        first = bisect_left(self.counts, low * self.counts[-1])
        after = bisect_right(self.counts, high * self.counts[-1])
        return slope(self.times_s[first:after], self.counts[first:after]) if after - first > 2 else None


def arrived(samples: SocketSamples, plan: Plan, source: str, target: str) -> ArrivalSeries | None:
    """Find the datagrams that a node sent to another; None if it has no UDP socket, or sent nothing.

    Raises:
        SamplesError: the samples cannot be read.
    """
    if source not in samples.datagram_nodes or target not in samples.datagram_nodes:
        return None
    link, forward = first_link(plan, source, target)
    table = samples.link(link, "forward" if forward else "reverse")
    times = [each / 1e9 for each in table["time_ns"].to_pylist()]
    counts, packets = table["bytes"].to_pylist(), table["packets"].to_pylist()
    if not times:
        return None
    headers = HEADERS_BYTES + (MORE_IPV6_BYTES if plan.ip_version == 6 else 0)
    payload = [float(b - counts[0] - (p - packets[0]) * headers) for b, p in zip(counts, packets, strict=True)]
    if (by_tcp := sum(each.bytes for each in samples.between(source, target))) > payload[-1] / 2:
        return None
    return ArrivalSeries(times, payload) if payload[-1] > by_tcp else None


def bound_by_datagrams(samples: SocketSamples, plan: Plan, source: str, target: str) -> Bound | None:
    """Find what limited the datagrams from one node to another; None if there were none.

    Args:
        samples: of the run.
        plan: of the network.
        source, target: nodes.

    Raises:
        SamplesError: the samples cannot be read.
    """
    ahead, back = arrived(samples, plan, source, target), arrived(samples, plan, target, source)
    if ahead is None:
        return None
    total = round(ahead.counts[-1])
    other = back.counts[-1] if back else 0.0
    begin = bisect_right(ahead.counts, 0.0)
    span_s = ahead.times_s[bisect_left(ahead.counts, ahead.counts[-1])] - ahead.times_s[max(begin - 1, 0)]
    goodput = total * 8 / span_s if span_s > 0 else None
    known: dict[str, object] = {
        "source": source,
        "target": target,
        "bytes": total,
        "goodput_bps": goodput,
        "datagrams": True,
    }
    if total < LEAST_BYTES or total < other / 10:
        text = f"there was nothing more to send than {bytes_text(total)} in datagrams"
        return Bound(kind=limits.IDLE, explanation=text, **known)  # pyright: ignore[reportArgumentType]
    rate = ahead.between(*SETTLED) or (goodput or 0.0) / 8
    known["steady_bps"], way = rate * 8, way_between(plan, source, target)
    if rate * 8 >= limits.PROBED_LINE_SHARE * way.limit_bps:
        text = (
            f"the line was full: {rate_text(rate * 8)} of the {rate_text(way.limit_bps)} that it allows after headers"
        )
        return Bound(kind=limits.LINE_RATE, explanation=text, **known)  # pyright: ignore[reportArgumentType]
    if _pauses(ahead, way.rtt_s):
        window = rate * way.rtt_s
        text = f"{bytes_text(window)} of datagrams come in each round trip; "
        text += "their program's own window or congestion control holds them back"
        return Bound(kind=limits.APPLICATION_WINDOW, explanation=text, window_bytes=window, **known)  # pyright: ignore[reportArgumentType]
    text = f"datagrams came without the pauses that a window makes: their program paced them; {HIDDEN}"
    return Bound(kind=limits.APPLICATION, explanation=text, **known)  # pyright: ignore[reportArgumentType]


def _pauses(ahead: ArrivalSeries, rtt_s: float) -> bool:
    """Return whether data arrives in bursts, with pauses that take more than a third of the time."""
    silent = 0.0
    quiet = 0.0
    for (at, count), (after, more) in pairwise(zip(ahead.times_s, ahead.counts, strict=True)):
        quiet = quiet + after - at if more == count else 0.0
        if quiet >= rtt_s / 8:
            silent += after - at
    return silent >= (ahead.times_s[-1] - ahead.times_s[0]) / 3
