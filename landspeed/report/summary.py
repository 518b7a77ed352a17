"""Summary on the terminal at the end of a run: recorded beside rehearsed, its limit, the verdicts, the paths."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from landspeed.base.text import duration_text
from landspeed.report.beside_recorded import outcome_words, rows, wanted_word
from landspeed.results.facts import spun_text
from landspeed.results.flow_result import phases_text
from landspeed.results.record import RunRecord

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult


_MARKS = {True: ("ok", "green"), False: ("FAILED", "bold red"), None: ("not judged", "yellow")}


class Summary:
    """Summary that rich prints at the end of a run: a table on a terminal, plain lines elsewhere."""

    def __init__(self, record: RunRecord, bundle: Path | None, report: Path | None) -> None:
        self._parts = (record, bundle, report)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if console.is_terminal:
            yield _table(*self._parts)
        else:
            for line in summary_lines(*self._parts):
                console.out(line, highlight=False)  # not yielded: what is yielded would be cut at 80 columns


def render_summary(record: RunRecord, bundle: Path | None = None, report: Path | None = None) -> Summary:
    """The end of a run for a person.

    Args:
        record: a judged record, or what is there of a run that broke.
        bundle: its folder.
        report: its report.

    Returns:
        something that rich prints.
    """
    return Summary(record, bundle, report)


def _table(record: RunRecord, bundle: Path | None, report: Path | None) -> RenderableType:
    from rich import box
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    plan = record.plan
    compared, word = rows(record, plan), wanted_word(plan)
    recorded = any(row.recorded != "–" for row in compared)
    title = Text(record.title or record.scenario, style="bold")
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", header_style="bold", expand=False)
    table.add_column()
    if recorded:
        table.add_column(word, justify="right")
    table.add_column("rehearsed", justify="right", style="bold")
    if recorded:
        table.add_column("of the record" if word == "recorded" else "of that", justify="right")
    for row in compared:
        table.add_row(
            row.name, *([row.recorded] if recorded else []), row.rehearsed, *([row.share] if recorded else [])
        )
    verdicts = Table.grid(padding=(0, 2))
    for verdict in record.verdicts:
        mark, style = _MARKS[verdict.ok]
        verdicts.add_row(Text(mark, style=style), verdict.name, Text(verdict.text))
    parts: list[RenderableType] = [Text(), table, Text(), verdicts, Text()]
    for name, value in _facts(record, bundle, report):
        parts.append(Text.assemble((f"{name}: ", "bold"), value, overflow="fold"))
    return Padding(Group(*parts), (0, 1))


def summary_lines(record: RunRecord, bundle: Path | None = None, report: Path | None = None) -> list[str]:
    """Format the summary without colours, boxes or folding, one fact a line, for logs and pipes."""
    lines = [record.title or record.scenario]
    plan = record.plan
    for row in rows(record, plan):
        share = f"; {row.share}" if row.share else ""
        beside = "" if row.recorded == "–" else f" ({wanted_word(plan)} {row.recorded}{share})"
        lines.append(f"{row.name}: {row.rehearsed}{beside}")
    lines += [f"{_MARKS[verdict.ok][0]}: {verdict.name}: {verdict.text}" for verdict in record.verdicts]
    return lines + [f"{name}: {value}" for name, value in _facts(record, bundle, report)]


def _facts(record: RunRecord, bundle: Path | None, report: Path | None) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    if record.limited_by:
        found.append(("Bound by", f"{record.limited_by}: {record.limited_by_why}"))
    if len(record.limit_phases) > 1:
        found.append(("In turn", phases_text(record.limit_phases)))
    if record.wall_s:
        speed = f", {record.duration_s / record.wall_s:.1f} × real time" if record.duration_s else ""
        found.append(("Wall time", duration_text(record.wall_s) + speed))
    if record.guest.spun:
        found.append(("Spinning", f"virtual time passed: {spun_text(record.guest.spun)}"))
    if record.window.warning:
        found.append(("Window", record.window.warning))
    if not record.complete:
        found.append(("Incomplete", record.error or "the run did not end"))
    found.append(("Result", outcome_words(record, record.plan)))
    if bundle is not None:
        found.append(("Bundle", str(bundle)))
    if report is not None:
        found.append(("Report", str(report)))
    return found
