"""T4: the two figures of the commit that brought BBR into Linux."""

from tests.bench.published.cells import Cell, Row, Source, figures_of, goodput_mbit

CUBIC = (
    "theory is with landspeed: the square-root law expects 1.42 Mbit/s of this path (Mathis et al. 1997). GSO and no "
    "pacing give more: with `fidelity: super-packets`, where a loss takes a whole packet of several segments, five "
    "seeds have 1.63 … 2.35 Mbit/s, mean 1.89; by their own commands, with netem on the sender itself, where nothing "
    "spaces these packets, thirteen runs have 2.01 … 3.02, mean 2.36, the best within 15 % of theirs, which is one run"
)


def cell_of(row: Row) -> Cell:
    """A row of figures and its congestion control."""
    control, published = row["control"], float(row["goodput_mbit"])
    return Cell(
        name=control,
        changes={"transfer.congestion_control": control},
        published=published,
        spread=0,
        allowed=float(row["allowed_share"]) * published,
        quick=control == "cubic",
        cause=CUBIC if control == "cubic" else "",
    )


SOURCE = Source(
    name="bbr_commit",
    title="BBR's own commit, 10 Gbit/s, 100 ms, 1 % loss (Linux 0f8782ea1497)",
    read="the commit's message, as unix.stackexchange 71051 repeats it: netperf -l 30; CUBIC's run took 40 s",
    figure="goodput over 30 s",
    unit="Mbit/s",
    rule="CUBIC ± 15 %, BBR ± 3 %",
    cells=[cell_of(row) for row in figures_of("bbr_commit")],
    measure=goodput_mbit,
    seeds=3,
    quick_seeds=3,
)
