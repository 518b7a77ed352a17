"""T0: Datta and Fund's replication at IMC'23 of "When to use and when not to use BBR"."""

from tests.bench.published.cells import Cell, Row, Source, figures_of, goodput_mbit

ON_THE_WIRE, OF_THEIR_HTB = 1538, 1514  # bytes of a full packet
KIB = 1024  # tc's kb
DEEP_KB, CLEAN_MBIT, SLOWEST_MBIT = 1000, 100, 10
QUICK_MBIT = (20, 100)
ONE_AND_A_HALF = (
    "five trials gave the same figure to four digits, so the rule allows 1.5 %; both worlds have 1.8 % more"
)
LONGER = (
    "their iperf3 divides by 64 to 68 s: its receiver reads till the queue of 8 s is empty and what was lost has come. "
    "landspeed counts what was read within 60 s"
)
BUNCHES = (
    "GSO, and ACKs in bunches. Their hosts are virtual machines with shared NICs of 100 Gbit/s (ConnectX-6, says their "
    "notebook) and all offloads: a router with 100 kb of buffer takes or drops packets of up to 64 kB, and a NIC that "
    "waits before it interrupts hands over several ACKs at once. By their own commands at 1000 Mbit/s and 50 ms "
    "(`landspeed mn --quiet --line none tests/bench/published/imc23_bbr/their_commands.py cubic 1000 50 100`) CUBIC "
    "has 306 Mbit/s with GSO, and 151 where ACKs also come in bunches of up to 0.5 ms; at 5, 10 and 200 ms it has "
    "494, 316 and 24 with both. How long their machines waited is in no log, so the cells have neither. At 100 Mbit/s "
    "and 200 ms, where GSO's packets are small, the goodput stays the same: 64.06, and 63.96 with bunches"
)


def cause_of(control: str, buffer_kb: int, rate_mbit: int) -> str:
    """Why a cell may be outside."""
    if control != "cubic":
        return ""
    if buffer_kb >= DEEP_KB:
        return LONGER if rate_mbit == SLOWEST_MBIT else ""
    return ONE_AND_A_HALF if rate_mbit <= CLEAN_MBIT else BUNCHES


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
