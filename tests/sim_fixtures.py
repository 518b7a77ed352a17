"""Plans for the simulator, and the simulator run on them."""

from __future__ import annotations

import csv
import json
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import builds
from landspeed.scenarios.disciplines import Discipline, resolve
from landspeed.sim import world

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


def path_plan(lanes: list[dict[str, Any]], *, ip: int = 4, mtu: int = 9000, **transfer: Any) -> dict[str, Any]:
    """A plan over links whose both directions are alike but for `reverse`. `framing`, `nic` and `bus` may be in a lane.

    `nic` and `bus` of the first lane are the sender's, `bus` of the last the receiver's.
    """
    names = [f"n{number}" for number in range(len(lanes) + 1)]
    links, hosts = [], {0: {}, len(lanes): {}}
    for index, given in enumerate(lanes):
        lane = dict(given)
        framing = lane.pop("framing", "ethernet")
        hosts[0] |= {"nic_rate_bps": lane.pop("nic")} if "nic" in lane else {}
        if "bus" in lane:
            hosts[0 if index == 0 else len(lanes)] |= {"bus_rate_bps": lane.pop("bus")}
        reverse = lane.pop("reverse", {})
        plain = {key: lane[key] for key in ("delay_ns", "rate_bps", "queue_bytes", "can_queue")}
        link = {"index": index, "a": names[index], "b": names[index + 1], "mtu_bytes": mtu}
        links.append(
            link | {"framing": framing, "framing_bytes": FRAMING[framing], "forward": lane, "reverse": plain | reverse}
        )
    nodes = [
        {"name": name, "kind": "host" if number in hosts else "router"} | hosts.get(number, {})
        for number, name in enumerate(names)
    ]
    asked = {"streams": 1, "window_bytes": 10_000_000, "congestion_control": "reno", "receive": "discard"}
    return {
        "schema_version": 3,
        "scenario": "test",
        "seed": 1,
        "ip_version": ip,
        "fidelity": "packets",
        "nodes": nodes,
        "links": links,
        "flows": [{"name": "transfer", "transfer": asked | {"sample_interval_ns": 100 * MS} | transfer}],
    }


@dataclass
class Simulated:
    """What a run left."""

    status: int
    error: str
    folder: Path

    @property
    def result(self) -> dict[str, Any]:
        """result.json."""
        return json.loads((self.folder / "result.json").read_text())

    def lane(self, link: int, name: str = "forward") -> dict[str, Any]:
        """A direction of a link as the result has it."""
        return next(lane for lane in self.result["lanes"] if (lane["link"], lane["direction"]) == (link, name))

    def rows(self, name: str) -> list[dict[str, int | None]]:
        """The rows of a CSV."""
        with (self.folder / f"{name}.csv").open() as handle:
            return [
                {key: int(value) if value else None for key, value in row.items()} for row in csv.DictReader(handle)
            ]

    def goodput_bps(self, from_s: float, to_s: float) -> float:
        """Of all streams, between two samples."""
        counts = {from_s: 0, to_s: 0}
        for row in self.rows("receiver"):
            if (time := (row["time_ns"] or 0) / S) in counts:
                counts[time] += row["bytes"] or 0
        return (counts[to_s] - counts[from_s]) * 8 / (to_s - from_s)

    def series(self) -> list[bytes]:
        """All that must be the same for the same seed."""
        return [(self.folder / f"{name}.csv").read_bytes() for name in ("sender", "receiver", "links")]


def simulate(plan: Any, folder: Path, *words: str) -> Simulated:
    """Run the simulator on a plan (or on text that should be one)."""
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text(plan if isinstance(plan, str) else json.dumps(plan))
    command = [str(SIMULATOR), str(folder / "plan.json"), str(folder), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300 * builds.patience("sim"), check=False)
    return Simulated(done.returncode, done.stderr, folder)
