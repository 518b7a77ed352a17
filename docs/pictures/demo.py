"""Draws docs/pictures/demo.svg, the moving picture of `landspeed demo`, from a run of it.

Usage: python -m docs.pictures.demo FILE
"""

import sys
import tempfile
from html import escape
from pathlib import Path

import landspeed as ls
from landspeed.report.terminal_chart import AXIS_WIDTH, EIGHTHS, chart_lines, round_top

COLUMNS, WIDTH, LINE, CHARACTER = 92, 800, 18, 8.3
STEPS, SECONDS = 40, 8.0  # of the drawing, which fills half of each turn
STYLE = """\
text { font: 13.5px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #c9d1d9; white-space: pre }
.dim { fill: #8b949e } .line, .bar { fill: #39c5cf }
@media (prefers-reduced-motion: no-preference) {
  .curtain { animation: draw SECONDSs steps(STEPS) infinite } .end { animation: end SECONDSs infinite }
}
@keyframes draw { from { transform: translateX(0) } 50%, to { transform: translateX(WIDTHpx) } }
@keyframes end { from, 50% { opacity: 0 } 52%, to { opacity: 1 } }
"""


def picture(run: ls.Run) -> str:
    """The SVG: bars behind a curtain that moves away, then what the demo says at its end."""
    record = run.record
    settled_bps = record.settled_goodput_bps
    assert record.plan and settled_bps
    top_bps = round_top(record.plan.physics.expected_goodput_bps)
    lines = chart_lines(list(run.samples.goodput()), until_s=record.duration_s or 10, top_bps=top_bps, width=COLUMNS)
    end = [
        f"{record.duration_s:.1f} s of the path: {(run.goodput_bps or 0) / 1e6:.2f} Mbit/s over the whole transfer, "
        f"{record.retransmits} retransmits.",
        f"Round trip: {record.rtt_ms:.3f} ms idle, {record.rtt_loaded_median_ms or 0:.3f} ms under load (median).",
        f"Bound by {run.limited_by}: goodput in the second half was {settled_bps / 1e6:.2f} Mbit/s.",
    ]
    shown, bars = list[str](), list[str]()
    text("$ landspeed demo", 1, shown, "dim")
    text(f"{record.title}: one TCP connection of a real Linux kernel, in virtual time", 2, shown)
    for row, line in enumerate(lines, start=4):
        text("".join(" " if each in EIGHTHS[1:] else each for each in line), row, shown)
        bars += [bar(column, row, EIGHTHS.index(each)) for column, each in enumerate(line) if each in EIGHTHS[1:]]
    for row, each in enumerate(end, start=len(lines) + 5):
        text(each, row, shown, "end")
    height = (len(lines) + len(end) + 6) * LINE
    left, top = (AXIS_WIDTH + 2) * CHARACTER + 14, 3.2 * LINE
    style = STYLE.replace("SECONDS", f"{SECONDS:g}").replace("STEPS", str(STEPS)).replace("WIDTH", str(WIDTH))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
            f"<title>landspeed demo: goodput of {escape(record.title)}, drawn while it runs</title>",
            f"<style>{style}</style>",
            '<clipPath id="inside">',
            f'<rect x="{left:g}" y="0" width="{WIDTH - left - 10:g}" height="{height}"/></clipPath>',
            f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#0d1117"/>',
            *bars,
            '<g clip-path="url(#inside)">',
            f'<rect class="curtain" x="{left:g}" y="{top:g}" width="{WIDTH}" height="{(len(lines) - 1.2) * LINE:g}"',
            f' fill="#0d1117" transform="translate({WIDTH})"/></g>',
            *shown,
            "</svg>",
            "",
        ]
    )


def text(line: str, row: int, into: list[str], kind: str = "") -> None:
    """A line of characters, each in its column whatever the font."""
    if line.strip():
        length = f'textLength="{len(line.rstrip()) * CHARACTER:g}" lengthAdjust="spacingAndGlyphs"'
        into.append(f'<text x="14" y="{row * LINE + 6}" class="{kind}" {length}>{escape(line.rstrip())}</text>')


def bar(column: int, row: int, eighths: int) -> str:
    """A block character as a rectangle."""
    high = LINE * eighths / 8
    x, y = 14 + column * CHARACTER, row * LINE + 10 - high
    return f'<rect class="bar" x="{x:g}" y="{y:g}" width="{CHARACTER:g}" height="{high:g}"/>'


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        Path(sys.argv[1]).write_text(picture(ls.run("first", runs_dir=folder)), encoding="utf-8")
