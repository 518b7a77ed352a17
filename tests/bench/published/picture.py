"""The page's picture: for each source, landspeed's figures divided by the published ones, with both spreads."""

import math
from collections.abc import Sequence

from tests.bench.published.cells import Found

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 900, 190, 60, 34, 20, 30
LEAST, MOST = 0.5, 2.0  # of the ratio; what is beyond is drawn at the edge
TICKS = (0.5, 0.7, 0.9, 1.0, 1.1, 1.4, 2.0)
UNNAMED = (0.9, 1.1)  # too near to 1 for words of their own
STYLE = """<style>
text{font:12px system-ui,sans-serif;fill:#222}.grid{stroke:#ddd}.allowed{stroke:#cfe3f7;stroke-width:5}
.spread{stroke:#999;stroke-width:3}.ours{stroke:#0b62c4}.ours.out{stroke:#c00}circle{fill:#0b62c4}circle.out{fill:#c00}
rect.page{fill:#fff}
@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#444}.allowed{stroke:#22405c}rect.page{fill:#161616}
.ours{stroke:#6cb0ff}circle{fill:#6cb0ff}.ours.out{stroke:#ff6b6b}circle.out{fill:#ff6b6b}}
</style>"""


def draw(by_source: Sequence[Sequence[Found]]) -> str:
    """SVG of one chart below another, a source each; cells stand in the order of their published figures."""
    charts = [
        f'<g transform="translate(0,{number * HEIGHT})">{_chart(group)}</g>' for number, group in enumerate(by_source)
    ]
    whole = HEIGHT * len(by_source)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {whole}" width="{WIDTH}" role="img">'
        f"<title>landspeed's figures divided by the published ones</title>{STYLE}"
        f'<rect class="page" width="{WIDTH}" height="{whole}"/>\n{"".join(charts)}</svg>\n'
    )


def _chart(group: Sequence[Found]) -> str:
    source = group[0].source
    parts = [f'<text x="{LEFT}" y="20">{source.title}</text>']
    for tick in TICKS:
        height = _y(tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{height:.1f}" y2="{height:.1f}"/>')
        if tick not in UNNAMED:
            parts.append(f'<text x="{LEFT - 8}" y="{height + 4:.1f}" text-anchor="end">{tick:g}</text>')
    step = (WIDTH - LEFT - RIGHT) / len(group)
    ordered = sorted(group, key=lambda each: each.cell.published)
    for number, each in enumerate(ordered):
        parts.append(_cell(LEFT + (number + 0.5) * step, each))
    ends = ((LEFT, "start", ordered[0]), (WIDTH - RIGHT, "end", ordered[-1]))
    for x, anchor, each in ends:
        parts.append(
            f'<text x="{x}" y="{HEIGHT - 8}" text-anchor="{anchor}">{each.cell.published:g} {source.unit}</text>'
        )
    return "\n".join(parts) + "\n"


def _cell(x: float, found: Found) -> str:
    cell, out = found.cell, "" if found.ok else " out"
    bars = (
        ("allowed", cell.published - cell.allowed, cell.published + cell.allowed),
        ("spread", cell.published - cell.spread, cell.published + cell.spread),
        (f"ours{out}", min(found.values), max(found.values)),
    )
    lines = [
        f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{_y(low / cell.published):.1f}" '
        f'y2="{_y(high / cell.published):.1f}"/>'
        for kind, low, high in bars
    ]
    return "".join(lines) + (
        f'<circle class="{out.strip()}" cx="{x:.1f}" cy="{_y(found.mean / cell.published):.1f}" r="2.5">'
        f"<title>{cell.name} ({found.world}): {found.mean:.4g}, published {cell.published:g}</title></circle>"
    )


def _y(ratio: float) -> float:
    """Pixels from the top; the scale is logarithmic."""
    share = math.log(min(max(ratio, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
