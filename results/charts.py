"""The report's charts as plotly figures (plain dicts; the page draws them).

Colours are names of the page's CSS variables (`--recorded`), which the page replaces, so that charts follow light, dark
and print. Every line is thinned to at most `POINTS` points, keeping the extremes of every bin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from .bundle import LINKS, SAMPLES
from .compare import recorded_streams
from .record import RunRecord
from .wording import bytes_text

if TYPE_CHECKING:
    from ..scenarios.plan import Plan

POINTS = 1500
PALETTE = [f"--series-{number}" for number in range(8)]
DASHES = ["solid", "dash", "dot", "dashdot"]
SVG_DASHES = {"solid": "none", "dash": "7 4", "dot": "2 3", "dashdot": "7 3 2 3"}
MOST_LINES = 16  # more streams than this are drawn as a band from the least to the most
LEAST_QUEUE = 0.01  # queues that stay below this part of the largest are told in the caption, not drawn
START_RTTS = 40
START_HIDDEN = 5  # a run this many times longer than its start hides it
HEADROOM = 2.0  # a limit further above the data than this is told in the caption, not drawn

Series: TypeAlias = list[tuple[float, float]]


@dataclass(frozen=True)
class Chart:
    """One chart: `figure` for plotly, a title, one sentence on what to see, and words for those who cannot."""

    key: str
    title: str
    figure: dict[str, Any]
    caption: str
    alternative: str

    @property
    def legend(self) -> list[dict[str, str]]:
        """Name, colour variable and SVG dash pattern of each line: the page draws its own legend."""
        return [
            {"name": each["name"], "colour": each["line"]["color"], "dashes": SVG_DASHES[each["line"]["dash"]]}
            for each in self.figure["data"]
        ]


@dataclass(frozen=True)
class Mark:
    """A horizontal line: a recorded level, a limit."""

    name: str
    level: float
    colour: str
    dash: str


def make_charts(bundle: Path, record: RunRecord, plan: Plan) -> list[Chart]:
    """All charts for which the bundle has data."""
    found: list[Chart | None] = []
    if (bundle / SAMPLES).exists():
        received = _columns(bundle / SAMPLES, "receiver", ["goodput_bps"])
        sent = _columns(bundle / SAMPLES, "sender", ["cwnd_packets", "srtt_us", "mss_bytes", "retransmits"])
        goodput = _series(received, lambda row: row["goodput_bps"] / 1e9)
        window = _series(sent, lambda row: row["cwnd_packets"] * (row["mss_bytes"] or plan.physics.mss_bytes) / 1e6)
        found += [_goodput(goodput, record, plan), _start(goodput, plan), _goodput_streams(goodput, plan)]
        found += [_window(window, record, plan), _window_streams(window, record, plan)]
        found.append(_rtt(_series(sent, lambda row: row["srtt_us"] / 1e3), record, plan))
        found.append(_retransmits(_series(sent, lambda row: row["retransmits"]), record))
    if (bundle / LINKS).exists():
        found.append(_queues(bundle / LINKS, plan))
    return [chart for chart in found if chart is not None]


def thin(series: Series, points: int = POINTS) -> Series:
    """At most `points` of a series in the same order: the least and the most of every bin, and both ends."""
    if len(series) <= points:
        return series
    bins = (points - 2) // 2
    kept = {0, len(series) - 1}
    for number in range(bins):
        begin, end = number * len(series) // bins, (number + 1) * len(series) // bins
        kept.add(min(range(begin, end), key=lambda index: series[index][1]))
        kept.add(max(range(begin, end), key=lambda index: series[index][1]))
    return [series[index] for index in sorted(kept)]


# --- Data ------------------------------------------------------------------------------------------------------------


def _columns(file: Path, end: str, names: list[str]) -> dict[str, list[Any]]:
    from pyarrow import parquet

    table = parquet.read_table(file, columns=["stream", "time_ns", *names], filters=[("end", "=", end)])
    return table.to_pydict()


def _series(columns: dict[str, list[Any]], value: Callable[[dict[str, Any]], float]) -> dict[int, Series]:
    """For each stream the values over time in s; rows without the figure are left out."""
    found: dict[int, Series] = {}
    names = list(columns)
    for cells in zip(*columns.values(), strict=True):
        row = dict(zip(names, cells, strict=True))
        if any(row[name] is None for name in names if name != "mss_bytes"):
            continue
        found.setdefault(row["stream"], []).append((row["time_ns"] / 1e9, value(row)))
    return found


def _sum(streams: dict[int, Series]) -> Series:
    """The streams' total where every sampling time has a row of each (a stream that ended counts as its rows say)."""
    total: dict[float, float] = {}
    for series in streams.values():
        for time_s, value in series:
            total[time_s] = total.get(time_s, 0.0) + value
    return sorted(total.items())


# --- Figures ---------------------------------------------------------------------------------------------------------


def _goodput(streams: dict[int, Series], record: RunRecord, plan: Plan) -> Chart | None:
    total = _sum(streams)
    if not total:
        return None
    most = max(value for _, value in total)
    expect = plan.expect
    traces = [_line("rehearsed", total, "--rehearsed", 2.0)]
    marks: list[Mark] = []
    if expect and expect.goodput_bps:
        marks.append(Mark("recorded", expect.goodput_bps / 1e9, "--recorded", "dash"))
        most = max(most, expect.goodput_bps / 1e9)
    beyond = []
    for limit in plan.physics.limits:
        level = limit.goodput_bps / 1e9
        if level <= HEADROOM * most:
            marks.append(Mark(f"limit: {limit.name}", level, "--limit", "dot"))
        else:
            beyond.append(f"{limit.name} ({level:.3g} Gbit/s)")
    figure = _figure(traces, marks, "Gbit/s", end_s=total[-1][0])
    figure["layout"]["annotations"] = _labels(marks)
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
    total = _sum(streams)
    span_s = max(START_RTTS * plan.physics.rtt_ns / 1e9, 1.0)
    if not total or total[-1][0] < START_HIDDEN * span_s:
        return None
    begin = [point for point in total if point[0] <= span_s]
    marks: list[Mark] = []
    if plan.expect and plan.expect.goodput_bps:
        marks.append(Mark("recorded", plan.expect.goodput_bps / 1e9, "--recorded", "dash"))
    figure = _figure([_line("rehearsed", begin, "--rehearsed", 2.0)], marks, "Gbit/s", end_s=span_s)
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
        marks.append(Mark("recorded mean", sum(recorded) / len(recorded) / 1e6, "--recorded", "dash"))
    figure = _figure(_lines(in_mbit), marks, "Mbit/s", end_s=_end(in_mbit))
    caption = (
        "Streams that share one bottleneck fairly lie on top of each other; one that lost a packet dips and returns."
    )
    words = f"Goodput of each of {len(streams)} streams over time."
    return Chart("goodput-streams", "Goodput of each stream", figure, caption, words)


def _window(streams: dict[int, Series], record: RunRecord, plan: Plan) -> Chart | None:
    total = _sum(streams)
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
    figure = _figure([_line("cwnd, all streams", total, "--rehearsed", 2.0)], marks, "MB", end_s=total[-1][0])
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
    figure = _figure(_lines(streams), marks, "MB", end_s=_end(streams))
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
    figure = _figure(_lines(streams), marks, "ms", from_zero=False, end_s=_end(streams))
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
    figure = _figure(traces, [], "packets", end_s=_end(streams))
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
        traces.append(_line(name, used[index, direction], PALETTE[number], 1.5))
    figure = _figure(traces, [], "MB", end_s=_end(dict(enumerate(found.values()))))
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
        _line(f"stream {stream}", series, PALETTE[number % 8], 1.3, DASHES[number // 8 % 4])
        for number, (stream, series) in enumerate(sorted(streams.items()))
    ]


def _band(streams: dict[int, Series]) -> list[dict[str, Any]]:
    at: dict[float, list[float]] = {}
    for series in streams.values():
        for time_s, value in series:
            at.setdefault(time_s, []).append(value)
    times = sorted(at)
    ordered = [sorted(at[time_s]) for time_s in times]
    named = (("least", 0.0), ("median", 0.5), ("most", 1.0))
    traces = []
    for number, (name, part) in enumerate(named):
        series = [
            (time_s, values[round(part * (len(values) - 1))]) for time_s, values in zip(times, ordered, strict=True)
        ]
        traces.append(_line(f"{name} of {len(streams)} streams", series, PALETTE[number], 1.3))
    return traces


def _line(name: str, series: Series, colour: str, width: float, dash: str = "solid") -> dict[str, Any]:
    points = thin(series)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [round(time_s, 3) for time_s, _ in points],
        "y": [_significant(value) for _, value in points],
        "line": {"color": colour, "width": width, "dash": dash},
        "hovertemplate": f"%{{y:.5~g}}<extra>{name}</extra>",
    }


def _significant(value: float) -> float:
    return float(f"{value:.6g}")


def _figure(
    traces: Sequence[dict[str, Any]],
    marks: Sequence[Mark],
    unit: str,
    *,
    end_s: float,
    from_zero: bool = True,
) -> dict[str, Any]:
    """A figure over time with horizontal marks that are named at the right end and in the legend."""
    drawn = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": f"{mark.name} ({mark.level:.4g} {unit})",
            "x": [0, end_s],
            "y": [_significant(mark.level)] * 2,
            "line": {"color": mark.colour, "width": 1.6, "dash": mark.dash},
            "hoverinfo": "skip",
        }
        for mark in marks
    ]
    top = max((value for trace in [*traces, *drawn] for value in trace["y"]), default=1.0) or 1.0
    axis = {"gridcolor": "--grid", "linecolor": "--line", "zeroline": False, "ticks": "outside", "tickcolor": "--line"}
    upright = axis | {"title": {"text": unit, "standoff": 8}, "automargin": True}
    if from_zero:
        upright["range"] = [0, top * 1.08]
    if unit == "packets" and top <= 10:
        upright["dtick"] = 1
    return {
        "data": [*traces, *drawn],
        "layout": {
            "xaxis": axis | {"title": {"text": "time since the start (s)", "standoff": 6}, "range": [0, end_s]},
            "yaxis": upright,
            "hovermode": "x unified",
            "showlegend": False,
        },
    }


def _labels(marks: Sequence[Mark]) -> list[dict[str, Any]]:
    """Names on the lines themselves, at the right end; lines that lie on each other share one."""
    top = max((mark.level for mark in marks), default=1.0)
    groups: list[list[Mark]] = []
    for mark in sorted(marks, key=lambda each: each.level):
        if groups and mark.level - groups[-1][0].level < 0.06 * top:
            groups[-1].append(mark)
        else:
            groups.append([mark])
    return [
        {
            "xref": "paper",
            "x": 1,
            "xanchor": "right",
            "y": max(mark.level for mark in group),
            "yanchor": "bottom",
            "text": " · ".join(f"{mark.name.removeprefix('limit: ')} {mark.level:.4g}" for mark in group),
            "showarrow": False,
            "font": {"color": group[0].colour, "size": 12},
        }
        for group in groups
    ]
