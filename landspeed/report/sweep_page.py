"""A sweep as one self-contained page: pictures and a table. No script, nothing loaded from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from landspeed.base.files import write_atomically
from landspeed.base.text import DASH, rate_text
from landspeed.report import sweep_figures as figures
from landspeed.report.page_parts import environment, template_text
from landspeed.results.bundle import OutputError


def write_sweep_page(target: Path, title: str, keys: Sequence[str], rows: Sequence[dict[str, Any]]) -> Path:
    """Write the page.

    Args:
        target: the file.
        keys: what varies, seeds left out.
        rows: one for each cell, with the keys, `seed`, `state`, `error` and the figures of a record.

    Raises:
        OutputError: it cannot be written.
    """
    try:
        write_atomically(target, render_sweep_page(title, keys, rows).encode())
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}") from error
    return target


def render_sweep_page(title: str, keys: Sequence[str], rows: Sequence[dict[str, Any]]) -> str:
    """The page as text."""
    from markupsafe import Markup

    found = figures.means(keys, rows)
    return (
        environment()
        .get_template("sweep.html.j2")
        .render(
            title=title,
            keys=keys,
            means=found,
            pictures=figures.pictures(keys, found) if found else [],
            heat_maps=figures.heat_maps(keys, found) if found else [],
            failures=[row for row in rows if row["state"] != "done"],
            cells=len(rows),
            goodput_text=goodput_text,
            chart=figures,
            style=Markup(template_text("report.css")),
        )
    )


def goodput_text(mean: figures.Mean) -> str:
    """The mean with its interval, in words."""
    known = mean.goodput
    if known.mean is None:
        return DASH
    if known.half is None:
        return rate_text(known.mean)
    spread = 100 * (known.relative or 0.0)
    return f"{rate_text(known.mean)} ± {spread:.0f} %" if spread >= 10 else f"{rate_text(known.mean)} ± {spread:.2g} %"
