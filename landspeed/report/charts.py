"""The report's charts as plotly figures (plain dicts; the page draws them), the first ones first."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, TypeAlias

from landspeed.base.limits import ACK_PATH, BUS, BUS_FITTED, LINE_RATE, PACING, WINDOW
from landspeed.base.text import bytes_text, rate_text
from landspeed.report.beside_recorded import recorded_streams, wanted_word
from landspeed.report.chart_parts import (
    PEAK,
    PEAKS,
    POINTS,
    Chart,
    LevelLine,
    chart_unit,
    figure_over_time,
    labels,
    line,
    mark_events,
    mark_phases,
    scaled,
    share_time,
    thin,
)
from landspeed.results.flow_result import phases_text
from landspeed.results.record import RunRecord
from landspeed.results.samples_reader import Samples
from landspeed.results.series import Series, rounds_of, total_of

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Plan

__all__ = ["POINTS", "Chart", "make_charts", "thin"]
PALETTE = [f"--series-{number}" for number in range(8)]
DASHES = ["solid", "dash", "dot", "dashdot"]
MOST_LINES = 16  # more streams than this are drawn as a band from the least to the most
LEAST_QUEUE = 0.01  # queues that stay below this part of the largest are told in the caption, not drawn
START_RTTS = 40
START_HIDDEN = 5  # a run this many times longer than its start hides it
LEVELS = frozenset({ACK_PATH, BUS, BUS_FITTED, LINE_RATE, PACING, WINDOW})  # limits that are a level of goodput
HEADROOM = 2.0  # a limit further above the data than this is told in the caption, not drawn


Controls: TypeAlias = dict[str, list[int]]
"""Congestion control → numbers of its streams."""


def make_charts(samples: Samples, record: RunRecord, plan: Plan) -> list[Chart]:
    """All charts for which the bundle has data."""
    goodput = samples.by_stream("receiver", "goodput_bps")
    window = samples.windows(plan.physics.mss_bytes, per=1e6)
    controls = controls_of(record)
    total = total_of(goodput)
    found = [
        _goodput(total, record, plan),
        _rtt(samples.by_stream("sender", "srtt_us", per=1e3), samples.pings, record, plan, controls),
        queues_chart(samples.backlogs(per=1e6), plan),
        _start(total, plan),
        _goodput_controls(goodput, controls),
        _goodput_streams(goodput, plan, controls),
        _window(window, record, plan),
        _window_streams(window, record, plan, controls),
        _retransmits(samples.by_stream("sender", "retransmits"), record, controls),
    ]
    made = [chart for chart in found if chart is not None]
    share_time([chart for chart in made if chart.key != "goodput-start"])
    for chart in made:
        mark_events(chart.figure, record.events)
    return made


# --- Figures ---------------------------------------------------------------------------------------------------------


def _in_unit(series: Series) -> tuple[Series, float, str]:
    """Rates in a unit that suits them: the series, bits per second of the unit, its name."""
    size, unit = chart_unit([series])
    return scaled(series, size), size, unit


def _goodput(in_bits: Series, record: RunRecord, plan: Plan) -> Chart | None:
    if not in_bits:
        return None
    total, size, unit = _in_unit(in_bits)
    most = max(value for _, value in total)
    expect = plan.expect
    traces = [line("rehearsed", total, "--rehearsed", 2.0)]
    marks: list[LevelLine] = []
    if expect and expect.goodput_bps:
        marks.append(LevelLine(wanted_word(plan), expect.goodput_bps / size, "--recorded", "dash"))
        most = max(most, expect.goodput_bps / size)
    beyond: list[str] = []
    for limit in plan.physics.limits:
        level = limit.goodput_bps / size
        if level <= HEADROOM * most:
            marks.append(LevelLine(f"limit: {limit.name}", level, "--limit", "dot", limit.kind))
        else:
            beyond.append(f"{limit.name} ({level:.3g} {unit})")
    figure = figure_over_time(traces, marks, unit, end_s=total[-1][0])
    figure["layout"]["annotations"] = labels(marks)
    mark_phases(figure, record.limit_phases)
    mean = record.steady_goodput_bps or record.goodput_bps or 0
    caption = "The steep rise at the left is slow start: the window doubles once every round trip."
    if record.limited_by in LEVELS:
        caption += f" The level after it is the limit that bound the run: {record.limited_by}."
    if len(record.limit_phases) > 1:
        caption += f" The band at its foot shows what held it: {phases_text(record.limit_phases)}."
    if (line_bps := plan.physics.line_rate_limit_bps) and most * size > PEAK * line_bps:
        caption += PEAKS
    if beyond:
        caption += f" Beyond the picture: {', '.join(beyond)}."
    words = f"Total goodput over {total[-1][0]:.0f} s; steady at {rate_text(mean)}, at most {rate_text(most * size)}."
    return Chart("goodput", "Goodput in total", figure, caption, words)


def _start(total: Series, plan: Plan) -> Chart | None:
    """The beginning enlarged, where a long run hides it."""
    span_s = max(START_RTTS * plan.physics.rtt_ns / 1e9, 1.0)
    if not total or total[-1][0] < START_HIDDEN * span_s:
        return None
    begin, size, unit = _in_unit([point for point in total if point[0] <= span_s])
    if not begin:
        return None
    marks: list[LevelLine] = []
    if plan.expect and plan.expect.goodput_bps:
        marks.append(LevelLine(wanted_word(plan), plan.expect.goodput_bps / size, "--recorded", "dash"))
    figure = figure_over_time([line("rehearsed", begin, "--rehearsed", 2.0)], marks, unit, end_s=span_s)
    caption = f"The first {span_s:.1f} s, {START_RTTS} round trips: how long the run takes to reach its level."
    most = rate_text(max(value for _, value in begin) * size)
    words = f"Total goodput in the first {span_s:.1f} s, up to {most}."
    return Chart("goodput-start", "The start, enlarged", figure, caption, words)


def _goodput_streams(streams: dict[int, Series], plan: Plan, controls: Controls) -> Chart | None:
    if len(streams) < 2:
        return None
    most = max((value for series in streams.values() for _, value in series), default=0.0)
    size, unit = (1e3, "kbit/s") if most < 1e6 else (1e6, "Mbit/s")
    scaled = {stream: [(time_s, value / size) for time_s, value in series] for stream, series in streams.items()}
    recorded = recorded_streams(plan.expect)
    marks: list[LevelLine] = []
    if recorded:
        marks.append(LevelLine(f"{wanted_word(plan)} mean", sum(recorded) / len(recorded) / size, "--recorded", "dash"))
    figure = figure_over_time(_lines(scaled, controls), marks, unit, end_s=_end(scaled))
    caption = (
        "Streams that share one bottleneck fairly lie on top of each other; one that lost a packet dips and returns."
    )
    if controls:
        caption += f" Streams of one colour have the same congestion control: {_listed(controls)}."
    words = f"Goodput of each of {len(streams)} streams over time."
    return Chart("goodput-streams", "Goodput of each stream", figure, caption, words)


def _window(streams: dict[int, Series], record: RunRecord, plan: Plan) -> Chart | None:
    total = total_of(streams)
    if not total:
        return None
    most = max(value for _, value in total)
    marks: list[LevelLine] = []
    goodput = record.steady_goodput_bps or record.goodput_bps
    rtt_s = (record.rtt_ms or plan.physics.rtt_ns / 1e6) / 1e3
    if goodput:
        marks.append(LevelLine("BDP at the reached rate", goodput * rtt_s / 8e6, "--recorded", "dash"))
    if plan.physics.bdp_bytes / 1e6 <= HEADROOM * most:
        marks.append(LevelLine("BDP of the slowest link", plan.physics.bdp_bytes / 1e6, "--limit", "dot"))
    figure = figure_over_time([line("cwnd, all streams", total, "--rehearsed", 2.0)], marks, "MB", end_s=total[-1][0])
    caption = (
        "Below the bandwidth-delay product (BDP) the path is not full; what the window has above the BDP of the "
        "reached rate stands in a queue or is not used."
    )
    words = f"Sum of the congestion windows over time; at most {most:.1f} MB."
    return Chart("cwnd", "Congestion window in total", figure, caption, words)


def _window_streams(streams: dict[int, Series], record: RunRecord, plan: Plan, controls: Controls) -> Chart | None:
    if len(streams) < 2:
        return None
    goodput = record.steady_goodput_bps or record.goodput_bps
    rtt_s = (record.rtt_ms or plan.physics.rtt_ns / 1e6) / 1e3
    marks: list[LevelLine] = []
    if goodput:
        marks.append(
            LevelLine("a stream's share of the BDP", goodput * rtt_s / 8e6 / len(streams), "--recorded", "dash")
        )
    figure = figure_over_time(_lines(streams, controls), marks, "MB", end_s=_end(streams))
    caption = "Reno adds one packet per round trip and halves on a loss: the teeth of a saw, one per loss."
    if controls:
        caption = f"How {_listed(controls)} let their streams' windows grow, and what a loss does to each."
    elif plan.transfer.congestion_control != "reno":
        caption = f"How {plan.transfer.congestion_control} lets each stream's window grow, and what a loss does to it."
    words = f"Congestion window of each of {len(streams)} streams over time."
    return Chart("cwnd-streams", "Congestion window of each stream", figure, caption, words)


def _rtt(streams: dict[int, Series], pings: Series, record: RunRecord, plan: Plan, controls: Controls) -> Chart | None:
    streams = {stream: [point for point in series if point[1] > 0] for stream, series in streams.items()}
    pings = [(time_s, rtt_ms) for time_s, rtt_ms in pings if time_s >= 0 and math.isfinite(rtt_ms)]
    values = [value for series in (*streams.values(), pings) for _, value in series]
    if not values:
        return None
    base = record.rtt_ms or plan.physics.rtt_ns / 1e6
    marks = [LevelLine("empty path", base, "--recorded", "dash")]
    figure = figure_over_time(_lines(streams, controls), marks, "ms", from_zero=False, end_s=_end(streams))
    room = max((max(values) - base) * 1.15, base * 0.01)
    figure["layout"]["yaxis"]["range"] = [min(base, *values) - room * 0.08, base + room]
    caption = "TCP's smoothed round-trip time: everything above the dashed line is time spent waiting in queues."
    if pings:
        figure["data"].append(line("ping beside it", pings, "--rehearsed", 1.3))
        caption += " The ping is a packet of a flow of its own, as those of a call or a game: it has waited so long."
    words = f"Smoothed RTT from {min(values):.1f} to {max(values):.1f} ms; the empty path takes {base:.3f} ms."
    return Chart("rtt", "Round-trip time", figure, caption, words)


def _retransmits(streams: dict[int, Series], record: RunRecord, controls: Controls) -> Chart | None:
    if not record.retransmits or not streams:
        return None
    lossy = {stream: series for stream, series in streams.items() if series[-1][1] > 0}
    traces = [trace | {"line": trace["line"] | {"shape": "hv"}} for trace in _lines(lossy, controls)]
    figure = figure_over_time(traces, [], "packets", end_s=_end(streams))
    caption = "Packets sent again, counted up; a step is a loss, and the window chart shows what it cost."
    words = f"{record.retransmits} retransmits in {len(lossy)} of {len(streams)} streams."
    return Chart("retransmits", "Retransmits", figure, caption, words)


def queues_chart(found: dict[tuple[int, str], Series], plan: Plan) -> Chart | None:
    """Draw what waited at each port, of the queues that are not always near empty."""
    used = {key: series for key, series in found.items() if max(value for _, value in series) > 0}
    if not found:
        return None
    peaks = sorted(used, key=lambda key: -max(value for _, value in used[key]))
    largest = max((value for _, value in used[peaks[0]]), default=0.0) if peaks else 0.0
    shown = sorted(key for key in peaks[:8] if max(value for _, value in used[key]) >= LEAST_QUEUE * largest)
    traces: list[dict[str, Any]] = []
    for number, (index, direction) in enumerate(shown):
        link = plan.links[index]
        name = f"{link.a} → {link.b}" if direction == "forward" else f"{link.b} → {link.a}"
        traces.append(line(name, used[index, direction], PALETTE[number], 1.5))
    figure = figure_over_time(traces, [], "MB", end_s=_end(dict(enumerate(found.values()))))
    rest = len(found) - len(shown)
    caption = "Bytes waiting at each port of the path: a queue stands in front of the bottleneck and nowhere else."
    if not used:
        caption = (
            "No bytes were seen waiting at any port of the path. What waits inside the sending host is not counted "
            "here; the round-trip time shows it."
        )
    elif rest:
        peak = max((max(value for _, value in found[key]) for key in found if key not in shown), default=0.0)
        caption += f" The other {rest} stayed " + (f"below {bytes_text(peak * 1e6)}." if peak else "empty.")
    words = "; ".join(f"{trace['name']} up to {max(trace['y'], default=0):.3g} MB" for trace in traces) or "no queues"
    title = f"Queue {traces[0]['name']}" if len(traces) == 1 else "Queues of the hops"
    return Chart("queues", title, figure, caption, words)


def _end(streams: dict[int, Series]) -> float:
    return max((series[-1][0] for series in streams.values() if series), default=0.0)


def controls_of(record: RunRecord) -> Controls:
    """Congestion control → its streams, in the order of the streams; empty where all have the same."""
    found: Controls = {}
    for stream in record.streams:
        found.setdefault(stream.congestion_control or "unknown", []).append(stream.stream)
    return found if len(found) > 1 else {}


def _listed(controls: Controls) -> str:
    *first, last = controls
    return f"{', '.join(first)} and {last}"


def _goodput_controls(streams: dict[int, Series], controls: Controls) -> Chart | None:
    """Draw the goodput of the streams of each congestion control, summed, if any control has several."""
    if all(len(numbers) == 1 for numbers in controls.values()):
        return None
    groups = [(name, total_of(_chosen(streams, numbers))) for name, numbers in controls.items()]
    groups = [(name, series) for name, series in groups if series]
    if not groups:
        return None
    size, unit = chart_unit([series for _, series in groups])
    traces = [
        line(
            f"{name}, {len(controls[name])} stream{'s' if len(controls[name]) > 1 else ''}",
            scaled(series, size),
            colour,
            2.0,
        )
        for (name, series), colour in zip(groups, itertools.cycle(PALETTE))
    ]
    figure = figure_over_time(traces, [], unit, end_s=_end(dict(enumerate(series for _, series in groups))))
    caption = "What the streams of each congestion control get together: how they share the path with the others."
    words = "; ".join(f"{trace['name']} up to {max(trace['y']):.3g} {unit}" for trace in traces)
    return Chart("goodput-controls", "Goodput by congestion control", figure, caption, words)


def _chosen(streams: dict[int, Series], numbers: list[int]) -> dict[int, Series]:
    return {number: streams[number] for number in numbers if number in streams}


def _lines(streams: dict[int, Series], controls: Controls) -> list[dict[str, Any]]:
    """A line for each stream, or a band and the median for too many; a colour for each congestion control."""
    if not controls:
        if len(streams) > MOST_LINES:
            return _band(streams)
        return [
            line(f"stream {stream}", series, PALETTE[number % 8], 1.3, DASHES[number // 8 % 4])
            for number, (stream, series) in enumerate(sorted(streams.items()))
        ]
    traces: list[dict[str, Any]] = []
    for (name, numbers), colour in zip(controls.items(), itertools.cycle(PALETTE)):
        group = _chosen(streams, numbers)
        if len(streams) > MOST_LINES:
            traces += _band(group, name, colour)
            continue
        traces += [
            line(f"{name}, stream {stream}", series, colour, 1.3, DASHES[number % 4])
            for number, (stream, series) in enumerate(sorted(group.items()))
        ]
    return traces


def _band(streams: dict[int, Series], control: str = "", colour: str = "") -> list[dict[str, Any]]:
    """Least, median and most of the streams over time; of one congestion control in its colour."""
    ordered = [(time_s, sorted(values)) for time_s, values in rounds_of(streams) if values]
    traces: list[dict[str, Any]] = []
    for number, (name, part) in enumerate((("least", 0.0), ("median", 0.5), ("most", 1.0))):
        series = [(time_s, values[round(part * (len(values) - 1))]) for time_s, values in ordered]
        of = f"{name} of {len(streams)} {control or 'streams'}"
        shade, dash = (colour, "solid" if name == "median" else "dot") if control else (PALETTE[number], "solid")
        traces.append(line(of, series, shade, 1.3, dash))
    return traces
