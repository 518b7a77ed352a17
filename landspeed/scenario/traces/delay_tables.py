"""Tables of a delay's distribution, as netem has them: made as iproute2 makes its own, or read from a file like these.

A table is the inverse of the distribution at even steps, in 1/8192 of the standard deviation about the mean. Its
formulas are those by which iproute2 makes `normal`, `pareto` and `paretonormal` (from NIST Net), to the last digit.
"""

from __future__ import annotations

import functools
import math
import re
from pathlib import Path
from statistics import NormalDist

from landspeed.base.errors import Problem, ScenarioError, Source, TextPosition
from landspeed.scenario.plan.direction import TABLE_SCALE

SHORTEST, LONGEST = -(2**15), 2**15 - 1  # an entry has 16 bits
MOST_ENTRIES = 16_384  # NETEM_DIST_MAX
MAX_BYTES = 1_000_000
_STEPS, _GRID = 16_384, 0.00005


def made_table(name: str) -> list[int]:
    """The table of `normal`, `pareto` or `paretonormal`: 4096 entries."""
    return list(_MADE[name]())


@functools.cache
def _quantiles() -> tuple[int, ...]:
    """Quantiles of the normal distribution; theirs is the last x of a grid that is still in its step of probability."""
    spot = NormalDist()
    ends = (spot.inv_cdf((i + 0.5) / _STEPS) for i in range(0, _STEPS, 4))
    return tuple(round((math.floor((x + 10) / _GRID) * _GRID - 10) * TABLE_SCALE) for x in ends)


def _normal() -> tuple[int, ...]:
    return tuple(max(SHORTEST, entry) for entry in _quantiles())


@functools.cache
def _pareto() -> tuple[int, ...]:
    """Pareto with the exponent 3: mean 1.5, standard deviation 0.75·√(4/3) of its own, but for its cut tail."""
    values = (((i / 65536) ** (-1 / 3) - 1.5) * 4 / 3 * TABLE_SCALE for i in range(65536, 0, -16))
    return tuple(round(min(value, LONGEST)) for value in values)


@functools.cache
def _paretonormal() -> tuple[int, ...]:
    pairs = zip(_quantiles(), _pareto(), strict=True)
    return tuple(max(SHORTEST, min(LONGEST, int((normal + 3 * pareto) / 4))) for normal, pareto in pairs)


_MADE = {"normal": _normal, "pareto": _pareto, "paretonormal": _paretonormal}


def read_delays(named_in: Path, name: str, where: TextPosition) -> list[int]:
    """The table of a file: whole numbers, as in iproute2's `normal.dist`; lines that begin with # are not read.

    Args:
        named_in: the scenario file, to whose folder `name` is relative.
        where: the key's place, for what is wrong with the file as a whole.

    Raises:
        ScenarioError: the file cannot be read, or is no table; with the line and column where it is not.
    """
    path = named_in.parent / name
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES + 1).decode()
    except (OSError, ValueError) as error:
        what = f"the table '{name}' cannot be read: {getattr(error, 'strerror', None) or error}"
        raise ScenarioError([Problem(what, f"write its path relative to {path.parent}", where)]) from None
    source, found = Source(str(path), text.split("\n")), list[int]()
    for number, line in enumerate(source.lines):
        for word in () if line.startswith("#") else re.finditer(r"\S+", line):
            if not re.fullmatch(r"[+-]?[0-9]{1,6}", word[0]) or not SHORTEST <= int(word[0]) <= LONGEST:
                right = f"write whole numbers from {SHORTEST} to {LONGEST}, in 1/{TABLE_SCALE} of the jitter"
                mark = TextPosition(source, number, word.start())
                raise ScenarioError([Problem(f"'{word[0][:20]}' is no entry of a table of delays", right, mark)])
            found.append(int(word[0]))
    if not 2 <= len(found) <= MOST_ENTRIES or len(text) > MAX_BYTES or not any(found):
        what = f"the table '{name}' has {len(found)} entries"
        raise ScenarioError([Problem(what, f"write 2 to {MOST_ENTRIES}, not all of them 0", where)])
    return found
