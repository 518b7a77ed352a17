"""Look at a host's NICs and its heat at a moment: counters, optics, FEC, pause frames."""

from __future__ import annotations

import contextlib
import re
import subprocess
import time
from pathlib import Path
from typing import TypedDict

SYS = Path("/sys")
KINDS = (
    ("fec uncorrectable", r"fec.*(uncorr|_err)|uncorrectable|pcs_.*uncorr"),
    ("fec corrected", r"fec.*corr|corrected_(blocks|bits|symbols)"),
    ("pause", r"pause"),
    ("drop", r"drop|discard|miss|no_?buf|out_of_buffer|fifo|over_?run|nodesc"),
    ("error", r"crc|fcs|symbol|align|jabber|frag|frame_err|length_err|carrier|illegal|(rx|tx)_err|errors$"),
)
"""A word of a counter's name → what it counts; the first that fits. Drivers name them as they like (ethtool(8))."""


class Module(TypedDict, total=False):
    """Account that an optical module gives of itself; a power for each lane."""

    celsius: float
    receive_dbm: list[float]
    transmit_dbm: list[float]
    alarms: list[str]
    warnings: list[str]


class Nic(TypedDict, total=False):
    """A NIC at a moment; `fec` and `pause` as ethtool shows their settings."""

    up: bool
    rx_bytes: int
    tx_bytes: int
    rx_packets: int
    tx_packets: int
    counters: dict[str, dict[str, int]]  # by what they count, then by name
    optics: Module
    fec: str
    pause: str


class Look(TypedDict):
    """The host at a moment."""

    unix_s: float
    heat_celsius: float | None
    nics: dict[str, Nic]


def told(*words: str) -> str:
    """Output of a command; empty when it is not there or fails, as most do on a virtual NIC."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def number_in(path: Path) -> float | None:
    """The number in a pseudo file; None: it has none."""
    try:
        return float(path.read_text())
    except (OSError, ValueError):
        return None


def kind_of(counter: str) -> str:
    """Kind of a counter, by its name; empty: nothing of interest."""
    return next((kind for kind, pattern in KINDS if re.search(pattern, counter.lower())), "")


def counters(device: str) -> dict[str, dict[str, int]]:
    """Counters of a NIC that tell of trouble: the kernel's, ethtool's, those of pause frames and of FEC.

    Returns:
        what they count (`KINDS`) → name → value.
    """
    found: dict[str, dict[str, int]] = {kind: {} for kind, _ in KINDS}
    for file in sorted((SYS / "class/net" / device / "statistics").glob("*")):
        value, kind = number_in(file), kind_of(file.name)
        if value is not None and kind:
            found[kind][file.name] = int(value)
    sources = {"": ("-S", device), "pause ": ("-I", "-a", device), "fec ": ("-I", "--show-fec", device)}
    for source, words in sources.items():
        for name, value in re.findall(r"^\s*([\w.\[\] -]+?): (\d+)$", told("ethtool", *words), re.MULTILINE):
            if kind := kind_of(source + name):
                found[kind][f"ethtool {source}{name}"] = int(value)
    return found


def optics(device: str) -> Module:
    """Account that a NIC's optical module gives of itself (ethtool -m); empty: it has none."""
    lines: list[tuple[str, str]] = re.findall(r"^\s*(.+?)\s*: (.*)$", told("ethtool", "-m", device), re.MULTILINE)
    found: Module = {"alarms": [], "warnings": [], "receive_dbm": [], "transmit_dbm": []}
    for name, value in lines:
        if value.strip() == "On" and "alarm" in name:
            found["alarms"].append(name)
        elif value.strip() == "On" and "warning" in name:
            found["warnings"].append(name)
        elif "threshold" in name:
            continue
        elif power := re.search(r"(-?\d+\.\d+) dBm", value):
            received = re.search(r"rcvr|receive", name.lower())
            found["receive_dbm" if received else "transmit_dbm"].append(float(power[1]))
        elif name == "Module temperature" and (heat := re.match(r"(-?\d+\.\d+) degrees C", value)):
            found["celsius"] = float(heat[1])
    return found if lines else {}


def heat_celsius() -> float | None:
    """The hottest sensor of the host; None: it has none."""
    places = [*SYS.glob("class/hwmon/hwmon*/temp*_input"), *SYS.glob("class/thermal/thermal_zone*/temp")]
    found = [value / 1000 for place in places if (value := number_in(place)) is not None]
    return max(found, default=None)


def look(cards: list[str], *, module: bool) -> Look:
    """The host's NICs and heat now.

    Args:
        cards: names of the NICs.
        module: ask their optical modules, too, which takes tenths of a second.
    """
    found: Look = {"unix_s": time.time(), "heat_celsius": heat_celsius(), "nics": {}}
    for device in cards:
        place = SYS / "class/net" / device
        with contextlib.suppress(OSError):
            nic: Nic = {
                "up": (place / "operstate").read_text().strip() in ("up", "unknown"),
                "counters": counters(device),
                "rx_bytes": int(number_in(place / "statistics/rx_bytes") or 0),
                "tx_bytes": int(number_in(place / "statistics/tx_bytes") or 0),
                "rx_packets": int(number_in(place / "statistics/rx_packets") or 0),
                "tx_packets": int(number_in(place / "statistics/tx_packets") or 0),
            }
            if module:
                nic["optics"] = optics(device)
                nic["fec"] = told("ethtool", "--show-fec", device).strip()
                nic["pause"] = told("ethtool", "-a", device).strip()
            found["nics"][device] = nic
    return found
