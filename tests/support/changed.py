"""`make test-changed`: the test files that a change concerns, by the graph of imports; prints one a line."""

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
    """Tests in the folder of a file's room, of the smallest room that has one (`landspeed/worlds/emu/guest/…`: emu)."""
    for room in reversed(Path(file).parts[:-1]):
        folder = f"tests/{ROOMS.get(room, room)}/"
        if found := {name for name in tests if name.startswith(folder)}:
            return found
    return set()


def _naming(word: str, among: Iterable[str]) -> set[str]:
    """Files in whose text the word stands."""
    pattern = re.compile(rf"(?<![\w.]){re.escape(word)}(?!\w)")
    return {name for name in among if pattern.search((ROOT / name).read_text(encoding="utf-8"))}


def _reached(files: Iterable[str], tests: dict[str, Path], graph: grimp.ImportGraph) -> set[str]:
    """Tests that are one of these files of Python, or import one, or have a conftest that does."""
    modules = {_module(file) for file in files} & graph.modules
    modules = modules.union(*(graph.find_downstream_modules(module) for module in modules))
    folders = tuple(
        f"{each.replace('.', '/').removesuffix('conftest')}" for each in modules if each.endswith(".conftest")
    )
    return {name for name in tests if _module(name) in modules or name.startswith(folders)}


def concerned(files: Iterable[str]) -> list[str]:
    """Test files that import one of these, directly or not, and those of the rooms of files that commands run.

    The command, a guest's agent and programs of the tests are started, not imported: so a module of the package
    concerns the tests of its room, too, and what nobody imports those that name it.
    """
    tests = {path.relative_to(ROOT).as_posix(): path for path in sorted((ROOT / "tests").rglob("test_*.py"))}
    helpers = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("*.py")}
    graph = grimp.build_graph("landspeed", "tests", cache_dir=str(ROOT / "build/grimp"))
    found: set[str] = set()
    for file in files:
        if file == FOR_ALL:
            return list(tests)
        reached = _reached([file], tests, graph) if file.endswith(".py") else set[str]()
        if file.startswith("landspeed/") or not (reached or file.startswith("tests/support/")):
            reached |= _of_room(file, tests)
        word = Path(file).stem if file.endswith(".py") else Path(file).parts[0]
        found |= reached or _reached(_naming(word, helpers - {file}), tests, graph)
    return sorted(found)


if __name__ == "__main__":
    print("\n".join(concerned(changed())))
