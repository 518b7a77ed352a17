"""What every chart is made of: series out of a bundle's samples, lines, marks, a figure over time (plain dicts).

Colours are names of the page's CSS variables (`--recorded`), which the page replaces, so that charts follow light, dark
and print. Every line is thinned to at most `POINTS` points, keeping the extremes of every bin.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from .record import EventResult

POINTS = 1500
SVG_DASHES = {"solid": "none", "dash": "7 4", "dot": "2 3", "dashdot": "7 3 2 3"}

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


def columns_of(file: Path, end: str, names: list[str]) -> dict[str, list[Any]]:
    from pyarrow import parquet

    table = parquet.read_table(file, columns=["stream", "time_ns", *names], filters=[("end", "=", end)])
    return table.to_pydict()


def series_of(columns: dict[str, list[Any]], value: Callable[[dict[str, Any]], float]) -> dict[int, Series]:
    """For each stream the values over time in s; rows without the figure are left out."""
    found: dict[int, Series] = {}
    names = list(columns)
    for cells in zip(*columns.values(), strict=True):
        row = dict(zip(names, cells, strict=True))
        if any(row[name] is None for name in names if name != "mss_bytes"):
            continue
        found.setdefault(row["stream"], []).append((row["time_ns"] / 1e9, value(row)))
    return found


def rounds_of(streams: dict[int, Series]) -> Iterator[tuple[float, list[float]]]:
    """The streams' values, whenever each of those under way has a new row: at one time, or each at its own.

    A stream is under way from its first row to its last.
    """
    rows = sorted((time_s, stream, value) for stream, series in streams.items() for time_s, value in series)
    span = {stream: (series[0][0], series[-1][0]) for stream, series in streams.items() if series}
    latest: dict[int, float] = {}
    fresh: set[int] = set()
    for time_s, together in itertools.groupby(rows, key=lambda row: row[0]):
        for _, stream, value in together:
            latest[stream] = value
            fresh.add(stream)
        if not any(span[stream][0] <= time_s <= span[stream][1] for stream in span.keys() - fresh):
            yield time_s, [latest[each] for each in span if span[each][0] <= time_s <= span[each][1]]
            fresh = set()


def total_of(streams: dict[int, Series]) -> Series:
    """The streams' total over time."""
    return [(time_s, sum(values)) for time_s, values in rounds_of(streams)]


def line(name: str, series: Series, colour: str, width: float, dash: str = "solid") -> dict[str, Any]:
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


def figure_over_time(
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


def labels(marks: Sequence[Mark]) -> list[dict[str, Any]]:
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


def mark_events(figure: dict[str, Any], events: Sequence[EventResult]) -> None:
    """A dotted vertical line with its number for each event that happened within the figure's time."""
    layout = figure["layout"]
    end_s = layout["xaxis"]["range"][1]
    for number, event in enumerate(events, start=1):
        if event.at_s is None or event.at_s > end_s:
            continue
        layout.setdefault("shapes", []).append(
            {
                "type": "line",
                "x0": event.at_s,
                "x1": event.at_s,
                "yref": "paper",
                "y0": 0,
                "y1": 1,
                "line": {"color": "--event", "width": 1.2, "dash": "dot"},
            }
        )
        layout.setdefault("annotations", []).append(
            {
                "x": event.at_s,
                "yref": "paper",
                "y": 1,
                "yanchor": "bottom",
                "text": str(number),
                "showarrow": False,
                "font": {"color": "--event", "size": 11},
            }
        )
