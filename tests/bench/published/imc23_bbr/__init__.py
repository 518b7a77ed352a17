"""T0: Datta and Fund's replication at IMC'23 of "When to use and when not to use BBR"."""

from tests.bench.published.cells import Cell, Row, Source, figures_of, goodput_mbit

ON_THE_WIRE, OF_THEIR_HTB = 1538, 1514  # bytes of a full packet
KIB = 1024  # tc's kb
DEEP_KB, CLEAN_MBIT = 1000, 100
QUICK_MBIT = (20, 100)
ONE_AND_A_HALF = (
    "five trials gave the same figure to four digits, so the rule allows 1.5 %; both worlds have 1.8 % more"
)
NOT_GSO = (
    "not known. Their senders have GSO, so a router with 100 kb of buffer may drop whole super-packets; but their own "
    "commands on veth pairs give 64.08 Mbit/s with GSO and 64.07 without it at 100 Mbit/s and 200 ms "
    "(`landspeed mn --quiet --line none tests/bench/published/imc23_bbr/their_commands.py cubic 100 200 100`)"
)


def cause_of(control: str, buffer_kb: int, rate_mbit: int) -> str:
    """Why a cell may be outside."""
    if control != "cubic" or buffer_kb >= DEEP_KB:
        return ""
    return ONE_AND_A_HALF if rate_mbit <= CLEAN_MBIT else NOT_GSO


def cell_of(row: Row) -> Cell:
    """A row of figures and its path."""
    control, rate_mbit, rtt_ms, buffer_kb = row["control"], int(row["htb_mbit"]), row["rtt_ms"], int(row["buffer_kb"])
    published, deviation = float(row["goodput_mbit"]), float(row["stddev_mbit"])
    return Cell(
        name=f"{control}-{rate_mbit}M-{rtt_ms}ms-{buffer_kb}kb",
        changes={
            "path.0.reverse.one_way_delay": f"{rtt_ms} ms",
            "path.1.line_rate": f"{rate_mbit * 1e3 * ON_THE_WIRE / OF_THEIR_HTB:.3f} kbit/s",
            "path.1.queue": f"{buffer_kb * KIB} B",
            "transfer.congestion_control": control,
        },
        published=published,
        spread=deviation,
        allowed=2 * deviation + 0.015 * published,
        quick=rate_mbit in QUICK_MBIT and rtt_ms in ("10", "100"),
        cause=cause_of(control, buffer_kb, rate_mbit),
    )


SOURCE = Source(
    name="imc23_bbr",
    title="CUBIC and BBR over rate, delay and buffer (Datta, Fund: replication at IMC'23)",
    read="raw iperf3 logs of the replication, five trials a cell, Linux 5.15.0-75; means and deviations made of them",
    figure="goodput over 60 s",
    unit="Mbit/s",
    rule="the published mean ± (2 standard deviations + 1.5 %)",
    cells=[cell_of(row) for row in figures_of("imc23_bbr")],
    measure=goodput_mbit,
    worlds=("emu", "sim"),
)
