"""A comparison as one self-contained page: the report's style and script, and nothing loaded from anywhere."""

from __future__ import annotations

from pathlib import Path

from landspeed.base.files import write_atomically
from landspeed.report.comparison import Comparison, overlaid_charts
from landspeed.report.page_parts import environment, report_address, script_json, template_text
from landspeed.results.bundle import OutputError


def write_comparison(comparison: Comparison, target: Path) -> Path:
    """Write the page.

    Raises:
        OutputError: it cannot be written.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, render_page(comparison, target.parent).encode())
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror}") from error
    return target


def render_page(comparison: Comparison, folder: Path | None = None) -> str:
    """The page as text, with links to the reports of the runs for a page in `folder`."""
    from markupsafe import Markup

    charts = overlaid_charts(comparison)
    flows = [(each, overlaid_charts(each, f"flow-{number}-")) for number, each in enumerate(comparison.flows)]
    drawn = [*charts, *(chart for _, its_charts in flows for chart in its_charts)]
    events = comparison.sides[0].record.events
    return (
        environment()
        .get_template("comparison.html.j2")
        .render(
            comparison=comparison,
            title=comparison.sides[0].plan.title,
            finding=comparison.finding,
            reports=[folder and report_address(side.bundle, folder) for side in comparison.sides],
            charts=charts,
            flows=flows,
            events=[(number, event) for number, event in enumerate(events, start=1) if event.at_s is not None],
            style=Markup(template_text("report.css")),
            script=Markup(template_text("report.js")),
            figures=Markup(script_json({chart.key: chart.figure for chart in drawn})) if drawn else "",
        )
    )
