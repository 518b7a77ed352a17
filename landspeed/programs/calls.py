"""A function of a test, called at a node: what goes there and what comes back, as pickles in the run's folder."""

from __future__ import annotations

import inspect
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landspeed.programs.errors import PathError

if TYPE_CHECKING:
    from landspeed.programs.node_program import Program

THERE = "/run/landspeed/programs"
CALLER = Path(__file__).resolve().parent / "guest_call.py"


class Call:
    """One call.

    Attributes:
        words, environment: of the program that makes it.
    """

    def __init__(self, folder: Path, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        """Pickle it. `folder`: the run's, of its programs.

        Raises:
            PathError: it cannot be pickled; the message says what would be right.
        """
        name = getattr(function, "__qualname__", repr(function))
        if "<" in name:
            raise PathError(f"{name} is made within another function: define it at the top of its module instead")
        module = inspect.getmodule(function)
        try:
            pickled = pickle.dumps((function, arguments))
        except Exception as error:
            raise PathError(f"{name} and its arguments cannot be pickled: {error}") from error
        number = 1 + sum(1 for _ in folder.glob("*.call"))
        self._name, self._result = name, folder / f"{number}.result"
        file = module.__file__ if module else None
        where = (module.__name__, file) if module and file else None
        (folder / f"{number}.call").write_bytes(pickle.dumps((list(sys.path), where, pickled)))
        self.words = [sys.executable, str(CALLER), f"{THERE}/{number}.call", f"{THERE}/{number}.result"]
        self.words += [file] if file else []  # named, so that it is seen there
        self.environment = {
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
            "VIRTUAL_ENV": os.environ.get("VIRTUAL_ENV", ""),
        }

    def result(self, program: Program) -> Any:
        """Return what the function returned.

        Raises:
            Exception: what it raised.
            PathError: it came to no end.
        """
        if not self._result.exists():
            how = f"exit status {program.returncode}"
            raise PathError(f"{self._name} was not called to its end ({how}): {program.stderr.strip()[-2000:]}")
        error, traceback, value = pickle.loads(self._result.read_bytes())
        if error is None:
            return pickle.loads(value)
        raised = pickle.loads(error) if error else PathError(f"{self._name} raised what cannot be pickled")
        raised.add_note(f"at {program.node}:\n{traceback}")
        raise raised
