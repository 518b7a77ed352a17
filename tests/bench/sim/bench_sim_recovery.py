"""One loss at 1 and 10 Gbit/s over 264 ms, simulated as a user would, against Reno's and CUBIC's formulas.

The parts `recovery_…` of bench_sim.py. Figures are simulated, so the machine's other work changes nothing in them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from pyarrow import parquet

from tests.bench.bench import Row
from tests.bench.sim.bench_sim_runs import run

RTT_S = 0.264
TOLERANCE = 0.05
CUBIC_C, CUBIC_BETA = 0.4, 0.7  # RFC 9438 sections 4.1 and 4.6
RENO_BETA = 0.5  # RFC 5681
ETHERNET_BYTES = 38
Part = Callable[[Path], list[Row]]
INITIAL_WINDOW = 10  # packets, RFC 6928


def full_window(rate_gbps: float, mtu: int) -> float:
    """Packets that a line of this rate holds in a round trip."""
    return rate_gbps * 1e9 / 8 * RTT_S / (mtu + ETHERNET_BYTES)


def loss_s(rate_gbps: float, mtu: int) -> float:
    """When a packet must be lost so that slow start ends with 98 % of what the line holds, and nothing queues.

    The window doubles each round trip: what is lost at a share of one round's packets is missed a round trip later,
    when the window has grown by that share.
    """
    window = 0.98 * full_window(rate_gbps, mtu)
    rounds = int(math.log2(window / INITIAL_WINDOW))
    begins_with = INITIAL_WINDOW * 2**rounds
    packet_s = (mtu + ETHERNET_BYTES) * 8 / (rate_gbps * 1e9)
    return rounds * RTT_S + (window - begins_with) * packet_s


def scenario_file(folder: Path, control: str, rate_gbps: float, mtu: int, *, after_s: float) -> Path:
    """One stream over one line; one packet lost in slow start, and so many seconds simulated after it."""
    window = 2 * int(full_window(rate_gbps, mtu)) * (mtu - 52)
    lost_s = loss_s(rate_gbps, mtu)
    scenario = folder / f"recovery-{control}.yaml"
    scenario.write_text(
        f"""format: 1
name: recovery
title: {control} after one loss at {rate_gbps:g} Gbit/s over 264 ms
ip: 4
fidelity: packets
mtu: {mtu} B
line_rate: {rate_gbps:g} Gbit/s
queue: 1 BDP
hosts:
  a: {{role: sender}}
  b: {{role: receiver}}
path:
  - {{from: a, to: b, one_way_delay: {RTT_S / 2 * 1e3:g} ms}}
transfer:
  streams: 1
  window: {window} B
  window_exact: true
  congestion_control: {control}
  duration: {lost_s + after_s:.3f} s
  sample_interval: 100 ms
  receive: discard
events:
  - {{at: {lost_s:.6f} s, loss: 1 packet, from: a, to: b}}
"""
    )
    return scenario


@dataclass
class Recovery:
    """What the sender's samples show of one loss: windows in packets, times in seconds.

    Attributes:
        before: the window at the reduction, from the threshold that it left.
        epoch_s: when the growth after the recovery begins.
        after: the window at each sample from then on.
    """

    before: float
    epoch_s: float
    after: list[tuple[float, int]]


def recovery(bundle: Path, beta: float, missed_s: float) -> Recovery:
    """The recovery in a run's samples.

    The missing packet is noticed at `missed_s`; its repair is acknowledged a round trip later, and there the growth
    begins.
    """
    columns = ["time_ns", "cwnd_packets", "ssthresh_packets", "state"]
    rows = parquet.read_table(
        bundle / "samples.parquet", columns=columns, filters=[("end", "==", "sender")]
    ).to_pylist()
    epoch_s = missed_s + RTT_S
    after = [(row["time_ns"] / 1e9, row) for row in rows if row["time_ns"] / 1e9 > epoch_s]
    threshold = after[0][1]["ssthresh_packets"]
    return Recovery(threshold / beta, epoch_s, [(time_s, row["cwnd_packets"]) for time_s, row in after])


def against(what: str, measured: float, formula: float, unit: str) -> Row:
    """A row: a figure within 5 % of its formula."""
    told = f"{measured:.1f} {unit} ({measured / formula - 1:+.2%})"
    return Row(what, told, f"{formula:.1f} ± {TOLERANCE:.0%}", abs(measured / formula - 1) <= TOLERANCE)


def first_at(series: list[tuple[float, int]], window: float) -> float:
    """When the series reaches a window, between two samples in proportion."""
    for (before_s, before), (after_s, after) in pairwise(series):
        if after >= window:
            share = (window - before) / (after - before) if after > before else 0.0
            return before_s + share * (after_s - before_s)
    return float("inf")


def reno(rate_gbps: float, mtu: int) -> Part:
    """Half the window W is left; each round trip adds a packet, so that W is back after W/2 of them."""

    def measure(out: Path) -> list[Row]:
        whole_s = full_window(rate_gbps, mtu) / 2 * RTT_S
        result, _ = run(scenario_file(out, "reno", rate_gbps, mtu, after_s=1.05 * whole_s), "--collapse", out=out)
        found = recovery(Path(result["bundle"]), RENO_BETA, loss_s(rate_gbps, mtu) + RTT_S)
        window = found.before
        half_s, back_s = (first_at(found.after, share * window) - found.epoch_s for share in (0.75, 1.0))
        name = f"reno, {rate_gbps:g} Gbit/s × 264 ms, MTU {mtu}, {window:.0f} packets"
        return [
            against(f"{name}: half of the loss back", half_s, window / 4 * RTT_S, "s"),
            against(f"{name}: recovery time", back_s, window / 2 * RTT_S, "s"),
            Row(f"{name}: packets sent again", str(result["retransmits"]), "1", result["retransmits"] == 1),
        ]

    return measure


def cubic(rate_gbps: float, mtu: int) -> Part:
    """W(t) = W_max + C (t - K)³ with K = ((1 - β) W_max / C)^(1/3), from the end of the recovery on."""

    def measure(out: Path) -> list[Row]:
        most_k_s = ((1 - CUBIC_BETA) * full_window(rate_gbps, mtu) / CUBIC_C) ** (1 / 3)
        result, _ = run(scenario_file(out, "cubic", rate_gbps, mtu, after_s=1.4 * most_k_s), "--collapse", out=out)
        found = recovery(Path(result["bundle"]), CUBIC_BETA, loss_s(rate_gbps, mtu) + RTT_S)
        window = found.before
        k_s = ((1 - CUBIC_BETA) * window / CUBIC_C) ** (1 / 3)
        name = f"cubic, {rate_gbps:g} Gbit/s × 264 ms, MTU {mtu}, {window:.0f} packets"
        rows = []
        for share in (0.25, 0.5, 0.75, 1.0, 1.25):
            seen_s, seen = next(point for point in found.after if point[0] >= found.epoch_s + share * k_s)
            formula = window + CUBIC_C * (seen_s - found.epoch_s - k_s) ** 3
            rows.append(against(f"{name}: after {share:g} K = {share * k_s:.1f} s", seen, formula, "packets"))
        sent = result["retransmits"]
        return [*rows, Row(f"{name}: packets sent again", str(sent), "1", sent == 1)]

    return measure


PARTS: dict[str, Part] = {
    "recovery_cubic_1": cubic(1, 9000),
    "recovery_cubic_10": cubic(10, 9000),
    "recovery_reno_1": reno(1, 9000),
    "recovery_reno_10": reno(10, 36_000),  # at MTU 9000: four times as long, and sixteen times the work
}
