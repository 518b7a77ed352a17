"""`make test-changed`: the test files that a change concerns, by the graph of imports; prints one a line."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[2]
FOR_ALL = "tests/conftest.py"
ROOMS = {"scenarios": "scenario", "playbooks": "real", "lessons": "course"}  # whose tests' folder has another name


def _git(*words: str) -> list[str]:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()


def changed() -> set[str]:
    """Files that differ from where this branch left origin/main (without that: from HEAD), new ones too."""
    known = _git("for-each-ref", "--format=%(refname)", "refs/remotes/origin/main")
    base = _git("merge-base", "HEAD", "origin/main")[0] if known else "HEAD"
    return {*_git("diff", "--name-only", "--no-renames", base), *_git("ls-files", "--others", "--exclude-standard")}


def _module(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _of_room(file: str, tests: dict[str, Path]) -> set[str]:
    """Tests in the folder of a file's room; if it has none, those that name the room or, at the top, the file."""
    first, *rest = Path(file).parts
    room = rest[0] if first in ("landspeed", "tests") and rest else first
    folder = f"tests/{ROOMS.get(room, room)}/"
    if found := {name for name in tests if name.startswith(folder)}:
        return found
    word = re.compile(rf"(?<![\w.]){re.escape(room)}(?!\w)")
    return {name for name, path in tests.items() if word.search(path.read_text(encoding="utf-8"))}


def concerned(files: Iterable[str]) -> list[str]:
    """Test files that import one of these, directly or not, and those of the rooms of files that none can import."""
    tests = {path.relative_to(ROOT).as_posix(): path for path in sorted((ROOT / "tests").rglob("test_*.py"))}
    graph = grimp.build_graph("landspeed", "tests", cache_dir=str(ROOT / "build/grimp"))
    found: set[str] = set()
    for file in files:
        if file == FOR_ALL:
            return list(tests)
        module = _module(file)
        if file.endswith(".py") and module in graph.modules:
            reached = {module, *graph.find_downstream_modules(module)}
            found |= {name for name in tests if _module(name) in reached}
        else:
            found |= _of_room(file, tests)
    return sorted(found)


if __name__ == "__main__":
    print("\n".join(concerned(changed())))
