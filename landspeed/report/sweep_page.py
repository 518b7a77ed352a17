"""A sweep as one self-contained page: pictures and a table. No script, nothing loaded from anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from landspeed.base.files import write_atomically
from landspeed.report import sweep_figures as figures
from landspeed.report.findings import sweep_finding
from landspeed.report.page_parts import environment, report_address, template_text
from landspeed.results.bundle import OutputError

PICTURED = (figures.MEASURES[0], figures.MEASURES[2])  # goodput and delay, side by side


def write_sweep_page(
    target: Path, title: str, keys: Sequence[str], rows: Sequence[dict[str, Any]], bundles: Mapping[str, Path]
) -> Path:
    """Write the page.

    Args:
        target: the file.
        keys: what varies, seeds left out.
        rows: one for each cell, with the keys, `seed`, `state`, `error` and the figures of a record.

        bundles: of the cells that have one, by their keys.

    Raises:
        OutputError: it cannot be written.
    """
    addresses = {key: report_address(bundle, target.parent) for key, bundle in bundles.items()}
    reports = {key: address for key, address in addresses.items() if address}
    try:
        write_atomically(target, render_sweep_page(title, keys, rows, reports).encode())
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}") from error
    return target


def render_sweep_page(
    title: str, keys: Sequence[str], rows: Sequence[dict[str, Any]], reports: Mapping[str, str]
) -> str:
    """The page as text; `reports` are addresses of reports by keys of cells."""
    from markupsafe import Markup

    found = figures.means(keys, rows)
    return (
        environment()
        .get_template("sweep.html.j2")
        .render(
            title=title,
            keys=keys,
            means=found,
            finding=sweep_finding(keys, found),
            measures=figures.MEASURES,
            pictures=[(each, figures.pictures(keys, found, each)) for each in PICTURED],
            reports=reports,
            heat_maps=figures.heat_maps(keys, found) if found else [],
            failures=[row for row in rows if row["state"] != "done"],
            cells=len(rows),
            chart=figures,
            style=Markup(template_text("report.css")),
        )
    )
