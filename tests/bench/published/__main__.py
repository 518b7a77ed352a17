"""`make published`: run what others measured, and write docs/explanation/what-others-measured.md.

    python -m tests.bench.published                  # all cells of all sources; hours
    python -m tests.bench.published --quick          # the choice of an hour
    python -m tests.bench.published --only rfc9438   # one source
    python -m tests.bench.published --no-runs        # the page, of what is known

A cell that was run by the same kernel and programs is not run again. Exit status 1 if one could not be run.
"""

import argparse
import contextlib
import resource
import sys
import time
from dataclasses import replace

from landspeed.runs.sweeps.sweep import State
from landspeed.worlds.emu.kernel_choice import make
from tests.bench.published.cells import sources
from tests.bench.published.page import PAGE, kept, write_page
from tests.bench.published.running import Choice, known, run

TELL_EVERY_S = 30.0
LEAST_TOLD_MINUTES = 0.1


def main() -> int:
    """Run, write the page, print what is outside."""
    all_sources = sources()
    parser = argparse.ArgumentParser(prog="python -m tests.bench.published", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="the choice of an hour")
    parser.add_argument("--only", nargs="+", choices=[each.name for each in all_sources], help="these sources")
    parser.add_argument("--match", default="", metavar="TEXT", help="only cells whose names contain this")
    parser.add_argument("--world", help="only in this world")
    parser.add_argument("--no-runs", action="store_true", help="write the page of what is known")
    parsed = parser.parse_args()
    lacking = 0
    for source in all_sources if not parsed.no_runs else []:
        if parsed.only and source.name not in parsed.only:
            continue
        worlds = tuple(world for world in source.worlds if parsed.world in {None, world})
        choice = Choice.of(replace(source, worlds=worlds), quick=parsed.quick).matching(parsed.match)
        build_kernels(choice)
        before = processor_minutes()
        found = run(choice, tell=Progress(source.name))
        if (took := processor_minutes() - before) >= LEAST_TOLD_MINUTES:
            print(f"{source.name}: {took:.1f} minutes of processors", flush=True)
        lacking += sum(len(choice.in_world(world).cells) for world in worlds) - len(found)
    outside = write_page([each for source in all_sources for each in known(source)])
    found = kept(PAGE)
    for each in outside:
        print(f"{each.source.name} {each.cell.name} ({each.world}): {each.mean:.4g}, published {each.cell.published:g}")
    took = f"{processor_minutes():.1f} minutes of processors"
    print(f"{len(found) - len(outside)} of {len(found)} cells within; {lacking} could not be run; {took}")
    return 1 if lacking else 0


def processor_minutes() -> float:
    """What the runs that have ended took of all processors together."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) / 60


def build_kernels(choice: Choice) -> None:
    """Build the kernels that some cell asks for (minutes each, once)."""
    for name in {str(cell.changes.get("kernel")) for cell in choice.cells} & choice.source.kernels.keys():
        with contextlib.redirect_stdout(sys.stderr):
            make(name.partition("+")[0], choice.source.kernels[name])


class Progress:
    """Tells how far a source's sweep is, now and then."""

    def __init__(self, name: str) -> None:
        """Nothing was told yet."""
        self._name, self._told_s = name, 0.0

    def __call__(self, state: State) -> None:
        """Tell it, unless it was told a moment ago."""
        if (now_s := time.monotonic()) - self._told_s >= TELL_EVERY_S:
            self._told_s = now_s
            print(f"{self._name}: {state}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
