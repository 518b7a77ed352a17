"""The emulated world for tests: small scenarios as Python values, guests started from them, the command itself."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from landspeed.judge.judge import judge
from landspeed.results.bundle import BundleWriter
from landspeed.results.record import RunRecord
from landspeed.runs.one_run import first_record
from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.emu.guest.network.network import link_address
from landspeed.worlds.emu.world import EmuOptions, EmuWorld
from landspeed.worlds.registry import plan_for
from tests.support.places import PROGRAMS, ROOT

FIRST = ROOT / "scenarios" / "examples" / "first.yaml"
PROBE = PROGRAMS / "emu_probe.py"


def scenario(links: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A scenario: host `alpha`, routers `r1`, `r2`, …, host `omega`.

    Args:
        links: keys of each link, without `from` and `to`.
        more: further keys of the file; `nic` of both hosts, `bus` of the sender and `transfer` have defaults.
    """
    names = ["alpha", *(f"r{number}" for number in range(1, len(links))), "omega"]
    nic, bus = more.pop("nic", "100 Gbit/s"), more.pop("bus", None)
    ends = zip(names[:-1], names[1:], links, strict=True)
    return {
        "format": 1,
        "name": "test",
        "title": "A test",
        "line_rate": "1 Gbit/s",
        "mtu": "1500 B",
        "hosts": {
            "alpha": {"role": "sender", "nic": nic} | ({"bus": {"rate": bus}} if bus else {}),
            "omega": {"role": "receiver", "nic": nic},
        },
        "path": [{"from": a, "to": b, **link} for a, b, link in ends],
        "transfer": {"duration": "1 s"},
        **more,
    }


def write_scenario(folder: Path, content: dict[str, Any]) -> Path:
    """The scenario as a file (JSON is YAML)."""
    file = folder / "scenario.yaml"
    file.write_text(json.dumps(content))
    return file


def plan_of(folder: Path, content: dict[str, Any] | Path, *overrides: str, seed: int | None = None) -> Plan:
    """The plan of a scenario."""
    file = content if isinstance(content, Path) else write_scenario(folder, content)
    return plan_for(load_scenario(file, overrides), "emu", seed)


@dataclass(frozen=True)
class Arrival:
    """A packet that arrived; times in ns of the guest's clock."""

    sequence: int
    sent_ns: int
    arrived_ns: int
    frame_bytes: int
    flipped_bits: int
    ecn: int

    @property
    def one_way_ns(self) -> int:
        """From the call of the sender to the arrival."""
        return self.arrived_ns - self.sent_ns


@dataclass(frozen=True)
class Train:
    """What became of a packet train."""

    sent: int
    arrived: list[Arrival]

    def ip_rate_bps(self, size: int) -> float:
        """Bits of IP packets of a size per second, by the spacing in the second half; segments counted one by one."""
        half = self.arrived[len(self.arrived) // 2 :]
        later = [each for each in half if each.arrived_ns > half[0].arrived_ns]
        segments = sum(round((each.frame_bytes - 14) / size) for each in later)
        return segments * size * 8e9 / (later[-1].arrived_ns - half[0].arrived_ns)


def request(plan: Plan, origin: int, target: int, size: int, count: int, **more: Any) -> dict[str, Any]:
    """A packet train from one node (by position) to another."""
    link, side = (target - 1, 1) if origin < target else (target, 0)
    names = [node.name for node in plan.nodes]
    address = link_address(plan.ip_version, link, side)
    return {"origin": names[origin], "target": names[target], "address": address, "size": size, "count": count, **more}


def measure(plan: Plan, folder: Path, requests: list[dict[str, Any]], **options: Any) -> list[Train]:
    """Boot a guest, build the path, and send packet trains over it."""
    (folder / "requests.json").write_text(json.dumps(requests))
    words = [sys.executable, str(PROBE), "/run/landspeed/requests.json", "/run/landspeed/trains.json"]
    status = EmuWorld(EmuOptions(**options)).execute(plan, folder, at="alpha", command=words, calibrate=False)
    assert status == 0, (folder / "log" / "stderr").read_text()
    results = json.loads((folder / "trains.json").read_text())
    return [Train(result["sent"], [Arrival(*row) for row in result["arrived"]]) for result in results]


@dataclass(frozen=True)
class Output:
    """What a program in the guest printed."""

    status: int
    out: str
    err: str


def execute(plan: Plan, folder: Path, *command: str, at: str = "alpha", **options: Any) -> Output:
    """Boot a guest and run a program at a node, without calibration."""
    status = EmuWorld(EmuOptions(**options)).execute(plan, folder, at=at, command=list(command), calibrate=False)
    out, err = ((folder / "log" / name).read_text(errors="replace") for name in ("stdout", "stderr"))
    return Output(status, out, err)


def transfer(plan: Plan, folder: Path, **options: Any) -> tuple[RunRecord, Path]:
    """Calibrate, transfer and judge; the record and the bundle's folder."""
    world = EmuWorld(EmuOptions(**options))
    with BundleWriter(folder, plan.scenario, first_record(world, plan, [])) as bundle:
        record = world.run(plan, bundle)
        bundle.convert()
        record = judge(plan, record, bundle.path)
        bundle.finish(record)
    return record.model_copy(update={"complete": True}), bundle.path


# Of 3 s, a program with a core to itself is interrupted 20 times, beside one of these 500 times, at any instant, and
# beside one that never sleeps 350 times: that one waits for its turn, and takes more than twice as much.
BURSTS = """
import os, random, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
while True:
    end = time.monotonic() + random.uniform(0, 0.004)
    while time.monotonic() < end:
        pass
    time.sleep(random.uniform(0, 0.008))
"""


@contextlib.contextmanager
def busy_host() -> Iterator[None]:
    """On each core a program that takes it again and again, from whatever runs there."""
    cores = sorted(os.sched_getaffinity(0))
    running = [subprocess.Popen([sys.executable, "-S", "-c", BURSTS, str(core)]) for core in cores]
    try:
        yield
    finally:
        for each in running:
            each.kill()
            each.wait()


def wait_until(condition: Callable[[], Any], what: str, deadline_s: float = 60.0, every_s: float = 0.02) -> Any:
    """The condition's value once it is true; fails with `what` when it does not come true.

    Args:
        every_s: between two looks; some tenths where a look is a login at a server.
    """
    end = time.monotonic() + deadline_s
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(every_s)
    raise AssertionError(f"waited {deadline_s:.0f} s in vain for {what}")


def processes_in(folder: Path) -> list[str]:
    """Processes whose working folder is in this one: a guest's kernel and the children it traces."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "cwd").readlink().is_relative_to(folder):
                found.append(f"{entry.name} {(entry / 'cmdline').read_bytes()[:80]!r}")
    return found


def host_state() -> dict[str, object]:
    """What a run could leave behind on this host."""
    return {
        "mounts": Path("/proc/self/mounts").read_text(),
        "/dev/shm": sorted(Path("/dev/shm").iterdir()),
        "namespaces": sorted(Path("/run/netns").iterdir()) if Path("/run/netns").exists() else [],
        "interfaces": sorted(Path("/sys/class/net").iterdir()),
    }


def pairs(count: int) -> dict[str, Any]:
    """So many flows through one line."""
    links: list[dict[str, str]] = [{"from": "left", "to": "right", "one_way_delay": "25 ms"}]
    for number in range(count):
        links += [{"from": f"a{number}", "to": "left"}, {"from": "right", "to": f"b{number}"}]
    return {
        "format": 1,
        "name": "pairs",
        "title": "Flows through one line",
        "line_rate": "1 Gbit/s",
        "hosts": {f"{side}{number}": {} for side in "ab" for number in range(count)},
        "links": [{"one_way_delay": "0.1 ms", **link} for link in links],
        "flows": [{"name": f"f{number}", "from": f"a{number}", "to": f"b{number}"} for number in range(count)],
        "transfer": {"duration": "2 s"},
    }
