"""Load of every link over time, as SVG: a row a direction, a column a time, coloured as the weathermaps of the time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from landspeed.report.page_parts import environment
from landspeed.results.samples_reader import Samples

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Plan

COLUMNS = 120
# Share of the line rate from which a colour holds; single hue, dark is full, so that it reads without colour vision.
SCALE = ((0.0, "#e8eef4"), (0.0001, "#d5e3f0"), (0.05, "#b6d3ea"), (0.2, "#86b7dd"), (0.4, "#5596cb"), (0.6, "#2f72b3"),
         (0.8, "#175290"), (0.95, "#0b3263"))  # fmt: skip
LEFT, CELL, ROW, TOP = 250.0, 5.6, 15.0, 8.0
LABEL_CHARACTERS = 36


def load_svg(samples: Samples, plan: Plan) -> str | None:
    """The picture; None without samples of the links."""
    rows, end_s = link_load(samples, plan)
    if not rows:
        return None
    drawn = [
        {"name": name[:LABEL_CHARACTERS], "y": TOP + ROW * number, "runs": _runs(shares), "most": max(shares)}
        for number, (name, shares) in enumerate(rows)
    ]
    anchors = ("start", "middle", "middle", "middle", "end")
    ticks = [
        {"x": LEFT + COLUMNS * CELL * quarter / 4, "anchor": anchor, "s": end_s * quarter / 4}
        for quarter, anchor in enumerate(anchors)
    ]
    foot = TOP + ROW * len(rows)
    size = {"width": LEFT + COLUMNS * CELL + 60, "height": foot + 62, "left": LEFT, "right": LEFT + COLUMNS * CELL}
    template = environment().get_template("weathermap.svg.j2")
    return template.render(rows=drawn, ticks=ticks, scale=SCALE, foot=foot, bar=ROW - 2, **size)


def _runs(shares: list[float]) -> list[dict[str, Any]]:
    """Neighbouring columns of one colour as one bar."""
    found: list[dict[str, Any]] = []
    begin = 0
    for column in range(1, COLUMNS + 1):
        if column == COLUMNS or colour(shares[column]) != colour(shares[begin]):
            x, width = LEFT + begin * CELL, (column - begin) * CELL
            found.append({"x": x, "width": width, "colour": colour(shares[begin])})
            begin = column
    return found


def link_load(samples: Samples, plan: Plan) -> tuple[list[tuple[str, list[float]]], float]:
    """([(direction's name, mean share of its line rate in each of COLUMNS times)], end in s)."""
    samples_of = list(samples.rows("links", "time_ns", "link", "direction", "rate_bps"))
    end_ns = max((time_ns for time_ns, *_ in samples_of), default=0)
    if end_ns <= 0:
        return [], 0.0
    sums: dict[tuple[int, str], tuple[list[float], list[int]]] = {}
    for time_ns, link, direction, rate in samples_of:
        if rate is None or time_ns < 0:
            continue
        total, count = sums.setdefault((link, direction), ([0.0] * COLUMNS, [0] * COLUMNS))
        column = min(COLUMNS - 1, int(time_ns * COLUMNS / end_ns))
        total[column] += rate
        count[column] += 1
    rows: list[tuple[str, list[float]]] = []
    for direction in ("forward", "reverse"):
        for link in plan.links:
            total, count = sums.get((link.index, direction), ([0.0] * COLUMNS, [0] * COLUMNS))
            lane = link.forward if direction == "forward" else link.reverse
            shares: list[float] = []
            last = 0.0
            for amount, counted in zip(total, count, strict=True):
                last = amount / counted / lane.rate_bps if counted else last
                shares.append(last)
            ends = (link.a, link.b) if direction == "forward" else (link.b, link.a)
            rows.append((" → ".join(ends), shares))
    return rows, end_ns / 1e9


def colour(share: float) -> str:
    """Colour of a share on the scale."""
    return next(shade for least, shade in reversed(SCALE) if share >= least)
