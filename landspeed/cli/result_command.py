"""The commands `results`, `report`, `open`, `bundle`, `submission`, `verify`, `record-book`: about what was run."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from landspeed.cli import values
from landspeed.cli.arguments import runs_folder
from landspeed.cli.errors import UsageError


def add_results(made: argparse.ArgumentParser) -> None:
    """Arguments of `results`."""
    made.add_argument("sql", nargs="?", metavar="SQL", help="a query in DuckDB's SQL (default: list the runs)")
    made.add_argument(
        "--runs",
        type=Path,
        metavar="DIR",
        help="folder of bundles (default: results/runs of a clone, else ~/.local/share/landspeed/runs)",
    )


def do_results(parsed: argparse.Namespace) -> int:
    """The table of all runs, or the answer to a query."""
    from landspeed.results.query import show_runs, show_sql

    folder = runs_folder(parsed.runs)
    print(show_sql(parsed.sql, folder) if parsed.sql else show_runs(folder))
    return 0


def add_report(made: argparse.ArgumentParser) -> None:
    """Arguments of `report`."""
    made.add_argument("bundle", type=Path, metavar="BUNDLE", help="folder of a run")


def do_report(parsed: argparse.Namespace) -> int:
    """Prints where it is."""
    from landspeed.report.run_report import write_report

    print(write_report(_bundle(parsed.bundle)))
    return 0


def add_bundle(made: argparse.ArgumentParser) -> None:
    """Arguments of `bundle`."""
    made.add_argument(
        "bundle", type=Path, metavar="NAME", help="a run: its folder or name, or its scenario's name: the newest run"
    )
    made.add_argument("--out", type=Path, metavar="FILE", help="the file (default: NAME.landspeed.zip here)")


def do_bundle(parsed: argparse.Namespace) -> int:
    """Prints the file."""
    from landspeed.report.run_report import write_report
    from landspeed.results.packed import SUFFIX, pack

    bundle = _named(parsed.bundle)
    write_report(bundle)
    print(pack(bundle, parsed.out or Path(f"{bundle.resolve().name}{SUFFIX}")))
    return 0


def add_open(made: argparse.ArgumentParser) -> None:
    """Arguments of `open`."""
    made.add_argument("file", type=Path, metavar="FILE", help="a packed run, a run's folder or name, or a page")
    made.add_argument(
        "--runs",
        type=Path,
        metavar="DIR",
        help="unpack below this folder (default: results/runs of a clone, else ~/.local/share/landspeed/runs)",
    )
    made.add_argument("--no-browser", action="store_true", help="open nothing: print the page's file only")


def do_open(parsed: argparse.Namespace) -> int:
    """Unpacks it if it is packed, writes its report, opens that in the browser, and prints where it is."""
    import webbrowser

    from landspeed.report.run_report import write_report
    from landspeed.results.packed import unpack

    page: Path = parsed.file
    if page.suffix == ".html":
        if not page.is_file():
            raise UsageError(f"{page}: there is no such file")
    else:
        page = write_report(unpack(page, runs_folder(parsed.runs)) if page.is_file() else _named(page))
    print(page)
    if not parsed.no_browser:
        webbrowser.open(page.resolve().as_uri())
    return 0


def add_submission(made: argparse.ArgumentParser) -> None:
    """Arguments of `submission`."""
    made.add_argument("bundle", type=Path, metavar="BUNDLE", help="folder of a run")
    made.add_argument("--no-pdf", action="store_true", help="write the page only")


def do_submission(parsed: argparse.Namespace) -> int:
    """Prints the files."""
    from landspeed.report.submission import write_submission

    try:
        for file in write_submission(_bundle(parsed.bundle), pdf=not parsed.no_pdf):
            print(file)
    except ValueError as error:
        raise UsageError(str(error)) from error
    return 0


def _named(name: Path) -> Path:
    """A bundle by its folder or its name in the folder of runs, or the newest run of a scenario."""
    if (name / "result.json").is_file():
        return name
    folder = runs_folder(None)
    if (folder / name / "result.json").is_file():
        return folder / name
    from landspeed.base.near import meant

    known = [each.parent.name for each in sorted(folder.glob("*/result.json"), key=lambda file: file.stat().st_mtime)]
    scenarios = {each.rsplit("-", 2)[0]: each for each in known}  # the newest of each
    if str(name) in scenarios:
        return folder / scenarios[str(name)]
    advice = meant(str(name), [*scenarios, *known]) or "`landspeed results` lists the runs"
    raise UsageError(f"{name}: no run of this name, in this folder or in {folder}; {advice.strip()}")


def _bundle(folder: Path) -> Path:
    if not (folder / "result.json").is_file():
        raise UsageError(f"{folder}: not a bundle (it has no result.json)")
    return folder


def add_verify(made: argparse.ArgumentParser) -> None:
    """Arguments of `verify`."""
    made.add_argument("bundle", type=Path, metavar="BUNDLE", help="folder of a run")
    made.add_argument(
        "--signers",
        type=Path,
        metavar="FILE",
        help="who may have signed: allowed signers of ssh-keygen, or a public key (default: ~/.ssh/allowed_signers)",
    )


def do_verify(parsed: argparse.Namespace) -> int:
    """Prints what it found; exit status 0: it is as signed, by one of the signers."""
    from landspeed.results.signature import verify

    if not parsed.bundle.is_dir():
        raise UsageError(f"{parsed.bundle}: not a bundle (no such folder)")
    found = verify(parsed.bundle, parsed.signers)
    for check in found:
        print(f"{'ok' if check.ok else 'FAILED' if check.ok is False else 'not here'}: {check.name}: {check.text}")
    good = all(check.ok is not False for check in found)
    print("Verified" if good else "NOT verified")
    return 0 if good else 1


def add_record_book(made: argparse.ArgumentParser) -> None:
    """Arguments of `record-book`."""
    made.add_argument("names", nargs="*", metavar="RECORD", help="only these, by name (default: all)")
    made.add_argument(
        "--basis",
        action="append",
        choices=("documents", "public", "what if"),
        default=[],
        help="rehearse only records with this basis (can be repeated)",
    )
    cores = os.cpu_count() or 1
    made.add_argument("--jobs", type=values.count, default=cores, metavar="N", help="runs at once (default: cores)")
    made.add_argument("--out", type=Path, metavar="DIR", help="folder of the book (default: build/record-book)")
    made.add_argument("--runs", type=Path, metavar="DIR", help="folder of bundles (default: results/runs/record-book)")
    made.add_argument(
        "--at-most", type=values.seconds, metavar="SECONDS", help="rehearse only the first seconds of longer transfers"
    )
    made.add_argument("--fresh", action="store_true", help="rehearse all of them again")
    made.add_argument("--no-evidence", action="store_true", help="make no captures and no submission pages")
    made.add_argument(
        "--write-only", action="store_true", help="rehearse nothing: write the book from the existing bundles"
    )


def do_record_book(parsed: argparse.Namespace) -> int:
    """Prints what is done as it is done."""
    from landspeed.base.places import book_dir
    from landspeed.runs.record_book import BookOptions, make_book

    options = BookOptions(
        runs=parsed.runs or runs_folder(None) / "record-book",
        out=parsed.out or book_dir(),
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
