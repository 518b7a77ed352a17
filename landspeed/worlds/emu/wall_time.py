"""Wall time of a run, said before it: a law of the work, learned from what runs on this machine took.

The law has a price for each part of the work: for a run at all, a node, a flow, a second, a packet. It is fitted to all
works that were done here, each once, so that a start that became faster does not pass for faster packets. What it says
is then put right by the works that are like this one. Of the very same work only its own runs count. What runs took is
a line each in a file of the cache, so that another machine, or another processor, begins anew.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import statistics
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from landspeed.base.files import write_atomically
from landspeed.scenario.plan.duration import expected_duration_s
from landspeed.scenario.plan.flow_path import lanes
from landspeed.scenario.plan.plan import Flow, Plan
from landspeed.scenario.theory import physics as ph
from landspeed.worlds.emu.kernel_source import cache_root
from landspeed.worlds.this_host import cpu_model
from landspeed.worlds.world import Price

FILE = "wall-times.jsonl"
KEPT = 400
BUSY = 1.5  # processes for each core
OTHER_KIND = 2.0  # how far a network is from a path, as the logarithm of a ratio
# Of a core of 2026, in seconds: a run with nothing to send; a node; a flow's programs; a second; a million packets of a
# path, and on each of its links, most of which are passed in one step; a million packets of a network, on each link.
GUESS = (0.2, 0.04, 0.05, 0.004, 1.0, 0.5, 1.2)
# The guess counts as this part of one work. Another work's ratio counts the less, the farther it is, and all together
# against one that says 1. Works that do not fit the law count less, beyond this part of their time. All three were
# found by leaving out each work of a machine in turn (tests/emu/test_wall_time.py).
GUESS_WEIGHT, NEAR, FITS = 0.02, 0.7, 0.1
ROUNDS, DESCENTS = 6, 60


Law = tuple[float, ...]
"""A price in wall seconds for each part of a work."""


@dataclass(frozen=True)
class Work:
    """The work of a run: virtual seconds of its transfer, packets times links, nodes, flows; whether it is a path."""

    seconds: float
    packets: int
    nodes: int
    flows: int
    is_path: bool

    @property
    def parts(self) -> tuple[float, ...]:
        """Amount of each part that has a price, in the order of `GUESS`."""
        passed = self.packets / 1e6
        kinds = (passed / max(self.nodes - 1, 1), passed, 0.0) if self.is_path else (0.0, 0.0, passed)
        return (1.0, float(self.nodes), float(self.flows), self.seconds, *kinds)

    def costs_s(self, law: Law) -> float:
        """Wall seconds by a law."""
        return sum(price * part for price, part in zip(law, self.parts, strict=True))

    def distance(self, other: Work) -> float:
        """Distance of two works: 0 the same, 0.7 twice as much of one thing."""
        pairs = ((self.seconds, other.seconds), (self.packets / 1e4, other.packets / 1e4), (self.nodes, other.nodes))
        apart = sum(abs(math.log((1 + mine) / (1 + its))) for mine, its in pairs)
        return apart + (0.0 if self.is_path == other.is_path else OTHER_KIND)


@dataclass(frozen=True)
class Past:
    """A run that was made here: its work, and the wall seconds that it took."""

    work: Work
    wall_s: float


def work_of(plan: Plan) -> Work:
    """The work of a plan's transfer. Flows that ask together for more than a line carries get a share of it each."""
    seconds = expected_duration_s(plan)
    ways = [lanes(plan, flow)[0] for flow in plan.flows]
    sent = [_sent_bytes(flow) for flow in plan.flows]
    asked = Counter[tuple[int, bool]]()
    for way, count in zip(ways, sent, strict=True):
        asked.update(dict.fromkeys(way, math.ceil(count)))
    packets = 0.0
    for flow, way, count in zip(plan.flows, ways, sent, strict=True):
        room = min(_rate_bps(plan, lane) / 8 * seconds / max(asked[lane], 1) for lane in way)
        unit = flow.physics.mss_bytes if plan.fidelity == "packets" else ph.SUPER_PACKET_BYTES
        packets += len(way) * count * min(room, 1.0) / unit
    return Work(seconds, round(packets), len(plan.nodes), len(plan.flows), plan.is_path)


def _sent_bytes(flow: Flow) -> float:
    return flow.transfer.bytes or flow.physics.expected_goodput_bps / 8 * (flow.transfer.duration_ns or 0) / 1e9


def _rate_bps(plan: Plan, lane: tuple[int, bool]) -> int:
    link = plan.links[lane[0]]
    return (link.forward if lane[1] else link.reverse).rate_bps


def expected_wall_s(work: Work, past: list[Past]) -> float:
    """Wall seconds that the work takes, by the runs that were made here."""
    runs: dict[Work, list[float]] = {}
    for each in past:
        runs.setdefault(each.work, []).append(each.wall_s)
    if work in runs:
        return statistics.median(runs[work])
    took_s = {each: statistics.median(times) for each, times in runs.items()}
    law = learned_law(took_s)
    counts, ratios = 0.0, 0.0
    for each, wall_s in took_s.items():
        count = math.exp(-((work.distance(each) / NEAR) ** 2))
        counts, ratios = counts + count, ratios + count * math.log(wall_s / each.costs_s(law))
    return work.costs_s(law) * math.exp(ratios / (counts + 1))


def learned_law(took_s: Mapping[Work, float]) -> Law:
    """Fit the prices, none below zero, by which the works took what they took, as far as they can: by ratios.

    Least squares with weights, so that a few works that took something else do not matter (iteratively reweighted, as
    least absolute deviations); each step by coordinate descent, which keeps the prices from falling below zero.
    """
    count = len(GUESS)
    rows = [[part / wall_s for part in work.parts] for work, wall_s in took_s.items()]
    law = GUESS
    for _ in range(ROUNDS):
        square = [[GUESS_WEIGHT / GUESS[i] ** 2 if i == j else 0.0 for j in range(count)] for i in range(count)]
        right = [GUESS_WEIGHT / price for price in GUESS]
        for row in rows:
            ratio = sum(price * part for price, part in zip(law, row, strict=True))
            weight = 1 / max(abs(ratio - 1), FITS)
            for i in range(count):
                right[i] += weight * row[i]
                for j in range(count):
                    square[i][j] += weight * row[i] * row[j]
        law = _descend(square, right, law)
    return law


def _descend(square: list[list[float]], right: list[float], law: Law) -> Law:
    """Solve a positive definite system, no unknown below zero."""
    found, count = list(law), len(law)
    for _ in range(DESCENTS):
        for i in range(count):
            others = sum(square[i][j] * found[j] for j in range(count) if j != i)
            found[i] = max((right[i] - others) / square[i][i], 0.0)
    return tuple(found)


def price_of(plan: Plan, memory_bytes: int) -> Price:
    """Estimate what a run of the plan will take here; the memory is given."""
    past = known_runs()
    return Price(expected_wall_s(work_of(plan), past), memory_bytes, bool(past))


def known_runs() -> list[Past]:
    """Runs of this processor, the oldest first; none if the file is not there or is no such file."""
    found: list[Past] = []
    with contextlib.suppress(OSError):
        for line in _file().read_text().splitlines()[-KEPT:]:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                told = json.loads(line)
                if told["cpu"] == cpu_model():
                    found.append(Past(Work(**told["work"]), float(told["wall_s"])))
    return found


def remember(plan: Plan, wall_s: float) -> None:
    """Keep what a run took, unless others had the cores; a cache that cannot be written is left as it is."""
    if os.getloadavg()[0] > BUSY * (os.cpu_count() or 1):
        return
    line = json.dumps({"cpu": cpu_model(), "work": asdict(work_of(plan)), "wall_s": round(wall_s, 3)})
    with contextlib.suppress(OSError):
        file = _file()
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            os.write(descriptor, f"{line}\n".encode())  # whole, also beside others who write
        finally:
            os.close(descriptor)
        lines = file.read_text().splitlines()
        if len(lines) > 2 * KEPT:
            write_atomically(file, "\n".join([*lines[-KEPT:], ""]).encode())


def _file() -> Path:
    return Path(os.environ.get("LANDSPEED_WALL_TIMES") or cache_root() / FILE)
