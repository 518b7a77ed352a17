"""Docstrings begin with a verb or a noun of the field, not with a question word, a preposition or a pronoun."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.support.places import ROOT

FORBIDDEN = re.compile(
    r"(What|Which|Who|Whose|Whether|How|Where|Why|When|"
    r"Of|For|From|With|By|After|As|At|On|In|To|Until|Since|Within|Against|Unless|"
    r"That|This|These|Those|It|Its|Their|There|Another|Something|Everything|"
    r"So|No|None|Nobody|Nothing|Is|Can|The same)\b"
)
FOLDERS = ("landspeed", "playbooks")


def _docstrings(file: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if text := ast.get_docstring(node):
            yield node.body[0].lineno, text.splitlines()[0]


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    files = sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))
    assert files
    bad = [
        f"{file.relative_to(ROOT)}:{line}: {text}"
        for file in files
        for line, text in _docstrings(file)
        if FORBIDDEN.match(text)
    ]
    assert not bad, "\n".join(["say what it is or what it does, with a verb or a noun first:", *bad])
