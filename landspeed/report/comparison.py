"""Bundles side by side: the rows of the table, the differences, the overlaid charts; the terminal's form of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from landspeed.base.text import DASH, bytes_text, duration_text, grouped, percent_of, rate_text
from landspeed.report.chart_parts import (
    PEAK,
    PEAKS,
    Chart,
    LevelLine,
    chart_unit,
    figure_over_time,
    line,
    mark_events,
    scaled,
    share_time,
)
from landspeed.report.comparison_sides import Side
from landspeed.report.differences import Difference, differences, longest_queue
from landspeed.report.findings import finding
from landspeed.results.series import Series

if TYPE_CHECKING:
    from rich.console import RenderableType

COLOURS = ["--rehearsed", "--series-2", "--series-1", "--series-3", "--series-5", "--series-6"]
DASHES = ["solid", "dash", "dot", "dashdot"]
TOLERANCE = 0.02  # of rates and volumes


@dataclass(frozen=True)
class SidesRow:
    """One quantity: recorded, then each side in order, then the others in per cent of the first."""

    name: str
    recorded: str
    values: list[str]
    share: str = ""


@dataclass
class Comparison:
    """Sides, and what is to be said of them. Differences are of each other side against the first.

    Attributes:
        flows: of runs of one network, the same flow by flow; the sides themselves are the whole runs then.
    """

    sides: list[Side]
    rows: list[SidesRow]
    differences: list[tuple[str, Difference]]
    tolerance: float
    flows: list[Comparison] = field(default_factory=list["Comparison"])

    @property
    def title(self) -> str:
        """The scenario's, or the flow of all sides."""
        names = {side.flow for side in self.sides}
        return f"Flow {self.sides[0].flow}" if len(names) == 1 and "" not in names else self.sides[0].plan.title

    @property
    def finding(self) -> str:
        """The first sentence: what was gained and lost."""
        return finding(self.sides, self.differences, self.tolerance)

    @property
    def recorded(self) -> bool:
        """True if any row has a recorded value."""
        return any(row.recorded != DASH for row in self.rows)


def compare(sides: Sequence[Side], tolerance: float = TOLERANCE, flows: Sequence[Sequence[Side]] = ()) -> Comparison:
    """Hold sides against the first.

    Args:
        sides: two or more.
        tolerance: of rates and volumes, 0…1; what differs by more is named.
        flows: of runs of one network, the sides of each flow, in the order of the runs.
    """
    first, *others = sides
    found = [(other.label, each) for other in others for each in differences(first, other, tolerance)]
    return Comparison(list(sides), _rows(list(sides)), found, tolerance, [compare(each, tolerance) for each in flows])


def _rows(sides: list[Side]) -> list[SidesRow]:
    expect = sides[0].plan.expect
    if any(side.plan.scenario != sides[0].plan.scenario for side in sides):
        expect = None  # two scenarios have no one record
    whole = expect.goodput_bps if expect and not expect.goodput_from_s else None
    late = expect.goodput_bps if expect and expect.goodput_from_s else None
    rows = [
        _row("Goodput", sides, lambda side: side.record.goodput_bps, rate_text, whole),
        _row("Goodput, settled", sides, lambda side: side.settled_bps, rate_text, late),
        _row("… of all flows' goodput", sides, lambda side: side.share, lambda value: f"{value * 100:.2f} %"),
        _row("Jain's index", sides, lambda side: side.record.jain_index, lambda value: f"{value:.4f}"),
        _row("Data delivered", sides, lambda side: side.record.bytes, bytes_text, expect.bytes if expect else None),
        _row("Duration", sides, lambda side: side.record.duration_s, duration_text, _recorded_s(expect)),
        _row("Time to full rate", sides, lambda side: side.full_s, duration_text),
        _row("Slow start left after", sides, lambda side: side.slow_start and side.slow_start.exit_s, duration_text),
        _row("… at a threshold of", sides, lambda side: side.slow_start and side.slow_start.exit_packets, _packets),
        _row(
            "Retransmits", sides, lambda side: side.record.retransmits, grouped, expect.retransmits if expect else None
        ),
        _row(
            "Round-trip time, idle",
            sides,
            lambda side: side.record.rtt_ms,
            _ms,
            expect.rtt_ns / 1e6 if expect and expect.rtt_ns else None,
        ),
        _row("… under load, median", sides, lambda side: side.record.rtt_loaded_median_ms, _ms),
        _row("… under load, p99", sides, lambda side: side.record.rtt_loaded_p99_ms, _ms),
        _row("Ping under load, median", sides, lambda side: side.record.ping_loaded_median_ms, _ms),
        _row("… p99", sides, lambda side: side.record.ping_loaded_p99_ms, _ms),
        _row("Round trips a minute (RPM)", sides, lambda side: side.record.rpm, lambda rpm: f"{rpm:.0f}"),
        _row("Datagrams lost", sides, lambda side: side.record.udp_lost, lambda share: f"{share * 100:.3f} %"),
        _row("One-way delay, mean", sides, lambda side: side.record.udp_delay_mean_ms, _ms),
        _row("… p99", sides, lambda side: side.record.udp_delay_p99_ms, _ms),
        _row("Jitter, mean", sides, lambda side: side.record.udp_jitter_mean_ms, _ms),
        _row("Call (mean opinion)", sides, lambda side: side.record.udp_call_mos, lambda mos: f"{mos:.2f}"),
        _row("Longest queue, median", sides, lambda side: (queue := longest_queue(side)) and queue.median_ms, _ms),
        _row("Packets for each ACK", sides, lambda side: side.packets_per_ack, lambda value: f"{value:.2f}"),
        _row("Largest window offered", sides, lambda side: side.offered_window_bytes, bytes_text),
    ]
    for response in sides[0].responses:
        rows += _response_rows(sides, response.number, response.kind, response.at_s)
    rows.append(_row("Wall time", sides, lambda side: side.record.wall_s, duration_text))
    rows.append(SidesRow("Bound by", DASH, [side.record.limited_by or DASH for side in sides]))
    return [row for row in rows if row.recorded != DASH or any(value != DASH for value in row.values)]


def _response_rows(sides: list[Side], number: int, kind: str, at_s: float) -> list[SidesRow]:
    def of(side: Side) -> Any:
        return next((each for each in side.responses if each.number == number), None)

    name = f"Event {number} ({kind} at {at_s:.3g} s)"
    return [
        _row(
            f"{name}: window left",
            sides,
            lambda side: of(side) and of(side).share * 100,
            lambda value: f"{value:.1f} %",
            shares=False,
        ),
        _row(f"{name}: window back after", sides, lambda side: of(side) and of(side).back_s, duration_text),
    ]


def _row(
    name: str,
    sides: list[Side],
    value: Callable[[Side], float | None],
    text: Callable[[float], str],
    recorded: float | None = None,
    *,
    shares: bool = True,
) -> SidesRow:
    values = [value(side) for side in sides]
    first, others = values[0], values[1:]
    parts = [percent_of(each, first) for each in others] if first and shares else []
    shown = [DASH if each is None else text(each) for each in values]
    return SidesRow(name, DASH if recorded is None else text(recorded), shown, ", ".join(parts) if any(others) else "")


def _recorded_s(expect: Any) -> float | None:
    return expect.duration_ns / 1e9 if expect and expect.duration_ns else None


def _packets(value: float) -> str:
    return f"{grouped(value)} packets"


def _ms(value: float) -> str:
    return f"{value:.3f} ms"


# --- charts ----------------------------------------------------------------------------------------------------------


def overlaid_charts(comparison: Comparison, prefix: str = "") -> list[Chart]:
    """The sides' series over each other; events of the first side are marked. Their keys begin with `prefix`."""
    first, sides = comparison.sides[0], comparison.sides
    expect = first.plan.expect if comparison.recorded else None
    size, unit = chart_unit([scaled(side.goodput, 1e-9) for side in comparison.sides])
    marks = (
        [LevelLine("recorded", expect.goodput_bps / size, "--recorded", "dash")]
        if expect and expect.goodput_bps
        else []
    )
    spikes = PEAKS if any(map(_peaks, sides)) else ""
    charts = [
        _overlaid(
            comparison, "goodput", "Goodput in total", unit, lambda side: scaled(side.goodput, size / 1e9), marks=marks,
            caption="What the receiving application read, all streams." + spikes,
        ),
        _overlaid(
            comparison, "rtt", "Round-trip time", "ms", lambda side: side.rtt, marks=[],
            caption="TCP's smoothed round-trip time of the first stream: what is above its minimum is queueing delay.",
        ),
        _overlaid(
            comparison, "queue", "Longest queue", "MB", lambda side: side.queue, marks=[],
            caption="Bytes waiting at the port where most of them did.",
        ),
        _overlaid(
            comparison, "cwnd", "Congestion window in total", "MB", lambda side: side.window, marks=[],
            caption="Slow start, its end, and what each loss does to the window.",
        ),
    ]  # fmt: skip
    found = [chart for chart in charts if chart is not None]
    share_time(found)
    for chart in found:
        mark_events(chart.figure, first.record.events)
    return [replace(chart, key=prefix + chart.key) for chart in found]


def _peaks(side: Side) -> bool:
    """True if it read more at once than its line brings in that time."""
    allowed = side.plan.physics.line_rate_limit_bps if side.plan.is_path else None
    return bool(allowed) and max((rate * 1e9 for _, rate in side.goodput), default=0.0) > PEAK * (allowed or 0.0)


def _overlaid(
    comparison: Comparison,
    key: str,
    title: str,
    unit: str,
    series: Callable[[Side], Series],
    *,
    marks: list[LevelLine],
    caption: str,
) -> Chart | None:
    traces = [
        line(side.label, series(side), COLOURS[number % len(COLOURS)], 1.8, DASHES[number // len(COLOURS) % 4])
        for number, side in enumerate(comparison.sides)
        if series(side)
    ]
    if not traces:
        return None
    end_s = max(series(side)[-1][0] for side in comparison.sides if series(side))
    figure = figure_over_time(traces, marks, unit, end_s=end_s, from_zero=key != "rtt")
    words = "; ".join(f"{trace['name']} up to {max(trace['y']):.4g} {unit}" for trace in traces)
    return Chart(key, title, figure, caption, words)


# --- terminal --------------------------------------------------------------------------------------------------------


def render_comparison(comparison: Comparison) -> RenderableType:
    """The table and the differences, for rich."""
    from rich import box
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, header_style="bold")
    table.add_column()
    if comparison.recorded:
        table.add_column("recorded", justify="right")
    for side in comparison.sides:
        table.add_column(side.label, justify="right", overflow="fold")
    table.add_column("of the first", justify="right", style="dim")
    for row in comparison.rows:
        table.add_row(row.name, *([row.recorded] if comparison.recorded else []), *row.values, row.share)
    parts: list[RenderableType] = [Text(comparison.title, style="bold"), Text(comparison.finding), table]
    for each in difference_lines(comparison):
        parts.append(Text(each, overflow="fold"))
    return Group(Padding(Group(*parts), (0, 1)), *(render_comparison(each) for each in comparison.flows))


def difference_lines(comparison: Comparison) -> list[str]:
    """Each difference in a sentence, with the strongest cause; one that stands in a line above is not told again."""
    lines: list[str] = []
    told: set[tuple[str, str, str]] = set()
    for label, each in comparison.differences:
        cause = f"likely {each.cause} ({each.evidence})" if each.cause else "the samples support no cause"
        if each.evidence and not each.cause:
            cause = f"{each.evidence}; {cause}"
        if each.cause and (label, each.cause, each.evidence) in told:
            cause = "likely for the same cause"
        elif each.also:
            cause += f"; also {each.also}"
        told.add((label, each.cause, each.evidence))
        lines.append(f"{each.what}, {comparison.sides[0].label} against {label}: {each.apart}; {cause}.")
    return lines
