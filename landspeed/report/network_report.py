"""The report of a network: its links and flows as tables, all flows over time, and a section for each flow."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from landspeed.base.limits import SHARED_LINE
from landspeed.base.text import DASH, bytes_text, grouped, percent_of, rate_text
from landspeed.base.units_text import rate_unit, time_text
from landspeed.judge.fairness import FlowShares, contenders, flows_goodput, jain_series, total_goodput
from landspeed.report import tables
from landspeed.report.chart_parts import Chart, figure_over_time, line, mark_events, share_time
from landspeed.report.charts import MOST_LINES, PALETTE, make_charts, queues_chart
from landspeed.report.network_view import sends_words
from landspeed.report.tables import Table
from landspeed.results.series import Series
from landspeed.scenario.plan.flow_path import lanes, path_of, subflows
from landspeed.scenario.theory.timing import echo_ns

if TYPE_CHECKING:
    from collections.abc import Callable

    from markupsafe import Markup

    from landspeed.results.check import Check
    from landspeed.results.flow_result import FlowResult
    from landspeed.results.record import RunRecord
    from landspeed.results.samples_reader import Samples
    from landspeed.scenario.plan.direction import Direction
    from landspeed.scenario.plan.plan import Flow, Link, Plan

MOST_SECTIONS = 16  # flows that have a section of their own; all are in the table


@dataclass(frozen=True)
class FlowReport:
    """Section of the page for one flow. `charts` are keys of the page's figures."""

    result: FlowResult
    words: str
    drawing: Markup
    verdicts: list[Check]
    charts: list[Chart]
    tables: list[Table]


def flows_table(record: RunRecord, plan: Plan) -> Table:
    """All flows, a row each."""
    shares = sum(flow.goodput_bps or 0.0 for flow in record.flows)
    sent = {flow.name: flow.transfer for flow in plan.flows}
    rows: list[list[str]] = []
    marks: dict[int, str] = {}
    for number, flow in enumerate(record.flows):
        transfer = sent[flow.name]
        begins = DASH if flow.begins_s is None else f"{flow.begins_s:.3f}"
        row = [flow.name, f"{flow.source} → {flow.target}", sends_words(transfer), begins]
        row += [DASH if each is None else f"{each:.3f}" for each in (flow.rtt_ms, flow.rtt_loaded_median_ms)]
        row.append(rate_text(flow.goodput_bps))
        row += [percent_of(flow.goodput_bps, shares), bytes_text(flow.bytes), grouped(flow.retransmits)]
        rows.append([*row, flow.limited_by or DASH])
        marks[number] = {True: "good", False: "bad", None: ""}[flow.passed]
    header = ["flow", "from → to", "streams", "begins (s)", "RTT (ms)", "under load", "goodput", "of the sum"]
    header += ["data", "retransmits"]
    note = ""
    names = contenders(record)
    if record.jain_index is not None and (span := FlowShares(record, {}).together_s(names)):
        which = "all flows" if len(names) == len(record.flows) else "all flows of TCP"
        note = (
            f"Jain's index of the goodputs from {span[0]:.3g} s to {span[1]:.4g} s, while {which} ran: "
            f"{record.jain_index:.4f} (1: equal shares, {1 / len(names):.3g}: one has everything)."
        )
    return Table("Flow by flow", [*header, "bound by"], rows, note, marks, text_columns=3)


def links_table(plan: Plan) -> Table:
    """All links, a row each, and how many flows pass them."""
    rows: list[list[str]] = []
    passing = Counter(lane for flow in plan.flows for route in subflows(flow) for lane in lanes(plan, route)[0])
    for link in plan.links:
        rows.append(
            [
                str(link.index + 1),
                f"{link.a} – {link.b}" + (f" ({link.name})" if link.name else ""),
                _both(link, lambda direction: time_text(direction.delay_ns)),
                _both(link, lambda direction: rate_text(direction.rate_bps)),
                _both(link, lambda direction: f"{bytes_text(direction.queue_bytes)} {direction.discipline}"),
                f"→ {passing[link.index, True]}, ← {passing[link.index, False]}",
            ]
        )
    header = ["", "link", "one-way delay", "line rate", "queue", "flows"]
    note = "Two figures where directions differ: as the link is named, and back. Flows count where their data passes."
    return Table("Links", header, rows, note, text_columns=2)


def routes_table(result: FlowResult, plan: Plan, flow: Flow) -> Table | None:
    """Tabulate the data that each route of a flow over MPTCP carried, all streams together; None without MPTCP."""
    subflows_of_streams = [stream.subflows for stream in result.streams]
    whole = sum(each.bytes for listed in subflows_of_streams for each in listed)
    rows: list[list[str]] = []
    for number, route in enumerate(subflows(flow)):
        mine = [listed[number] for listed in subflows_of_streams if len(listed) > number]
        moved, path = sum(each.bytes for each in mine), path_of(plan, route)
        least = min((each.min_rtt_us for each in mine if each.min_rtt_us), default=None)
        row = [" → ".join(node.name for node in path.nodes[: path.hops + 1]), f"{echo_ns(path) / 1e6:.3f}"]
        row += [DASH if least is None else f"{least / 1e3:.3f}", bytes_text(moved), percent_of(moved, whole)]
        rows.append([*row, grouped(sum(each.retransmits for each in mine))])
    header = ["route", "planned RTT (ms)", "least RTT (ms)", "acknowledged on it", "of the sum", "retransmits"]
    note = "What was sent again over the other route counts on both."
    return Table("Routes", header, rows, note) if len(rows) > 1 else None


def network_charts(samples: Samples, record: RunRecord) -> list[Chart]:
    """Goodput of each flow and of all, their round trips, the queues, and Jain's index, over time."""
    goodput = {name: series for name, series in flows_goodput(record, samples).items() if series}
    if not goodput:
        return []
    end_s = max(series[-1][0] for series in goodput.values())
    total = total_goodput(goodput)
    size, unit = rate_unit(max(value for _, value in total) or 1.0)
    traces = [line("all flows", [(t, value / size) for t, value in total], "--rehearsed", 2.0)]
    drawn = dict(list(goodput.items())[:MOST_LINES])
    for number, (name, series) in enumerate(drawn.items()):
        colour = PALETTE[number % len(PALETTE)]
        traces.append(line(name, [(t, value / size) for t, value in series], colour, 1.4))
    left_out = f" The first {len(drawn)} of {len(goodput)} flows are drawn." if len(drawn) < len(goodput) else ""
    found = [
        Chart(
            key="flows",
            title="Goodput, flow by flow",
            figure=figure_over_time(traces, [], unit, end_s=end_s),
            caption="Payload that each flow's receiver read, and all together." + left_out,
            alternative=f"Goodput of {len(goodput)} flows over {end_s:.4g} s.",
        )
    ]
    plan = record.plan
    if plan is not None:
        found += [
            each
            for each in (_round_trips(samples, record, plan), queues_chart(samples.backlogs(per=1e6), plan))
            if each
        ]
    if fairness := jain_series({name: goodput[name] for name in contenders(record) if name in goodput}):
        figure = figure_over_time([line("Jain's index", fairness, "--rehearsed", 1.8)], [], "of 1", end_s=end_s)
        figure["layout"]["yaxis"]["range"] = [0, 1.05]
        last = fairness[-1][1]
        found.append(
            Chart(
                key="jain",
                title="Jain's index",
                figure=figure,
                caption="Of the goodputs of the flows under way, interval by interval; 1 is equal shares.",
                alternative=f"Jain's index over time, at the end {last:.3f}.",
            )
        )
    share_time(found)
    for chart in found:
        mark_events(chart.figure, record.events)
    return found


def _round_trips(samples: Samples, record: RunRecord, plan: Plan) -> Chart | None:
    """The smoothed round trip of each flow's first stream."""
    traces: list[dict[str, Any]] = []
    for number, flow in enumerate(record.flows[:MOST_LINES]):
        begin_s = flow.begins_s or 0.0
        streams = samples.alone(plan, flow).by_stream("sender", "srtt_us", per=1e3)
        series = [(begin_s + time_s, ms) for time_s, ms in next(iter(streams.values()), Series()) if ms > 0]
        traces += [line(flow.name, series, PALETTE[number % len(PALETTE)], 1.4)] if series else []
    if not traces:
        return None
    figure = figure_over_time(traces, [], "ms", end_s=max(trace["x"][-1] for trace in traces))
    caption = "TCP's smoothed round-trip time of each flow's first stream: what is above its minimum is queueing delay."
    words = "; ".join(f"{trace['name']} up to {max(trace['y']):.4g} ms" for trace in traces)
    return Chart("flows-rtt", "Round-trip time, flow by flow", figure, caption, words)


def flow_sections(samples: Samples, record: RunRecord, plan: Plan) -> list[FlowReport]:
    """Describe each flow alone, like the transfer over its path."""
    # saves 23 ms where it is not needed
    from landspeed.report.diagram import wide_svg

    named = {flow.name: flow for flow in plan.flows}
    found: list[FlowReport] = []
    for number, flow in enumerate(record.flows[:MOST_SECTIONS]):
        planned = named[flow.name]
        path, alone, own = path_of(plan, planned), record.alone(flow), samples.alone(plan, flow)
        alone.events = []  # they are of the run, and marked in its charts
        charts = [replace(chart, key=f"flow-{number}-{chart.key}") for chart in make_charts(own, alone, path)]
        made = [
            routes_table(flow, plan, planned),
            tables.streams_table(alone, path.expect),
            tables.controls_table(alone),
            tables.totals_table(alone),
            tables.window_table(alone, path),
            tables.limits_table(alone, path),
            tables.calibration_table(alone, path),
            *tables.traceroute_tables(alone, path),
        ]
        words = f"{flow.source} → {flow.target}"
        if flow.limited_by:
            words += f". Bound by {flow.limited_by}: {flow.limited_by_why}"
        found.append(
            FlowReport(
                result=flow,
                words=words,
                drawing=wide_svg(path, None if flow.limited_by == SHARED_LINE else flow.limited_by),
                verdicts=flow.verdicts,
                charts=charts,
                tables=[each for each in made if each is not None],
            )
        )
    return found


def _both(link: Link, show: Callable[[Direction], str]) -> str:
    ahead, back = show(link.forward), show(link.reverse)
    return ahead if ahead == back else f"{ahead}, {back}"
