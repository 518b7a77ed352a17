"""`report.html`: one page per bundle, one file. Its own policy forbids it to load anything."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landspeed.base.failures import telling_of
from landspeed.base.files import write_atomically
from landspeed.base.text import DASH, bytes_text, duration_text, percent_of, rate_text
from landspeed.report.beside_recorded import (
    COMPLETED,
    FAR_WORDS,
    RecordedRow,
    outcome_words,
    recorded_duration_s,
    rows,
    wanted_word,
)
from landspeed.report.configuration import configuration, scenario_data
from landspeed.report.findings import network_finding
from landspeed.report.page_parts import environment, script_json, template_text
from landspeed.results.bundle import OutputError, load_record
from landspeed.results.record import RunRecord
from landspeed.results.samples_reader import Samples

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Plan

FIRST_CHARTS = frozenset({"goodput", "rtt", "queues", "flows", "flows-rtt"})  # of the first screen


def write_report(bundle_dir: Path, scenario: Mapping[str, Any] | None = None) -> Path:
    """Write `report.html` into a bundle, whatever the bundle has.

    Args:
        bundle_dir: folder of the bundle.
        scenario: content of its scenario, of which the copy need not be read then.

    Returns:
        the file.

    Raises:
        OutputError: it cannot be written.
        BundleError: the bundle's `result.json` cannot be read, or its files do not fit together.
    """
    with telling_of(bundle_dir):
        html = render_report(bundle_dir, scenario)
    target = bundle_dir / "report.html"
    try:
        write_atomically(target, html.encode())
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror}") from error
    return target


def render_report(bundle_dir: Path, scenario: Mapping[str, Any] | None = None) -> str:
    """The page as text: `write_report`.

    Raises:
        ValueError: the bundle's `result.json` cannot be read.
    """
    from markupsafe import Markup

    record = load_record(bundle_dir)
    plan = record.plan
    context = _context(bundle_dir, record, plan, scenario_data(bundle_dir) if scenario is None else scenario)
    all_charts = [*context["charts"], *(chart for flow in context["flows"] for chart in flow.charts)]
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            **context,
            first_charts=[chart for chart in context["charts"] if chart.key in FIRST_CHARTS],
            more_charts=[chart for chart in context["charts"] if chart.key not in FIRST_CHARTS],
            style=Markup(template_text("report.css")),
            script=Markup(template_text("report.js")),
            figures=Markup(script_json({each.key: each.figure for each in all_charts})) if all_charts else "",
        )
    )


def _context(bundle_dir: Path, record: RunRecord, plan: Plan | None, scenario: Mapping[str, Any]) -> dict[str, Any]:
    # saves 25 ms where it is not needed
    from landspeed.report import tables
    from landspeed.report.charts import make_charts

    # saves 22 ms where it is not needed
    from landspeed.report.diagram import bottleneck, tall_svg, wide_svg
    from landspeed.report.queue_table import queue_table

    words = tables.scenario_words(scenario)
    context: dict[str, Any] = {
        "record": record,
        "plan": plan,
        "name": bundle_dir.name,
        "started": (record.started or "").replace("T", " ").removesuffix("+00:00").removesuffix("Z"),
        "headline": _headline(record, plan if plan and plan.is_path else None),
        "comparison": rows(record, plan),
        "wanted": wanted_word(plan),
        "has_recorded": plan is not None and plan.is_path and plan.expect is not None,
        "verdict": _verdict(record, plan),
        "facts": _facts(record),
        "command": shlex.join(record.command),
        "description": words.get("description", ""),
        "assumptions": words.get("assumptions", []),
        "sources": words.get("sources", []),
        "configuration": configuration(bundle_dir, record),
        "calibration": None,
        "totals": tables.totals_table(record),
        "controls": tables.controls_table(record),
        "charts": [],
        "path": None,
        "traceroutes": [],
        "streams": None,
        "window": None,
        "limits": None,
        "events": None,
        "queues": None,
        "notes": [],
        "flows": [],
        "flows_table": None,
        "links_table": None,
    }
    if plan is not None and not plan.is_path:
        context |= _network_context(Samples(bundle_dir), record, plan)
    elif plan is not None:
        context |= {
            "charts": make_charts(Samples(bundle_dir), record, plan),
            "path": {
                "wide": wide_svg(plan, record.limited_by),
                "tall": tall_svg(plan, record.limited_by),
                "bound": "Bound by" if record.limited_by else "Expected to be bound by",
                "bottleneck": bottleneck(plan, record.limited_by).text,
            },
            "calibration": tables.calibration_table(record, plan),
            "traceroutes": tables.traceroute_tables(record, plan),
            "streams": tables.streams_table(record, plan.expect),
            "window": None if plan.transfer.protocol == "udp" else tables.window_table(record, plan),
            "limits": tables.limits_table(record, plan),
            "events": tables.events_table(record, plan),
            "queues": queue_table(plan, Samples(bundle_dir), record.queue_delays),
            "notes": tables.notes(record, plan),
        }
    return context


def _network_context(samples: Samples, record: RunRecord, plan: Plan) -> dict[str, Any]:
    # saves 41 ms where it is not needed
    from landspeed.report import tables
    from landspeed.report.network_report import flow_sections, flows_table, links_table, network_charts
    from landspeed.report.queue_table import queue_table

    return {
        "has_recorded": False,
        "charts": network_charts(samples, record),
        "flows_table": flows_table(record, plan),
        "links_table": links_table(plan),
        "flows": flow_sections(samples, record, plan),
        "events": tables.events_table(record, plan),
        "queues": queue_table(plan, samples, record.queue_delays),
        "notes": tables.notes(record, plan),
    }


def _headline(record: RunRecord, plan: Plan | None) -> dict[str, str]:
    """The large figures: a number and a unit each, recorded and rehearsed, and the share."""
    expect = plan.expect if plan else None
    wanted = expect.goodput_bps if expect else None
    from_s = expect.goodput_from_s if expect else 0.0
    judged = next((check.measured for check in record.verdicts if check.name == "goodput"), None)
    measured = judged if from_s else record.goodput_bps
    return {
        "recorded": rate_text(wanted),
        "rehearsed": rate_text(measured),
        "share": percent_of(measured, wanted),
        "recorded_more": f"{bytes_text(expect.bytes)} in {duration_text(recorded_duration_s(expect))}"
        if expect and expect.bytes
        else "",
        "rehearsed_more": (f"from {from_s:g} s on; " if from_s else "")
        + f"{bytes_text(record.bytes)} in {duration_text(record.duration_s)}"
        if record.bytes is not None
        else "",
        **_delay(record),
    }


def _delay(record: RunRecord) -> dict[str, str]:
    """The large figure of delay: the round trip under load, of a network that of the flow that waited longest."""
    told = [flow for flow in record.flows if flow.rtt_loaded_median_ms is not None]
    flow = max(told, key=lambda each: (each.rtt_loaded_median_ms or 0.0) - (each.rtt_ms or 0.0), default=None)
    if flow is None:
        return {"loaded": DASH, "loaded_more": ""}
    more = f"median{f' of {flow.name}' if record.flows[1:] else ''}; {flow.rtt_loaded_p99_ms or 0.0:.4g} ms p99"
    more += "" if flow.rtt_ms is None else f", {flow.rtt_ms:.4g} ms idle"
    return {"loaded": f"{flow.rtt_loaded_median_ms:.4g} ms", "loaded_more": more}


def _verdict(record: RunRecord, plan: Plan | None) -> dict[str, str]:
    if not record.complete:
        return {"kind": "bad", "word": "Incomplete", "text": record.error or "the run did not end"}
    word, _, text = outcome_words(record, plan).partition(". ")
    kind = {"passed": "good", "failed": "bad"}.get(
        word, "done" if word == COMPLETED and FAR_WORDS not in text else "open"
    )
    if record.flows[1:]:
        text = network_finding(record)
    return {"kind": kind, "word": word[:1].upper() + word[1:], "text": f"{text}." if text else ""}


def _facts(record: RunRecord) -> list[RecordedRow]:
    """Tabulate the facts of the run itself."""
    speed = (
        f"{record.duration_s / record.transfer_wall_s:.1f} ×" if record.duration_s and record.transfer_wall_s else DASH
    )
    found = [
        RecordedRow("World and clock", "", f"{record.world}, {record.clock} clock"),
        RecordedRow("Program", "", record.tool),
        RecordedRow("Seed", "", str(record.seed)),
        RecordedRow("Fidelity", "", record.fidelity or DASH),
        RecordedRow("Wall time of the command", "", duration_text(record.wall_s)),
        RecordedRow("Wall time of the transfer", "", duration_text(record.transfer_wall_s)),
        RecordedRow("Speed against real time", "", speed),
    ]
    if record.guest.memory_touched_bytes:
        found.append(RecordedRow("Memory touched by the guest", "", bytes_text(record.guest.memory_touched_bytes)))
    return found
