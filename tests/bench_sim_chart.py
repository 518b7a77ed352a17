"""The picture of docs/sim-cost.md: charts side by side, both axes logarithmic, light or dark as the reader has it."""

from __future__ import annotations

import math

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 480, 330, 58, 46, 30, 46
SERIES = ("simulated", "joined", "emulated")
STYLE = """<style>
text{font:13px system-ui,sans-serif;fill:#222}.grid{stroke:#ddd}.s0{--c:#0b62c4}.s1{--c:#178a4c}.s2{--c:#c2410c}
polyline{fill:none;stroke:var(--c);stroke-width:2}circle,.key{fill:var(--c)}rect.page{fill:#fff}
@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#444}rect.page{fill:#161616}
.s0{--c:#6cb0ff}.s1{--c:#5fd394}.s2{--c:#ff9a62}}
</style>"""

Table = list[tuple[int, float, float, float]]


def draw(tables: dict[str, Table], heads: dict[str, str]) -> str:
    """SVG of one chart for each table: what is on the x axis, then the cost of each series."""
    charts = [
        f'<g transform="translate({number * WIDTH},0)">{_chart(table, heads[kind])}</g>'
        for number, (kind, table) in enumerate(tables.items())
    ]
    whole = WIDTH * len(tables)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole} {HEIGHT}" width="{whole}" role="img">'
        f"<title>Processor seconds per simulated second</title>{STYLE}"
        f'<rect class="page" width="{whole}" height="{HEIGHT}"/>{"".join(charts)}</svg>\n'
    )


def _chart(table: Table, head: str) -> str:
    costs = [value for _, *values in table for value in values]
    low, high = math.floor(math.log10(max(min(costs), 1e-3))), math.ceil(math.log10(max(costs)))
    first, last = math.log10(table[0][0]), math.log10(table[-1][0])

    def x(value: float) -> float:
        return LEFT + (math.log10(value) - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (math.log10(max(value, 1e-3)) - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = []
    for power in range(low, high + 1):
        at = y(10.0**power)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{10.0**power:g} s</text>')
    for value, *_ in table:
        label = f"{value:,}".replace(",", " ")
        parts.append(f'<text x="{x(value):.1f}" y="{HEIGHT - BOTTOM + 19}" text-anchor="middle">{label}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 7}" text-anchor="middle">{head}</text>')
    for number, name in enumerate(SERIES):
        points = [(x(row[0]), y(row[number + 1])) for row in table]
        line = " ".join(f"{across:.1f},{down:.1f}" for across, down in points)
        dots = "".join(f'<circle cx="{across:.1f}" cy="{down:.1f}" r="3"/>' for across, down in points)
        key = LEFT + number * 120
        parts.append(f'<g class="s{number}"><polyline points="{line}"/>{dots}')
        parts.append(
            f'<rect class="key" x="{key}" y="16" width="14" height="4"/><text x="{key + 20}" y="23">{name}</text></g>'
        )
    return "".join(parts)
