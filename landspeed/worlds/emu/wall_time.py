"""Wall time of a run, said before it: a rough model of the work, put right by what runs on this machine took.

The nearest runs count, by what they had to do; of the very same work only its own. What runs took is a line each in a
file of the cache, so that another machine, or another processor, begins anew.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import statistics
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

from landspeed.base.files import write_atomically
from landspeed.scenario.plan.duration import expected_duration_s
from landspeed.scenario.plan.flow_path import steps
from landspeed.scenario.plan.plan import Flow, Plan
from landspeed.scenario.theory import physics as ph
from landspeed.worlds.emu.kernel_source import cache_root
from landspeed.worlds.emu.run_facts import cpu_model
from landspeed.worlds.world import Price

FILE = "wall-times.jsonl"
KEPT, NEAREST = 200, 5
BUSY = 1.5  # processes for each core
OTHER_KIND = 2.0  # how far a network is from a path, as the logarithm of a ratio
# Of a core of 2026: a run with nothing to send; a node; a flow's programs; an idle second; a packet on a link.
START_S, NODE_S, FLOW_S, SECOND_S = 0.7, 0.015, 0.03, 0.008
PATH_PACKET_S, NETWORK_PACKET_S = 0.15e-6, 2.0e-6  # the links of a path are passed in one step


@dataclass(frozen=True)
class Work:
    """The work of a run: virtual seconds of its transfer, packets times links, nodes, flows; whether it is a path."""

    seconds: float
    packets: int
    nodes: int
    flows: int
    is_path: bool

    @property
    def rough_s(self) -> float:
        """Wall seconds on a machine of which nothing is known."""
        each_s = PATH_PACKET_S if self.is_path else NETWORK_PACKET_S
        around = START_S + self.nodes * NODE_S + self.flows * FLOW_S
        return around + self.seconds * SECOND_S + self.packets * each_s

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
    ways = [[(step.link, step.ahead) for step in steps(plan, flow)] for flow in plan.flows]
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
    """Wall seconds that the work takes, by the nearest of the runs that were made here."""
    apart = sorted((work.distance(each.work), number) for number, each in enumerate(past))
    same = [number for distance, number in apart if distance == 0]
    nearest = same or [number for _, number in apart[:NEAREST]]
    ratios = [past[number].wall_s / past[number].work.rough_s for number in nearest]
    return work.rough_s * (statistics.median(ratios) if ratios else 1.0)


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
