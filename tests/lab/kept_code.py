"""For Python of the lab's servers: it keeps what it compiled of a zip file, as it does of other files.

Ansible's modules are such; how long a server compiles them is no test's matter, and a third of what a task takes there.
Each Python of a server imports this (supervisor.py), so it imports nothing that is not there already.
"""

# ruff: noqa: PTH104, PTH120, PTH123
# pyright: reportAttributeAccessIssue=false
import _imp
import marshal
import os
import zipimport

KEPT = os.path.dirname(__file__) + "/kept-code/"
compiled = zipimport._compile_source


def compile_source(path: str, source: bytes):
    """As zipimport does it: the code names the file from which it is read now."""
    file = KEPT + _imp.source_hash(0, source).hex()
    code = kept_code(file)
    if code is None:
        code = compiled(path, source)
        keep(code, file)
    _imp._fix_co_filename(code, path)
    return code


def kept_code(file: str):
    """What was compiled before, or None."""
    try:
        with open(file, "rb") as kept:
            return marshal.load(kept)
    except OSError:
        return None


def keep(code, file: str) -> None:
    """As a whole, or not at all: on a full disk."""
    try:
        with open(f"{file}.{os.getpid()}", "wb") as kept:
            kept.write(marshal.dumps(code))
        os.rename(kept.name, file)
    except OSError:
        pass


zipimport._compile_source = compile_source
