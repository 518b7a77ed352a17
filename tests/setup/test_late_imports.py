"""An import inside a function has a reason: a heavy library, a command's own rooms, or a comment with what it saves.

What it saves is measured: `python -X importtime`, or the time of that import after the module itself was imported.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from landspeed.base.places import ROOT

PACKAGE = ROOT / "landspeed"
HEAVY = frozenset(
    (
        "adaptive",
        "ansible_runner",
        "dask",
        "distributed",
        "duckdb",
        "geographiclib",
        "jinja2",
        "jupytext",
        "latex2mathml",
        "markdown_it",
        "markupsafe",
        "mdit_py_plugins",
        "nbformat",
        "plotly",
        "psutil",
        "pyarrow",
        "pydantic_core",
        "pygments",
        "rich",
        "ruamel",
        "scipy",
        "shapefile",
        "tornado",
    )
)
"""Libraries that cost milliseconds at a start or that only an extra of the package has: who needs them imports them."""

BY_PHASE = ("cli/", "worlds/emu/guest/agent.py")
"""A command imports what it does when it is called, and PID 1 of the guest what a phase needs: there is no comment at
each. `landspeed --help` and a guest without a transfer pay for nothing else (tests/cli and tests/emu measure both)."""

REASON = re.compile(r"#.*\bsaves \d+(\.\d+)? ms\b")


def late_imports(tree: ast.AST) -> Iterator[list[ast.Import | ast.ImportFrom]]:
    """Imports within functions, those in lines after each other as one block."""
    block: list[ast.Import | ast.ImportFrom] = []
    for node in sorted(
        {
            each
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
            for each in ast.walk(function)
            if isinstance(each, ast.Import | ast.ImportFrom)
        },
        key=lambda each: each.lineno,
    ):
        if block and node.lineno > (block[-1].end_lineno or 0) + 2:  # a blank line may part libraries from our own
            yield block
            block = []
        block.append(node)
    if block:
        yield block


def is_heavy(node: ast.Import | ast.ImportFrom) -> bool:
    """Whether all that is imported is of heavy libraries."""
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names]
    return all(name.partition(".")[0] in HEAVY for name in names)


def unexplained(source: str) -> list[int]:
    """Lines of late imports without a reason."""
    lines = source.splitlines()
    found: list[int] = []
    for block in late_imports(ast.parse(source)):
        told = lines[block[0].lineno - 2 : block[-1].end_lineno]
        if not (any(REASON.search(line) for line in told) or all(map(is_heavy, block))):
            found.append(block[0].lineno)
    return found


def test_every_late_import_has_a_reason() -> None:
    wrong: list[str] = []
    for file in sorted(PACKAGE.rglob("*.py")):
        place = file.relative_to(PACKAGE).as_posix()
        if not place.startswith((*BY_PHASE, "data/")):
            wrong += [f"landspeed/{place}:{line}" for line in unexplained(file.read_text(encoding="utf-8"))]
    assert wrong == [], "import at the top, or write above what it saves, measured: # saves 12 ms where …"


def test_what_is_a_reason() -> None:
    body = "def f():\n    {}\n    return 1\n"
    own = "from landspeed.report.page_parts import write"
    assert unexplained(body.format(own)) == [2]
    assert unexplained(body.format("import json")) == [2]
    assert unexplained(body.format("import pyarrow.csv")) == []
    assert unexplained(body.format(f"# saves 24 ms where there is no report\n    {own}")) == []
    assert unexplained(body.format(f"# it is slow\n    {own}")) == [3]
    assert unexplained(f"{own}\n") == []


def test_the_list_has_no_library_that_is_gone() -> None:
    text = "\n".join(file.read_text(encoding="utf-8") for file in Path(PACKAGE).rglob("*.py"))
    assert [name for name in sorted(HEAVY) if not re.search(rf"\b(import|from) {name}\b", text)] == []
