"""T1: the tables of RFC 9438: the average window of Reno, HSTCP and CUBIC where each 1/p-th packet is lost."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from landspeed.results.samples_reader import Samples
from tests.bench.published.cells import Cell, Row, Source, figures_of

WIRE_BYTES, MSS_BYTES = 1538, 1448
ROOM = 3  # of line and buffers, times the window
CYCLES, MANY = 30, 1_000_000  # sawteeth; of so many packets or more, few
# Slow start ends at thrice the mean: four sawteeth go by until that is gone.
FEW_CYCLES = {1_000_000: 20, 10_000_000: 8, 100_000_000: 8}
LITTLE_ROOM = 1.5  # where sawteeth are few: slow start ends so much above the mean, which is 0.85 of their peaks
LEAST_S = 20.0
SMALL, EQUAL_FROM, FAR, SLOW_MS = (
    20,
    1000,
    5000,
    100,
)  # windows in packets; the round trip at which CUBIC is more than Reno
QUICK = 10_000
BY_ACKS = (
    "Linux's highspeed adds for each ACK, not for each segment (hstcp_cong_avoid), and an ACK answers two: growth is "
    "half, and where HSTCP is Reno the window √½ of the table's"
)
RECOVERY = "the formula has no time of recovery: in one round trip of about ten Linux's window does not grow (5 %)"
WHOLE_PACKETS = (
    "the window has whole packets: for (0.5 / C)^⅓ = 1.08 s before K the cubic is within half a packet of W_max, "
    "and a loss there leaves W_max as it is. The formula has the loss at K; with 1.08 s less it gives 44.2 and 218.6 "
    "packets for p = 1e-3 and 1e-4"
)

RENO = (
    "the window has whole packets, and does not grow in the round trip of recovery: 15 packets become 7, and 7 and "
    "7 to 15 are 106 packets in ten round trips, 10.6 on average; at 20 and 100 ms it is the same"
)
SELDOM = (
    "Linux looks each HZ/32 = 31 ms whether Reno's window would be larger (bictcp_update), and that one grows by a "
    "packet in 1.89 round trips (1 / 0.53): below 16.5 ms the looks come late. At 14, 16 and 18 ms the window "
    "for p = 1e-2 is 27, 20, 19 % too small, and for p = 1e-3 at 18 ms 4.6 %. The rest is whole packets and recovery: "
    "12 packets become 8, and grow to 12 in a hundred, 9.8 on average"
)


EQUAL = (
    "CUBIC's two windows are nearly equal there: the formula has 1054 packets of the cubic and 1200 of Reno, and Linux "
    "takes the larger at each moment of a sawtooth"
)

FAST_CONVERGENCE = (
    "fast convergence (RFC 9438, 4.7), which the formula leaves out: a loss a little below W_max lowers the next one, "
    "and the peaks are not equal: with p = 1e-6 at 100 ms 6918, 5615 and 5746 packets of three sawteeth"
)
OF_STEPS = (
    "RFC 3649's own steps: a(w) and b(w) are a table in its appendix, which ns-3 has. From 38 to 118 packets a = 2 and "
    "b = 0.44, and √(a (2 − b) / (2 b p)) is 60 packets for p = 1e-3; from 221 to 347 it is 292 for 1e-4, as measured. "
    "The formula, 38 and 263, is of the smooth functions"
)
OF_SMALL = (
    "the window has whole packets, and does not grow in the round trip of recovery, of ten; ns-3 looks at each "
    "acknowledgment whether Reno's window would be larger, so it has more than Linux"
)


def causes_of(control: str, window: int) -> dict[str, str]:
    """Why a cell may be outside in the simulated world, where it is not as in Linux."""
    if control != "reno" and window < SMALL:
        return {"sim": OF_SMALL}
    return {"sim": OF_STEPS} if control == "highspeed" else {}


def cause_of(control: str, window: int, rtt_ms: int) -> str:
    """Why a cell may be outside."""
    if control == "highspeed":
        return BY_ACKS
    if control == "reno":
        return RENO
    if window > FAR:
        return FAST_CONVERGENCE
    if rtt_ms != SLOW_MS:
        return SELDOM if window < EQUAL_FROM else EQUAL
    return RECOVERY if window < SMALL else WHOLE_PACKETS


def changes_of(control: str, rtt_ms: int, every: int, window: int) -> dict[str, Any]:
    """A path on which only the loss of each packet of a number limits a window of so many packets."""
    cycle_s = every / window * rtt_ms / 1e3
    duration_s = max(LEAST_S, FEW_CYCLES.get(every, CYCLES) * cycle_s)
    room = ROOM if every < MANY else LITTLE_ROOM
    return {
        "line_rate": f"{max(1000, room * window * WIRE_BYTES * 8 / rtt_ms):.0f} kbit/s",
        "path.1.one_way_delay": f"{rtt_ms / 2} ms",
        "path.1.loss": {"every": every},
        "transfer.congestion_control": control,
        "transfer.window": f"{max(65536, round(room * window * MSS_BYTES))} B",
        "transfer.duration": f"{duration_s:.1f} s",
        "transfer.sample_interval": f"{min(100, rtt_ms)} ms",
    }


def cell_of(row: Row) -> Cell:
    """A row of the tables and a path on which only the loss limits."""
    control, rtt_ms, every, window = row["control"], int(row["rtt_ms"]), int(row["every"]), int(row["window_packets"])
    return Cell(
        name=f"{control}-1e-{len(row['every']) - 1}-{rtt_ms}ms",
        changes=changes_of(control, rtt_ms, every, window),
        published=window,
        spread=0,
        allowed=0.05 * window,
        quick=every <= QUICK,
        worlds=() if every < MANY else ("emu",),
        cause=cause_of(control, window, rtt_ms),
        causes=causes_of(control, window),
    )


def mean_window(row: Mapping[str, Any], bundle: Path) -> float:
    """The congestion window in packets, over the last two thirds of the time; the last half, where sawteeth are few."""
    (window,) = Samples(bundle).by_stream("sender", "cwnd_packets").values()
    from_s = float(row["duration_s"]) / (2 if any(few in str(row["case"]) for few in ("1e-6", "1e-7", "1e-8")) else 3)
    values = [value for time_s, value in window if time_s >= from_s]
    return sum(values) / len(values)


SOURCE = Source(
    name="rfc9438",
    title="Average window under periodic loss (RFC 9438, tables 1 and 2; RFC 3649)",
    read="the draft's sources, NTAP/rfc8312bis, draft-ietf-tcpm-rfc8312bis.md and tablecode.c",
    figure="mean congestion window",
    unit="packets",
    rule="± 5 %",
    cells=[cell_of(row) for row in figures_of("rfc9438")],
    measure=mean_window,
    worlds=("emu", "sim"),
)
