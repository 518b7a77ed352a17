"""Load of every link over time, as SVG: a row a direction, a column a time, coloured as the weathermaps of the time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from .bundle import LINKS

if TYPE_CHECKING:
    from ..scenarios.plan import Plan

COLUMNS = 120
# Share of the line rate from which a colour holds; single hue, dark is full, so that it reads without colour vision.
SCALE = ((0.0, "#e8eef4"), (0.0001, "#d5e3f0"), (0.05, "#b6d3ea"), (0.2, "#86b7dd"), (0.4, "#5596cb"), (0.6, "#2f72b3"),
         (0.8, "#175290"), (0.95, "#0b3263"))  # fmt: skip
LEFT, CELL, ROW, TOP = 250.0, 5.6, 15.0, 8.0
LABEL_CHARACTERS = 36


def load_svg(bundle: Path, plan: Plan) -> str | None:
    """The picture; None without samples of the links."""
    rows, end_s = link_load(bundle, plan)
    if not rows:
        return None
    width, height = LEFT + COLUMNS * CELL + 60, TOP + ROW * len(rows) + 62
    parts = [
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="Load of each link over time" '
        'font-size="11" style="min-width:36rem">'
    ]
    for number, (name, shares) in enumerate(rows):
        y = TOP + ROW * number
        parts.append(
            f'<text x="{LEFT - 8}" y="{y + 11:.1f}" text-anchor="end" fill="var(--ink)">'
            f"{escape(name[:LABEL_CHARACTERS])}</text>"
        )
        begin = 0
        for column in range(1, COLUMNS + 1):
            if column == COLUMNS or colour(shares[column]) != colour(shares[begin]):
                parts.append(
                    f'<rect x="{LEFT + begin * CELL:.1f}" y="{y:.1f}" width="{(column - begin) * CELL:.1f}" '
                    f'height="{ROW - 2}" fill="{colour(shares[begin])}"/>'
                )
                begin = column
        most = max(shares)
        parts.append(
            f'<text x="{LEFT + COLUMNS * CELL + 6}" y="{y + 11:.1f}" fill="var(--soft)">{most * 100:.0f} %</text>'
        )
    parts += _axis(end_s, TOP + ROW * len(rows))
    parts.append("</svg>")
    return "".join(parts)


def link_load(bundle: Path, plan: Plan) -> tuple[list[tuple[str, list[float]]], float]:
    """([(direction's name, mean share of its line rate in each of COLUMNS times)], end in s)."""
    if not (bundle / LINKS).exists():
        return [], 0.0
    from pyarrow import parquet

    table = parquet.read_table(bundle / LINKS, columns=["time_ns", "link", "direction", "rate_bps"])
    columns = [table[name].to_pylist() for name in ("time_ns", "link", "direction", "rate_bps")]
    end_ns = max(columns[0], default=0)
    if end_ns <= 0:
        return [], 0.0
    sums: dict[tuple[int, str], tuple[list[float], list[int]]] = {}
    for time_ns, link, direction, rate in zip(*columns, strict=True):
        if rate is None or time_ns < 0:
            continue
        total, count = sums.setdefault((link, direction), ([0.0] * COLUMNS, [0] * COLUMNS))
        column = min(COLUMNS - 1, int(time_ns * COLUMNS / end_ns))
        total[column] += rate
        count[column] += 1
    rows = []
    for direction in ("forward", "reverse"):
        for link in plan.links:
            total, count = sums.get((link.index, direction), ([0.0] * COLUMNS, [0] * COLUMNS))
            lane = link.forward if direction == "forward" else link.reverse
            shares, last = [], 0.0
            for amount, samples in zip(total, count, strict=True):
                last = amount / samples / lane.rate_bps if samples else last
                shares.append(last)
            ends = (link.a, link.b) if direction == "forward" else (link.b, link.a)
            rows.append((" → ".join(ends), shares))
    return rows, end_ns / 1e9


def colour(share: float) -> str:
    """Of the scale."""
    return next(shade for least, shade in reversed(SCALE) if share >= least)


def _axis(end_s: float, y: float) -> list[str]:
    parts = []
    for quarter in range(5):
        x = LEFT + COLUMNS * CELL * quarter / 4
        anchor = ("start", "middle", "middle", "middle", "end")[quarter]
        parts.append(
            f'<text x="{x:.1f}" y="{y + 13:.1f}" text-anchor="{anchor}" fill="var(--soft)">'
            f"{end_s * quarter / 4:.0f} s</text>"
        )
    for number, (least, shade) in enumerate(SCALE):
        x = LEFT + number * 84
        text = "none" if number == 0 else f"from {least * 100:g} %"
        parts.append(
            f'<rect x="{x:.1f}" y="{y + 28:.1f}" width="14" height="14" fill="{shade}" stroke="var(--line)"/>'
            f'<text x="{x + 18:.1f}" y="{y + 39:.1f}" fill="var(--soft)">{text}</text>'
        )
    return parts
