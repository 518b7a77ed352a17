"""Flows that share a queue unequally, in both worlds, over seeds: do the worlds agree on the shares?

    python -m tests.bench.unequal [--seeds 20] [--seconds 500] [CASE…]
    python -m tests.bench.unequal --markdown   # what is known, and run nothing

Thirty cases over 10 Mbit/s. In each the first flow's share of all goodput counts, from the 15th second on. The times
at which hosts send vary by one packet's time on the line (`send_jitter`): without that a queue drops by phase, and
seeds change nothing. The three lines of the parking lot differ by a hundredth: between busy lines of exactly the same
rate a packet meets the next queue always at the same point of its cycle, and which point it is differs between the
worlds. Two worlds agree if the means are within 10 % of each other, or if their error bars meet (95 %).
All of it takes half an hour: what was measured is kept in a file, seed by seed, and the next call goes on.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import landspeed
from landspeed.results.samples_reader import Samples
from tests.bench.both_worlds import WORLDS, Asked, run
from tests.bench.truth.emulated import a_folder
from tests.support.emu_fixtures import write_scenario

ALLOWED = 0.10
RATE_BPS, FROM_S, TO_S = 10e6, 15, 60
LEAST_SEEDS = 3  # the error bar of two is as wide as anything
PACKET_S = 1538 * 8 / RATE_BPS
LOT_RATES_BPS = (10e6, 10.07e6, 9.95e6)


@dataclass(frozen=True)
class Case:
    """Flows through one queue; or, `lot`: one over three of them in a row, and one more over each.

    Attributes:
        flows: congestion control and round-trip time in ms of each; the first one's share counts.
        queue_bdp: its size, of the longest of the round trips.
    """

    flows: tuple[tuple[str, int], ...]
    queue_bdp: float = 1
    discipline: str = "fifo"
    lot: bool = False

    def content(self, seed: int) -> dict[str, Any]:
        """The scenario file."""
        slow = {"line_rate": f"{RATE_BPS:.0f} bit/s", "queue": f"{self.queue_bdp:g} BDP", "discipline": self.discipline}
        links: list[dict[str, Any]] = [{"from": "r0", "to": "r1", "one_way_delay": "2 ms", **slow}]
        if self.lot:
            links = [
                {**links[0], "from": f"r{hop}", "to": f"r{hop + 1}", "line_rate": f"{rate_bps:.0f} bit/s"}
                for hop, rate_bps in enumerate(LOT_RATES_BPS)
            ]
        flows: list[dict[str, Any]] = []
        for number, (control, rtt_ms) in enumerate(self.flows):
            enters, leaves = (number - 1, number) if self.lot and number else (0, self.hops)
            near_ms = rtt_ms / 2 - 2 - 2 * (leaves - enters)
            links += [
                {"from": f"s{number}", "to": f"r{enters}", "one_way_delay": f"{near_ms:g} ms"},
                {"from": f"r{leaves}", "to": f"d{number}", "one_way_delay": "2 ms"},
            ]
            flow = {"name": f"f{number}", "from": f"s{number}", "to": f"d{number}", "congestion_control": control}
            flows.append(flow)
        return {
            "format": 1,
            "name": "unequal",
            "title": "Flows that share a queue unequally",
            "line_rate": "1 Gbit/s",
            "send_jitter": f"{PACKET_S * 1e6:.0f} us",
            "seed": seed + 1,
            "links": links,
            "transfer": {"duration": f"{TO_S} s", "window": "8 MB"},
            "flows": flows,
        }

    @property
    def hops(self) -> int:
        """How many queues the first flow passes."""
        return 3 if self.lot else 1


def _pair(one: str, other: str, rtts_ms: tuple[int, int], **more: Any) -> Case:
    return Case(((one, rtts_ms[0]), (other, rtts_ms[1])), **more)


CASES: dict[str, Case] = {
    **{
        f"{control} {near} and {far} ms": _pair(control, control, (near, far))
        for control, pairs in {
            "reno": ((20, 40), (20, 80), (20, 160), (40, 160), (80, 160)),
            "cubic": ((20, 40), (20, 80), (40, 160)),
            "bbr": ((20, 40), (20, 80), (40, 160)),
        }.items()
        for near, far in pairs
    },
    **{
        f"reno 40 and 160 ms, queue {bdp:g} BDP": _pair("reno", "reno", (40, 160), queue_bdp=bdp)
        for bdp in (0.25, 0.5, 2, 4)
    },
    **{f"reno 40 and 160 ms, {name}": _pair("reno", "reno", (40, 160), discipline=name) for name in ("red", "codel")},
    **{
        f"bbr beside cubic, queue {bdp:g} BDP": _pair("bbr", "cubic", (40, 40), queue_bdp=bdp) for bdp in (0.5, 1, 2, 8)
    },
    "bbr beside 2 cubics, queue 2 BDP": Case((("bbr", 40), *[("cubic", 40)] * 2), queue_bdp=2),
    "bbr beside 4 cubics, queue 8 BDP": Case((("bbr", 40), *[("cubic", 40)] * 4), queue_bdp=8),
    "cubic beside reno": _pair("cubic", "reno", (40, 40)),
    "vegas beside reno": _pair("vegas", "reno", (40, 40)),
    **{
        f"parking lot, {control}": Case(((control, 30), *[(control, 20)] * 3), lot=True)
        for control in ("reno", "cubic", "bbr")
    },
    "reno 40 ms beside three of 160 ms": Case((("reno", 40), *[("reno", 160)] * 3)),
    "reno 20, 40, 80 and 160 ms": Case(tuple(("reno", rtt_ms) for rtt_ms in (20, 40, 80, 160))),
}


def share(asked: Asked) -> float:
    """What the first flow has of all goodput."""
    case, world, seed = asked
    content = CASES[case].content(seed)
    with a_folder() as folder:
        run = landspeed.run(write_scenario(folder, content), world=world, runs_dir=folder / "runs", report=False)
        samples = Samples(run.bundle)
        curves = [samples.of_flow(flow["name"]).curves for flow in content["flows"]]
        rates = [(each and each.goodput_bps(FROM_S, TO_S)) or 0.0 for each in curves]
    return rates[0] / sum(rates)


@dataclass(frozen=True)
class Mean:
    """A mean with its error bar, half of it: 95 %, by Student's distribution."""

    value: float
    error: float

    @staticmethod
    def of(values: Sequence[float]) -> Mean:
        """From one sample for each seed; of one sample the error is not known."""
        if len(values) < 2:
            return Mean(values[0], math.inf)
        z, more = 1.959964, len(values) - 1
        quantile = z + (z**3 + z) / (4 * more) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * more**2)  # Cornish and Fisher
        return Mean(statistics.fmean(values), quantile * statistics.stdev(values) / math.sqrt(len(values)))

    def agrees(self, other: Mean) -> bool:
        """Whether they are within 10 %, or as near as their error bars reach."""
        apart = abs(self.value - other.value)
        return apart <= ALLOWED * min(self.value, other.value) or apart <= self.error + other.error


def table(cases: Sequence[str], seeds: int, known: dict[Asked, float]) -> Iterator[tuple[str, bool]]:
    """A row for each case of which enough seeds are known in both worlds, and whether the worlds agree."""
    for case in cases:
        done = [seed for seed in range(seeds) if all((case, world, seed) in known for world in WORLDS)]
        if len(done) < LEAST_SEEDS:
            continue
        emulated, simulated = (Mean.of([known[case, world, seed] for seed in done]) for world in WORLDS)
        agree = emulated.agrees(simulated)
        told = " | ".join(f"{100 * each.value:.1f} ± {100 * each.error:.1f} %" for each in (emulated, simulated))
        apart = f"{simulated.value / emulated.value - 1:+.1%}"
        yield f"| {case} | {len(done)} | {told} | {apart} | {'yes' if agree else '**no**'} |", agree


if __name__ == "__main__":
    HEAD = "| case | seeds | emulated | simulated | apart | agree |\n|---|---:|---:|---:|---:|---|"
    sys.exit(run("tests.bench.unequal", __doc__ or "", list(CASES), value=share, table=table, head=HEAD))
