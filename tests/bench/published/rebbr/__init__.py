"""T3: ReBBR, figure 8 of the BBR paper again, on real Linux: goodput over random loss at 100 Mbit/s, 100 ms."""

from tests.bench.published.cells import Cell, Row, Source, figures_of, goodput_mbit

WINDOW = (
    "the receive window: autotuning reaches 17 MB here, and theirs ended at Linux's default of a 6 MB buffer. With "
    "that buffer (`transfer.window: 3 MB`) landspeed has 82.4 Mbit/s at 1 % and 62.1 at 5 %"
)
LESS = "theory is with landspeed: PFTK (one segment an ACK) expects 1.33 Mbit/s at 1 %, 0.465 at 5 %"
QUICK = ("0.01", "0.02", "0.05", "0.10")


def cell_of(row: Row) -> Cell:
    """A row of figures and its loss."""
    control, loss, runs = row["control"], row["loss"], (float(row["fig8_mbit"]), float(row["exp2_mbit"]))
    mean, apart = sum(runs) / 2, abs(runs[0] - runs[1]) / 2
    return Cell(
        name=f"{control}-{loss}",
        changes={"path.0.loss": f"{float(loss) * 100:g} %", "transfer.congestion_control": control},
        published=mean,
        spread=apart,
        allowed=apart,
        quick=loss in QUICK,
        cause=WINDOW if control == "bbr" else LESS,
    )


SOURCE = Source(
    name="rebbr",
    title="CUBIC and BBR over random loss (ReBBR, Stanford 2017)",
    read="jervisfm/rebbr, mahimahi/data/*.csv, two runs of 60 s, Linux 4.11.1",
    figure="goodput over 60 s",
    unit="Mbit/s",
    rule="the range of the two published runs meets that of landspeed's seeds",
    cells=[cell_of(row) for row in figures_of("rebbr")],
    measure=goodput_mbit,
    seeds=20,
    quick_seeds=5,
)
