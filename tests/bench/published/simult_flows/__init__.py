"""T7: the runtimes of the kernel's own test of MPTCP over two unequal links."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.bench.published.cells import Cell, Row, Source, figures_of

PAUSES_MS = 400


def cell_of(row: Row) -> Cell:
    """Delays of the two links."""
    published = float(row["runtime_ms"])
    return Cell(
        name=f"{row['first_ms']}ms-{row['second_ms']}ms",
        changes={
            "links.0.one_way_delay": f"{row['first_ms']} ms",
            "links.2.one_way_delay": f"{row['second_ms']} ms",
        },
        published=published,
        spread=float(row["spread_ms"]),
        allowed=0.02 * published,
        quick=True,
    )


def runtime_ms(row: Mapping[str, Any], _: Path) -> float:
    """From the first byte to the last, and the script's pauses."""
    return float(row["duration_s"]) * 1e3 + PAUSES_MS


SOURCE = Source(
    name="simult_flows",
    title="MPTCP over links of 10 and 3 Mbit/s (the kernel's simult_flows)",
    read="multipath-tcp/mptcp_net-next, issues 475 and 589; the script in the kernel's selftests",
    figure="runtime of 16.8 MB",
    unit="ms",
    rule="± 2 %",
    cells=[cell_of(row) for row in figures_of("simult_flows")],
    measure=runtime_ms,
)
