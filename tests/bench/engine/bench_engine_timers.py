"""`bench_engine.py timers`: what it costs that TCP itself paces, with a timer for each packet, where no fq does it.

A packet of B bytes at rate P is due B/P after the one before. Its timer comes late by L, of which the kernel credits
half a packet's time at the most (tcp_update_skb_after_send), so the packets are max(B/P, B/P/2 + L) apart.
"""

import statistics

from tests.bench.bench import Row
from tests.bench.engine.bench_engine_least import PACKET_BYTES
from tests.bench.engine.bench_engine_path import TURNS, Run, engine, veth_pair

MTU = 9000
PACED_GBPS = (10, 20, 40, 80)
UNLIMITED = ("--notsent-lowat", "2G")


def lateness_us(goodput_bps: float, paced_bps: float) -> float | None:
    """Of a packet's timer, in µs; None while half a packet's time covers it."""
    apart_s, due_s = (PACKET_BYTES[MTU] * 8 / rate for rate in (goodput_bps, paced_bps))
    return (apart_s - due_s / 2) * 1e6 if apart_s > 1.05 * due_s else None


def timers() -> list[Row]:
    """How late a packet's timer comes; what BBR gains when nothing waits for one."""
    rows = []
    with veth_pair(MTU, "cubic"):
        for paced in PACED_GBPS:
            options = ("--pacing", f"{paced}G")
            goodput = statistics.median(engine("discard", *options, apart=True).goodput_bps for _ in range(TURNS))
            late = lateness_us(goodput, paced * 1e9)
            told = "not to be seen" if late is None else f"{late:.1f} µs"
            what = f"MTU {MTU}, cubic: --pacing {paced}G, {TURNS} turns: goodput; a packet's timer is late by"
            rows.append(Row(what, f"{goodput / 1e9:.1f} Gbit/s; {told}", "shown", True))
    with veth_pair(MTU, "bbr"):
        for mode in ("discard", "memory"):
            turns: list[tuple[Run, Run]] = [
                (engine(mode, *UNLIMITED, apart=True), engine(mode, apart=True)) for _ in range(TURNS)
            ]
            waiting = statistics.median(one.goodput_bps for one, _ in turns) / 1e9
            speed = statistics.median(two.goodput_bps / one.goodput_bps for one, two in turns)
            cost = statistics.median(two.cpu_s_per_gb / one.cpu_s_per_gb for one, two in turns)
            what = f"MTU {MTU}, bbr: {mode}, {TURNS} turns: goodput while packets wait in the socket"
            figures = f"{waiting:.1f} Gbit/s; {speed:.2f} ×, {cost:.2f} ×"
            rows.append(Row(f"{what}; against that, when none waits: goodput, CPU per byte", figures, "shown", True))
    return rows
