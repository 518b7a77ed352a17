"""Lines that were full while the transfer ran: of the ACK path, where that is a limit, and of the way there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from landspeed.base.limits import FULL_LINE_SHARE
from landspeed.judge.line_capacity import uncounted_bytes

if TYPE_CHECKING:
    from landspeed.results.samples_reader import Samples
    from landspeed.scenario.plan.plan import Link, Plan


@dataclass(frozen=True)
class FullLine:
    """A direction of a link that was full.

    Attributes:
        link: which.
        share: of its time in which it sent (0…1).
        packets_per_s: that it carried.
    """

    link: Link
    share: float
    packets_per_s: float


def fullest_line(
    plan: Plan, world: str, samples: Samples, from_s: float, way: Literal["forward", "reverse"]
) -> FullLine | None:
    """Find the fullest line of one way, there or back."""
    columns = ("direction", "link", "time_ns", "bytes", "packets")
    ends: dict[int, list[tuple[int, int, int]]] = {}
    for direction, link, time_ns, sent_bytes, packets in samples.rows("links", *columns):
        if direction == way and time_ns >= from_s * 1e9:
            ends.setdefault(link, []).append((time_ns, sent_bytes, packets))
    found: list[FullLine] = []
    for index, rows in ends.items():
        (begin_ns, begin_bytes, begin_packets), (end_ns, end_bytes, end_packets) = min(rows), max(rows)
        if end_ns > begin_ns:
            link, carried = plan.links[index], end_packets - begin_packets
            framing = uncounted_bytes(link, world)
            bits, span_s = 8 * (end_bytes - begin_bytes + carried * framing), (end_ns - begin_ns) / 1e9
            found.append(FullLine(link, bits / span_s / getattr(link, way).rate_bps, carried / span_s))
    fullest = max(found, key=lambda line: line.share, default=None)
    return fullest if fullest and fullest.share >= FULL_LINE_SHARE else None
