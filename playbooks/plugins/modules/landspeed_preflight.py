#!/usr/bin/python
"""Ansible module: what a host has and how the path to its peer is. Changes nothing."""

from __future__ import annotations

DOCUMENTATION = r"""
module: landspeed_preflight
short_description: Look at a host and at the path to its peer
description:
  - Reads kernel, NIC, memory, clock and present settings, and measures RTT, hops and path MTU to the peer.
  - Each finding is C(pass), C(warn) or C(fail), with what was found, what is wanted, and the remedy.
options:
  interface: {description: NIC of the path; the one of the route to the peer when empty., type: str, default: ""}
  numa_node: {description: That of the NIC; what the firmware says when negative., type: int, default: -1}
  peer: {description: Address of the other host on the path., type: str, required: true}
  mtu_bytes: {description: The plan's MTU., type: int, required: true}
  rtt_ms: {description: The plan's RTT; 0 when the path is not there yet., type: float, default: 0}
  rtt_tolerance: {description: Relative, 0 to 1., type: float, default: 0.01}
  rate_bps: {description: The plan's bottleneck rate., type: int, required: true}
  memory_bytes: {description: What all windows can take., type: int, required: true}
  congestion_control: {description: The plan's., type: str, required: true}
  clock:
    description: C(offset_s) and C(within_s) against the operator's machine, as M(landspeed_clock) finds them.
    type: dict
    default: {}
  libraries: {description: Shared libraries that the engine needs., type: list, elements: str, default: []}
  with_path: {description: Measure the path too., type: bool, default: true}
author: landspeed
"""
EXAMPLES = r"""
- name: Look at the host
  landspeed_preflight:
    peer: 192.0.2.2
    mtu_bytes: 9000
    rate_bps: 10000000000
    memory_bytes: 1000000000
    congestion_control: cubic
"""
RETURN = r"""
findings:
  description: A list of check, state, found, wanted, remedy.
  type: list
  returned: always
measured:
  description: RTT (least of some pings) and path MTU, as far as they were measured.
  type: dict
  returned: always
nic:
  description: The NIC with driver, queues, interrupts and the CPUs of its NUMA node.
  type: dict
  returned: always
"""

import contextlib  # noqa: E402
import platform  # noqa: E402
import re  # noqa: E402
from pathlib import Path  # noqa: E402

from ansible.module_utils.basic import AnsibleModule  # noqa: E402

from ..module_utils.landspeed_findings import Findings, group_of, text  # noqa: E402
from ..module_utils.landspeed_host import Unavailable, run  # noqa: E402
from ..module_utils.landspeed_packages import how_to_install  # noqa: E402
from ..module_utils.landspeed_preflight_machine import look_at_machine  # noqa: E402
from ..module_utils.landspeed_preflight_nic import Asked, Nic, find_nic, look_at_hardware, look_at_link  # noqa: E402
from ..module_utils.landspeed_tracking import tracking  # noqa: E402

OLDEST_KERNEL = (5, 10)
OTHER_CONTROL = "wish for one of these (transfer.congestion_control in the scenario, or the role's own variable)"
CLOCK_MOST_S = 1.0  # against the operator's machine: by more the two ends' timelines cannot be read side by side
PINGS = 10
MORE_PINGS = 2  # rounds of as many
LEAST = r"= ([\d.]+)/"  # of the times that ping sums up


class Wanted(Asked):
    """The module's parameters."""

    rtt_ms: float
    rtt_tolerance: float
    memory_bytes: int
    congestion_control: str
    clock: dict[str, float]
    libraries: list[str]
    with_path: bool


class Examination(Findings):
    """All findings about one host."""

    def __init__(self, wanted: Wanted) -> None:
        """`wanted` are the module's parameters."""
        super().__init__()
        self.wanted = wanted
        self.nic: Nic | None = None
        self.measured: dict[str, float] = {}

    def examine(self) -> None:
        """All of it."""
        self.kernel()
        self.tools()
        self.libraries()
        self.nic = find_nic(self, self.wanted)
        if self.nic:
            look_at_link(self, self.nic, self.wanted)
            look_at_hardware(self, self.nic, self.wanted)
            look_at_machine(self, self.nic)
        self.memory()
        self.clock()
        self.congestion_control()
        self.settings()
        if self.nic and self.wanted["with_path"]:
            self.path(self.nic["name"])

    def kernel(self) -> None:
        """Release."""
        release = platform.release()
        version = tuple(int(part) for part in re.findall(r"\d+", release)[:2])
        state = "pass" if version >= OLDEST_KERNEL else "warn"
        self.add("kernel", state, release, "5.10 or newer", "install a newer kernel of the distribution")

    def tools(self) -> None:
        """Programs that the plays use."""
        folders = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"]
        programs = ("ip", "tc", "ethtool", "ping", "nft")
        missing = [name for name in programs if not any(Path(folder, name).exists() for folder in folders)]
        found = f"missing: {', '.join(missing)}" if missing else "all"
        self.add("tools", "fail" if missing else "pass", found, ", ".join(programs), how_to_install(*missing))

    def libraries(self) -> None:
        """Check the libraries that the engine is linked with."""
        try:
            there = run("/sbin/ldconfig", "-p")
        except Unavailable as error:
            self.add("libraries", "warn", error)
            return
        missing = [name for name in self.wanted["libraries"] if f"{name} " not in there]
        found = f"missing: {', '.join(missing)}" if missing else "all"
        remedy = how_to_install(*missing)
        self.add("libraries", "fail" if missing else "pass", found, "what the engine is linked with", remedy)

    def memory(self) -> None:
        """Room for the windows."""
        available = int(group_of(r"MemAvailable:\s+(\d+)", text("/proc/meminfo"))) * 1024
        enough = available >= self.wanted["memory_bytes"]
        remedy = "free memory on this host, or plan fewer or smaller windows (transfer.streams, transfer.window)"
        self.add(
            "memory",
            "pass" if enough else "fail",
            f"{available / 1e9:.2f} GB available",
            f"{self.wanted['memory_bytes'] / 1e9:.2f} GB for the windows",
            remedy,
        )

    def clock(self) -> None:
        """Check what keeps the clock, and how far it is from the operator's machine by the midpoint of round trips."""
        kept, against = tracking(), self.wanted["clock"]
        found = f"kept by {kept[0]}, at most {kept[1] * 1e3:.3g} ms off" if kept else "kept by nothing"
        state = "pass" if kept else "warn"
        if against:
            found = (
                f"{against['offset_s']:+.3f} s ± {against['within_s']:.3f} s against the operator's machine, {found}"
            )
            if abs(against["offset_s"]) > CLOCK_MOST_S + against["within_s"]:
                state = "fail"
        remedy = f"set up time synchronisation here and there ({how_to_install('chronyc')}); timelines depend on it"
        self.add("clock", state, found, f"kept by chrony, PTP or NTP, within {CLOCK_MOST_S:g} s", remedy)

    def congestion_control(self) -> None:
        """Check that the plan's congestion control is there or can be loaded, and in a container that it is allowed."""
        wanted = self.wanted["congestion_control"]
        allowed = text("/proc/sys/net/ipv4/tcp_allowed_congestion_control").split()
        # Only the machine's own network has this file; elsewhere root may choose what is allowed, and nothing else.
        if wanted not in allowed and not Path("/proc/sys/net/core/netdev_max_backlog").exists():
            remedy = f"add {wanted} to net.ipv4.tcp_allowed_congestion_control of this container's machine, or "
            remedy += OTHER_CONTROL
            self.add("congestion control", "fail", f"allowed here: {', '.join(allowed)}", wanted, remedy)
            return
        there = text("/proc/sys/net/ipv4/tcp_available_congestion_control").split()
        state = "pass" if wanted in there else "fail"
        if state == "fail":
            try:
                run("modprobe", "--dry-run", f"tcp_{wanted}")
                state = "warn"
            except Unavailable:
                pass
        remedy = "`tune` loads its module" if state == "warn" else f"a kernel with {wanted}, or {OTHER_CONTROL}"
        self.add("congestion control", state, ", ".join(there), wanted, remedy)

    def settings(self) -> None:
        """Check the TCP options for a long path (RFC 7323 window scaling and timestamps, RFC 2018 SACK)."""
        off = [
            name
            for name in ("tcp_window_scaling", "tcp_timestamps", "tcp_sack")
            if text(f"/proc/sys/net/ipv4/{name}", "1") == "0"
        ]
        self.add(
            "tcp options",
            "warn" if off else "pass",
            f"off: {', '.join(off)}" if off else "all on",
            "all on",
            "`tune` switches them on",
        )

    def pings(self, interface: str, peer: str) -> tuple[str, float]:
        """Ping the peer, and again, twice at most, while the least RTT is too long: who stands still answers late.

        Returns:
            what the first pings say, and the least RTT in ms of all.

        Raises:
            Unavailable: no answer came to the first.
        """
        words = ("ping", "-n", "-c", str(PINGS), "-i", "0.2", "-W", "3", "-I", interface, peer)
        answer = run(*words)
        least = float(group_of(LEAST, answer))
        most = self.wanted["rtt_ms"] * (1 + self.wanted["rtt_tolerance"])
        for _ in range(MORE_PINGS if most else 0):
            if least <= most:
                break
            with contextlib.suppress(Unavailable):
                least = min(least, float(group_of(LEAST, run(*words))))
        return answer, least

    def path(self, interface: str) -> None:
        """RTT, hops and don't-fragment pings to the peer."""
        peer, mtu = self.wanted["peer"], self.wanted["mtu_bytes"]
        try:
            answer, rtt = self.pings(interface, peer)
        except Unavailable as error:
            self.add(
                "path",
                "fail",
                f"no answer to ping from {peer} ({str(error).splitlines()[-1]})",
                "an answer",
                "routes, cables, firewall; a path that is to be shaped: is the shaper up?",
            )
            return
        self.measured["rtt_ms"] = rtt
        lost = group_of(r"([\d.]+)% packet loss", answer)
        self.add(
            "loss",
            "pass" if float(lost) == 0 else "warn",
            f"{lost} % of {PINGS} pings",
            "0 %",
            "a loss on a long path costs minutes of growth: find it before the attempt",
        )
        if wanted := self.wanted["rtt_ms"]:
            off = abs(rtt / wanted - 1)
            good = off <= self.wanted["rtt_tolerance"]
            remedy = "rehearse with the RTT that the path has (path: one_way_delay), or find out which way it goes"
            self.add(
                "rtt",
                "pass" if good else "fail",
                f"{rtt:.3f} ms",
                f"{wanted:.3f} ms ± {self.wanted['rtt_tolerance']:.1%}",
                remedy,
            )
        else:
            self.add("rtt", "pass", f"{rtt:.3f} ms", "not shaped yet")
        if ttl := re.search(r"ttl=(\d+)", answer):
            start = min(each for each in (64, 128, 255) if each >= int(ttl[1]))
            self.add("hops", "pass", f"{start - int(ttl[1])} routers on the way back from {peer}")
        version = 48 if ":" in peer else 28
        try:
            run("ping", "-n", "-q", "-M", "do", "-c", "4", "-i", "0.2", "-W", "3", "-s", str(mtu - version), peer)
            self.add("path mtu", "pass", f"{mtu} B", f"{mtu} B")
            self.measured["path_mtu_bytes"] = mtu
        except Unavailable as error:
            known = re.search(r"mtu ?= ?(\d+)", str(error))
            known = known or re.search(r" mtu (\d+)", run("ip", "route", "get", peer))
            found = f"at most {known[1]} B" if known else f"{mtu} B do not pass"
            state = "fail" if int(text(f"/sys/class/net/{interface}/mtu", "0")) >= mtu else "warn"
            remedy = (
                f"a hop to {peer} takes no {mtu} B packets: raise its MTU (this host forgets the old one with "
                "`ip route flush cache`), or set mtu in the scenario"
                if state == "fail"
                else "`tune` raises this host's own first"
            )
            self.add("path mtu", state, found, f"{mtu} B", remedy)


def main() -> None:
    """Entry."""
    module = AnsibleModule(
        argument_spec={
            "interface": {"type": "str", "default": ""},
            "numa_node": {"type": "int", "default": -1},
            "peer": {"type": "str", "required": True},
            "mtu_bytes": {"type": "int", "required": True},
            "rtt_ms": {"type": "float", "default": 0.0},
            "rtt_tolerance": {"type": "float", "default": 0.01},
            "rate_bps": {"type": "int", "required": True},
            "memory_bytes": {"type": "int", "required": True},
            "congestion_control": {"type": "str", "required": True},
            "clock": {"type": "dict", "default": {}},
            "libraries": {"type": "list", "elements": "str", "default": []},
            "with_path": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    examination = Examination(module.params)
    try:
        examination.examine()
    except (OSError, Unavailable) as error:
        module.fail_json(msg=f"preflight broke: {error}", findings=examination.findings)
    module.exit_json(
        changed=False, findings=examination.findings, nic=examination.nic or {}, measured=examination.measured
    )


if __name__ == "__main__":
    main()
