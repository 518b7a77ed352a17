"""The words for limits: each with a sentence, spelt in one module, and the same in the engine's C."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from landspeed.base import limits
from landspeed.base.limits import ENGINE_WORDS, MEANINGS, EngineLimit, LimitWord, engine_header

ROOT = Path(__file__).resolve().parents[2]
WORDS = set(get_args(LimitWord))
FORMER = {"framing", "program window", "tcp window", "bottleneck", "receiver CPU", "sender CPU", "probing", "share"}
ELSEWHERE = {"window", "loss", "pacing", "receiver", "bus", "host", "line rate", "unknown", "application", "idle"}
"""Words that are also keys, roles, or heads of columns: they count only beside what holds a limit."""
HOLDERS = {"limit", "limited_by", "bound_by"}
"""Names of what holds a limit, or has it as its `kind`."""


def test_each_word_has_a_constant_and_a_sentence() -> None:
    spelt = {value for name, value in vars(limits).items() if name.isupper() and isinstance(value, str)}
    assert spelt == WORDS == set(MEANINGS)
    for sentence in MEANINGS.values():
        assert sentence[0].isupper() and sentence.endswith("."), sentence


def test_the_engine_has_the_same_words_and_thresholds() -> None:
    header = ROOT / "engine" / "src" / "telemetry" / "limit_words.h"
    assert header.read_text() == engine_header(), "run .venv/bin/python -m landspeed.base.limits"
    assert set(ENGINE_WORDS) == set(get_args(EngineLimit))


def test_the_manual_of_the_engine_has_its_words() -> None:
    manual = " ".join((ROOT / "engine" / "landspeed-engine.1").read_text().split())
    assert f"{', '.join(ENGINE_WORDS[:-1])}, or {ENGINE_WORDS[-1]}, with the figures" in manual


def test_no_other_module_spells_them() -> None:
    files = [file for file in (ROOT / "landspeed").rglob("*.py") if file != Path(limits.__file__)]
    found = [f"{file.relative_to(ROOT)}:{said}" for file in files for said in _spelt(file)]
    assert len(files) > 200
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "caught"),
    [
        ("if record.limited_by == 'window': ...", True),
        ("if limit.kind != 'loss': ...", True),
        ("Limit(kind='loss')", True),
        ("known.bound('receiver', text)", True),
        ("x = 'slow start'", True),
        ("return 'bus (fitted)', why", True),
        ("bound_by: Literal['host', 'window'] = 'window'", True),
        ("made.bound_by, made.why = 'framing', why", True),
        ("event.kind == 'loss'", False),
        ("node.kind == 'host'", False),
        ("roles = 'sender', 'receiver'", False),
    ],
)
def test_what_counts_as_spelling_one(text: str, caught: bool, tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(text)
    assert bool(list(_spelt(file))) is caught


def _spelt(file: Path) -> Iterator[str]:
    """Texts of a module that are words for limits, present or former."""
    for node in ast.walk(ast.parse(file.read_text())):
        inside: list[ast.Constant] = []
        if _holds_a_limit(node):
            looked_at = (
                [*node.args, *(each for each in node.keywords if each.arg == "kind")]
                if isinstance(node, ast.Call)
                else [node]
            )
            constants = [each for part in looked_at for each in ast.walk(part) if isinstance(each, ast.Constant)]
            inside = [each for each in constants if each.value in WORDS | FORMER]
        if isinstance(node, ast.Constant) and node.value in WORDS - ELSEWHERE:
            inside.append(node)
        yield from (f"{each.lineno}: {each.value}" for each in inside)


def _holds_a_limit(node: ast.AST) -> bool:
    """Return whether a comparison, an assignment or a call is about something that holds a limit."""
    if isinstance(node, ast.Call):
        return _name(node.func) in {"Limit", "Bound", "bound"}
    parts = [*ast.iter_child_nodes(node)] if isinstance(node, (ast.Compare, ast.Assign, ast.AnnAssign)) else []
    for each in [child for part in parts for child in ([*part.elts] if isinstance(part, ast.Tuple) else [part])]:
        if _name(each) in HOLDERS or (_name(each) == "kind" and _name(getattr(each, "value", each)) in HOLDERS):
            return True
    return False


def _name(node: object) -> str | None:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None
