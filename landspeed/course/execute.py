"""The code of a lesson, run in this process, cell after cell, as a notebook would.

No kernel is started for it: that takes longer than the lesson's own cells. That the same text runs in Jupyter, too, is
tested.
"""

from __future__ import annotations

import ast
import contextlib
import io
from typing import Any

from landspeed.base.failures import RunFailed


class CellFailed(RunFailed):
    """A cell of a lesson raised an error; the message has lesson, cell and error."""


class Cells:
    """Cells that share their names."""

    def __init__(self, names: dict[str, Any]) -> None:
        """Start with the names that the first cell may use."""
        self._names = {"__name__": "__main__"} | names

    def run(self, source: str, where: str) -> tuple[str, Any]:
        """Run a cell.

        Args:
            source: Python.
            where: lesson and cell, for errors.

        Returns:
            what it printed, and the value of its last line if that is an expression, else None.

        Raises:
            CellFailed: it raised an error.
        """
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said):
                value = self._value(source, where)
        except (KeyboardInterrupt, RunFailed):
            raise
        except Exception as error:
            raise CellFailed(f"{where}: {type(error).__name__}: {error}") from error
        return said.getvalue(), value

    def _value(self, source: str, where: str) -> Any:
        tree = ast.parse(source, where)
        last = tree.body[-1] if tree.body else None
        if isinstance(last, ast.Expr):
            tree.body.pop()
        exec(compile(tree, where, "exec"), self._names)
        if not isinstance(last, ast.Expr):
            return None
        return eval(compile(ast.Expression(last.value), where, "eval"), self._names)


def html_of(value: Any) -> str:
    """Format a cell's value as HTML."""
    from markupsafe import escape

    if value is None:
        return ""
    if hasattr(value, "_repr_html_"):
        return value._repr_html_()
    return f"<pre>{escape(str(value))}</pre>"
