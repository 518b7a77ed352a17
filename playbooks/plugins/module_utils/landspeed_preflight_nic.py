"""Preflight's NIC, the one towards the peer: which it is, its link, and what is near it in the machine."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TypedDict

from .landspeed_findings import Findings, group_of, text
from .landspeed_host import Unavailable, below, cards, cpu_mask, nic_errors, run
from .landspeed_kinds_nic import interrupts

PCIE_GBPS = {"2.5": 2.0, "5.0": 4.0, "8.0": 7.88, "16.0": 15.75, "32.0": 31.5, "64.0": 60.5}  # a lane, after encoding


class Asked(TypedDict):
    """Requirements of a plan on a NIC."""

    interface: str
    numa_node: int
    peer: str
    mtu_bytes: int
    rate_bps: int


class Nic(TypedDict):
    """The interface towards the peer, with the NICs below it: one, or those of a bond or bridge."""

    name: str
    devices: list[str]  # the NICs, what is between, and the interface: the lowest first
    cards: list[str]
    errors: int
    driver: str
    numa_node: int
    cpulist: str
    cpumask: str
    rx_queues: list[str]
    tx_queues: list[str]
    irqs: list[str]  # each a name of the kind `irq` of settings
    irq_masks: list[str]  # the core of each
    process_cpus: str  # cores beside those; empty: any
    governors: list[str]


def find_nic(found: Findings, wanted: Asked) -> Nic | None:
    """The NIC towards the peer; None where there is none, and the findings say so."""
    name = wanted["interface"]
    try:
        route = run("ip", "-o", "route", "get", wanted["peer"])
    except Unavailable as error:
        found.add("route", "fail", error, f"a route to {wanted['peer']}", "set the route to the peer")
        return None
    if route.startswith("local "):
        remedy = "in hosts.yml landspeed_address is each host's own on the path; are the two swapped?"
        found.add("route", "fail", f"{wanted['peer']}, the peer's address, is this host's own", "the peer's", remedy)
        return None
    via = group_of(r" dev (\S+)", route)
    name = name or via
    if not Path("/sys/class/net", name).exists():
        there = ", ".join(sorted(each.name for each in Path("/sys/class/net").iterdir()))
        found.add("interface", "fail", f"no {name}", f"one of {there}", "correct landspeed_interface in the inventory")
        return None
    same = via == name
    found.add(
        "route",
        "pass" if same else "fail",
        f"by {via}",
        f"by {name}",
        "set the route to the peer, or landspeed_interface",
    )
    device = Path("/sys/class/net", name)
    own = cards(device)
    queues = sorted(str(path) for card in own for path in card.glob("queues/*"))
    nodes = [int(text(card / "device/numa_node", "-1")) for card in own]
    node = wanted["numa_node"] if wanted["numa_node"] >= 0 else nodes[0]
    near = {node} if wanted["numa_node"] >= 0 else {*nodes}
    lists = [text(f"/sys/devices/system/node/node{each}/cpulist") for each in sorted(near) if each >= 0]
    cpus = ",".join(filter(None, lists)) or text("/sys/devices/system/cpu/online", "0")
    drivers = {(card / "device/driver").resolve().name for card in own if (card / "device/driver").exists()}
    irqs = [f"{card.name} {position}" for card in own for position in range(len(interrupts(card)))]
    masks, process_cpus = share_cores(cpus, len(irqs))
    nic: Nic = {
        "name": name,
        "devices": [each.name for each in below(device) if any(card in below(each) for card in own)],
        "cards": [each.name for each in own],
        "errors": nic_errors(device),
        "driver": ", ".join(sorted(drivers)) or "virtual",
        "numa_node": node,
        "cpulist": cpus,
        "cpumask": mask(cpus),
        "rx_queues": [path for path in queues if "/rx-" in path],
        "tx_queues": [path for path in queues if "/tx-" in path],
        "irqs": irqs,
        "irq_masks": masks,
        "process_cpus": process_cpus,
        "governors": sorted(
            str(path) for path in Path("/sys/devices/system/cpu").glob("cpu*/cpufreq/scaling_governor")
        ),
    }
    over = f" over {', '.join(nic['cards'])}" if nic["cards"] != [name] else ""
    found.add("interface", "pass", f"{name}{over}, {nic['driver']}, {len(nic['rx_queues'])} receive queues")
    return nic


def look_at_link(found: Findings, nic: Nic, wanted: Asked) -> None:
    """State, speed and MTU."""
    device = Path("/sys/class/net", nic["name"])
    for each in [device, *(card for card in cards(device) if card != device)]:
        state = text(each / "operstate")
        up = state in ("up", "unknown")
        whose = "link" if each == device else f"link of {each.name}"
        remedy = f"ip link set {each.name} up; look at cable and optics"
        found.add(whose, "pass" if up else "fail" if each == device else "warn", state, "up", remedy)
    speeds = [_speed_mbps(each) for each in cards(device)]
    speed = max(_speed_mbps(device), 0) or sum(each for each in speeds if each > 0)
    if nic["driver"] == "virtual" or speed <= 0:
        found.add(
            "speed",
            "warn",
            "unknown (virtual)",
            f"{wanted['rate_bps'] / 1e6:g} Mbit/s",
            "a virtual interface has no line rate",
        )
    else:
        fast = speed * 1e6 >= wanted["rate_bps"]
        found.add(
            "speed",
            "pass" if fast else "fail",
            f"{speed} Mbit/s",
            f"{wanted['rate_bps'] / 1e6:g} Mbit/s",
            "the NIC is slower than the plan's path",
        )
    mtu = int(text(device / "mtu", "0"))
    enough = mtu >= wanted["mtu_bytes"]
    found.add(
        "mtu",
        "pass" if enough else "warn",
        f"{mtu} B",
        f"{wanted['mtu_bytes']} B",
        "`tune` raises it, if the driver allows",
    )


def _speed_mbps(device: Path) -> int:
    """Speed that an interface tells; -1 if it has none."""
    try:
        return int(text(device / "speed", "-1"))
    except ValueError:
        return -1


def look_at_hardware(found: Findings, nic: Nic, wanted: Asked) -> None:
    """CPUs; PCIe and rings of each NIC."""
    found.add("cpus", "pass", f"{os.cpu_count()}, of which near the NIC: {nic['cpulist']}")
    for card in nic["cards"]:
        whose = f" of {card}" if len(nic["cards"]) > 1 else ""
        _look_at_slot(found, Path("/sys/class/net", card), whose, wanted["rate_bps"])
        _look_at_rings(found, card, whose)


def _look_at_slot(found: Findings, card: Path, whose: str, rate_bps: int) -> None:
    width, speed = text(card / "device/current_link_width"), text(card / "device/current_link_speed")
    if not (width and speed):
        return
    rate = PCIE_GBPS.get(speed.split()[0], 0.0) * int(width)
    line_bps = _speed_mbps(card) * 1e6
    wanted_bps = min(rate_bps, line_bps) if line_bps > 0 else rate_bps  # of a bond a NIC carries a part
    found.add(
        f"pcie{whose}",
        "pass" if rate * 1e9 >= 1.1 * wanted_bps else "warn",
        f"x{width} at {speed}: {rate:.0f} Gbit/s",
        f"{wanted_bps / 1e9:g} Gbit/s and a tenth",
        "move the NIC to a wider or newer slot",
    )


def _look_at_rings(found: Findings, card: str, whose: str) -> None:
    try:
        rings = run("ethtool", "-g", card).split("Current hardware settings:")
        largest, now = (re.search(r"RX:\s+(\d+)", part) for part in rings)
        same = largest and now and largest[1] == now[1]
        found.add(
            f"rings{whose}",
            "pass" if same else "warn",
            f"rx {now[1] if now else '?'}",
            f"rx {largest[1] if largest else '?'}",
            "`tune` sets the largest",
        )
    except (Unavailable, ValueError):
        found.add(f"rings{whose}", "pass", "the driver has none to set")


def share_cores(cpulist: str, interrupts_there: int) -> tuple[list[str], str]:
    """Divide the cores of a NIC's node among its interrupts and the process: none waits for the other.

    Source: ESnet fasterdata, 100G tuning (interrupts and the program on cores of their own, of the NIC's socket).

    Returns:
        mask of the core of each interrupt, round and round; list of the cores for the process, empty where there are
        too few, or no interrupts.
    """
    siblings = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    near = numbers(cpulist)
    cores = [cpu for cpu in near if cpu == numbers(text(siblings.format(cpu), str(cpu)))[0]] or near
    if not interrupts_there or len(cores) < 2:
        return [mask(cpulist)] * interrupts_there, ""
    taken = cores[: min(interrupts_there, len(cores) // 2)]
    left = ",".join(str(cpu) for cpu in cores if cpu not in taken)
    return [cpu_mask(1 << taken[each % len(taken)]) for each in range(interrupts_there)], left


def numbers(cpulist: str) -> list[int]:
    """Processors of a list such as `0-3,8`."""
    found: list[int] = []
    for part in cpulist.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def mask(cpulist: str) -> str:
    """A list such as `0-3,8` as the hexadecimal mask of sysfs."""
    return cpu_mask(sum(1 << cpu for cpu in numbers(cpulist)))
