"""T11: the land speed record of 27 February 2003, the best documented of all."""

from tests.bench.published.cells import Cell, Row, Source, figures_of, goodput_between

FROM_S, TO_S = 20.0, 60.0


def cell_of(row: Row) -> Cell:
    """The one figure."""
    published = float(row["goodput_mbit"])
    return Cell("one-stream", {}, published, 0, 0.002 * published, quick=True)


SOURCE = Source(
    name="sunnyvale_geneva",
    title="Record of 27 February 2003, Sunnyvale to Geneva (SLAC, Caltech, LANL, CERN)",
    read="www-iepm.slac.stanford.edu, lsr2/submit2, with iperf's log",
    figure="goodput of the steady transfer",
    unit="Mbit/s",
    rule="± 0.2 %",
    cells=[cell_of(row) for row in figures_of("sunnyvale_geneva")],
    measure=goodput_between(FROM_S, TO_S),
)
