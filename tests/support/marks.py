"""What a test needs, found in its code: a guest of the emulated world, the lab, a browser, which takes seconds.

A test that is not found so has its marker written at it. One that is forgotten fails: without the marker `guest` a test
finds no kernel (conftest.py).
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

TESTS = str(Path(__file__).resolve().parent.parent)
# A guest is booted by code that names one of the first and one of the second, as a name or as a word of a command.
GUEST = [
    ({"landspeed", "COMMAND"}, {"run", "demo", "exec", "shell", "record-book"}),
    ({"EmuWorld"}, {"execute", "run"}),
    ({"ls"}, {"run", "arun"}),
]
BUILT_IN = "_pytest"  # fixtures of pytest's own
BROWSER = "browser"  # the tests' module
CHEAP = {"engine", "no_kernel"}  # fixtures that each worker may well make for itself


def _parts(code: CodeType) -> Iterator[CodeType]:
    """A function's code and that of the functions and comprehensions within."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _parts(constant)


def _words(constants: tuple[Any, ...]) -> Iterator[str]:
    for constant in constants:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, (tuple, frozenset)):
            yield from _words(tuple(constant))


def needs(thing: Any, seen: set[CodeType] | None = None) -> set[str]:
    """What a function or class of the tests, or one that it names, needs: `guest`, `lab`, `slow`."""
    seen = set() if seen is None else seen
    if isinstance(thing, type):
        return set[str]().union(*(needs(each, seen) for each in vars(thing).values()))
    function = inspect.unwrap(thing) if callable(thing) else None
    if not isinstance(function, FunctionType) or function.__code__ in seen:
        return set()
    seen.add(function.__code__)
    names: set[str] = set()
    words: set[str] = set()
    for part in _parts(function.__code__):
        names |= set(part.co_names)
        words |= set(_words(part.co_consts))
    known = [function.__globals__[name] for name in names if name in function.__globals__]
    words |= set(_words(tuple(each for each in known if isinstance(each, tuple))))
    found: set[str] = set()
    if "Lab" in names and "up" in names:
        found.add("lab")
    for callers, called in GUEST:
        if names & callers and (names | words) & called:
            found.add("guest")
    for each in known:
        if str(getattr(each, "__module__", "")).rpartition(".")[2] == BROWSER:
            found.add("slow")
        if callable(each) and _is_ours(each):
            found |= needs(each, seen)
    return found


def _is_ours(thing: Any) -> bool:
    code = getattr(inspect.unwrap(thing), "__code__", None)
    file = code.co_filename if code else getattr(sys.modules.get(getattr(thing, "__module__", "")), "__file__", None)
    return str(file).startswith(TESTS)


def _fixtures(item: pytest.Function) -> list[pytest.FixtureDef[Any]]:
    info = item._fixtureinfo.name2fixturedefs
    return [made[-1] for made in info.values() if BUILT_IN not in made[-1].func.__module__]


def mark(item: pytest.Item) -> None:
    """Add what is found, and bring tests that share a costly fixture to one worker."""
    if not isinstance(item, pytest.Function):
        return
    fixtures = _fixtures(item)
    found = set[str]().union(*(needs(each) for each in (item.function, *(made.func for made in fixtures))))
    if "lab" in found:
        for each in (pytest.mark.lab, pytest.mark.root, pytest.mark.guest, pytest.mark.xdist_group("lab")):
            item.add_marker(each)
        return
    for name in found:
        item.add_marker(getattr(pytest.mark, name))
    if any(each.scope in ("module", "session") and each.argname not in CHEAP for each in fixtures):
        item.add_marker(pytest.mark.xdist_group(item.path.stem))
