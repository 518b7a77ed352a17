"""The mean of a combination over its seeds, and how certain it is.

The interval is that of Student's t for a mean of independent draws. Who stops as soon as it is narrow also stops at
lucky spreads, so no combination stops before `LEAST` seeds.
"""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from landspeed.base.failures import NotPossible
from landspeed.base.limits import UNKNOWN

LEAST = 10
CONFIDENCE = 0.95
_GOAL = re.compile(r"\s*ci95\s*=\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*")


@dataclass(frozen=True)
class Certain:
    """A mean and half of its interval; `half` is None where fewer than two values are known."""

    count: int
    mean: float | None
    half: float | None

    @property
    def relative(self) -> float | None:
        """Half of the interval as a share of the mean."""
        return None if self.half is None or not self.mean else self.half / abs(self.mean)


def certain(values: Sequence[float], confidence: float = CONFIDENCE) -> Certain:
    """The mean of values and half of its confidence interval (Student 1908)."""
    if len(values) < 2:
        return Certain(len(values), values[0] if values else None, None)
    from scipy import stats

    quantile = float(stats.t.ppf((1 + confidence) / 2, len(values) - 1))
    half = quantile * statistics.stdev(values) / math.sqrt(len(values))
    return Certain(len(values), statistics.fmean(values), half)


def most_told(words: Iterable[str]) -> str:
    """The word that most runs were told, and of how many if not all: "loss (3 of 5)"; the last is "unknown"."""
    known = Counter(words)
    if not known:
        return ""
    word = max(known, key=lambda each: (known[each], each != UNKNOWN))
    count = known[word]
    return word if count == known.total() else f"{word} ({count} of {known.total()})"


def enough(values: Sequence[float], share: float) -> bool:
    """Return whether the mean is known to `share` of itself."""
    known = certain(values)
    return known.count >= LEAST and known.relative is not None and known.relative <= share


@dataclass(frozen=True)
class MeanDifference:
    """One mean against another.

    Attributes:
        share: the second divided by the first, less 1; None where that is 0 or one is not known.
        half: half of the 95 % interval of the difference, as a share of the first; None for a single value on a side.
        p: how likely a difference as large would come by chance alone (Welch 1947); None likewise.
    """

    share: float | None
    half: float | None
    p: float | None


def difference(first: Sequence[float], second: Sequence[float]) -> MeanDifference:
    """Two means of independent draws, whose spreads may differ (Welch's t). Where nothing varies, it is exact."""
    if not first or not second:
        return MeanDifference(None, None, None)
    one, other = statistics.fmean(first), statistics.fmean(second)
    share = other / one - 1 if one else (0.0 if other == one else None)
    if len(first) < 2 or len(second) < 2:
        return MeanDifference(share, None, None)
    errors = [statistics.variance(values) / len(values) for values in (first, second)]
    error = math.sqrt(sum(errors))
    if error == 0:
        return MeanDifference(share, 0.0, 0.0 if one != other else 1.0)
    from scipy import stats

    terms = (each**2 / (len(values) - 1) for each, values in zip(errors, (first, second), strict=True))
    freedom = error**4 / sum(terms)
    p = 2 * float(stats.t.sf(abs(other - one) / error, freedom))
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, freedom)) * error
    return MeanDifference(share, half / abs(one) if one else None, p)


def beyond_chance(ps: Sequence[float | None]) -> list[bool]:
    """Mark the differences that are beyond chance, so that with 95 % none is named by mistake (Holm 1979)."""
    known = sorted((p, place) for place, p in enumerate(ps) if p is not None)
    found = [False] * len(ps)
    for rank, (p, place) in enumerate(known):
        if p > (1 - CONFIDENCE) / (len(known) - rank):
            break
        found[place] = True
    return found


def parse_until(text: str) -> float:
    """`ci95=2 %` as a share. Raises NotPossible."""
    match = _GOAL.fullmatch(text)
    if match is None or not 0 < float(match[1]) < 100:
        raise NotPossible(f"--until '{text}' is not a goal; write for example --until \"ci95=2 %\"")
    return float(match[1]) / 100
