"""The NIC towards the peer: which it is, its link, and what is near it in the machine."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TypedDict

from ansible.module_utils.landspeed_findings import Findings, group_of, text
from ansible.module_utils.landspeed_host import Unavailable, cpu_mask, nic_errors, run

PCIE_GBPS = {"2.5": 2.0, "5.0": 4.0, "8.0": 7.88, "16.0": 15.75, "32.0": 31.5, "64.0": 60.5}  # a lane, after encoding


class Asked(TypedDict):
    """Requirements of a plan on a NIC."""

    interface: str
    numa_node: int
    peer: str
    mtu_bytes: int
    rate_bps: int


class Nic(TypedDict):
    """The interface towards the peer."""

    name: str
    errors: int
    driver: str
    numa_node: int
    cpulist: str
    cpumask: str
    rx_queues: list[str]
    tx_queues: list[str]
    irqs: list[str]
    governors: list[str]


def find_nic(found: Findings, wanted: Asked) -> Nic | None:
    """The NIC towards the peer; None where there is none, and the findings say so."""
    name = wanted["interface"]
    try:
        route = run("ip", "-o", "route", "get", wanted["peer"])
    except Unavailable as error:
        found.add("route", "fail", error, f"a route to {wanted['peer']}", "set the route to the peer")
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
    queues = sorted(str(path) for path in (device / "queues").iterdir()) if (device / "queues").is_dir() else []
    node = wanted["numa_node"]
    if node < 0:
        node = int(text(device / "device/numa_node", "-1"))
    cpus = text(f"/sys/devices/system/node/node{node}/cpulist") if node >= 0 else ""
    cpus = cpus or text("/sys/devices/system/cpu/online", "0")
    irqs = device / "device/msi_irqs"
    nic: Nic = {
        "name": name,
        "errors": nic_errors(device),
        "driver": (device / "device/driver").resolve().name if (device / "device/driver").exists() else "virtual",
        "numa_node": node,
        "cpulist": cpus,
        "cpumask": mask(cpus),
        "rx_queues": [path for path in queues if "/rx-" in path],
        "tx_queues": [path for path in queues if "/tx-" in path],
        "irqs": sorted((each.name for each in irqs.iterdir()), key=int) if irqs.is_dir() else [],
        "governors": sorted(
            str(path) for path in Path("/sys/devices/system/cpu").glob("cpu*/cpufreq/scaling_governor")
        ),
    }
    found.add("interface", "pass", f"{name}, {nic['driver']}, {len(nic['rx_queues'])} receive queues")
    return nic


def look_at_link(found: Findings, nic: Nic, wanted: Asked) -> None:
    """State, speed and MTU."""
    device = Path("/sys/class/net", nic["name"])
    state = text(device / "operstate")
    up = state in ("up", "unknown")
    found.add(
        "link",
        "pass" if up else "fail",
        state,
        "up",
        f"ip link set {nic['name']} up; look at cable and optics",
    )
    try:
        speed = int(text(device / "speed", "-1"))
    except ValueError:
        speed = -1
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


def look_at_hardware(found: Findings, nic: Nic, wanted: Asked) -> None:
    """PCIe, CPUs, rings."""
    device = Path("/sys/class/net", nic["name"], "device")
    width, speed = text(device / "current_link_width"), text(device / "current_link_speed")
    if width and speed:
        rate = PCIE_GBPS.get(speed.split()[0], 0.0) * int(width)
        enough = rate * 1e9 >= 1.1 * wanted["rate_bps"]
        remedy = "move the NIC to a wider or newer slot"
        found.add(
            "pcie",
            "pass" if enough else "warn",
            f"x{width} at {speed}: {rate:.0f} Gbit/s",
            f"{wanted['rate_bps'] / 1e9:g} Gbit/s and a tenth",
            remedy,
        )
    found.add("cpus", "pass", f"{os.cpu_count()}, of which near the NIC: {nic['cpulist']}")
    try:
        rings = run("ethtool", "-g", nic["name"]).split("Current hardware settings:")
        largest, now = (re.search(r"RX:\s+(\d+)", part) for part in rings)
        same = largest and now and largest[1] == now[1]
        found.add(
            "rings",
            "pass" if same else "warn",
            f"rx {now[1] if now else '?'}",
            f"rx {largest[1] if largest else '?'}",
            "`tune` sets the largest",
        )
    except (Unavailable, ValueError):
        found.add("rings", "pass", "the driver has none to set")


def mask(cpulist: str) -> str:
    """A list such as `0-3,8` as the hexadecimal mask of sysfs."""
    bits = 0
    for part in cpulist.split(","):
        first, _, last = part.partition("-")
        for cpu in range(int(first), int(last or first) + 1):
            bits |= 1 << cpu
    return cpu_mask(bits)
