"""T8: one CUBIC flow through CoDel, FQ-CoDel and DualPI2, on a real path of 160 ms and one of 7 ms."""

from typing import Any

from tests.bench.published.cells import Cell, Row, Source, figures_of, goodput_between

FROM_S, TO_S = 1.88, 120.0  # theirs
DISCIPLINES: dict[str, Any] = {"codel": {"codel": {"ecn": True}}}
DUALPI2, ITS_KERNEL = "dualpi2", "7.3"


def cell_of(row: Row) -> Cell:
    """A row of figures and its bottleneck."""
    published, discipline = float(row["goodput_mbit"]), row["discipline"]
    of_kernel = {"kernel": ITS_KERNEL} if discipline == DUALPI2 else {}
    return Cell(
        name=f"{discipline}-{row['rate_mbit']}M-{row['rtt_ms']}ms",
        changes={
            "path.1.discipline": DISCIPLINES.get(discipline, discipline),
            "path.1.line_rate": f"{row['rate_mbit']} Mbit/s",
            "path.1.one_way_delay": f"{float(row['rtt_ms']) / 2} ms",
            **of_kernel,
        },
        published=published,
        spread=0,
        allowed=0.03 * published,
        quick=discipline != DUALPI2,
        worlds=("emu",) if discipline == DUALPI2 else (),
    )


SOURCE = Source(
    name="l4s_tests",
    title="CUBIC through CoDel, FQ-CoDel and DualPI2 (heistp/l4s-tests, 2021)",
    read="README of heistp/l4s-tests; its logs of iperf3 at 160 ms have no retransmission, so packets were marked",
    figure="goodput from 1.88 to 120 s",
    unit="Mbit/s",
    rule="± 3 %",
    cells=[cell_of(row) for row in figures_of("l4s_tests")],
    measure=goodput_between(FROM_S, TO_S),
    worlds=("emu", "sim"),
    kernels={ITS_KERNEL: ()},
)
