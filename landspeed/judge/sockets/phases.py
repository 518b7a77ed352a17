"""Intervals of one direction of a connection, and where it stands while TCP waits for the program."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean

from landspeed.judge.attribution.intervals import RECOVERY, Interval
from landspeed.judge.sockets.series import SentSeries

STANDING = 0.98  # of the waiting, in which no more was in flight
ON_PLATEAU = 0.5  # of what stands: a window that is granted in halves (nghttp2, most others) is half full at least
REACHED = 0.95


@dataclass(frozen=True)
class Plateau:
    """Level of the bytes in flight while TCP waits for the program.

    Attributes:
        bytes: in flight.
        share: of the waiting, in which about so many were in flight.
    """

    bytes: float
    share: float


def intervals_of(sending: SentSeries, least_s: float, begin_s: float) -> list[Interval]:
    """The intervals of a direction, each a round trip or longer; their times count from `begin_s`."""
    found, rows, waited_s, waiting = list[Interval](), sending.rows, 0.0, True
    spans = list(sending.spans())
    first = spans[0][0] if spans else 0
    for row, span_s in spans:
        # What is under way at the end was held back by what held it before: the program has no more.
        waiting = _waits(rows, row) if sending.sent[row] < sending.sent[-1] else waiting
        waited_s += span_s if waiting else 0.0
        lasts_s = sending.times_s[row + 1] - sending.times_s[first]
        if lasts_s >= least_s or row == spans[-1][0]:
            found.append(_interval(sending, first, row + 1, begin_s, waited_s / lasts_s))
            first, waited_s = row + 1, 0.0
    return found


def _interval(sending: SentSeries, first: int, last: int, origin_s: float, waits: float) -> Interval:
    rows, begin_s, end_s = sending.rows, sending.times_s[first], sending.times_s[last]

    def share(name: str) -> float:
        return min(max((rows[name][last] - rows[name][first]) / 1e6 / (end_s - begin_s), 0.0), 1.0)

    return Interval(
        begin_s=begin_s - origin_s,
        end_s=end_s - origin_s,
        acked_bytes=sending.acked[last] - sending.acked[first],
        resent_packets=rows["retransmits"][last] - rows["retransmits"][first],
        busy=None,  # TCP is busy, too, while its program waits for what is under way
        rwnd=share("rwnd_limited_us"),
        sndbuf=share("sndbuf_limited_us"),
        cwnd=rows["cwnd_packets"][last],
        cwnd_before=rows["cwnd_packets"][first],
        ssthresh=rows["ssthresh_packets"][last],
        ssthresh_before=rows["ssthresh_packets"][first],
        in_flight=rows["in_flight_packets"][last],
        window_bytes=rows["snd_wnd_bytes"][last],
        mss_bytes=rows["mss_bytes"][last],
        rtt_s=rows["srtt_us"][last] / 1e6 or None,
        recovering=rows["ca_state"][last] >= RECOVERY,
        waits=waits,
    )


def _waits(rows: dict[str, list[int]], row: int) -> bool:
    """Return whether TCP would have sent more than its program gave it: nothing, or less than a packet."""
    return rows["in_flight_packets"][row] < rows["cwnd_packets"][row] and rows["notsent_bytes"][row] < max(
        rows["mss_bytes"][row], 1
    )


def held_tails(sendings: Sequence[SentSeries], rtt_s: float) -> int:
    """Count the packets that were not full and waited half a round trip or longer for what was sent before them.

    That is Nagle's algorithm (RFC 896, section 4.2.3.4 of RFC 1122): the window had room.
    """
    found = 0
    for sending in sendings:
        held_s = 0.0
        for row, span_s in sending.spans():
            held = bool(sending.rows["notsent_bytes"][row]) and _waits(sending.rows, row)
            before_s, held_s = held_s, held_s + span_s if held else 0.0
            found += before_s < rtt_s / 2 <= held_s
    return found


def plateau(sending: SentSeries, from_s: float) -> Plateau:
    """The bytes in flight that are hardly ever exceeded while the program gives nothing to send.

    A window is granted in pieces (OpenSSH's in twentieths), so mostly a little less than the whole of it is under way,
    and never more: the quantile of 98 % of the time is the whole, and what a start or an end has beside it is left out.
    """
    waited = sorted(
        (sending.in_flight[row], span_s)
        for row, span_s in sending.spans()
        if sending.times_s[row] >= from_s and _waits(sending.rows, row)
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
