"""The commands `exec` and `shell`: the user's own programs on the emulated path."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landspeed.base.near import meant_or_all
from landspeed.cli import values
from landspeed.cli.arguments import given_options, with_overrides, with_world_options
from landspeed.cli.errors import FAILED, UsageError, say
from landspeed.cli.parser import Parser
from landspeed.cli.progress import make_reporter
from landspeed.programs.visible_files import is_guests_own, named_files

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Plan
    from landspeed.worlds.program_world import ProgramWorld


class OutputCopier:
    """Passes what the user's program wrote in the guest on to this process's standard output and error."""

    def __init__(self, folder: Path) -> None:
        """The folder is the run's."""
        self._files = [(folder / "log" / "stdout", sys.stdout), (folder / "log" / "stderr", sys.stderr)]
        self._positions = [0, 0]
        self._begun = b""  # of the last line of its standard output, what was passed on

    def copy(self) -> None:
        """Pass on what is new."""
        for number in range(len(self._files)):
            self._write(number, self._new(number))

    def copy_to_prompt(self) -> str:
        """Pass on what is new, the errors first; but return the line that the program has begun last: its prompt."""
        self._write(1, self._new(1))
        shown = self._begun
        lines, newline, prompt = self._new(0).rpartition(b"\n")
        self._write(0, lines + newline if newline else b"\r" if shown else b"")
        self._begun = b""
        return (prompt if newline else shown + prompt).decode(errors="replace")

    def _new(self, number: int) -> bytes:
        path, _ = self._files[number]
        if not path.exists():
            return b""
        with path.open("rb") as handle:
            handle.seek(self._positions[number])
            data = handle.read()
        self._positions[number] += len(data)
        return data

    def _write(self, number: int, data: bytes) -> None:
        _, target = self._files[number]
        if data:
            target.buffer.write(data)
            target.buffer.flush()
            if number == 0:
                self._begun = (self._begun + data).rpartition(b"\n")[2]


def add_exec(made: Parser) -> None:
    """Arguments of `exec`."""
    made.usage = "landspeed exec [options] FILE --at NODE -- COMMAND…"
    made.add_argument("file", type=Path, metavar="FILE", help="scenario file, or a name of `landspeed scenarios`")
    made.add_argument("--at", required=True, metavar="NODE", help="node that runs the program")
    made.add_argument("--no-calibration", action="store_true", help="do not measure the path first")
    made.add_argument("--quiet", action="store_true", help="no progress")
    made.add_argument(
        "--samples",
        type=Path,
        metavar="DIR",
        help="keep samples of every socket and link there, as parquet files; and qlog and TLS keys of the program",
    )
    made.add_argument(
        "--sample-interval",
        type=values.sample_interval,
        metavar="TIME",
        help="virtual time between two samples (default: 10 ms); it doubles after each 8192 samples",
    )
    with_overrides(made)
    with_world_options(made, "exec")


def add_shell(made: Parser) -> None:
    """Arguments of `shell`."""
    made.add_argument("file", type=Path, metavar="FILE", help="scenario file, or a name of `landspeed scenarios`")
    with_overrides(made)
    with_world_options(made, "shell")


def _planned(parsed: argparse.Namespace) -> Plan:
    from landspeed.scenario.file.load import load_scenario
    from landspeed.worlds.registry import plan_for

    return plan_for(load_scenario(parsed.file, parsed.overrides), seed=parsed.seed)


def _tell_of_own_folder() -> None:
    """Say first what cannot be there."""
    if is_guests_own(Path.cwd()):
        print(
            f"{Path.cwd()}: the guest has a folder of its own there; of yours it sees the files that the command names",
            file=sys.stderr,
        )


def _checked(parsed: argparse.Namespace, plan: Plan, **options: Any) -> tuple[ProgramWorld, Plan]:
    from landspeed.worlds.make_world import make_program_world

    world = make_program_world(**options, **given_options(parsed))
    plan = world.with_options(plan)
    world.check(plan)
    return world, plan


def do_exec(parsed: argparse.Namespace) -> int:
    """Returns the program's own exit status."""
    from landspeed.base.failures import RunFailed
    from landspeed.results.facts import Spun, spun_text
    from landspeed.results.own_logs import keep_logs
    from landspeed.results.socket_columns import keep_samples, make_samples_folder
    from landspeed.runs.scratch import scratch_folder
    from landspeed.worlds.program_world import SAMPLE_INTERVAL_NS, SocketSampling

    if parsed.sample_interval and not parsed.samples:
        raise UsageError("--sample-interval says how often sockets are sampled; add --samples DIR")
    plan = _planned(parsed)
    if not parsed.program:
        raise UsageError(
            "no command given; write it after --, as in: landspeed exec FILE --at geneva -- ping -c 3 pasadena"
        )
    names = [node.name for node in plan.nodes]
    if parsed.at not in names:
        raise UsageError(f"--at {parsed.at}: no such node; {meant_or_all(parsed.at, names)}")
    world, plan = _checked(parsed, plan)
    if parsed.samples:
        make_samples_folder(parsed.samples)
    sampling = SocketSampling(interval_ns=parsed.sample_interval or SAMPLE_INTERVAL_NS)
    _tell_of_own_folder()
    with scratch_folder() as folder:
        copier, told = OutputCopier(folder), list[Spun]()
        reporter = make_reporter(quiet=parsed.quiet or not sys.stderr.isatty())
        try:
            status = world.execute(
                plan,
                folder,
                at=parsed.at,
                command=parsed.program,
                visible=named_files(parsed.program, Path.cwd()),
                calibrate=not parsed.no_calibration,
                sampling=sampling if parsed.samples else None,
                report=reporter,
                each_poll=copier.copy,
                spun=told.extend,
            )
            if parsed.samples:
                keep_samples(folder, parsed.samples, [node.name for node in plan.nodes])
                keep_logs(folder, parsed.samples)
        except RunFailed as error:
            return say(error, FAILED)
        else:
            return status
        finally:
            reporter.close()
            copier.copy()
            if told:
                print(f"Virtual time passed for programs that spin: {spun_text(told)}", file=sys.stderr)


def do_shell(parsed: argparse.Namespace) -> int:
    """Open the prompt on this terminal."""
    from landspeed.base.failures import RunFailed
    from landspeed.runs.scratch import scratch_folder

    if not sys.stdin.isatty():
        raise UsageError("the prompt needs a terminal; `landspeed exec` runs programs without one")
    world, plan = _checked(parsed, _planned(parsed), clock="real")
    _tell_of_own_folder()
    with scratch_folder() as folder:
        try:
            world.shell(plan, folder)
        except RunFailed as error:
            return say(error, FAILED)
    return 0
