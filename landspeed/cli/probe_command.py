"""The command `probe`: what holds any program back on a long path."""

from __future__ import annotations

import argparse
import shlex
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landspeed.cli import values
from landspeed.cli.arguments import given_options, with_overrides, with_world_options
from landspeed.cli.errors import FAILED, UsageError
from landspeed.cli.parser import Parser

if TYPE_CHECKING:
    from landspeed.programs.conditions import Condition
    from landspeed.programs.probe.one_case import CaseRun
    from landspeed.programs.probe.probe import ProbeResult

USAGE = "landspeed probe [options] [FILE] --serve 'NODE=COMMAND' --listen PORT --at NODE -- CLIENT…"


def add_probe(made: Parser) -> None:
    """Arguments of `probe`."""
    made.usage = USAGE
    made.add_argument(
        "file", type=Path, nargs="?", metavar="FILE", help="scenario file or name (default: two hosts, 10 Gbit/s)"
    )
    made.add_argument(
        "--serve", action=_Serve, dest="servers", metavar="NODE=COMMAND", help="a server; repeat it for more"
    )
    for word, metavar, text in (
        ("--listen", "PORT[/udp]", "the last --serve is ready when a program listens on this port"),
        ("--ready-line", "REGEX", "or when it writes a line that matches"),
        ("--ready-command", "COMMAND", "or when this command succeeds at its node"),
    ):
        made.add_argument(word, action=_Until, dest="servers", metavar=metavar, help=text)
    made.add_argument("--at", required=True, metavar="NODE", help="node that runs the client, such as a")
    made.add_argument("--rtt", metavar="TIMES", help="round-trip times (default: 0.5 ms,10 ms,50 ms,100 ms,264 ms)")
    made.add_argument("--rate", metavar="RATES", help="line rates of the slowest link: '1 Gbit/s,10 Gbit/s'")
    made.add_argument("--loss", metavar="SHARES", help="losses of that link: '0,0.01 %%'")
    made.add_argument(
        "--at-most", default="1 h", metavar="TIME", help="end the client after this virtual time (default: 1 h)"
    )
    made.add_argument(
        "--ready", default="30 s", metavar="TIME", help="wait this virtual time for a server (default: 30 s)"
    )
    made.add_argument(
        "--sample-interval",
        type=values.sample_interval,
        metavar="TIME",
        help="time between two samples (default: RTT / 16, at most 10 ms)",
    )
    made.add_argument("--out", type=Path, metavar="DIR", help="folder for samples, output and page")
    made.add_argument("--jobs", type=values.count, metavar="N", help="runs at once (default: one for each core)")
    made.add_argument("--json", action="store_true", help="one JSON object on standard output")
    made.add_argument("--quiet", action="store_true", help="no progress, no table")
    with_overrides(made)
    with_world_options(made, "probe")


class _Serve(argparse.Action):
    """The option that adds another server."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:  # noqa: ARG002
        node, equals, command = str(values).partition("=")
        if not equals or not node or not command.strip():
            raise argparse.ArgumentError(self, f"'{values}' is not NODE=COMMAND, such as 'b=./server --port 9000'")
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise argparse.ArgumentError(self, f"'{command}': {error}") from error
        known: list[Any] = namespace.servers or []
        namespace.servers = [*known, (node, words, None)]


class _Until(argparse.Action):
    """The option that says when the last server is ready."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:  # noqa: ARG002
        if not namespace.servers:
            raise argparse.ArgumentError(self, "it tells when a server is ready; write --serve before it")
        node, words, known = namespace.servers[-1]
        if known is not None:
            raise argparse.ArgumentError(self, f"the server at {node} has such a word already ({known[0]})")
        namespace.servers = [*namespace.servers[:-1], (node, words, (option_string, str(values)))]


def _condition(node: str, told: tuple[str, str] | None) -> Condition:
    from landspeed.programs.conditions import line, listening, succeeds

    if told is None:
        raise UsageError(f"when is the server at {node} ready? Add --listen PORT, --ready-line or --ready-command")
    word, text = told
    if word == "--ready-line":
        return line(text)
    if word == "--ready-command":
        try:
            return succeeds(shlex.split(text))
        except ValueError as error:
            raise UsageError(f"--ready-command '{text}': {error}") from error
    port, _, protocol = text.partition("/")
    if not port.isdigit() or protocol not in ("", "tcp", "udp"):
        raise UsageError(f"--listen {text}: write a port, such as 9000, or 4433/udp")
    return listening(int(port), "udp" if protocol == "udp" else "tcp")


def _listed(text: str | None) -> list[str]:
    return [] if text is None else [each.strip() for each in text.split(",") if each.strip()]


def do_probe(parsed: argparse.Namespace) -> int:
    """Exit status 0 when the client ended well everywhere."""
    from landspeed.programs.probe.kept_page import write_page
    from landspeed.programs.probe.probe import probe
    from landspeed.programs.probe.spec import USUAL_RTTS, Server
    from landspeed.runs.scenario import Scenario

    told: list[tuple[str, list[str], tuple[str, str] | None]] = parsed.servers or []
    servers = [Server(node, words, _condition(node, until)) for node, words, until in told]
    if parsed.file is None and parsed.overrides:
        raise UsageError("--set changes a scenario's values, and none is named; name one, or leave --set out")
    shown = not (parsed.quiet or parsed.json)
    with warnings.catch_warnings():  # a program that calls this keeps its own way to show them
        warnings.showwarning = _warn
        found = probe(
            parsed.program,
            servers,
            at=parsed.at,
            path=Scenario.load(parsed.file, parsed.overrides) if parsed.file else None,
            rtts=USUAL_RTTS if parsed.rtt is None else _listed(parsed.rtt),
            rates=_listed(parsed.rate),
            losses=_listed(parsed.loss),
            seed=parsed.seed,
            timeout=parsed.at_most,
            ready=parsed.ready,
            folder=parsed.out,
            jobs=parsed.jobs,
            progress=_tell if shown else None,
            interval_ns=parsed.sample_interval,
            **given_options(parsed),
        )
    page = write_page(found)
    if parsed.json:
        print(found.to_json(), end="")
    elif not parsed.quiet:
        _print(found, page)
    for each in (run for variant in found.variants for run in variant.cases if run.error):
        print(f"Error: at {each.case.rtt_ns / 1e6:g} ms: {each.error}", file=sys.stderr)
    return 0 if found.complete else FAILED


def _warn(message: Warning | str, *_: Any) -> None:
    """Warn of a file that the guest does not see."""
    print(f"Warning: {message}", file=sys.stderr)


def _tell(run: CaseRun) -> None:
    elapsed = run.run.elapsed_s if run.run else None
    said = run.error.splitlines()[0] if run.error else f"{elapsed:.3f} s" if elapsed is not None else "?"
    print(f"{run.case.rtt_ns / 1e6:g} ms: {said}", file=sys.stderr)


def _print(found: ProbeResult, page: Path) -> None:
    from landspeed.programs.probe.table import tables

    for table in tables(found):
        print(table)
    print(f"Page: {page}")
