"""`vary:` in a scenario file: values by dotted key; every combination is a scenario of its own.

An axis is a key with a list or a range of values; `zip`, keys that go in step; `cases`, named sets of keys; `seeds`.
The combinations are the product of the axes in the order of the file: the first one varies slowest, seeds fastest.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from landspeed.base.errors import Problem, ScenarioError, TextPosition
from landspeed.scenario.file.document import YamlNode, apply_override
from landspeed.scenario.file.load import LoadedScenario, change_tree, check_tree, read_tree
from landspeed.scenario.file.ranges import expand

MOST_VARIANTS = 1000
FIXED = ("vary", "extends", "format", "name")
RIGHT = "write key: [value, value] below it, such as transfer.streams: [1, 2, 4]"
_Choice = tuple[dict[str, str], dict[str, YamlNode]]


@dataclass(frozen=True)
class Combination:
    """One combination of everything but seeds.

    Attributes:
        values: what varies, with its values as written; `case` is the name of a case.
        loaded: the scenario.
        seeds: those that it is to be run with; none for the scenario's own.
    """

    values: dict[str, str]
    loaded: LoadedScenario
    seeds: tuple[int, ...] = ()


@dataclass(frozen=True)
class Space:
    """Axes that a file varies, before any scenario is made of it."""

    tree: YamlNode
    path: Path
    overrides: tuple[str, ...]
    axes: tuple[tuple[_Choice, ...], ...]
    seeds: tuple[int, ...]
    mark: TextPosition | None

    def __len__(self) -> int:
        """Number of its scenarios, each seed counted."""
        return math.prod(map(len, self.axes)) * max(1, len(self.seeds))

    @property
    def name(self) -> str:
        """The scenario's name in the file."""
        return str(self.tree.mapping["name"].scalar) if "name" in self.tree.mapping else "sweep"

    @property
    def keys(self) -> list[str]:
        """Keys that it varies, seeds among them."""
        names = [name for axis in self.axes for name in axis[0][0]]
        return [*names, *(["seeds"] if self.seeds else [])]

    def values_of(self, key: str) -> list[str]:
        """The values of a key that has an axis of its own, as written; none if it has none."""
        for axis in self.axes:
            if axis[0][0].keys() == {key}:
                return [values[key] for values, _ in axis]
        return []

    def without(self, key: str) -> Space:
        """Return the space without the axis of a key."""
        return replace(self, axes=tuple(axis for axis in self.axes if axis[0][0].keys() != {key}))

    def at_most(self, most: int, right: str) -> None:
        """Raises ScenarioError when there are more."""
        if len(self) > most:
            raise ScenarioError([Problem(f"the lists make {len(self)} combinations", right, self.mark)])

    def combinations(self) -> Iterator[Combination]:
        """Each of them, the first axis varying slowest.

        Raises:
            ScenarioError: with every problem of the first that has any.
        """
        if self.mark is None:
            yield Combination({}, check_tree(self.tree, self.path, self.overrides))
            return
        one = apply_override(self.tree, "vary=null")
        overrides = [*self.overrides, "vary=null"]
        for chosen in itertools.product(*self.axes):
            values: dict[str, str] = {}
            changes: dict[str, YamlNode] = {}
            for names, nodes in chosen:
                values |= names
                changes |= nodes
            yield Combination(values, change_tree(one, self.path, overrides, changes), self.seeds)


def read_space(path: Path, overrides: Sequence[str] = ()) -> Space:
    """Read the axes that a file varies. A key that an override sets is not varied any more.

    Raises:
        ScenarioError: with every problem of its `vary:`.
    """
    tree = read_tree(Path(path))
    for override in overrides:
        tree = apply_override(tree, override)
    node = tree.mapping.get("vary")
    if node is None:
        return Space(tree, Path(path), tuple(overrides), (), (), None)
    if node.kind != "mapping" or not node.mapping:
        raise ScenarioError([Problem("'vary' is a mapping of keys to lists", RIGHT, node.mark)])
    fixed = {override.partition("=")[0].strip() for override in overrides}
    axes: list[tuple[_Choice, ...]] = []
    seeds: tuple[int, ...] = ()
    problems: list[Problem] = []
    for key, value in node.mapping.items():
        try:
            if key == "seeds":
                seeds = () if "seed" in fixed else _seeds(value, tree)
            elif key == "cases":
                axes.append(_cases(value, fixed))
            elif key == "zip":
                axes += [axis for axis in _zips(value, fixed) if axis]
            elif (choices := _choices(key, value, node.keys[key])) and key not in fixed:
                axes.append(choices)
        except ScenarioError as error:
            problems += error.problems
    if problems:
        raise ScenarioError(problems)
    return Space(tree, Path(path), tuple(overrides), tuple(axes), seeds, node.mark)


def load_variants(path: Path, overrides: Sequence[str] = ()) -> list[tuple[dict[str, str], LoadedScenario]]:
    """Every scenario of a file, each seed a scenario of its own, in the order of its axes.

    Returns:
        for each the varied keys with their values as written, empty for a file that varies nothing; and the scenario.

    Raises:
        ScenarioError: with every problem of the first variant that has any, or that there are too many.
    """
    space = read_space(path, overrides)
    space.at_most(MOST_VARIANTS, f"shorten them: at most {MOST_VARIANTS}, or `landspeed sweep`")
    found: list[tuple[dict[str, str], LoadedScenario]] = []
    for each in space.combinations():
        if not each.seeds:
            found.append((each.values, each.loaded))
        for seed in each.seeds:
            loaded = change_tree(each.loaded.tree, each.loaded.path, each.loaded.overrides, {"seed": seed})
            found.append(({**each.values, "seed": str(seed)}, loaded))
    return found


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _values(key: str, node: YamlNode) -> list[YamlNode]:
    """The values of a list or a range."""
    if node.kind == "mapping" and node.mapping.keys() & {"from", "to", "by", "points"}:
        return expand(node, key)
    if node.kind != "list" or not node.items:
        right = f"write {key}: [value, value], or {key}: {{from: …, to: …, by: …}}"
        raise ScenarioError([Problem(f"{key} varies over a list or a range", right, node.mark)])
    return node.items


def _choices(key: str, node: YamlNode, mark: TextPosition) -> tuple[_Choice, ...]:
    """The axis of one key."""
    values = _values(key, node)
    _may_vary(key, mark)
    return tuple(({key: _written(value.plain())}, {key: value}) for value in values)


def _may_vary(key: str, mark: TextPosition) -> None:
    if key.split(".", maxsplit=1)[0] in FIXED:
        raise ScenarioError([Problem(f"{key} cannot vary", "vary what is sent, or the path", mark)])


def _cases(node: YamlNode, fixed: set[str]) -> tuple[_Choice, ...]:
    """The axis of named cases, each a mapping of dotted keys to values."""
    right = "write cases: {small: {transfer.window: 1 MB}, large: {transfer.window: 64 MB}}"
    if node.kind != "mapping" or not node.mapping:
        raise ScenarioError([Problem("'cases' is a mapping of names to what each sets", right, node.mark)])
    found: list[_Choice] = []
    for name, case in node.mapping.items():
        if case.kind != "mapping":
            raise ScenarioError([Problem(f"case {name} is a mapping of keys to values", right, case.mark)])
        for key, mark in case.keys.items():
            _may_vary(key, mark)
        found.append(({"case": name}, {key: value for key, value in case.mapping.items() if key not in fixed}))
    return tuple(found)


def _zips(node: YamlNode, fixed: set[str]) -> Iterator[tuple[_Choice, ...]]:
    """An axis for each entry of `zip`: a mapping of keys whose lists go in step."""
    right = "write zip: [{transfer.streams: [1, 8], transfer.window: [64 MB, 8 MB]}]"
    entries = [node] if node.kind == "mapping" else node.items
    if not entries or any(entry.kind != "mapping" or not entry.mapping for entry in entries):
        raise ScenarioError(
            [Problem("'zip' is a mapping of keys to lists, or a list of such mappings", right, node.mark)]
        )
    for entry in entries:
        columns = {key: _values(key, value) for key, value in entry.mapping.items()}
        for key, mark in entry.keys.items():
            _may_vary(key, mark)
        lengths = {key: len(values) for key, values in columns.items()}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{key} {length}" for key, length in lengths.items())
            raise ScenarioError(
                [Problem(f"the lists of one 'zip' need the same number of values; here {told}", right, entry.mark)]
            )
        columns = {key: values for key, values in columns.items() if key not in fixed}
        yield tuple(
            ({key: _written(each.plain()) for key, each in row.items()}, row)
            for row in (dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))
        )


def _seeds(node: YamlNode, tree: YamlNode) -> tuple[int, ...]:
    """`seeds: 5` is five from the scenario's own on; or a list, or a range."""
    if node.kind == "scalar" and isinstance(node.scalar, int) and not isinstance(node.scalar, bool) and node.scalar > 0:
        own = tree.mapping["seed"].scalar if "seed" in tree.mapping else 1
        first = own if isinstance(own, int) else 1
        return tuple(range(first, first + node.scalar))
    right = "write seeds: 5, seeds: [1, 2, 3] or seeds: {from: 1, to: 20, by: 1}"
    if node.kind == "scalar":
        raise ScenarioError([Problem(f"seeds: '{node.scalar}' is not a count of one or more", right, node.mark)])
    seeds = [each.plain() for each in _values("seeds", node)]
    if any(not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**53 for seed in seeds):
        raise ScenarioError([Problem("seeds are whole numbers from 0 to 2^53 − 1", right, node.mark)])
    if len(set(seeds)) < len(seeds):
        raise ScenarioError([Problem("a seed is given twice", "name each seed once", node.mark)])
    return tuple(seeds)
