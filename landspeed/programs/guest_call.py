"""A program of the guest: call the function of a pickle, and write what it returns or raises (calls.py).

It runs as a file, in the test's own Python, and imports nothing of landspeed.
"""

import importlib
import importlib.util
import io
import os
import pickle
import sys
import traceback
from typing import Any


class CallUnpickler(pickle.Unpickler):
    """Finds the module of the test by its file where it has no name that can be imported, as pytest's may have."""

    def __init__(self, data: bytes, where: tuple[str, str] | None) -> None:
        """`where`: name and file of the function's module."""
        super().__init__(io.BytesIO(data))
        self._where = where

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        """Find a class as pickle does, but look for that one module in its file."""
        if self._where and module_name == self._where[0] and not self._has(module_name):
            name = "__landspeed_main__" if module_name == "__main__" else module_name
            if name not in sys.modules:
                spec = importlib.util.spec_from_file_location(name, self._where[1])
                if spec is None or spec.loader is None:
                    raise ImportError(f"{self._where[1]} is no module of Python")
                sys.modules[name] = module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
            found: Any = sys.modules[name]
            for part in global_name.split("."):
                found = getattr(found, part)
            return found
        return super().find_class(module_name, global_name)

    def _has(self, name: str) -> bool:
        """Return whether that name leads to that file."""
        if name == "__main__":
            return False
        try:
            module = importlib.import_module(name)
        except ImportError:
            return False
        file = getattr(module, "__file__", None)
        return bool(self._where and file and os.path.samefile(file, self._where[1]))  # noqa: PTH121


def main() -> None:
    """Read, call, write."""
    with open(sys.argv[1], "rb") as handle:  # noqa: PTH123
        path, where, pickled = pickle.load(handle)
    sys.path[:] = path
    error, told, value = None, "", b""
    try:
        function, arguments = CallUnpickler(pickled, where).load()
        value = pickle.dumps(function(*arguments))
    except BaseException as raised:  # whatever it is, the test must see it
        told = traceback.format_exc()
        try:
            error = pickle.dumps(raised)
            pickle.loads(error)
        except Exception:
            error = b""
    with open(sys.argv[2], "wb") as handle:  # noqa: PTH123
        pickle.dump((error, told, value), handle)


if __name__ == "__main__":
    main()
