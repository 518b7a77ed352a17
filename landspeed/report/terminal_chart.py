"""Goodput over time as columns of blocks, for a terminal. Characters only: who prints them chooses the colour."""

from __future__ import annotations

import math
from collections.abc import Sequence

from landspeed.base.units_text import rate_unit

EIGHTHS = " ▁▂▃▄▅▆▇█"
AXIS_WIDTH = 13  # of "999.9 Mbit/s ┤"


def round_top(bps: float) -> float:
    """The least round rate at or above this one, for the end of an axis."""
    power = 10.0 ** math.floor(math.log10(bps))
    return next((step * power for step in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8) if step * power >= bps), 10 * power)


def column_means(series: Sequence[tuple[float, float]], until_s: float, columns: int) -> list[float | None]:
    """The series' mean in each of so many equal parts of the time up to `until_s`.

    Args:
        series: (time in s, rate), in the order of time; a rate holds from the time before it.
        until_s: end of the last part.
        columns: number of parts.

    Returns:
        one rate a part; None where the series has not come yet.
    """
    found: list[float | None] = [None] * columns
    sums, covered = [0.0] * columns, [0.0] * columns
    step, before = until_s / columns, 0.0
    for time_s, rate in series:
        column = min(int(before / step), columns - 1)
        while before < time_s and column < columns:
            end = min(time_s, (column + 1) * step) if column < columns - 1 else time_s
            sums[column] += rate * (end - before)
            covered[column] += end - before
            before, column = end, column + 1
    for column, seconds in enumerate(covered):
        if seconds > 0:
            found[column] = sums[column] / seconds
    return found


def chart_lines(
    series: Sequence[tuple[float, float]], *, until_s: float, top_bps: float, width: int, height: int = 8
) -> list[str]:
    """The chart, a line of text each: from the top down, then the axis of time.

    Args:
        series: (time in s, goodput in bit/s).
        until_s: right end of the axis.
        top_bps: upper end of the other one; what is above it is cut.
        width, height: of the whole in characters, and of the columns in lines.
    """
    columns = max(10, width - AXIS_WIDTH - 2)
    size, unit = rate_unit(top_bps)
    means = column_means(series, until_s, columns)
    eighths = [0 if mean is None else max(1, round(8 * height * min(mean / top_bps, 1.0))) for mean in means]
    lines: list[str] = []
    for row in range(height, 0, -1):
        labelled = row in (height, (height + 1) // 2)
        label = f"{top_bps * row / height / size:.4g} {unit}" if labelled else ""
        blocks = "".join(EIGHTHS[max(0, min(8, count - 8 * (row - 1)))] for count in eighths)
        lines.append(f"{label:>{AXIS_WIDTH}} {'┤' if labelled else '│'}{blocks}".rstrip())
    end = f"{until_s:g} s"
    return [*lines, f"{'0':>{AXIS_WIDTH}} └{'─' * columns}", f"{'':{AXIS_WIDTH}}  0{end:>{columns - 1}}"]
