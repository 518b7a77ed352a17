"""T10: Ware's finding that BBR's share does not depend on how many loss-based flows are beside it."""

from tests.bench.published.cells import Cell, Row, Source, figures_of
from tests.bench.published.fabric_bbr import ALLOWED, share_percent

START = (
    "the start, which lasts longer beside more: with 16 CUBICs BBR has 8 % in the first 100 s and rises for 400 s. In "
    "the second half of the time it has 32.6 % beside 16 (31.1 … 33.5), and 38.1, 36.2 and 36.2 % beside 2, 4 and 8"
)


def cell_of(row: Row) -> Cell:
    """A number of CUBICs."""
    share = float(row["share_percent"])
    return Cell(
        name=f"{row['cubics']}-cubics",
        changes={"flows.1.streams": int(row["cubics"])},
        published=share,
        spread=float(row["spread_percent"]),
        allowed=ALLOWED * share,
        quick=True,
        cause=START,
    )


SOURCE = Source(
    name="ware_flows",
    title="BBR beside 2 to 16 CUBICs has what it has beside one (Ware et al., IMC'19)",
    read="APNIC's blog, 24 January 2020, by the author; the figure beside one is FABRIC's (fabric_bbr)",
    figure="BBR's share of the goodput over 1000 s",
    unit="%",
    rule="± 10 % of the share",
    cells=[cell_of(row) for row in figures_of("ware_flows")],
    measure=share_percent,
    seeds=3,
    worlds=("emu", "sim"),
)
