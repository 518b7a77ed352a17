"""The report's charts as plotly figures (plain dicts; the page draws them)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .bundle import LINKS, SAMPLES
from .compare import recorded_streams, wanted_word
from .figures import (
    POINTS,
    Chart,
    Mark,
    Series,
    columns_of,
    figure_over_time,
    labels,
    line,
    mark_events,
    rounds_of,
    series_of,
    thin,
    total_of,
)
from .record import RunRecord
from .wording import bytes_text

if TYPE_CHECKING:
    from ..scenarios.plan import Plan

__all__ = ["POINTS", "Chart", "make_charts", "thin"]
PALETTE = [f"--series-{number}" for number in range(8)]
DASHES = ["solid", "dash", "dot", "dashdot"]
MOST_LINES = 16  # more streams than this are drawn as a band from the least to the most
LEAST_QUEUE = 0.01  # queues that stay below this part of the largest are told in the caption, not drawn
START_RTTS = 40
START_HIDDEN = 5  # a run this many times longer than its start hides it
HEADROOM = 2.0  # a limit further above the data than this is told in the caption, not drawn


def make_charts(bundle: Path, record: RunRecord, plan: Plan) -> list[Chart]:
    """All charts for which the bundle has data."""
    found: list[Chart | None] = []
    if (bundle / SAMPLES).exists():
        received = columns_of(bundle / SAMPLES, "receiver", ["goodput_bps"])
        sent = columns_of(bundle / SAMPLES, "sender", ["cwnd_packets", "srtt_us", "mss_bytes", "retransmits"])
        goodput = series_of(received, lambda row: row["goodput_bps"] / 1e9)
        window = series_of(sent, lambda row: row["cwnd_packets"] * (row["mss_bytes"] or plan.physics.mss_bytes) / 1e6)
        found += [_goodput(goodput, record, plan), _start(goodput, plan), _goodput_streams(goodput, plan)]
        found += [_window(window, record, plan), _window_streams(window, record, plan)]
        found.append(_rtt(series_of(sent, lambda row: row["srtt_us"] / 1e3), record, plan))
        found.append(_retransmits(series_of(sent, lambda row: row["retransmits"]), record))
    if (bundle / LINKS).exists():
        found.append(_queues(bundle / LINKS, plan))
    made = [chart for chart in found if chart is not None]
    for chart in made:
        mark_events(chart.figure, record.events)
    return made


# --- Figures ---------------------------------------------------------------------------------------------------------


def _goodput(streams: dict[int, Series], record: RunRecord, plan: Plan) -> Chart | None:
    total = total_of(streams)
    if not total:
        return None
    most = max(value for _, value in total)
    expect = plan.expect
    traces = [line("rehearsed", total, "--rehearsed", 2.0)]
    marks: list[Mark] = []
    if expect and expect.goodput_bps:
        marks.append(Mark(wanted_word(plan), expect.goodput_bps / 1e9, "--recorded", "dash"))
        most = max(most, expect.goodput_bps / 1e9)
    beyond = []
    for limit in plan.physics.limits:
        level = limit.goodput_bps / 1e9
        if level <= HEADROOM * most:
            marks.append(Mark(f"limit: {limit.name}", level, "--limit", "dot"))
        else:
            beyond.append(f"{limit.name} ({level:.3g} Gbit/s)")
    figure = figure_over_time(traces, marks, "Gbit/s", end_s=total[-1][0])
    figure["layout"]["annotations"] = labels(marks)
    mean = (record.steady_goodput_bps or record.goodput_bps or 0) / 1e9
    caption = "The steep rise at the left is slow start: the window doubles once every round trip."
    if record.limited_by in {"bus", "bus (fitted)", "window", "framing", "pacing"}:
        caption += f" The level after it is the limit that bound the run: {record.limited_by}."
    if beyond:
        caption += f" Beyond the picture: {', '.join(beyond)}."
    words = f"Total goodput over {total[-1][0]:.0f} s; steady at {mean:.3f} Gbit/s, at most {most:.3f} Gbit/s."
    return Chart("goodput", "Goodput in total", figure, caption, words)


def _start(streams: dict[int, Series], plan: Plan) -> Chart | None:
    """The beginning enlarged, where a long run hides it."""
    total = total_of(streams)
    span_s = max(START_RTTS * plan.physics.rtt_ns / 1e9, 1.0)
    if not total or total[-1][0] < START_HIDDEN * span_s:
        return None
    begin = [point for point in total if point[0] <= span_s]
    marks: list[Mark] = []
    if plan.expect and plan.expect.goodput_bps:
        marks.append(Mark(wanted_word(plan), plan.expect.goodput_bps / 1e9, "--recorded", "dash"))
    figure = figure_over_time([line("rehearsed", begin, "--rehearsed", 2.0)], marks, "Gbit/s", end_s=span_s)
    caption = f"The first {span_s:.1f} s, {START_RTTS} round trips: how long the run takes to reach its level."
    words = f"Total goodput in the first {span_s:.1f} s, up to {max(value for _, value in begin):.3f} Gbit/s."
    return Chart("goodput-start", "The start, enlarged", figure, caption, words)


def _goodput_streams(streams: dict[int, Series], plan: Plan) -> Chart | None:
    if len(streams) < 2:
        return None
    in_mbit = {stream: [(time_s, value * 1e3) for time_s, value in series] for stream, series in streams.items()}
    recorded = recorded_streams(plan.expect)
    marks: list[Mark] = []
    if recorded:
        marks.append(Mark(f"{wanted_word(plan)} mean", sum(recorded) / len(recorded) / 1e6, "--recorded", "dash"))
    figure = figure_over_time(_lines(in_mbit), marks, "Mbit/s", end_s=_end(in_mbit))
    caption = (
        "Streams that share one bottleneck fairly lie on top of each other; one that lost a packet dips and returns."
    )
    words = f"Goodput of each of {len(streams)} streams over time."
    return Chart("goodput-streams", "Goodput of each stream", figure, caption, words)


def _window(streams: dict[int, Series], record: RunRecord, plan: Plan) -> Chart | None:
    total = total_of(streams)
    if not total:
        return None
    most = max(value for _, value in total)
    marks: list[Mark] = []
    goodput = record.steady_goodput_bps or record.goodput_bps
    rtt_s = (record.rtt_ms or plan.physics.rtt_ns / 1e6) / 1e3
    if goodput:
        marks.append(Mark("BDP at the reached rate", goodput * rtt_s / 8e6, "--recorded", "dash"))
    if plan.physics.bdp_bytes / 1e6 <= HEADROOM * most:
        marks.append(Mark("BDP of the slowest link", plan.physics.bdp_bytes / 1e6, "--limit", "dot"))
    figure = figure_over_time([line("cwnd, all streams", total, "--rehearsed", 2.0)], marks, "MB", end_s=total[-1][0])
    caption = (
        "Below the bandwidth-delay product (BDP) the path is not full; what the window has above the BDP of the "
        "reached rate stands in a queue or is not used."
    )
    words = f"Sum of the congestion windows over time; at most {most:.1f} MB."
    return Chart("cwnd", "Congestion window in total", figure, caption, words)


def _window_streams(streams: dict[int, Series], record: RunRecord, plan: Plan) -> Chart | None:
    if len(streams) < 2:
        return None
    goodput = record.steady_goodput_bps or record.goodput_bps
    rtt_s = (record.rtt_ms or plan.physics.rtt_ns / 1e6) / 1e3
    marks: list[Mark] = []
    if goodput:
        marks.append(Mark("a stream's share of the BDP", goodput * rtt_s / 8e6 / len(streams), "--recorded", "dash"))
    figure = figure_over_time(_lines(streams), marks, "MB", end_s=_end(streams))
    caption = "Reno adds one packet per round trip and halves on a loss: the teeth of a saw, one per loss."
    if plan.transfer.congestion_control != "reno":
        caption = f"How {plan.transfer.congestion_control} lets each stream's window grow, and what a loss does to it."
    words = f"Congestion window of each of {len(streams)} streams over time."
    return Chart("cwnd-streams", "Congestion window of each stream", figure, caption, words)


def _rtt(streams: dict[int, Series], record: RunRecord, plan: Plan) -> Chart | None:
    streams = {stream: [point for point in series if point[1] > 0] for stream, series in streams.items()}
    values = [value for series in streams.values() for _, value in series]
    if not values:
        return None
    base = record.rtt_ms or plan.physics.rtt_ns / 1e6
    marks = [Mark("empty path", base, "--recorded", "dash")]
    figure = figure_over_time(_lines(streams), marks, "ms", from_zero=False, end_s=_end(streams))
    room = max((max(values) - base) * 1.15, base * 0.01)
    figure["layout"]["yaxis"]["range"] = [min(base, *values) - room * 0.08, base + room]
    caption = "TCP's smoothed round-trip time: everything above the dashed line is time spent waiting in queues."
    words = f"Smoothed RTT from {min(values):.1f} to {max(values):.1f} ms; the empty path takes {base:.3f} ms."
    return Chart("rtt", "Round-trip time", figure, caption, words)


def _retransmits(streams: dict[int, Series], record: RunRecord) -> Chart | None:
    if not record.retransmits or not streams:
        return None
    lossy = {stream: series for stream, series in streams.items() if series[-1][1] > 0}
    traces = [trace | {"line": trace["line"] | {"shape": "hv"}} for trace in _lines(lossy)]
    figure = figure_over_time(traces, [], "packets", end_s=_end(streams))
    caption = "Packets sent again, counted up; a step is a loss, and the window chart shows what it cost."
    words = f"{record.retransmits} retransmits in {len(lossy)} of {len(streams)} streams."
    return Chart("retransmits", "Retransmits", figure, caption, words)


def _queues(file: Path, plan: Plan) -> Chart | None:
    from pyarrow import parquet

    columns = parquet.read_table(file, columns=["link", "direction", "time_ns", "backlog_bytes"]).to_pydict()
    found: dict[tuple[int, str], Series] = {}
    for link, direction, time_ns, backlog in zip(*columns.values(), strict=True):
        if backlog is not None and time_ns >= 0:
            found.setdefault((link, direction), []).append((time_ns / 1e9, backlog / 1e6))
    used = {key: series for key, series in found.items() if max(value for _, value in series) > 0}
    if not found:
        return None
    peaks = sorted(used, key=lambda key: -max(value for _, value in used[key]))
    largest = max((value for _, value in used[peaks[0]]), default=0.0) if peaks else 0.0
    shown = sorted(key for key in peaks[:8] if max(value for _, value in used[key]) >= LEAST_QUEUE * largest)
    traces = []
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
    return Chart("queues", "Queues of the hops", figure, caption, words)


def _end(streams: dict[int, Series]) -> float:
    return max((series[-1][0] for series in streams.values() if series), default=0.0)


def _lines(streams: dict[int, Series]) -> list[dict[str, Any]]:
    """A line for each stream, or a band and the median for too many."""
    if len(streams) > MOST_LINES:
        return _band(streams)
    return [
        line(f"stream {stream}", series, PALETTE[number % 8], 1.3, DASHES[number // 8 % 4])
        for number, (stream, series) in enumerate(sorted(streams.items()))
    ]


def _band(streams: dict[int, Series]) -> list[dict[str, Any]]:
    ordered = [(time_s, sorted(values)) for time_s, values in rounds_of(streams)]
    named = (("least", 0.0), ("median", 0.5), ("most", 1.0))
    traces = []
    for number, (name, part) in enumerate(named):
        series = [(time_s, values[round(part * (len(values) - 1))]) for time_s, values in ordered]
        traces.append(line(f"{name} of {len(streams)} streams", series, PALETTE[number], 1.3))
    return traces
