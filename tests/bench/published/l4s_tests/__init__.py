"""T8: one CUBIC flow through CoDel and FQ-CoDel, on a real path of 160 ms and one of 7 ms."""

from tests.bench.published.cells import Cell, Row, Source, figures_of, goodput_between

FROM_S, TO_S = 1.88, 120.0  # theirs


def cell_of(row: Row) -> Cell:
    """A row of figures and its bottleneck."""
    published = float(row["goodput_mbit"])
    return Cell(
        name=f"{row['discipline']}-{row['rate_mbit']}M-{row['rtt_ms']}ms",
        changes={
            "path.1.discipline": row["discipline"],
            "path.1.line_rate": f"{row['rate_mbit']} Mbit/s",
            "path.1.one_way_delay": f"{float(row['rtt_ms']) / 2} ms",
        },
        published=published,
        spread=0,
        allowed=0.03 * published,
        quick=True,
    )


SOURCE = Source(
    name="l4s_tests",
    title="CUBIC through CoDel and FQ-CoDel (heistp/l4s-tests, 2021)",
    read="README of heistp/l4s-tests",
    figure="goodput from 1.88 to 120 s",
    unit="Mbit/s",
    rule="± 3 %",
    cells=[cell_of(row) for row in figures_of("l4s_tests")],
    measure=goodput_between(FROM_S, TO_S),
)
