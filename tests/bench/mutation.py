"""Do the tests notice a changed line? `make mutation`: physics, queueing and judge, mutated by mutmut.

mutmut writes beside what it mutates, so the package and its tests are copied to build/mutation. pyproject.toml has the
files that are mutated, and the tests that must notice.

    .venv/bin/python tests/bench/mutation.py                    all, anew; exit status 1 below LEAST
    .venv/bin/python tests/bench/mutation.py 'landspeed.judge.bound.*'   only these, on what is there
"""

import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter
from pathlib import Path

from mutmut.stats import status_by_exit_code

ROOT = Path(__file__).resolve().parents[2]
STAGE = ROOT / "build" / "mutation"
MUTMUT = Path(sys.executable).parent / "mutmut"
LEAST = 0.85  # of the mutants are noticed
NOTICED = ("killed", "timeout", "segfault")


def lay_out() -> None:
    """The package, its tests and its scenario files in the stage; what was found there is removed."""
    shutil.rmtree(STAGE, ignore_errors=True)
    for folder in ("landspeed", "scenarios", "tests", "docs", "setup"):
        shutil.copytree(ROOT / folder, STAGE / folder, ignore=shutil.ignore_patterns("__pycache__", "build"))
    shutil.copy2(ROOT / "pyproject.toml", STAGE)


def mutate(names: list[str]) -> int:
    """Run mutmut on the stage; returns its exit status."""
    # The stage lies within the repository: mutmut would ask git what has changed.
    environment = os.environ | {"GIT_DIR": os.devnull, "PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "1"}
    words = [str(MUTMUT), "run", "--max-children", str(os.cpu_count() or 1), *names]
    with (STAGE / "mutmut.log").open("w") as log:
        return subprocess.run(words, cwd=STAGE, env=environment, stdout=log, stderr=log, check=False).returncode


def outcomes() -> dict[str, dict[str, str]]:
    """File → mutant → what became of it."""
    config = tomllib.loads((STAGE / "pyproject.toml").read_text())["tool"]["mutmut"]
    found: dict[str, dict[str, str]] = {}
    for file in config["only_mutate"]:
        meta = STAGE / "mutants" / f"{file}.meta"
        codes = json.loads(meta.read_text())["exit_code_by_key"] if meta.exists() else {}
        found[file] = {name: status_by_exit_code[code] for name, code in codes.items()}
    return found


def tell(found: dict[str, dict[str, str]]) -> bool:
    """Print survivors and a table; returns whether enough was noticed, and every mutant was tried."""
    for mutants in found.values():
        for name, became in mutants.items():
            if became not in NOTICED and became != "not checked":
                words = [str(MUTMUT), "show", name]
                shown = subprocess.run(words, cwd=STAGE, capture_output=True, text=True, check=False).stdout
                changed = [line for line in shown.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
                print(f"{became}: {name}", *changed, sep="\n    ")
    print(f"\n{'':40} {'mutants':>8} {'noticed':>8} {'share':>8}")
    total, noticed = 0, 0
    for file, mutants in found.items():
        counts = Counter(mutants.values())
        killed, whole = sum(counts[word] for word in NOTICED), len(mutants)
        total, noticed = total + whole, noticed + killed
        print(f"{file:40} {whole:8} {killed:8} {killed / max(1, whole):8.1%}")
    share = noticed / max(1, total)
    print(f"{'all':40} {total:8} {noticed:8} {share:8.1%}   (at least {LEAST:.0%})")
    untried = sum(each == "not checked" for mutants in found.values() for each in mutants.values())
    if untried or not total:
        print(f"{untried} mutants were not tried; see {STAGE / 'mutmut.log'}")
    return share >= LEAST and not untried and all(found.values())


def main(names: list[str]) -> int:
    """Returns the exit status."""
    began = time.monotonic()
    if not names or not STAGE.exists():
        lay_out()
    status = mutate(names)
    enough = tell(outcomes())
    print(f"{time.monotonic() - began:.0f} s")
    if status and not enough:
        print((STAGE / "mutmut.log").read_text()[-2000:])
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
