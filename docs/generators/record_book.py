"""The record book as a page, from `docs/record-book.json`.

That file is measured: its runs took 22 minutes and more of two cores, so no build of the documents makes it again.
`make record-book` writes it, a line for each record.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from landspeed.report.book_page import BookRow

ROOT = Path(__file__).resolve().parent.parent.parent
KEPT = ROOT / "docs" / "record-book.json"
SUBMISSIONS = ROOT / "build" / "record-book" / "submissions"  # made by `make record-book`, where it ran
WORDS = {"good": "passed", "bad": "failed", "open": "not rehearsed"}


def record_book() -> str:
    """A table for each group of records, and a section for each record."""
    from landspeed.report.book_page import book_entries, book_groups
    from landspeed.runs.record_book import record_plans

    entries, facts = book_entries(KEPT.read_text(encoding="utf-8"), record_plans().values())
    lines = ["| | |", "|---|---|", *(_fact(name, text) for name, text in facts.items()), ""]
    for title, rows in book_groups(entries):
        lines += [f"## {title}", "", "| record | recorded | emulated | difference | bound the rehearsal |"]
        lines += ["|---|---:|---:|---:|---|"]
        lines += [
            f"| [{row.scenario}](#record-{row.scenario}) | {row.recorded} | {row.emulated} | {row.difference} "
            f"| {_cell(row.bound_emulated)} |"
            for row in rows
        ]
        for row in rows:
            lines += ["", *_section(row)]
        lines.append("")
    return "\n".join(lines)


def _section(row: BookRow) -> list[str]:
    told = {
        "Result": f"{WORDS[row.state]}; {row.emulated} emulated ({row.emulated_more or 'not run'}), "
        f"{row.recorded} recorded: {row.difference}",
        "Simulated": row.simulated,
        "Class": row.category,
        "Path": row.path,
        "Predicted or fitted": row.basis,
        "Bound the record": f"{row.bound_recorded}. {row.why}",
        "Bound the rehearsal": row.bound_emulated,
        "Score": f"{row.score} bit·m/s",
        "Wall time": row.wall,
    }
    lines = [f"(record-{row.scenario})=", f"### {row.title}", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {_cell(text)} |" for name, text in told.items()]
    if row.checks:
        lines += ["", f"<details><summary>Rules: {row.rules}</summary>", "", "| rule | | evidence |", "|---|---|---|"]
        lines += [f"| {_cell(check.rule)} | {check.state} | {_cell(check.evidence)} |" for check in row.checks]
        lines += ["", "</details>"]
    if (SUBMISSIONS / f"{row.scenario}.html").is_file():
        lines += ["", f'<p><a href="../submissions/{row.scenario}.html">Written up as its team would have</a></p>']
    return lines


def _fact(name: str, text: str) -> str:
    return f"| {name} | `{text}` |" if name == "Command" else f"| {name} | {_cell(text)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
