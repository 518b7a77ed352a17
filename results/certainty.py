"""The mean of a combination over its seeds, and how certain it is.

The interval is that of Student's t for a mean of independent draws. Who stops as soon as it is narrow also stops at
lucky spreads, so no combination stops before `LEAST` seeds.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from .failure import NotPossible

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


def enough(values: Sequence[float], share: float) -> bool:
    """Whether the mean is known to `share` of itself."""
    known = certain(values)
    return known.count >= LEAST and known.relative is not None and known.relative <= share


def parse_until(text: str) -> float:
    """`ci95=2 %` as a share. Raises NotPossible."""
    match = _GOAL.fullmatch(text)
    if match is None or not 0 < float(match[1]) < 100:
        raise NotPossible(f"--until '{text}' is not a goal; write for example --until \"ci95=2 %\"")
    return float(match[1]) / 100
