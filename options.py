"""The words of the command `landspeed`: its subcommands, their options, and what a value may look like."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from . import __version__

Action = Callable[[argparse.Namespace], int]
"""What a subcommand does; returns the exit status."""


def split_program(words: Sequence[str]) -> tuple[Sequence[str], list[str]]:
    """Words of this command, and those of the user's own program after `--`."""
    if words[:1] == ["exec"] and "--" in words:
        place = list(words).index("--")
        return words[:place], list(words[place + 1 :])
    return words, []


def make_parser(actions: Mapping[str, Action]) -> argparse.ArgumentParser:
    """The parser; `action` of what it returns is the one that `actions` has for the subcommand."""
    parser = argparse.ArgumentParser(
        prog="landspeed", description="Rehearse very long, very fast network paths in virtual time."
    )
    parser.add_argument("--version", action="version", version=f"landspeed {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, text: str, epilog: str | None = None) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text, epilog=epilog)
        made.set_defaults(action=actions[name])
        return made

    check = command("check", "Validate scenario files.")
    check.add_argument("files", nargs="+", type=Path, metavar="FILE")
    check.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE")

    show = command("show", "Print the path hop by hop and its physics.")
    show.add_argument("file", type=Path, metavar="FILE")
    _with_world(show)
    show.add_argument("--json", action="store_true", help="print the plan as JSON")
    _with_overrides(show)

    _add_run(command("run", "Calibrate the path, make the transfer, judge it."))
    _add_compare(command("compare", "Show runs side by side: bundles, scenario files, the worlds of one file."))

    execute = command("exec", "Run a program of yours on the emulated path, in virtual time.")
    execute.usage = "landspeed exec [options] FILE --at NODE -- COMMAND…"
    execute.add_argument("file", type=Path, metavar="FILE")
    execute.add_argument("--at", required=True, metavar="NODE", help="node that runs the program")
    execute.add_argument("--clock", choices=("virtual", "real"), default="virtual")
    execute.add_argument("--no-calibration", action="store_true", help="do not measure the path first")
    _with_guest(execute)
    execute.add_argument("--quiet", action="store_true", help="no progress")
    _with_overrides(execute)

    shell = command("shell", "A prompt on the emulated path, in real time.")
    shell.add_argument("file", type=Path, metavar="FILE")
    _with_overrides(shell)

    command("doctor", "Look whether this host can run everything; each finding with its remedy.").add_argument(
        "--json", action="store_true"
    )

    results = command("results", "List the runs, or query them with SQL (tables: runs, samples, links).")
    results.add_argument("sql", nargs="?", metavar="SQL")
    results.add_argument("--runs", type=Path, default=None, metavar="DIR")

    _with_bundle(command("report", "Write a bundle's report.html anew."))

    more = "`landspeed real PLAY --help` tells each one's options."
    real = command("real", "Take a rehearsed scenario to real servers.", epilog=more)
    plays = "inventory, preflight, tune, deploy, shape, attempt, collect, restore, site"
    real.add_argument("words", nargs=argparse.REMAINDER, metavar="PLAY …", help=plays)
    _with_bundle(command("submission", "Write a run up as a record's team would: page and PDF."), pdf=True)
    _with_book(command("record-book", "Rehearse every record not rehearsed yet, and write the book."))

    command("schema", "Print the JSON Schema of scenario files.")
    return parser


def _add_run(made: argparse.ArgumentParser) -> None:
    made.add_argument("file", type=Path, metavar="FILE")
    _with_world(made)
    made.add_argument("--clock", choices=("virtual", "real"), default="virtual")
    made.add_argument("--tool", choices=("engine", "iperf3"), default="engine", help="program that makes the transfer")
    made.add_argument(
        "--out", type=Path, default=None, metavar="DIR", help="folder for the bundle (default: results/runs)"
    )
    made.add_argument("--queues", action="store_true", help="calibrate every queue by overflow too")
    made.add_argument(
        "--evidence", action="store_true", help="capture, ping and traceroute too, and write the submission page"
    )
    made.add_argument(
        "--exact-timers",
        action="store_true",
        help="every packet leaves a link at its own instant, also with hundreds under way (slower; see the README)",
    )
    _with_guest(made)
    _with_simulation(made)
    made.add_argument("--json", action="store_true", help="one JSON object on standard output")
    made.add_argument("--quiet", action="store_true", help="no progress, no table")
    _with_overrides(made)


def _add_compare(made: argparse.ArgumentParser) -> None:
    made.add_argument("targets", nargs="+", type=Path, metavar="BUNDLE|FILE")
    made.add_argument("--worlds", default="emu", metavar="WORLD,…", help="run files in each of these, such as sim,emu")
    made.add_argument("--html", type=Path, metavar="FILE", help="the page (default: beside the bundles)")
    made.add_argument("--out", type=Path, metavar="DIR", help="folder for bundles (default: results/runs)")
    made.add_argument("--tolerance", type=_share, default=0.02, metavar="SHARE", help="of rates (default 2 %%)")
    made.add_argument("--json", action="store_true", help="one JSON object on standard output")
    made.add_argument("--quiet", action="store_true", help="no progress, no table")
    _with_guest(made)
    _with_simulation(made)
    _with_overrides(made)


def _share(text: str) -> float:
    from .scenarios.units import PROBABILITY, UnitError, parse_exact

    try:
        return float(parse_exact(PROBABILITY, text))
    except UnitError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _with_overrides(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--set",
        dest="overrides",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a value of the scenario, such as transfer.streams=4",
    )
    made.add_argument("--seed", type=_seed, help="seed of everything random")


def _with_bundle(made: argparse.ArgumentParser, *, pdf: bool = False) -> None:
    made.add_argument("bundle", type=Path, metavar="BUNDLE")
    if pdf:
        made.add_argument("--no-pdf", action="store_true", help="only the page")


def _with_book(book: argparse.ArgumentParser) -> None:
    book.add_argument("names", nargs="*", metavar="RECORD", help="only these, by name (default: all)")
    book.add_argument("--basis", action="append", choices=("documents", "public", "what if"), default=[])
    book.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="runs at once (default: cores)"
    )
    book.add_argument("--out", type=Path, default=None, metavar="DIR", help="folder of the book (default: docs)")
    book.add_argument(
        "--runs", type=Path, default=None, metavar="DIR", help="bundles (default: results/runs/record-book)"
    )
    book.add_argument("--at-most", type=_seconds, metavar="SECONDS", help="of the run's clock, of longer transfers")
    book.add_argument("--fresh", action="store_true", help="rehearse all anew")
    book.add_argument("--no-evidence", action="store_true", help="no captures, no submission pages")
    book.add_argument(
        "--write-only", action="store_true", help="rehearse nothing: the book of the bundles that there are"
    )


def _with_guest(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--memory",
        type=_memory,
        metavar="SIZE",
        help="the guest's memory, such as 4GiB, instead of the plan's figure",
    )
    made.add_argument(
        "--stall",
        type=_seconds,
        metavar="SECONDS",
        help="give up when virtual time has stood still so long (default 20)",
    )


def _with_world(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--world",
        choices=("emu", "sim"),
        default="emu",
        help="emu: the real kernel in virtual time (default); sim: ns-3",
    )


def _with_simulation(made: argparse.ArgumentParser) -> None:
    made.add_argument("--collapse", action="store_true", help="sim: join links that can never queue, faster")
    made.add_argument("--scheduler", metavar="NAME", help="sim: the event scheduler, such as heap")


def _seed(text: str) -> int:
    if not text.isdigit() or int(text) >= 1 << 63:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 0 to 2^63 - 1")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds above 0")
    return seconds


def _memory(text: str) -> int:
    from .emu.memory import SMALLEST_GUEST_BYTES
    from .scenarios.units import UnitError, parse_size

    try:
        size = parse_size(text)
    except UnitError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if size < SMALLEST_GUEST_BYTES:
        raise argparse.ArgumentTypeError(f"a guest needs at least {SMALLEST_GUEST_BYTES >> 20} MiB, not {text}")
    return size
