"""Evidence from the samples of the judged span: the window that was full, its RTT, and the effect of losses on it.

Only what happened in the span counts, or what still held the window there: a loss during the start that the window has
outgrown is no cause of what came after it.
"""

from __future__ import annotations

import itertools
import operator
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from landspeed.results.samples_reader import Samples

NEARLY_FULL = 0.9  # of the congestion window
RECOVERY = 3  # TCP_CA_Recovery; above it TCP_CA_Loss: what was lost is being made good
QUEUED_SHARE = 0.1  # of what is in flight: less in a queue is a burst on its way, more keeps the line busy
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
class Cut:
    """Time in which the congestion window was full, after a loss had made it smaller.

    Attributes:
        share: of the span (0…1), mean over the streams.
        last_s: when the last loss was that did so.
        packets: sent again from the first of these losses to the end.
    """

    share: float
    last_s: float
    packets: int


@dataclass(frozen=True)
class WindowTime:
    """Time in which the receiver's window was full.

    Attributes:
        share: of the span (0…1), mean over the streams that tell; None if none does.
        bytes: the largest window on offer, all streams.
        allowed_bps: what the largest window so far allowed at the RTT of each moment, mean over the span.
        rtt_ms: the RTT at which the largest window allows that; None, as the two above, if not sampled.
        queued: of that time, the part in which a queue of the path held what was in flight (0…1).
        line: the link where it mostly did.
    """

    share: float | None
    bytes: int | None
    allowed_bps: float | None
    rtt_ms: float | None
    queued: float
    line: int | None


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

    def cut(self) -> Cut | None:
        """Measure how long windows were full that a loss had made smaller; None if they never were.

        A window was made smaller where its threshold changed, or it shrank, while something was sent again (RFC 5681
        section 3.1). A tool that does not tell what is in flight counts as one whose window is full.
        """
        shares, last_s, packets = list[float](), 0.0, 0
        for _, rows in self._streams("retransmits", "cwnd_packets", "ssthresh_packets", "in_flight_packets"):
            cuts = [
                after["time_s"]
                for before, after in itertools.pairwise([dict.fromkeys(COLUMNS, 0), *rows])
                if after["retransmits"] > before["retransmits"]
                and (
                    after["ssthresh_packets"] != before["ssthresh_packets"]
                    or after["cwnd_packets"] < before["cwnd_packets"]
                    or (after["state"] or 0) >= RECOVERY
                )
            ]
            inside, _ = self._since(rows)
            untold = not any(row["in_flight_packets"] for row in rows)
            held = [row for row in inside if cuts and row["time_s"] >= cuts[0] and (untold or _full(row))]
            shares.append(len(held) / len(inside) if inside else 0.0)
            if held:
                last_s = max(last_s, cuts[-1])
                packets += rows[-1]["retransmits"]
        share = sum(shares) / len(shares) if shares else 0.0
        return Cut(share, last_s, packets) if share else None

    def window(self, *, alone: bool) -> WindowTime:
        """Measure how long the receiver's window was full.

        Args:
            alone: nothing else passes the lines, so that what waits there is of this transfer.
        """
        shares, largest, allowed, full, queued = list[float](), 0, 0.0, 0, Counter[int]()
        backlog = _Backlog(self._samples) if alone else None
        for _, rows in self._streams("snd_wnd_bytes", "in_flight_packets", "mss_bytes"):
            inside, before = self._since(rows)
            if not inside:
                continue
            filled = [row for row in inside if (row["in_flight_packets"] + 1) * row["mss_bytes"] > row["snd_wnd_bytes"]]
            full += len(filled)
            queued.update(line for row in filled if backlog and (line := backlog.line(row)) is not None)
            counted, span_s = inside[-1]["rwnd_limited_us"], inside[-1]["time_s"] - self.from_s
            if counted and span_s > 0:
                shares.append(min((counted - (before.get("rwnd_limited_us") or 0)) / 1e6 / span_s, 1.0))
            elif any(row["in_flight_packets"] for row in rows):
                shares.append(len(filled) / len(inside))
            windows = list(itertools.accumulate((row["snd_wnd_bytes"] for row in rows), max))[-len(inside) :]
            rates = [most * 8e6 / row["srtt_us"] for most, row in zip(windows, inside, strict=True) if row["srtt_us"]]
            allowed += sum(rates) / len(rates) if rates else 0.0
            largest += windows[-1]
        share, part = sum(shares) / len(shares) if shares else None, queued.total() / full if full else 0.0
        line = queued.most_common(1)[0][0] if queued else None
        if not largest or not allowed:
            return WindowTime(share, None, None, None, part, line)
        return WindowTime(share, largest, allowed, largest * 8e3 / allowed, part, line)

    def busy_line(self) -> tuple[int, float] | None:
        """The link where a queue mostly held enough of this transfer to keep its line busy, and in what share of time.

        Only where nothing else passes the lines.
        """
        backlog, found, count = _Backlog(self._samples), Counter[int](), 0
        for _, rows in self._streams("in_flight_packets", "mss_bytes"):
            inside, _ = self._since(rows)
            count += len(inside)
            found.update(line for row in inside if (line := backlog.line(row)) is not None)
        line, most = found.most_common(1)[0] if found else (0, 0)
        return (line, most / count) if most else None

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


class _Backlog:
    """Backlog at the lines of the way there, over time."""

    def __init__(self, samples: Samples) -> None:
        most: dict[float, tuple[float, int]] = {}
        for (link, direction), series in samples.backlogs().items():
            for time_s, count in series if direction == "forward" else ():
                most[time_s] = max(most.get(time_s, (0.0, 0)), (count, link))
        self._times_s, self._most = sorted(most), most

    def line(self, row: dict[str, Any]) -> int | None:
        """The link that had at a sample's time enough waiting to be busy; None: none had."""
        place = bisect_right(self._times_s, row["time_s"] + 1e-9)
        waiting, link = self._most[self._times_s[place - 1]] if place else (0.0, 0)
        enough = QUEUED_SHARE * row["in_flight_packets"] * row["mss_bytes"]
        return link if waiting >= enough > 0 else None


def _full(row: dict[str, Any]) -> bool:
    """Return whether the congestion window had no room, or lost data was still missing."""
    return row["in_flight_packets"] >= NEARLY_FULL * row["cwnd_packets"] or (row["state"] or 0) >= RECOVERY
