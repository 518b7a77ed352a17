"""The command `import`: files of measurements become a scenario."""

from __future__ import annotations

import argparse
from pathlib import Path

from landspeed.cli.errors import UsageError


def add_import(made: argparse.ArgumentParser) -> None:
    """Arguments of `import`."""
    for word, text in (
        ("--iperf3", "output of `iperf3 --json` at the sending end"),
        ("--pscheduler", "a result of pScheduler as JSON: throughput, rtt, latency, trace"),
        ("--ss", "output of `ss -ti` at the sender during the transfer"),
        ("--perfsonar-archive", "the answer of a search in perfSONAR's archive (OpenSearch)"),
    ):
        made.add_argument(word, type=Path, action="append", default=[], metavar="FILE", help=text)
    made.add_argument(
        "--traceroute",
        type=Path,
        action="extend",
        nargs="+",
        default=[],
        metavar="FILE",
        help="traceroute from the sender; then, if there is one, from the receiver back",
    )
    made.add_argument("--out", type=Path, metavar="FILE", help="the scenario file (default: print it)")
    made.add_argument("--name", help="name of the scenario (default: from the name of --out, else measured)")
    made.add_argument("--title", default="", help="title of the scenario, one line")


def do_import(parsed: argparse.Namespace) -> int:
    """Writes the scenario, or prints it."""
    from landspeed.scenario.importers.import_files import READERS, import_files

    name = parsed.name or (parsed.out.stem if parsed.out else "measured")
    if parsed.out is not None and parsed.out.exists():
        raise UsageError(f"{parsed.out} exists already, perhaps with your changes; give another name with --out")
    made = import_files({kind: getattr(parsed, kind) for kind in READERS}, name, parsed.title)
    if parsed.out is None:
        print(made.text, end="")
        return 0
    try:
        parsed.out.write_text(made.text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{parsed.out}: {error.strerror or error}; give another name with --out") from error
    print(f"{parsed.out}: look at its assumptions, then: landspeed run {parsed.out}")
    return 0
