"""Measures cases in both worlds, seed by seed, and keeps what was measured, so that the next call goes on."""

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TypeAlias

from tests.support.places import ROOT

WORLDS = ("emu", "sim")

Asked: TypeAlias = tuple[str, str, int]
"""A case, a world, a seed."""
Table: TypeAlias = Callable[[Sequence[str], int, dict[Asked, float]], Iterator[tuple[str, bool]]]
"""Of cases, a number of seeds and what is known: the rows of a table, and whether each of them is as it should be."""


def measure(
    asked: Sequence[Asked], known: dict[Asked, float], value: Callable[[Asked], float], words: argparse.Namespace
) -> None:
    """Measure what is not known; none begins after `words.seconds`. What is found is kept at once."""
    began, missing = time.monotonic(), [each for each in asked if each not in known]
    with ProcessPoolExecutor(words.jobs) as pool:
        for place in range(0, len(missing), words.jobs):
            if time.monotonic() - began > words.seconds:
                return
            some = missing[place : place + words.jobs]
            known.update(zip(some, pool.map(value, some), strict=True))
            words.kept.parent.mkdir(exist_ok=True)
            words.kept.write_text(json.dumps([[*each, found] for each, found in known.items()]))


def run(
    module: str, about: str, cases: Sequence[str], *, value: Callable[[Asked], float], table: Table, head: str
) -> int:
    """Run a bench as its command.

    Args:
        module: its name.
        about: its docstring.
        cases: all that it has.
        value: measures one.
        table: its rows.
        head: of the table.

    Returns:
        the exit status: 1 where a row is not as it should be.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=about.split("\n", maxsplit=1)[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help="only these (default: all)")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no run after so long")
    kept = ROOT / "build" / f"{module.rpartition('.')[2]}.json"
    parser.add_argument("--kept", type=Path, default=kept, help="what is known; remove it to measure again")
    parser.add_argument("--markdown", action="store_true", help="run nothing")
    words = parser.parse_args()
    if unknown := [case for case in words.cases if case not in cases]:
        parser.error(f"no case {unknown[0]!r}; there are: {'; '.join(cases)}")
    chosen = words.cases or list(cases)
    read = json.loads(words.kept.read_text()) if words.kept.exists() else []
    known: dict[Asked, float] = {(case, world, seed): found for case, world, seed, found in read}
    if not words.markdown:  # seed by seed, so that what is known of one case is known of all
        asked = [(case, world, seed) for seed in range(words.seeds) for case in chosen for world in WORLDS]
        measure(asked, known, value, words)
    rows = list(table(chosen, words.seeds, known))
    print("\n".join([head, *(row for row, _ in rows)]))
    return 0 if all(good for _, good in rows) else 1
