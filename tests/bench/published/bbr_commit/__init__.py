"""T4: the two figures of the commit that brought BBR into Linux."""

from __future__ import annotations

from tests.bench.published.cells import Cell, Row, Source, figures_of, goodput_mbit

CUBIC = (
    "their segments, it seems: the size was not told, and in a trace of the same author (rcvbuf_growth) it is 4096 B. "
    'With `--set mtu="4148 B"` three seeds have 3.92 … 4.92 Mbit/s over 30 s and 3.26 … 3.72 in its second half; over '
    "40 s, which netperf took, four have 3.83 … 4.55. With 1448 B theory is with landspeed: the square-root law says "
    "1.42 (Mathis et al. 1997). GSO and no pacing give more: with `fidelity: super-packets`, where a loss takes a "
    "whole packet of several segments, five seeds have 1.63 … 2.35; by their own commands, with netem on the sender "
    "itself, where nothing spaces these packets, thirteen runs have 2.01 … 3.02, mean 2.36"
)
BBR = (
    "their segments, it seems, as with CUBIC: 10 Gbit/s of 1448 B in 1538 leave 9321 after 1 % of loss, which is too "
    'little for 9150 with a slow start and PROBE_RTTs in 30 s. With 4096 B (`--set mtu="4148 B"`) one seed has 8794 '
    "over 30 s, and 9139 in its second half. Since 2018 BBR sends 1 % below its estimate (bbr_pacing_margin_percent)"
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
        cause=CUBIC if control == "cubic" else BBR,
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
