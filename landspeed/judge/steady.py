"""A transfer's end from its beginning: what was start, what is steady, and when so many bytes have arrived.

Where the start ends is found by MSER (White 1997, "An effective truncation heuristic for bias reduction in simulation
output"): goodput in equal bins, and the truncation that makes the standard error of the rest's mean least. If that
wants to cut off half of all bins or more, the transfer was not steady yet. How certain the rest's mean is comes from
batch means (Law and Kelton): goodput of neighbouring bins depends on each other, that of long batches hardly.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from landspeed.judge.certainty import certain
from landspeed.results.series import ByteCurves

BINS = 200
BATCHES = 10
AT_LIMIT, GROWS = 0.97, 2.0  # of the plan's goodput; in three round trips: no avoidance of congestion grows so fast
WITHIN = 0.01  # half of the steady rate's interval, as a share, that is taken as steady


@dataclass(frozen=True)
class Steady:
    """A transfer, divided.

    Attributes:
        start_s, start_bytes: where its start ends.
        rate_bps: mean goodput from there on.
        half_bps: half of that mean's 95 % interval.
        measured_s, measured_bytes: the whole of it.
        found: whether MSER found an end of the start in the first half.
        by_theory: the rate is the plan's, not measured: the transfer ended in its start, or just after.
    """

    start_s: float
    start_bytes: float
    rate_bps: float
    half_bps: float
    measured_s: float
    measured_bytes: float
    found: bool
    curves: ByteCurves
    by_theory: bool = False

    @property
    def is_steady(self) -> bool:
        """True if its rate can stand for the time that follows."""
        return self.found and self.half_bps <= WITHIN * self.rate_bps

    def duration_s(self, amount: float) -> float:
        """Time until `amount` bytes have arrived, in s: measured if they have, else at the steady rate.

        Raises:
            ValueError: nothing arrives any more.
        """
        if amount <= self.measured_bytes:
            return time_of(self.curves, amount)
        if self.rate_bps <= 0:
            raise ValueError("nothing arrived after its start")
        return self.start_s + 8 * (amount - self.start_bytes) / self.rate_bps


def steady(curves: ByteCurves, least_bin_s: float = 0.0) -> Steady:
    """Divide a transfer into start and rest.

    Args:
        curves: what the receiver had read over time.
        least_bin_s: a bin is not shorter, such as the round-trip time, in which a window goes out in bursts.

    Raises:
        ValueError: the transfer moved nothing.
    """
    end_s = curves.end_s
    if end_s <= 0:
        raise ValueError("the transfer moved nothing")
    count = max(4, min(BINS, int(end_s / least_bin_s) if least_bin_s > 0 else BINS))
    edges = [end_s * number / count for number in range(count + 1)]
    bytes_at = [curves.bytes_at(edge) for edge in edges]
    rates = [8 * (after - before) * count / end_s for before, after in itertools.pairwise(bytes_at)]
    cut = truncation(rates)
    rest = rates[cut:]
    return Steady(
        start_s=edges[cut],
        start_bytes=bytes_at[cut],
        rate_bps=sum(rest) / len(rest),
        half_bps=half_interval(rest),
        measured_s=end_s,
        measured_bytes=bytes_at[-1],
        found=cut < count // 2,
        curves=curves,
    )


def carried_on(divided: Steady, rtt_s: float, limit_bps: float) -> Steady:
    """A transfer that ended in its start, as theory carries it on: doubling each round trip, up to the plan's limit.

    Nothing is changed where its own rate is steady, or where its last round trips neither were at the limit nor grew
    as slow start does (RFC 5681): a loss ended that, and what comes then only a longer transfer can tell.

    Args:
        rtt_s: round-trip time.
        limit_bps: goodput that the plan expects of it.
    """
    curves, end_s = divided.curves, divided.measured_s
    if divided.is_steady or rtt_s <= 0 or end_s < 3 * rtt_s:
        return divided
    last, before, first = (curves.goodput_bps(end_s - n * rtt_s, end_s - (n - 1) * rtt_s) or 0.0 for n in (1, 2, 3))
    starting = last >= before and first > 0 and last >= GROWS * first
    if last < AT_LIMIT * limit_bps and not starting:
        return divided
    time_s, count = end_s, divided.measured_bytes
    while last < AT_LIMIT * limit_bps:
        last = min(2 * last, limit_bps)
        time_s, count = time_s + rtt_s, count + last * rtt_s / 8
    return replace(
        divided, start_s=time_s, start_bytes=count, rate_bps=limit_bps, half_bps=0.0, found=False, by_theory=True
    )


def truncation(values: Sequence[float]) -> int:
    """Count the first values that belong to the start: the least of MSER's statistic, up to half of them."""
    total = squares = 0.0
    best, least = 0, math.inf
    shift = values[-1]  # near the mean: squares of large figures lose digits
    for cut in range(len(values) - 1, -1, -1):
        total += values[cut] - shift
        squares += (values[cut] - shift) ** 2
        count = len(values) - cut
        if cut > len(values) // 2:
            continue
        statistic = max(0.0, squares - total * total / count) / count**2
        if statistic <= least * (1 + 1e-12):
            best, least = cut, statistic
    return best


def half_interval(values: Sequence[float]) -> float:
    """Half of the 95 % interval of the mean, from means of batches; infinite for fewer than four values."""
    if len(values) < 4:
        return math.inf
    size = max(1, len(values) // BATCHES)
    begin = len(values) % size
    batches = [sum(values[i : i + size]) / size for i in range(begin, len(values), size)]
    return certain(batches).half or 0.0


def time_of(curves: ByteCurves, amount: float) -> float:
    """Time at which all streams together had read `amount` bytes, in s, to a microsecond."""
    low, high = 0.0, curves.end_s
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if curves.bytes_at(middle) < amount else (low, middle)
    return high
