"""The picture of docs/explanation/sim-cost.md: charts side by side, light or dark as the reader has it.

Against the window both axes are logarithmic, and what is in proportion is parallel to the dotted line. Against hops
they are linear, and what grows by the same with each link is straight: the dotted line joins the first and last point.
"""

import math

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 480, 330, 62, 46, 26, 46
SERIES = ("simulated", "joined", "emulated")
LOGARITHMIC, STRAIGHT = "in proportion", "straight"  # what the dotted line is
STYLE = """<style>
text{font:13px system-ui,sans-serif;fill:#222}.grid{stroke:#ddd}.s0{--c:#0b62c4}.s1{--c:#178a4c}.s2{--c:#c2410c}
polyline{fill:none;stroke:var(--c);stroke-width:2}circle,.key{fill:var(--c)}rect.page{fill:#fff}
.linear{stroke:#888;stroke-dasharray:2 4}
@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#444}rect.page{fill:#161616}
.s0{--c:#6cb0ff}.s1{--c:#5fd394}.s2{--c:#ff9a62}}
</style>"""

Table = list[tuple[int, float, float, float]]


def draw(tables: dict[str, Table], heads: dict[str, str], logarithmic: str) -> str:
    """SVG of one chart for each table: what is on the x axis, then the cost of each series.

    Args:
        tables: by kind.
        heads: what is on the x axis, by kind.
        logarithmic: the kind whose chart has logarithmic axes.
    """
    charts = [
        f'<g transform="translate({number * WIDTH},0)">{_chart(table, heads[kind], log=kind == logarithmic)}</g>'
        for number, (kind, table) in enumerate(tables.items())
    ]
    whole = WIDTH * len(tables)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole} {HEIGHT}" width="{whole}" role="img">'
        f"<title>Processor seconds per simulated second</title>{STYLE}"
        f'<rect class="page" width="{whole}" height="{HEIGHT}"/>{"".join(charts)}</svg>\n'
    )


def _chart(table: Table, head: str, *, log: bool) -> str:
    scale = math.log10 if log else float
    costs = [value for _, *values in table for value in values]
    if log:
        ticks = [10.0**power for power in range(math.floor(scale(min(costs))), math.ceil(scale(max(costs))) + 1)]
    else:
        step = 10 ** math.floor(math.log10(max(costs)))
        step /= 1 if max(costs) / step >= 3 else 5
        ticks = [step * number for number in range(math.ceil(max(costs) / step) + 1)]
    first, last = (scale(value) if log else value for value in (table[0][0] if log else 0, table[-1][0]))
    low, high = scale(ticks[0]), scale(ticks[-1])

    def x(value: float) -> float:
        return LEFT + (scale(value) - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (scale(value) - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = []
    for tick in ticks:
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:.4g} s</text>')
    for value, *_ in table:
        label = f"{value:,}".replace(",", " ")
        parts.append(f'<text x="{x(value):.1f}" y="{HEIGHT - BOTTOM + 19}" text-anchor="middle">{label}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 7}" text-anchor="middle">{head}</text>')
    from_x, from_y, to_x = table[0][0], table[0][1], table[-1][0]
    to_y = from_y * to_x / from_x if log else table[-1][1]
    if to_y > ticks[-1]:  # no further than the chart
        to_x, to_y = from_x * ticks[-1] / from_y, ticks[-1]
    parts.append(_line(x(from_x), y(from_y), x(to_x), y(to_y)))
    for number, name in enumerate((*SERIES, LOGARITHMIC if log else STRAIGHT)):
        key = LEFT + number * 97
        parts.append(f'<text x="{key + 20}" y="23">{name}</text>')
        if number == len(SERIES):
            parts.append(_line(key, 18, key + 15, 18))
            continue
        points = [(x(row[0]), y(row[number + 1])) for row in table]
        line = " ".join(f"{across:.1f},{down:.1f}" for across, down in points)
        dots = "".join(f'<circle cx="{across:.1f}" cy="{down:.1f}" r="3"/>' for across, down in points)
        mark = f'<rect class="key" x="{key}" y="16" width="14" height="4"/>'
        parts.append(f'<g class="s{number}"><polyline points="{line}"/>{dots}{mark}</g>')
    return "".join(parts)


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="linear" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'
