"""The labelled corpus: every case in its worlds, what the judge says, and the counter-proofs.

    python -m tests.bench.causes [--keep FOLDER] [--proofs] [--matrix] [--held-out | --truth] [NAME…]

prints each run and a confusion matrix (what was built in beside what was told), `--matrix` the matrix alone, and exits
with 1 if a cause is wrong. `--keep`
keeps the bundles, and judges those anew that are there; `--proofs` also runs each case without its cause, where
goodput must rise by more than 2 %, and without another possible cause, where it must not rise by 5 %. `--held-out`
takes the runs that are kept for checking instead (tests/support/causes_held_out.py), `--truth` the sceptical tests.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import landspeed as ls
from landspeed.judge.judge import judge
from landspeed.results.record import RunRecord
from tests.support.causes import CASES, Case, Change, write
from tests.support.causes_held_out import HELD_OUT
from tests.support.causes_truth import TRUTH

RISES = 1.02  # what a cause costs is 2 % at least: BBR's looks at the round trip
STAYS = 1.05  # another pattern of losses is worth so much


@dataclass(frozen=True)
class Told:
    """What the judge said of a case in a world."""

    case: Case
    world: str
    word: str
    why: str
    goodput_bps: float


def told(case: Case, world: str, folder: Path, *more: Change | None, again: bool = True) -> Told:
    """Run a case, or judge anew what is kept of it."""
    bundle = next(folder.glob("runs/*/result.json"), None) if again else None
    if bundle is None:
        run = ls.run(write(folder, case, *more), world=world, runs_dir=folder / "runs", report=False)
        record = run.record
    else:
        raw = RunRecord.model_validate_json(bundle.read_text())
        assert raw.plan is not None
        record = judge(raw.plan, raw, bundle.parent)
    of = next(flow for flow in record.flows if flow.name == case.flow) if case.flow else record
    return Told(case, world, str(of.limited_by), str(of.limited_by_why), of.goodput_bps or 0.0)


def proofs(found: Told, folder: Path) -> list[str]:
    """Counter-proofs that do not hold."""
    case, wrong = found.case, list[str]()
    freed = told(case, found.world, folder / "without", case.without)
    if freed.goodput_bps < RISES * found.goodput_bps:
        wrong.append(f"without its cause {freed.goodput_bps / 1e6:.2f} beside {found.goodput_bps / 1e6:.2f} Mbit/s")
    if case.idle is not None:
        idle = told(case, found.world, folder / "idle", case.idle)
        if idle.goodput_bps > STAYS * found.goodput_bps:
            wrong.append(f"with {case.idle} {idle.goodput_bps / 1e6:.2f} beside {found.goodput_bps / 1e6:.2f} Mbit/s")
    return wrong


def matrix(found: Sequence[Told]) -> str:
    """What was built in (rows) beside what was told (columns), as a table of Markdown."""
    words = sorted({each.case.cause for each in found} | {each.word for each in found})
    counts = Counter((each.case.cause, each.word) for each in found)
    rows = [[word, *(str(counts[word, other] or "") for other in words)] for word in words]
    lines = [["built in \\ told", *words], ["---"] * (len(words) + 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.causes", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", help="parts of the names of cases; default: all")
    parser.add_argument("--keep", type=Path, help="folder for the bundles; those that are there are judged anew")
    parser.add_argument("--proofs", action="store_true", help="run each case without its cause, and without another")
    parser.add_argument("--matrix", action="store_true", help="print the matrix alone")
    parser.add_argument("--world", help="this world only")
    parser.add_argument("--held-out", action="store_true", help="the runs kept for checking, instead of the corpus")
    parser.add_argument("--truth", action="store_true", help="the sceptical tests (causes_truth.py), instead")
    asked = parser.parse_args()
    known = HELD_OUT if asked.held_out else TRUTH if asked.truth else CASES
    chosen = [case for case in known if not asked.names or any(name in case.name for name in asked.names)]
    with tempfile.TemporaryDirectory() as scratch:
        found, wrong = list[Told](), 0
        for case, world in [(each, world) for each in chosen for world in each.worlds]:
            if asked.world not in (None, world):
                continue
            folder = (asked.keep or Path(scratch)) / world / case.name.replace(" ", "-").replace("%", "percent")
            each = told(case, world, folder)
            found.append(each)
            faults = proofs(each, folder) if asked.proofs else []
            right = each.word == case.cause
            wrong += (not right) + len(faults)
            if not asked.matrix:
                mark, why = ("ok", "") if right else ("WRONG", f": {each.why}")
                figures = f"{each.goodput_bps / 1e6:.2f} Mbit/s"
                print(
                    f"{mark:5} {world} {case.name} ({case.cause}) {figures}, {each.word}{why}", *faults, sep="\n      "
                )
    print(matrix(found), f"{sum(each.word == each.case.cause for each in found)} of {len(found)} right", sep="\n\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
