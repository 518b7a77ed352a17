"""The commands `import` and `export`: files of other programs become a scenario, a scenario or a run such files."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from landspeed.cli.errors import UsageError

if TYPE_CHECKING:
    from landspeed.scenario.importers.import_files import InferredScenario

OPTIONS = ("iperf3", "pscheduler", "traceroute", "ss", "perfsonar_archive")
"""Kinds of file that have an option of their own."""


def add_import(made: argparse.ArgumentParser) -> None:
    """Arguments of `import`."""
    made.add_argument(
        "files", type=Path, nargs="*", metavar="FILE", help="what a measuring program printed; which, is found out"
    )
    made.add_argument(
        "--as", nargs=2, action="append", default=[], dest="named", metavar=("KIND", "FILE"), help="a file of this kind"
    )
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
    made.add_argument(
        "--verify", action="store_true", help="run it in both worlds, and say what differs from what was measured"
    )


def do_import(parsed: argparse.Namespace) -> int:
    """Writes the scenario, or prints it."""
    from landspeed.scenario.importers.import_files import import_files

    name = parsed.name or (parsed.out.stem if parsed.out else "measured")
    if parsed.out is not None and parsed.out.exists():
        raise UsageError(f"{parsed.out} exists already, perhaps with your changes; give another name with --out")
    if len(parsed.files) == 1 and is_mininet(parsed.files[0]):
        return _import_script(parsed, name)
    given: dict[str, list[Path]] = {kind: list(getattr(parsed, kind)) for kind in OPTIONS}
    for kind, file in parsed.named:
        given.setdefault(kind, []).append(Path(file))
    made = import_files(given, name, parsed.title, parsed.files)
    told = sys.stderr if parsed.out is None else sys.stdout  # without --out, the scenario itself is the output
    for file, what in made.files:
        print(f"{file}: {what}", file=told)
    if parsed.out is None:
        print(made.text, end="", flush=True)
        return _verified(made, told) if parsed.verify else 0
    try:
        parsed.out.write_text(made.text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{parsed.out}: {error.strerror or error}; give another name with --out") from error
    for key, value, source in made.values():
        print(f"  {key}: {value} ({source})")
    print(f"{parsed.out}: look at its assumptions, then: landspeed run {parsed.out}")
    return _verified(made, told) if parsed.verify else 0


def is_mininet(file: Path) -> bool:
    """Return whether a file is a Mininet script."""
    if file.suffix != ".py" or not file.is_file():
        return False
    return re.search(r"^\s*(?:from|import) mininet\b", file.read_text(errors="replace"), re.MULTILINE) is not None


def _import_script(parsed: argparse.Namespace, name: str) -> int:
    """Runs a Mininet script in the guest, and writes the net that it started."""
    from landspeed.cli.mn_command import scenario_of_script

    if parsed.verify or any(getattr(parsed, kind) for kind in OPTIONS) or parsed.named:
        raise UsageError(f"{parsed.files[0]}: a Mininet script is a whole network; import it without other files")
    print(f"{parsed.files[0]}: a Mininet script, of the net that it starts", file=sys.stderr)
    text = scenario_of_script(parsed.files[0], name)
    if parsed.out is None:
        print(text, end="")
        return 0
    try:
        parsed.out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{parsed.out}: {error.strerror or error}; give another name with --out") from error
    print(f"{parsed.out}: every link as it was built, and one flow; then: landspeed run {parsed.out}")
    return 0


def _verified(made: InferredScenario, told: TextIO) -> int:
    """Runs it in both worlds, and prints what differs; the exit status."""
    from landspeed.runs.verifying import verify

    done = verify(made)
    for line in (*done.lines(), *(each.bundle for each in done.runs)):
        print(line, file=told)
    return 0 if done.agrees else 1


def add_export(made: argparse.ArgumentParser) -> None:
    """Arguments of `export`."""
    made.add_argument("form", nargs="?", metavar="FORM", help="such as mininet, tc, iperf3 (default: list them)")
    made.add_argument(
        "what", nargs="?", type=Path, metavar="WHAT", help="scenario file or name, or, for what was measured, a bundle"
    )
    made.add_argument("--out", type=Path, default=Path(), metavar="DIR", help="folder for the files (default: here)")


def do_export(parsed: argparse.Namespace) -> int:
    """Prints the files, or what there is to choose from."""
    from landspeed.exporters.export import all_exporters, export, exporter_of

    if parsed.form is None:
        width = max(map(len, all_exporters()))
        for of, title in (("plan", "of a scenario or a run"), ("run", "of a run")):
            print(f"{title}:")
            for each in all_exporters().values():
                if each.of == of:
                    print(f"  {each.word:<{width}}  {each.what}")
        return 0
    exporter = exporter_of(parsed.form)
    if parsed.what is None:
        given = "first" if exporter.of == "plan" else "results/runs/…"
        raise UsageError(f"missing: what to export, such as: landspeed export {exporter.word} {given}")
    files = export(parsed.what, exporter.word, parsed.out)
    for file in files:
        print(file)
    print(f"to open it: {exporter.opens.replace('FILE', str(files[0])).replace('NAME', files[0].stem)}")
    return 0
