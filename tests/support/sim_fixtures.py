"""Plans for the simulator, and the simulator run on them."""

import csv
import json
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from landspeed.scenario.file.disciplines import Discipline, resolve
from landspeed.worlds.sim import world
from tests.support import builds

MS, S = 1_000_000, 1_000_000_000
# The users' own, or of the chosen build.
CHOSEN = builds.chosen("sim")
SIMULATOR = builds.ROOT / "sim" / f"build-{CHOSEN}" / "landspeed-sim" if CHOSEN else world.SIMULATOR
FRAMING = {"ethernet": 38, "pos": 9}


def direction(rate_bps: int, delay_ns: int, **other: Any) -> dict[str, Any]:
    """A direction of a link, with a queue of 100 MB where nothing is said."""
    made = {"delay_ns": delay_ns, "rate_bps": rate_bps, "queue_bytes": 100_000_000, "can_queue": True} | other
    said = made.get("discipline", "fifo")
    name, parameters = resolve(Discipline.model_validate(said), made["queue_bytes"])
    return made | ({"discipline": name, "parameters": asdict(parameters)} if parameters else {})


def flow(
    name: str, source: str, target: str, route: Iterable[int], start_ns: int = 0, **transfer: Any
) -> dict[str, Any]:
    """A flow over these links. What is not said of its transfer: one Reno stream, sampled each 100 ms."""
    asked = {"streams": 1, "congestion_control": "reno", "receive": "discard", "sample_interval_ns": 100 * MS}
    ends = {"name": name, "source": source, "target": target, "route": list(route), "start_ns": start_ns}
    return ends | {"transfer": asked | transfer}


def path_plan(lanes: list[dict[str, Any]], *, ip: int = 4, mtu: int = 9000, **transfer: Any) -> dict[str, Any]:
    """A plan over links whose both directions are alike but for `reverse`. `framing`, `nic` and `bus` may be in a lane.

    `nic` and `bus` of the first lane are the sender's, `bus` of the last the receiver's.
    """
    names = [f"n{number}" for number in range(len(lanes) + 1)]
    one = flow("transfer", names[0], names[-1], range(len(lanes)), **({"window_bytes": 10_000_000} | transfer))
    joined = [(names[index], names[index + 1], lane) for index, lane in enumerate(lanes)]
    return network_plan(joined, [one], ip=ip, mtu=mtu)


def network_plan(
    lanes: list[tuple[str, str, dict[str, Any]]], flows: list[dict[str, Any]], *, ip: int = 4, mtu: int = 9000
) -> dict[str, Any]:
    """A plan over links between any nodes, each as in `path_plan`; `nic` and `bus` are of the host at its end."""
    hosts: dict[str, dict[str, int]] = {flow[end]: {} for flow in flows for end in ("source", "target")}
    links: list[dict[str, Any]] = []
    for index, (a, b, given) in enumerate(lanes):
        lane = dict(given)
        framing = lane.pop("framing", "ethernet")
        if limits := {f"{key}_rate_bps": lane.pop(key) for key in ("nic", "bus") if key in lane}:
            hosts[a if a in hosts else b] |= limits
        reverse = lane.pop("reverse", {})
        plain = {key: lane[key] for key in ("delay_ns", "rate_bps", "queue_bytes", "can_queue")}
        link = {"index": index, "a": a, "b": b, "mtu_bytes": lane.pop("mtu", mtu)}
        links.append(
            link | {"framing": framing, "framing_bytes": FRAMING[framing], "forward": lane, "reverse": plain | reverse}
        )
    names = list(dict.fromkeys(end for a, b, _ in lanes for end in (a, b)))
    nodes = [{"name": name, "kind": "host" if name in hosts else "router"} | hosts.get(name, {}) for name in names]
    head = {"schema_version": 4, "scenario": "test", "seed": 1, "ip_version": ip, "fidelity": "packets"}
    return head | {"nodes": nodes, "links": links, "flows": flows}


@dataclass
class Simulated:
    """What a run left."""

    status: int
    error: str
    folder: Path

    @property
    def result(self) -> dict[str, Any]:
        """result.json; with it, what it has of the first flow."""
        whole = json.loads((self.folder / "result.json").read_text())
        return whole["flows"][0] | whole

    def lane(self, link: int, name: str = "forward") -> dict[str, Any]:
        """A direction of a link as the result has it."""
        return next(lane for lane in self.result["lanes"] if (lane["link"], lane["direction"]) == (link, name))

    def file(self, name: str, flow: int = 0) -> Path:
        """A CSV: `links`, or an end of a flow."""
        return self.folder / ("." if name == "links" else f"flows/{flow}") / f"{name}.csv"

    def rows(self, name: str, flow: int = 0) -> list[dict[str, int | None]]:
        """The rows of a CSV."""
        with self.file(name, flow).open() as handle:
            return [
                {key: int(value) if value else None for key, value in row.items()} for row in csv.DictReader(handle)
            ]

    def goodput_bps(self, from_s: float, to_s: float, flow: int = 0) -> float:
        """Of all streams of a flow, between two samples; times since its start."""
        counts = {from_s: 0, to_s: 0}
        for row in self.rows("receiver", flow):
            if (time := (row["time_ns"] or 0) / S) in counts:
                counts[time] += row["bytes"] or 0
        return (counts[to_s] - counts[from_s]) * 8 / (to_s - from_s)

    def series(self) -> list[bytes]:
        """All that must be the same for the same seed."""
        flows = range(len(json.loads((self.folder / "plan.json").read_text())["flows"]))
        ends = [self.file(name, flow).read_bytes() for flow in flows for name in ("sender", "receiver")]
        return [*ends, self.file("links").read_bytes()]


def simulate(plan: Any, folder: Path, *words: str) -> Simulated:
    """Run the simulator on a plan (or on text that should be one)."""
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text(plan if isinstance(plan, str) else json.dumps(plan))
    command = [str(SIMULATOR), str(folder / "plan.json"), str(folder), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300 * builds.patience("sim"), check=False)
    return Simulated(done.returncode, done.stderr, folder)
