"""Begin of every Python that runs for a script: what `changes` changes in a module of Mininet, when it is imported.

Python imports a module of this name by itself at its start.
"""

import os
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

CHANGED = tuple(f"mininet.{name}" for name in ("cli", "link", "net", "node", "nodelib", "term"))


class ChangingFinder:
    """Finds modules of Mininet as Python does, and changes them after they have run."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Find one of those that are changed; None: the others look further."""
        if name not in CHANGED or (spec := PathFinder.find_spec(name, path, target)) is None or spec.loader is None:
            return None
        run: Any = spec.loader.exec_module

        def run_and_change(module: Any) -> None:
            run(module)
            getattr(_import_own("changes"), "change_" + name.rpartition(".")[2])(module)

        spec.loader.exec_module = run_and_change
        return spec


def _import_own(name: str) -> Any:
    """A module of ours, without the package's folder staying in the search path."""
    sys.path.append(os.environ["LANDSPEED_PACKAGES"])
    try:
        return import_module(f"landspeed.worlds.emu.guest.script.{name}")
    finally:
        sys.path.remove(os.environ["LANDSPEED_PACKAGES"])


sys.meta_path.insert(0, ChangingFinder)
_prefix, *_more = os.environ.get("LANDSPEED_MORE_PACKAGES", "").split(os.pathsep)
if sys.prefix == _prefix:  # another environment has packages of its own, which may be of other versions
    sys.path += _more
if os.environ.pop("LANDSPEED_TYPED", None):  # of the script itself, and of no other Python that it starts
    sys.stdin = _import_own("typed_input").TypedInput()
