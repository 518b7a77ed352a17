"""docs/explanation/what-others-measured.md: what is outside first, then each source with picture and table."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from tests.bench.published.cells import ROOT, Found, sources
from tests.bench.published.picture import draw

PAGE = ROOT / "docs" / "explanation" / "what-others-measured.md"
HEAD = """# What others measured, and what landspeed says

Figures that other people published with their parameters, each beside what landspeed measures on the same path. Nothing
is fitted: the path is made from the publication's parameters. `make published` runs all of it and writes this page.

<!-- not run: an hour; the tests run a handful of cells -->
```sh
make published QUICK=1   # the choice of an hour
make published           # all cells; what is known already is not run again
```

- **Published** is the figure as it was read, ± the spread that its source tells.
- **landspeed** is the mean over the seeds, and the lowest and highest of them where there are several.
- **Within**: some seed's figure is as near as the rule above the table allows, or the published one lies between two.
- A row stays as it was until its cell is run again: a machine need not have run all of them.
- Not asked: picoquic's satellite tests (the one package that has picoquic, aiopquic, needs a newer Python than Debian
  12's); times of recovery (their slides were searched for twice, and are in no archive reached here; the command
  `python tests/bench/sim/bench_sim.py recovery` holds the same against the formula); and what the column
  "cells asked" leaves out.
- Where a cause is "their own commands", the script `their_commands.py` beside the source's figures runs them.
- Each source is a folder in `tests/bench/published/`: figures, where they were read, path, rule.

"""
ROW = re.compile(
    r"\| (?P<cell>\S+) \| (?P<world>\w+) \| [^|]+ \| (?P<mean>[\d.e+-]+)(?: \((?P<low>\S+) … (?P<high>\S+)\))? \|"
)
ANCHOR = re.compile(r"\((?P<source>[\w-]+)\)=")
TABLE = "| cell | world | published | landspeed | off | verdict |\n|---|---|---:|---:|---:|---|"
TABLE_OF_A_CAUSE = "| source, cell | world | published | landspeed | off |\n|---|---|---:|---:|---:|"


def write_page(found: Sequence[Found], page: Path = PAGE) -> list[Found]:
    """Write the page and its picture, with the rows of what is not known anew as they were; return what is outside."""
    fresh = {(each.source.name, each.world, each.cell.name): each for each in found}
    before = {(each.source.name, each.world, each.cell.name): each for each in kept(page)} | fresh
    order = [(source.name, world, cell.name) for source in sources() for world, cell in source.asked]
    found = [before[key] for key in dict.fromkeys([*order, *fresh]) if key in before]
    outside = sorted((each for each in found if not each.ok), key=lambda each: -abs(each.off))
    by_source = [list(group) for _, group in groupby(found, lambda each: each.source.name)]
    causes = list(dict.fromkeys(each.cause for each in outside))
    lines = (
        HEAD + "## Outside\n",
        *_outside(outside, causes),
        "## All sources\n",
        *_summary(by_source),
        *(line for group in by_source for line in _source(group, causes)),
    )
    page.write_text("\n".join(lines), encoding="utf-8")
    page.with_suffix(".svg").write_text(draw(by_source), encoding="utf-8")
    return outside


def kept(page: Path) -> list[Found]:
    """What a page says of the cells that its sources still have."""
    known = {source.name: source for source in sources()}
    found: list[Found] = []
    source = None
    for line in page.read_text(encoding="utf-8").splitlines() if page.exists() else []:
        if anchor := ANCHOR.fullmatch(line):
            source = known.get(anchor["source"].replace("-", "_"))
        if source is None or not (row := ROW.match(line)):
            continue
        for cell in source.cells:
            if cell.name == row["cell"]:
                values = (float(row["low"]), float(row["high"])) if row["low"] else (float(row["mean"]),)
                found.append(Found(source, row["world"], cell, values, float(row["mean"]) if row["low"] else None))
    return found


def _outside(found: Sequence[Found], causes: Sequence[str]) -> Iterator[str]:
    """Each cause once, with its cells: that of the farthest cell first."""
    if not found:
        yield "Nothing.\n"
        return
    yield "By what makes them differ, the farthest first.\n"
    for number, cause in enumerate(causes, start=1):
        yield f"(cause-{number})=\n**{number}.** {cause[:1].upper() + cause[1:] or 'Not known'}.\n"
        yield TABLE_OF_A_CAUSE
        yield from (f"| {each.source.name}, {_row(each)} |" for each in found if each.cause == cause)
        yield ""


def _summary(by_source: Sequence[Sequence[Found]]) -> Iterator[str]:
    yield "| source | figure | cells asked | within |\n|---|---|---:|---:|"
    for group in by_source:
        source, asked = group[0].source, len(group[0].source.asked)
        within = sum(each.ok for each in group)
        name = f"[{source.title}](#{source.name.replace('_', '-')})"
        yield f"| {name} | {source.figure} | {len(group)} of {asked} | {within} ({within / len(group):.0%}) |"
    yield "\n![landspeed's figures divided by the published ones](what-others-measured.svg)\n"
    yield "A point is landspeed's mean divided by the published figure, and its line reaches over the seeds."
    yield "The grey bar is the published spread, the light one what is allowed; red is outside."
    yield "What is beyond 0.5 or 2 stands at the edge.\n"


def _source(group: Sequence[Found], causes: Sequence[str]) -> Iterator[str]:
    source = group[0].source
    yield f"({source.name.replace('_', '-')})=\n## {source.title}\n"
    yield f"- Read: {source.read}.\n- Compared: {source.figure}, {source.unit}.\n- Rule: {source.rule}.\n"
    yield TABLE
    for each in group:
        number = 0 if each.ok else causes.index(each.cause) + 1
        yield f"| {_row(each)} | {f'**outside** ([{number}](#cause-{number}))' if number else 'within'} |"
    yield ""


def _row(found: Found) -> str:
    """A row of a table, without its beginning and its end."""
    low, high, cell = min(found.values), max(found.values), found.cell
    spread = f" ± {cell.spread:.3g}" if cell.spread else ""
    seeds = f" ({_figure(low)} … {_figure(high)})" if len(found.values) > 1 else ""
    return f"{cell.name} | {found.world} | {cell.published:g}{spread} | {_figure(found.mean)}{seeds} | {found.off:+.1%}"


def _figure(value: float) -> str:
    """Four digits, or all before the point."""
    return f"{value:.0f}" if value >= 1000 else f"{value:.4g}"
