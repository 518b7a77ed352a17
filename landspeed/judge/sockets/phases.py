"""Phases of one direction of a connection, sample by sample: which of TCP's limits held it, or that none did."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean

from landspeed.judge.sockets.series import SentSeries

STANDING = 0.98  # of the waiting, in which no more was in flight
ON_PLATEAU = 0.5  # of what stands: a window that is granted in halves (nghttp2, most others) is half full at least
REACHED = 0.95


@dataclass(frozen=True)
class PhaseShares:
    """Parts of a span of time, 0…1, in which a sender was held back.

    Attributes:
        rwnd: by the receiver's window, as TCP counts it.
        sndbuf: by its own send buffer, as TCP counts it.
        cwnd: by the congestion window.
        line: by nothing of TCP: packets waited for the interface.
        waits: by the program, which gave TCP nothing to send.
    """

    rwnd: float
    sndbuf: float
    cwnd: float
    line: float
    waits: float


@dataclass(frozen=True)
class Plateau:
    """Level of the bytes in flight while TCP waits for the program.

    Attributes:
        bytes: in flight.
        share: of the waiting, in which about so many were in flight.
    """

    bytes: float
    share: float


def shares(sending: SentSeries, from_s: float) -> PhaseShares:
    """Measure the share of each limit of a direction, from a time until its end."""
    rows = sending.rows
    seconds = {"cwnd": 0.0, "line": 0.0, "waits": 0.0}
    first = last = None
    for row, span_s in sending.spans():
        if sending.times_s[row] < from_s:
            continue
        first, last = row if first is None else first, row + 1
        seconds[_held_by(rows, row)] += span_s
    total = sum(seconds.values())
    if first is None or last is None or not total:
        return PhaseShares(0.0, 0.0, 0.0, 0.0, 0.0)
    counted = {
        name: min((rows[f"{name}_limited_us"][last] - rows[f"{name}_limited_us"][first]) / 1e6 / total, 1.0)
        for name in ("rwnd", "sndbuf")
    }
    return PhaseShares(**counted, **{name: each / total for name, each in seconds.items()})


def _held_by(rows: dict[str, list[int]], row: int) -> str:
    if rows["in_flight_packets"][row] >= rows["cwnd_packets"][row]:
        return "cwnd"
    return "line" if rows["notsent_bytes"][row] > 0 else "waits"


def mean_cwnd_bytes(sending: SentSeries, from_s: float) -> float:
    """Mean over time of the congestion window, from a time until the end; 0 where there is no sample."""
    known = [
        (sending.rows["cwnd_packets"][row] * sending.rows["mss_bytes"][row], span_s)
        for row, span_s in sending.spans()
        if sending.times_s[row] >= from_s
    ]
    total = sum(span_s for _, span_s in known)
    return sum(each * span_s for each, span_s in known) / total if total else 0.0


def retransmits_that_hold(sending: SentSeries, from_s: float) -> int:
    """Count the retransmissions from a time on; if none, those before it, unless the window has outgrown them.

    A window below its threshold is in slow start again (RFC 5681 section 3.1): what was lost before holds it no more.
    """
    counts, rows = sending.rows["retransmits"], sending.rows
    before = next(
        (count for at, count in zip(reversed(sending.times_s), reversed(counts), strict=True) if at < from_s), 0
    )
    if counts[-1] > before:
        return counts[-1] - before
    return counts[-1] if rows["cwnd_packets"][-1] >= rows["ssthresh_packets"][-1] else 0


def plateau(sending: SentSeries, from_s: float) -> Plateau:
    """The bytes in flight that are hardly ever exceeded while the program gives nothing to send.

    A window is granted in pieces (OpenSSH's in twentieths), so mostly a little less than the whole of it is under way,
    and never more: the quantile of 98 % of the time is the whole, and what a start or an end has beside it is left out.
    """
    waited = sorted(
        (sending.in_flight[row], span_s)
        for row, span_s in sending.spans()
        if sending.times_s[row] >= from_s and _held_by(sending.rows, row) == "waits"
    )
    total = sum(span_s for _, span_s in waited)
    if not total:
        return Plateau(0.0, 0.0)
    passed = accumulate(span_s for _, span_s in waited)
    pairs = zip(waited, passed, strict=True)
    level = next((each for (each, _), so_far in pairs if so_far >= STANDING * total), waited[-1][0])
    return Plateau(float(level), sum(span_s for each, span_s in waited if each >= ON_PLATEAU * level) / total)


def steady_bytes_per_s(sending: SentSeries, level: float) -> float | None:
    """The rate from when so many bytes were in flight first, until the last byte was sent: a straight line's slope.

    Least squares of the acknowledged bytes over time: a staircase with a step each round trip has the slope of its
    stairs. None if there are too few samples.
    """
    begin = next((row for row, each in enumerate(sending.in_flight) if each >= REACHED * level), None)
    end = bisect_left(sending.sent, sending.sent[-1])
    if begin is None or end - begin < 3:
        return None
    return slope(sending.times_s[begin : end + 1], sending.acked[begin : end + 1])


def slope(xs: Sequence[float], ys: Sequence[float], weights: Sequence[float] | None = None) -> float | None:
    """Slope of the line through points by least squares, each weighted; None where all stand at one place."""
    return None if (found := line(xs, ys, weights)) is None else found[0]


def line(
    xs: Sequence[float], ys: Sequence[float], weights: Sequence[float] | None = None
) -> tuple[float, float] | None:
    """(slope, intercept) of the line through points by weighted least squares; None where all stand at one place."""
    of = [1.0] * len(xs) if weights is None else list(weights)
    if not (total := sum(of)):
        return None
    mean_x = sum(w * x for w, x in zip(of, xs, strict=True)) / total
    mean_y = sum(w * y for w, y in zip(of, ys, strict=True)) / total
    spread = sum(w * (x - mean_x) ** 2 for w, x in zip(of, xs, strict=True))
    if not spread:
        return None
    found = sum(w * (x - mean_x) * (y - mean_y) for w, x, y in zip(of, xs, ys, strict=True)) / spread
    return found, mean_y - found * mean_x


def turns_s(sendings: Sequence[SentSeries], quiet_s: float) -> list[float]:
    """List the times at which these began to send after at least `quiet_s` of silence, and the first time."""
    times = sorted(
        at
        for each in sendings
        for at, before, after in zip(each.times_s[1:], each.sent, each.sent[1:], strict=False)
        if after > before
    )
    times += [each.times_s[0] for each in sendings if each.sent[0] > 0]
    times.sort()
    return [at for number, at in enumerate(times) if number == 0 or at - times[number - 1] >= quiet_s]


def mean_mss_bytes(sendings: Sequence[SentSeries]) -> float:
    """Mean MSS of the connections, each with its last one."""
    return fmean(each.mss_bytes for each in sendings)
