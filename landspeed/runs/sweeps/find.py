"""Find the least, or the greatest, value of a key with which a goal is still met: by bisection, each value with seeds.

A value meets the goal when the run of every seed does. Between the last value that does not and the first that does
lies what is sought; the goal must be met on one side of it only.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from landspeed.base.failures import NotPossible, RunFailed
from landspeed.base.units import PROBABILITY, RATE, TIME, UnitError, parse_exact
from landspeed.judge.certainty import most_told
from landspeed.results.flow_result import PING_FIGURES, UDP_FIGURES
from landspeed.runs.sweeps.grid import plan_grid
from landspeed.runs.sweeps.store import Store
from landspeed.runs.sweeps.sweep import Report, SweepOptions, run_grid
from landspeed.scenario.file.document import YamlNode, override_text
from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.file.ranges import Ends, read_ends
from landspeed.scenario.file.vary import read_space
from landspeed.worlds.world import World

MEASURES = {
    "goodput": ("goodput_bps", RATE, 1.0),
    "steady_goodput": ("steady_goodput_bps", RATE, 1.0),
    "settled_goodput": ("settled_goodput_bps", RATE, 1.0),
    "duration": ("duration_s", TIME, 1e-9),
    "retransmits": ("retransmits", None, 1.0),
    **{f"rtt_loaded_{each}": (f"rtt_loaded_{each}_ms", TIME, 1e-6) for each in ("median", "p95", "p99", "max")},
    **{name.removesuffix("_ms"): (name, TIME, 1e-6) for name in (*PING_FIGURES, *UDP_FIGURES) if name.endswith("_ms")},
    "ping_lost": ("ping_lost", PROBABILITY, 1.0),
    "udp_lost": ("udp_lost", PROBABILITY, 1.0),
    "rpm": ("rpm", None, 1.0),
}
OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt,
}  # fmt: skip
_GOAL = re.compile(r"\s*(\w+)\s*(>=|<=|>|<)\s*(\S.*?)\s*")


@dataclass(frozen=True)
class Goal:
    """A figure of a run against a level in the figure's base unit."""

    text: str
    figure: str
    relation: str
    level: float

    @classmethod
    def parse(cls, text: str) -> Goal:
        """`goodput >= 9 Gbit/s`. Raises NotPossible."""
        match = _GOAL.fullmatch(text)
        if match is None or match[1] not in MEASURES:
            raise NotPossible(
                f"--goal '{text}': write one of {', '.join(MEASURES)}, then >=, <=, > or <, then a quantity, "
                'such as "goodput >= 9 Gbit/s"'
            )
        figure, kind, scale = MEASURES[match[1]]
        try:
            level = float(parse_exact(kind, match[3])) * scale if kind is not None else float(match[3])
        except UnitError as error:
            raise NotPossible(f"--goal '{text}': {error}") from error
        except ValueError as error:
            raise NotPossible(f"--goal '{text}': '{match[3]}' is not a number") from error
        return cls(text.strip(), figure, match[2], level)

    def met(self, figures: Mapping[str, Any]) -> bool:
        """Return whether a run's figures meet it; a run without the figure does not."""
        value = figures.get(self.figure)
        return value is not None and OPERATORS[self.relation](float(value), self.level)


@dataclass(frozen=True)
class Trial:
    """A value that was tried: how many of its seeds met the goal; what bound those that did not, or all that did."""

    value: str
    met: int
    seeds: int
    bound_by: str = ""

    @property
    def good(self) -> bool:
        """Every seed met it."""
        return self.met == self.seeds

    def __str__(self) -> str:
        bound = f"; bound by {self.bound_by}" if self.bound_by else ""
        return f"{self.value} (met with {self.met} of {self.seeds} seeds{bound})"


@dataclass(frozen=True)
class Found:
    """The bracket: `met` is the last value tried that meets the goal, `missed` the nearest that does not."""

    key: str
    goal: Goal
    most: bool
    met: Trial
    missed: Trial
    probes: tuple[Trial, ...]

    def __str__(self) -> str:
        word = "greatest" if self.most else "least"
        return f"The {word} {self.key} with {self.goal.text}: {self.met}. No longer met at {self.missed}"


def find(
    file: Path,
    overrides: Sequence[str],
    world: World,
    options: Mapping[str, Any],
    how: SweepOptions,
    *,
    vary: str,
    goal: Goal,
    most: bool = False,
    seeds: int = 3,
    within: float = 0.05,
    progress: Report = lambda _: None,
    tell: Callable[[Trial], None] = lambda _: None,
) -> Found:
    """Bisect.

    Args:
        vary: `KEY=FROM..TO`, or a key that the file varies over a range or a list.
        most: the greatest value instead of the least.
        within: the bracket's ends differ by at most this share of the greater one; counts are found exactly.
        tell: told of each value tried.

    Raises:
        ScenarioError, NotPossible, NotReady: known before the first run.
        RunFailed: no value of the range meets the goal, or all do; or a run broke.
    """
    key, ends = ends_of(file, overrides, vary)
    store = Store(how.folder)
    probes: list[Trial] = []
    figures: list[list[dict[str, Any]]] = []

    def probe(value: Fraction) -> Trial:
        text = ends.written(value)
        words = [*overrides, "vary=null", f'vary={{"seeds": {seeds}}}', override_text(key, text)]
        grid = plan_grid(file, words, world, at_most=seeds)
        store.make()
        done, interrupted = run_grid(grid, store, how, options, progress)
        if interrupted:
            raise KeyboardInterrupt
        outcomes = [each for _, each in done]
        if broken := [each for each in outcomes if not each.done]:
            raise RunFailed(f"{key} {text}, seed {broken[0].seed}: {broken[0].error}")
        figures.append([each.figures for each in outcomes])
        missing = [each for each in figures[-1] if not goal.met(each)]
        limits = (each.get("limited_by") for each in missing or figures[-1])
        bound_by = most_told(word for word in limits if word)
        probes.append(Trial(str(text), len(outcomes) - len(missing), len(outcomes), bound_by))
        tell(probes[-1])
        return probes[-1]

    low, high = probe(ends.first), probe(ends.last)
    bad_side, good_side = (high, low) if most else (low, high)
    if not good_side.good:
        same = _without_effect(file, overrides, key) if figures[0] == figures[1] else ""
        raise RunFailed(f"no {key} from {low.value} to {high.value} meets {goal.text}: not even {good_side}{same}")
    if bad_side.good:
        end = "greater" if most else "smaller"
        same = _without_effect(file, overrides, key) if figures[0] == figures[1] else ""
        advice = same or f": let the range have {end} values"
        raise RunFailed(f"every {key} from {low.value} to {high.value} meets {goal.text}{advice}")
    good, bad = (ends.first, ends.last) if most else (ends.last, ends.first)
    met, missed = good_side, bad_side
    while (middle := ends.between(good, bad, within)) is not None:
        tried = probe(middle)
        if tried.good:
            good, met = middle, tried
        else:
            bad, missed = middle, tried
    return Found(key, goal, most, met, missed, tuple(probes))


def _without_effect(file: Path, overrides: Sequence[str], key: str) -> str:
    """Sentence for a key that changes no figure: which keys of the file stand for it where it counts."""

    def own(node: YamlNode, where: str) -> Iterator[str]:
        for step, inner in (*node.mapping.items(), *enumerate(node.items)):
            name = f"{where}.{step}" if where else str(step)
            if step == key.rpartition(".")[2] and name != key:
                yield name
            yield from own(inner, name)

    here = list(own(load_scenario(file, [*overrides, "vary=null"]).tree, ""))
    instead = f": the file has {', '.join(here)} of its own" if here else ""
    return f"; both ends have the same figures, so {key} decides nothing here{instead}"


def ends_of(file: Path, overrides: Sequence[str], vary: str, word: str = "--vary") -> tuple[str, Ends]:
    """The key and its range: as given (`KEY=FROM..TO`), or as the file has it.

    Raises:
        NotPossible, ScenarioError: there is no such range.
    """
    key, given, text = (part.strip() for part in vary.partition("="))
    if given:
        first, dots, last = text.partition("..")
        if not dots:
            raise NotPossible(f"{word} '{vary}': write KEY=FROM..TO, such as {word} \"queue=0.01 BDP..2 BDP\"")
        return key, read_ends(key, first, last, word)
    values = read_space(file, overrides).values_of(key)
    if len(values) < 2:
        raise NotPossible(f'{word} {key}: the file does not vary it; write {word} "{key}=FROM..TO"')
    return key, read_ends(key, values[0], values[-1], word)
