"""`vary:` in a scenario file: lists of values by dotted key; every combination is a scenario of its own."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .document import Node, apply_override
from .errors import Problem, ScenarioError
from .load import LoadedScenario, change_tree, check_tree, read_tree

MOST_VARIANTS = 1000


def load_variants(path: Path, overrides: Sequence[str] = ()) -> list[tuple[dict[str, str], LoadedScenario]]:
    """Every scenario of a file, in the order of its lists: the first key varies slowest.

    A key that an override sets is not varied any more.

    Returns:
        for each the varied keys with their values as written, empty for a file that varies nothing; and the scenario.

    Raises:
        ScenarioError: with every problem of the first variant that has any.
    """
    tree = read_tree(Path(path))
    for override in overrides:
        tree = apply_override(tree, override)
    node = tree.mapping.get("vary")
    if node is None:
        return [({}, check_tree(tree, Path(path), overrides))]
    fixed = {override.partition("=")[0].strip() for override in overrides}
    lists = {key: values for key, values in _lists(node).items() if key not in fixed}
    if (count := math.prod(map(len, lists.values()))) > MOST_VARIANTS:
        what = f"the lists make {count} combinations"
        raise ScenarioError([Problem(what, f"shorten them: at most {MOST_VARIANTS}", node.mark)])
    one = apply_override(tree, "vary=null")
    found: list[tuple[dict[str, str], LoadedScenario]] = []
    for combination in itertools.product(*lists.values()):
        values = dict(zip(lists, combination, strict=True))
        loaded = change_tree(one, Path(path), [*overrides, "vary=null"], values)
        found.append(({key: _written(value.plain()) for key, value in values.items()}, loaded))
    return found


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _lists(node: Node) -> dict[str, list[Node]]:
    """Key → values."""
    problems: list[Problem] = []
    if node.kind != "mapping" or not node.mapping:
        right = "write key: [value, value] below it, such as transfer.streams: [1, 2, 4]"
        raise ScenarioError([Problem("'vary' is a mapping of keys to lists", right, node.mark)])
    for key, value in node.mapping.items():
        if value.kind != "list" or not value.items:
            problems.append(Problem(f"{key} varies over a list", f"write {key}: [value, value]", value.mark))
        elif key.split(".")[0] in ("vary", "extends", "format", "name"):
            problems.append(Problem(f"{key} cannot vary", "vary what is sent, or the path", node.keys[key]))
    if problems:
        raise ScenarioError(problems)
    return {key: value.items for key, value in node.mapping.items()}
