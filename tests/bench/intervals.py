"""How often an interval of `--until` holds the true mean: by draws from values that many seeds gave."""

import random
import statistics
from collections.abc import Sequence

from landspeed.judge.certainty import certain, enough


def inside(values: Sequence[float], share: float, trials: int, seed: int = 1) -> tuple[int, float]:
    """Draw seeds until the mean is known to `share`, as a sweep does, again and again.

    Draws are with replacement, so the mean of all values is the true mean of what is drawn from.

    Returns:
        in how many trials the true mean is inside the interval, and the mean number of draws.
    """
    chance, truth = random.Random(seed), statistics.fmean(values)
    hits = count = 0
    for _ in range(trials):
        drawn: list[float] = []
        while not enough(drawn, share):
            drawn.append(chance.choice(values))
        known = certain(drawn)
        assert known.mean is not None
        assert known.half is not None
        hits += abs(known.mean - truth) <= known.half
        count += known.count
    return hits, count / trials
