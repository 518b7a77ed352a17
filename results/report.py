"""`report.html`: one self-contained page per bundle. It loads nothing from anywhere: its own policy forbids it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .bundle import OutputError, load_record
from .compare import Row, plan_of, recorded_duration_s, rows, wanted_word
from .page import environment, plotly_js, script_json, template_text
from .record import RunRecord
from .wording import DASH, bytes_text, duration_text, percent_of, rate_text, scientific

if TYPE_CHECKING:
    from ..scenarios.plan import Plan


def write_report(bundle_dir: Path) -> Path:
    """Write `report.html` into a bundle, whatever the bundle has.

    Returns:
        the file.

    Raises:
        OutputError: it cannot be written.
        ValueError: the bundle's `result.json` cannot be read.
    """
    html = render_report(bundle_dir)
    target = bundle_dir / "report.html"
    beside = bundle_dir / ".report.html.new"
    try:
        beside.write_text(html, encoding="utf-8")
        beside.replace(target)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise OutputError(f"cannot write {target}: {error.strerror}") from error
    return target


def render_report(bundle_dir: Path) -> str:
    """The page as text.

    Raises:
        ValueError: the bundle's `result.json` cannot be read.
    """
    from markupsafe import Markup

    record = load_record(bundle_dir)
    plan = plan_of(record)
    context = _context(bundle_dir, record, plan)
    charts = context["charts"]
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            **context,
            style=Markup(template_text("report.css")),
            script=Markup(template_text("report.js")),
            plotly=Markup(plotly_js()) if charts else "",
            figures=Markup(script_json({chart.key: chart.figure for chart in charts})),
        )
    )


def _context(bundle_dir: Path, record: RunRecord, plan: Plan | None) -> dict[str, Any]:
    from . import tables
    from .charts import make_charts
    from .diagram import bottleneck, tall_svg, wide_svg

    words = tables.scenario_words(bundle_dir)
    context: dict[str, Any] = {
        "record": record,
        "plan": plan,
        "name": bundle_dir.name,
        "started": (record.started or "").replace("T", " ").removesuffix("+00:00").removesuffix("Z"),
        "headline": _headline(record, plan),
        "comparison": rows(record, plan),
        "wanted": wanted_word(plan),
        "has_recorded": plan is not None and plan.expect is not None,
        "verdict": _verdict(record),
        "facts": _facts(record),
        "command": shlex.join(record.command),
        "description": words.get("description", ""),
        "assumptions": words.get("assumptions", []),
        "sources": words.get("sources", []),
        "configuration": tables.configuration(bundle_dir, record),
        "calibration": tables.calibration_table(record, plan),
        "totals": tables.totals_table(record),
        "charts": [],
        "path": None,
        "traceroutes": [],
        "streams": None,
        "window": None,
        "limits": None,
        "events": None,
        "notes": [],
    }
    if plan is not None:
        context |= {
            "charts": make_charts(bundle_dir, record, plan),
            "path": {
                "wide": wide_svg(plan, record.limited_by),
                "tall": tall_svg(plan, record.limited_by),
                "bound": "Bound by" if record.limited_by else "Expected to be bound by",
                "bottleneck": bottleneck(plan, record.limited_by).text,
            },
            "traceroutes": tables.traceroute_tables(record, plan),
            "streams": tables.streams_table(record, plan.expect),
            "window": tables.window_table(record, plan),
            "limits": tables.limits_table(record, plan),
            "events": tables.events_table(record, plan),
            "notes": tables.notes(record, plan),
        }
    return context


def _headline(record: RunRecord, plan: Plan | None) -> dict[str, str]:
    """The large figures: a number and a unit each, recorded and rehearsed, and the share."""
    expect = plan.expect if plan else None
    steady = expect is not None and expect.goodput_from_s > 0
    measured = record.steady_goodput_bps if steady else record.goodput_bps
    wanted = expect.goodput_bps if expect else None
    return {
        "recorded": rate_text(wanted),
        "rehearsed": rate_text(measured),
        "share": percent_of(measured, wanted),
        "recorded_more": f"{bytes_text(expect.bytes)} in {duration_text(recorded_duration_s(expect))}"
        if expect and expect.bytes
        else "",
        "rehearsed_more": f"{bytes_text(record.bytes)} in {duration_text(record.duration_s)}"
        if record.bytes is not None
        else "",
        "score": scientific(record.score_bit_m_per_s),
    }


def _verdict(record: RunRecord) -> dict[str, str]:
    if not record.complete:
        return {"kind": "bad", "word": "Incomplete", "text": record.error or "the run did not end"}
    words = {True: ("good", "Passed"), False: ("bad", "Failed"), None: ("open", "Not judged")}
    kind, word = words[record.passed]
    return {"kind": kind, "word": word, "text": ""}


def _facts(record: RunRecord) -> list[Row]:
    """How the run itself went."""
    speed = (
        f"{record.duration_s / record.transfer_wall_s:.1f} ×" if record.duration_s and record.transfer_wall_s else DASH
    )
    found = [
        Row("World and clock", "", f"{record.world}, {record.clock} clock"),
        Row("Program", "", record.tool),
        Row("Seed", "", str(record.seed)),
        Row("Fidelity", "", record.fidelity or DASH),
        Row("Wall time of the command", "", duration_text(record.wall_s)),
        Row("Wall time of the transfer", "", duration_text(record.transfer_wall_s)),
        Row("Speed against real time", "", speed),
    ]
    touched = record.guest.get("memory_touched_bytes") or record.guest.get("mem_touched_bytes")
    if touched:
        found.append(Row("Memory touched by the guest", "", bytes_text(touched)))
    return found
