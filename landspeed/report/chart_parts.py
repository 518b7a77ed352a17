"""Parts of every chart: lines, marks, a figure over time (plain dicts).

Colours are names of the page's CSS variables (`--recorded`), which the page replaces, so that charts follow light, dark
and print. Every line is thinned to at most `POINTS` points, keeping the extremes of every bin.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from landspeed.base.units_text import rate_unit
from landspeed.results.series import Series

if TYPE_CHECKING:
    from landspeed.results.flow_result import LimitPhase
    from landspeed.results.record import EventResult

POINTS = 1500
BAND = 0.05  # of a chart's height: what held the transfer
LABELLED = 0.12  # of its width: what is narrower has no room for a word
PEAK = 1.05  # of the line rate: what is above it was not sent at that moment
PEAKS = " Peaks above the line rate are data that waited for a packet sent again: it is read at once."
SVG_DASHES = {"solid": "none", "dash": "7 4", "dot": "2 3", "dashdot": "7 3 2 3"}


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
class LevelLine:
    """A horizontal line: a recorded level, a limit. `label` stands on the line where the name is too long for it."""

    name: str
    level: float
    colour: str
    dash: str
    label: str = ""


def thin(series: Series, points: int = POINTS) -> Series:
    """Thin a series to at most `points`, in the same order: the least and the most of every bin, and both ends."""
    if len(series) <= points:
        return series
    bins = (points - 2) // 2
    kept = {0, len(series) - 1}
    for number in range(bins):
        begin, end = number * len(series) // bins, (number + 1) * len(series) // bins
        kept.add(min(range(begin, end), key=lambda index: series[index][1]))
        kept.add(max(range(begin, end), key=lambda index: series[index][1]))
    return [series[index] for index in sorted(kept)]


def chart_unit(rates: Iterable[Series]) -> tuple[float, str]:
    """Choose the unit for the rates of one picture, by what is drawn most of the time, not by a peak: bit/s, name."""
    values = sorted(value for series in rates for _, value in series if value > 0)
    return rate_unit(values[len(values) * 3 // 4] if values else 0.0)


def scaled(series: Series, size: float) -> Series:
    """Convert a series to units of that size."""
    return [(time_s, value / size) for time_s, value in series]


def share_time(charts: Sequence[Chart]) -> None:
    """Give charts one axis of time: from the start to the end of the longest."""
    end_s = max((chart.figure["layout"]["xaxis"]["range"][1] for chart in charts), default=0.0)
    for chart in charts:
        chart.figure["layout"]["xaxis"]["range"] = [0, end_s]


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
    marks: Sequence[LevelLine],
    unit: str,
    *,
    end_s: float,
    from_zero: bool = True,
) -> dict[str, Any]:
    """A figure over time with horizontal marks that are named at the right end and in the legend."""
    drawn: list[dict[str, Any]] = [
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
    values: Iterator[float] = (value for trace in [*traces, *drawn] for value in trace["y"])
    top = max(values, default=1.0) or 1.0
    axis: dict[str, Any] = {
        "gridcolor": "--grid",
        "linecolor": "--line",
        "zeroline": False,
        "ticks": "outside",
        "tickcolor": "--line",
    }
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


def labels(marks: Sequence[LevelLine]) -> list[dict[str, Any]]:
    """Names on the lines themselves, at the right end; lines that lie on each other share one."""
    top = max((mark.level for mark in marks), default=1.0)
    groups: list[list[LevelLine]] = []
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
            "text": " · ".join(f"{mark.label or mark.name} {mark.level:.4g}" for mark in group),
            "showarrow": False,
            "font": {"color": group[0].colour, "size": 12},
        }
        for group in groups
    ]


def mark_phases(figure: dict[str, Any], phases: Sequence[LimitPhase]) -> None:
    """A band at the foot of a figure over time: what held the transfer, in colours, with its word where it fits."""
    layout = figure["layout"]
    end_s = layout["xaxis"]["range"][1]
    words = list(dict.fromkeys(phase.state for phase in phases))
    for phase in phases if len(phases) > 1 else ():
        colour = f"--series-{words.index(phase.state) % 8}"
        layout.setdefault("shapes", []).append(
            {
                "type": "rect",
                "layer": "below",
                "x0": phase.begin_s,
                "x1": min(phase.end_s, end_s),
                "yref": "paper",
                "y0": 0,
                "y1": BAND,
                "line": {"width": 0},
                "fillcolor": colour,
                "opacity": 0.35,
                "label": {"text": phase.state if phase.end_s - phase.begin_s > LABELLED * end_s else ""},
            }
        )


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
