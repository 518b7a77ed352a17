"""Preflight's machine: what of processors, firmware and services takes speed from a transfer."""

from __future__ import annotations

import contextlib
from pathlib import Path

from .landspeed_findings import Findings, text
from .landspeed_host import Unavailable, run
from .landspeed_preflight_nic import Nic

CPU = "/sys/devices/system/cpu"
DEEP_US = 100  # a processor that takes longer to wake is late for a packet train at 10 Gbit/s


def look_at_machine(found: Findings, nic: Nic) -> None:
    """SMT, IOMMU, C-states, governor, irqbalance, pause frames, connection tracking."""
    smt = text(f"{CPU}/smt/active", "0") == "1"
    found.add(
        "smt",
        "warn" if smt else "pass",
        "on: two threads share a core" if smt else "off",
        "off",
        f"`nosmt` for the kernel, or `echo off >{CPU}/smt/control` (ESnet fasterdata, 100G tuning)",
    )
    governors = {text(each) for each in nic["governors"]}
    found.add(
        "governor",
        "pass" if governors <= {"performance"} else "warn",
        ", ".join(sorted(governors)) or "none: the machine's own, or the hypervisor's",
        "performance",
        "`tune` sets it (ESnet fasterdata, 100G tuning)",
    )
    _look_at_idle(found)
    for card in nic["cards"]:
        _look_at_card(found, card, f" of {card}" if len(nic["cards"]) > 1 else "")
    with contextlib.suppress(Unavailable):
        active = "ActiveState=active" in run("systemctl", "show", "--property=ActiveState", "irqbalance.service")
        found.add(
            "irqbalance",
            "warn" if active and nic["irqs"] else "pass",
            "active: it moves interrupts off their cores" if active else "not active",
            "not active",
            "`tune` stops it (ESnet fasterdata, interrupt binding)",
        )
    tracked = Path("/proc/sys/net/netfilter/nf_conntrack_count").exists()
    found.add(
        "connection tracking",
        "warn" if tracked else "pass",
        "each packet is looked up" if tracked else "off",
        "off for the transfer",
        "tune_notrack, if the host's firewall lets packets without a state pass (nft(8), notrack)",
    )


def _look_at_idle(found: Findings) -> None:
    """Idle states that a processor may enter: the slowest one to leave counts."""
    states = sorted(Path(CPU).glob("cpu0/cpuidle/state*"))
    usable = [each for each in states if text(each / "disable", "0") == "0"]
    slowest_us = max((int(text(each / "latency", "0")) for each in usable), default=0)
    found.add(
        "c-states",
        "warn" if slowest_us > DEEP_US else "pass",
        f"up to {slowest_us} µs to wake" if usable else "none",
        f"at most {DEEP_US} µs",
        f"`cpupower idle-set --disable-by-latency {DEEP_US}`, or tuned's network-latency (admin-guide/pm/cpuidle.rst)",
    )


def _look_at_card(found: Findings, card: str, whose: str) -> None:
    """IOMMU and pause frames of a NIC."""
    device = Path("/sys/class/net", card, "device")
    if not device.exists():
        return
    kind = text(device / "iommu_group/type")
    found.add(
        f"iommu{whose}",
        "pass" if kind == "identity" else "warn",
        kind or "off",
        "on, and the NIC's memory not translated (identity)",
        "on in the firmware, and `iommu=pt` for the kernel (ESnet fasterdata, 100G tuning; kernel-parameters.txt)",
    )
    try:
        pause = [line.split() for line in run("ethtool", "-a", card).splitlines() if line.startswith(("RX:", "TX:"))]
    except Unavailable:
        return
    on = all(words[1:] == ["on"] for words in pause)
    found.add(
        f"pause frames{whose}",
        "pass" if on else "warn",
        ", ".join(" ".join(words).lower().replace(":", "") for words in pause),
        "rx on, tx on",
        "`tune` sets them; the switch's port needs them, too (ESnet fasterdata, flow control)",
    )
