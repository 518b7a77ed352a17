"""Evidence from the samples of the judged span: the window that was full, its RTT, and the effect of losses on it.

Only what happened in the span counts, or what still held the window there: a loss during the start that the window has
outgrown is no cause of what came after it.
"""

from __future__ import annotations

import itertools
import operator
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from landspeed.results.samples_reader import Samples

COLUMNS = (
    *("stream", "time_ns", "retransmits", "bytes_retransmitted", "cwnd_packets", "ssthresh_packets", "srtt_us"),
    *("in_flight_packets", "state", "rwnd_limited_us", "snd_wnd_bytes", "mss_bytes", "bytes"),
)


@dataclass(frozen=True)
class Resent:
    """Retransmissions in a span.

    Attributes:
        packets: how many.
        share: of the bytes that were sent (0…1); None if nothing was.
        sent_packets: full packets that were acknowledged.
        dropped: packets that the lines of the way there dropped meanwhile; None if nobody counted.
    """

    packets: int
    share: float | None
    sent_packets: int
    dropped: int | None


@dataclass(frozen=True)
class WindowTime:
    """Time in which the receiver's window was full.

    Attributes:
        share: of the span (0…1), mean over the streams that tell; None if none does.
        bytes: the largest window on offer, all streams.
        allowed_bps: what the largest window so far allowed at the RTT of what each moment sent, mean over the span.
        rtt_ms: the RTT at which the largest window allows that; None, as the two above, if not sampled.
    """

    share: float | None
    bytes: int | None
    allowed_bps: float | None
    rtt_ms: float | None


class SampleEvidence:
    """The samples of one transfer from a time on."""

    def __init__(self, samples: Samples, from_s: float) -> None:
        """Keep the samples; read nothing yet."""
        self._samples, self.from_s = samples, from_s

    def resent(self) -> Resent | None:
        """Count the retransmissions; None if not sampled."""
        packets = again = sent = segments = 0
        known = False
        for _, rows in self._streams("retransmits"):
            inside, before = self._since(rows)
            if not inside:
                continue
            known, last = True, inside[-1]
            packets += last["retransmits"] - before.get("retransmits", 0)
            again += (last["bytes_retransmitted"] or 0) - (before.get("bytes_retransmitted") or 0)
            moved = last["bytes"] - before.get("bytes", 0)
            sent, segments = sent + moved, segments + moved // max(last["mss_bytes"] or 0, 1)
        if not known:
            return None
        share = again / (again + sent) if again + sent > 0 else None
        drops = self._samples.passed_by_link("drops", self.from_s)
        there = [count for (_, direction), count in drops.items() if direction == "forward"]
        return Resent(packets, share, segments, sum(there) if there else None)

    def window(self) -> WindowTime:
        """Measure how long the receiver's window was full."""
        shares, largest, allowed = list[float](), 0, 0.0
        for _, rows in self._streams("snd_wnd_bytes", "in_flight_packets", "mss_bytes"):
            inside, before = self._since(rows)
            if not inside:
                continue
            filled = [row for row in inside if (row["in_flight_packets"] + 1) * row["mss_bytes"] > row["snd_wnd_bytes"]]
            counted, span_s = inside[-1]["rwnd_limited_us"], inside[-1]["time_s"] - self.from_s
            if counted and span_s > 0:
                shares.append(min((counted - (before.get("rwnd_limited_us") or 0)) / 1e6 / span_s, 1.0))
            elif any(row["in_flight_packets"] for row in rows):
                shares.append(len(filled) / len(inside))
            windows = list(itertools.accumulate((row["snd_wnd_bytes"] for row in rows), max))[-len(inside) :]
            trips_us = _measured_later_us(inside)
            rates = [most * 8e6 / trip_us for most, trip_us in zip(windows, trips_us, strict=True) if trip_us]
            allowed += sum(rates) / len(rates) if rates else 0.0
            largest += windows[-1]
        share = sum(shares) / len(shares) if shares else None
        if not largest or not allowed:
            return WindowTime(share, None, None, None)
        return WindowTime(share, largest, allowed, largest * 8e3 / allowed)

    # --- rows --------------------------------------------------------------------------------------------------------

    def _streams(self, *needed: str) -> Iterator[tuple[int, list[dict[str, Any]]]]:
        """The sender's rows, stream by stream, those that have all of these figures."""
        rows = self._samples.sender.select(list(COLUMNS)).to_pylist()
        for stream, of in itertools.groupby(rows, operator.itemgetter("stream")):
            known = [row | {"time_s": row["time_ns"] / 1e9} for row in of if all(row[n] is not None for n in needed)]
            if known:
                yield stream, known

    def _since(self, rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """The rows of the span, and the one before it."""
        first = bisect_right(rows, self.from_s, key=operator.itemgetter("time_s"))
        return rows[first:], rows[first - 1] if first else {}


def _measured_later_us(rows: list[dict[str, Any]]) -> list[int | None]:
    """Round trip of what each moment sends, which the sender knows when that has been acknowledged, a round trip later.

    Where a delay becomes longer, a window is that much slower at once, and the smoothed RTT tells it one to two later.
    Of the samples it is the one nearest to that time.
    """
    known = [row for row in rows if row["srtt_us"]]
    between = [(one["time_s"] + other["time_s"]) / 2 for one, other in itertools.pairwise(known)]
    return [
        known[bisect_right(between, row["time_s"] + (row["srtt_us"] or 0) / 1e6)]["srtt_us"] if known else None
        for row in rows
    ]
