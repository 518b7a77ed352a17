"""The command `landspeed`: words to calls. Exit status 0 done, 1 ran and failed or broke, 2 bad input."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from .options import Action, make_parser, split_program

FAILED, BAD_INPUT = 1, 2


class UsageError(Exception):
    """Bad input that is not in a scenario; the message says what would be right."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns:
        the exit status.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _interrupt)
    own, command = split_program(sys.argv[1:] if arguments is None else arguments)
    parsed = make_parser(ACTIONS).parse_args(own)
    parsed.program = command
    from .results.bundle import OutputError
    from .results.failure import NotReady
    from .scenarios.errors import ScenarioError

    try:
        return parsed.action(parsed)
    except (ScenarioError, UsageError, OutputError) as error:
        return _say(error, BAD_INPUT)
    except (NotReady, MemoryError) as error:
        return _say(error, BAD_INPUT)
    except KeyboardInterrupt:
        return _say("interrupted", FAILED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def _interrupt(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _say(error: object, status: int) -> int:
    print(f"Error: {error}", file=sys.stderr)
    return status


def _runs_dir(given: Path | None) -> Path:
    """The folder of bundles: as asked, else results/runs of the clone this is installed from."""
    return given if given is not None else Path(__file__).resolve().parent / "results" / "runs"


def _load(parsed: argparse.Namespace) -> tuple[Any, Any]:
    from .scenarios.load import load_scenario
    from .scenarios.resolve import make_plan

    loaded = load_scenario(parsed.file, parsed.overrides)
    return loaded, make_plan(loaded, seed=parsed.seed, world=getattr(parsed, "world", "emu"))


def _check(parsed: argparse.Namespace) -> int:
    from .scenarios.errors import ScenarioError
    from .scenarios.resolve import make_plan
    from .scenarios.vary import load_variants

    status = 0
    for file in parsed.files:
        try:
            plans = [make_plan(loaded) for _, loaded in load_variants(file, parsed.overrides)]
            many = f", {len(plans)} combinations" if len(plans) > 1 else ""
            print(f"{file}: ok ({plans[0].title}{many})")
        except ScenarioError as error:
            status = _say(error, BAD_INPUT)
    return status


def _show(parsed: argparse.Namespace) -> int:
    from .scenarios.resolve import make_plan
    from .scenarios.vary import load_variants

    plans = [
        (values, make_plan(loaded, seed=parsed.seed, world=parsed.world))
        for values, loaded in load_variants(parsed.file, parsed.overrides)
    ]
    if parsed.json:
        shown = [plan.model_dump(mode="json") for _, plan in plans]
        print(json.dumps(shown if plans[0][0] else shown[0], indent=1))
        return 0
    from rich.console import Console

    from .scenarios.show import render_plan

    for values, plan in plans:
        if values:
            Console().rule(", ".join(f"{key} {value}" for key, value in values.items()))
        Console().print(render_plan(plan))
    return 0


def _schema(_parsed: argparse.Namespace) -> int:
    from .scenarios.schema import scenario_schema

    print(json.dumps(scenario_schema(), indent=2))
    return 0


def _run(parsed: argparse.Namespace) -> int:
    from .runs import run_scenario
    from .scenarios.resolve import make_plan
    from .scenarios.vary import load_variants

    _refuse_foreign(parsed, [parsed.world])
    variants = load_variants(parsed.file, parsed.overrides)
    if variants[0][0]:
        from .sweeps import run_sweep

        return run_sweep(variants, parsed, _runs_dir(parsed.out))
    loaded = variants[0][1]
    plan = make_plan(loaded, seed=parsed.seed, world=parsed.world)
    return run_scenario(loaded, plan, parsed, _runs_dir(parsed.out))


def _compare(parsed: argparse.Namespace) -> int:
    from .comparisons import CompareError, compare_targets
    from .worlds import MAKERS

    worlds = [name.strip() for name in parsed.worlds.split(",")]
    for name in worlds:
        if name not in MAKERS or worlds.count(name) > 1:
            raise UsageError(f"--worlds {parsed.worlds}: write each of {', '.join(MAKERS)} at most once, with commas")
    _refuse_foreign(parsed, worlds)
    try:
        return compare_targets(parsed, worlds, _runs_dir(parsed.out))
    except CompareError as error:
        raise UsageError(str(error)) from error


def _refuse_foreign(parsed: argparse.Namespace, worlds: Sequence[str]) -> None:
    """An option of a world that does not run would be ignored."""
    from .worlds import foreign_options

    for option, world in foreign_options(parsed, worlds):
        raise UsageError(f"{option} is of the world {world}; add --world {world}, or leave it out")


@contextlib.contextmanager
def _scratch_folder() -> Any:
    """A folder for a run that leaves no bundle, gone afterwards.

    A shell removes it when its standard input ends, which it does however this process ends, `kill -9` included.
    """
    folder = tempfile.mkdtemp(prefix="landspeed-")
    script = 'read -r _; rm -rf -- "$0" 2>/dev/null || { sleep 1; rm -rf -- "$0"; }'  # the guest may be dying meanwhile
    guard = subprocess.Popen(["sh", "-c", script, folder], stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield Path(folder)
    finally:
        guard.communicate()


def _exec(parsed: argparse.Namespace) -> int:
    from .emu.machine import OutputCopier
    from .emu.watch import STALL_WALL_S
    from .emu.world import EmuOptions, EmuWorld
    from .results.failure import RunFailed
    from .results.progress import make_reporter

    _, plan = _load(parsed)
    if not parsed.program:
        raise UsageError(
            "no command given; write it after --, as in: landspeed exec FILE --at geneva -- ping -c 3 pasadena"
        )
    names = [node.name for node in plan.nodes]
    if parsed.at not in names:
        raise UsageError(f"--at {parsed.at}: no such node; the path has {', '.join(names)}")
    world = EmuWorld(
        EmuOptions(clock=parsed.clock, memory_bytes=parsed.memory, stall_wall_s=parsed.stall or STALL_WALL_S)
    )
    world.check(plan)
    with _scratch_folder() as folder:
        copier = OutputCopier(folder)
        reporter = make_reporter(None, None, quiet=parsed.quiet or not sys.stderr.isatty())
        try:
            return world.execute(
                plan,
                folder,
                at=parsed.at,
                command=parsed.program,
                calibrate=not parsed.no_calibration,
                report=reporter,
                each_poll=copier.copy,
            )
        except RunFailed as error:
            return _say(error, FAILED)
        finally:
            reporter.close()
            copier.copy()


def _shell(parsed: argparse.Namespace) -> int:
    from .emu.watch import GuestError
    from .emu.world import EmuOptions, EmuWorld

    if not sys.stdin.isatty():
        raise UsageError("the prompt needs a terminal; `landspeed exec` runs programs without one")
    _, plan = _load(parsed)
    world = EmuWorld(EmuOptions(clock="real"))
    world.check(plan)
    with _scratch_folder() as folder:
        try:
            world.shell(plan, folder)
        except GuestError as error:
            return _say(error, FAILED)
    return 0


def _doctor(parsed: argparse.Namespace) -> int:
    from .emu.doctor import examine
    from .sim.doctor import examine_simulator

    findings = [*examine(), examine_simulator()]
    if parsed.json:
        print(json.dumps([finding.__dict__ for finding in findings], indent=1))
    else:
        for finding in findings:
            print(f"{finding.state:<5} {finding.name}: {finding.text}")
            if finding.remedy:
                print(f"      remedy: {finding.remedy}")
    return FAILED if any(finding.state == "fail" for finding in findings) else 0


def _real(parsed: argparse.Namespace) -> int:
    from .playbooks.command import main as real

    return real(parsed.words)


def _results(parsed: argparse.Namespace) -> int:
    from .results.query import QueryError, show_runs, show_sql

    folder = _runs_dir(parsed.runs)
    try:
        print(show_sql(parsed.sql, folder) if parsed.sql else show_runs(folder))
    except QueryError as error:
        return _say(error, BAD_INPUT)
    return 0


def _submission(parsed: argparse.Namespace) -> int:
    from .results.submission import write_submission

    if not (parsed.bundle / "result.json").is_file():
        raise UsageError(f"{parsed.bundle}: not a bundle (it has no result.json)")
    try:
        for file in write_submission(parsed.bundle, pdf=not parsed.no_pdf):
            print(file)
    except ValueError as error:
        raise UsageError(str(error)) from error
    return 0


def _record_book(parsed: argparse.Namespace) -> int:
    from .record_book import BookOptions, make_book

    if parsed.jobs < 1:
        raise UsageError(f"--jobs {parsed.jobs}: write a whole number from 1 on")
    options = BookOptions(
        runs=parsed.runs or _runs_dir(None) / "record-book",
        out=parsed.out or Path(__file__).resolve().parent / "docs",
        jobs=parsed.jobs,
        names=tuple(parsed.names),
        bases=tuple(parsed.basis),
        fresh=parsed.fresh,
        at_most_s=parsed.at_most,
        evidence=not parsed.no_evidence,
        rehearse=not parsed.write_only,
    )
    try:
        return make_book(options, lambda line: print(line, flush=True))
    except ValueError as error:
        raise UsageError(str(error)) from error


def _report(parsed: argparse.Namespace) -> int:
    from .results.report import write_report

    if not (parsed.bundle / "result.json").is_file():
        raise UsageError(f"{parsed.bundle}: not a bundle (it has no result.json)")
    print(write_report(parsed.bundle))
    return 0


ACTIONS: dict[str, Action] = {
    "check": _check,
    "show": _show,
    "run": _run,
    "compare": _compare,
    "exec": _exec,
    "shell": _shell,
    "doctor": _doctor,
    "results": _results,
    "report": _report,
    "real": _real,
    "submission": _submission,
    "record-book": _record_book,
    "schema": _schema,
}

if __name__ == "__main__":
    sys.exit(main())
