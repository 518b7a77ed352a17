"""Description of a net of Mininet once it has started, for the host: `nets/NUMBER/net.json` of the run's folder.

The host makes words and a scenario of it (worlds/emu/script_net.py). Samples of its sockets and links come beside, if
they are asked for.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import json
import os
import socket
import struct
import subprocess
from typing import Any

from landspeed.worlds.emu.guest import clock
from landspeed.worlds.emu.guest.files import OUT
from landspeed.worlds.emu.guest.script import beside
from landspeed.worlds.emu.guest.script.evidence import Evidence
from landspeed.worlds.emu.guest.spawn import SpawnedProgram

TC = "/sbin/tc"
CLASSFUL, INCOMING = ("htb", "hfsc"), ("ingress", "clsact")  # queue disciplines with classes; those with a policer
SIOCETHTOOL, ETHTOOL_GTSO = 0x8946, 0x1E  # of <linux/sockios.h>, <linux/ethtool.h>


def tell_of(net: Any) -> None:
    """Write it, if the host wants to know; sample the net and gather its evidence until `end_watching`."""
    if "LANDSPEED_TELL" not in os.environ:
        return
    os.makedirs(f"{OUT}/nets", exist_ok=True)  # noqa: PTH103
    folder = f"{OUT}/nets/{len(os.listdir(f'{OUT}/nets'))}"  # noqa: PTH208
    os.mkdir(folder)  # noqa: PTH102
    read: dict[str, dict[str, Any]] = {}
    links: list[dict[str, Any]] = []
    for link in net.links:
        ends: list[dict[str, Any]] = []
        for interface in (link.intf1, link.intf2):
            node = interface.node
            if node.name not in read:
                read[node.name] = _qdiscs(node)
            queueing = read[node.name]
            ends.append(
                {
                    "node": node.name,
                    "interface": interface.name,
                    "qdiscs": [each for each in queueing["qdisc"] if each["dev"] == interface.name],
                    "classes": queueing["class"].get(interface.name, []),
                    "filters": queueing["filter"].get(interface.name, []),
                    "tso": interface.name in queueing["tso"],
                }
            )
        links.append({"ends": ends})
    told = {
        "sampled": [host.name for host in net.hosts if host.inNamespace],
        "hosts": [host.name for host in net.hosts],
        "switches": [each.name for each in net.switches],
        "links": links,
    }
    with open(f"{folder}/net.json", "w") as handle:  # noqa: PTH123
        json.dump(told, handle, indent=1)
    if "LANDSPEED_SAMPLER" in os.environ:
        net.landspeed_sampler = _sample(net, folder)
    if captures := os.environ.get("LANDSPEED_EVIDENCE"):
        net.landspeed_evidence = Evidence(net, folder, whole=captures == "full")


def end_watching(net: Any) -> None:
    """End the samples and the evidence of a net, if it has any."""
    if program := net.__dict__.pop("landspeed_sampler", None):
        beside.end(program)
    if evidence := net.__dict__.pop("landspeed_evidence", None):
        evidence.end()


def _sample(net: Any, folder: str) -> SpawnedProgram:
    """Begin the samples: each host's sockets, and both ends of each link (emu/linkwatch/sockwatch.c)."""
    job: dict[str, Any] = json.loads(os.environ["LANDSPEED_SAMPLER"])
    interval_ns = job["interval_ns"]
    begin_ns = (clock.now_ns() // interval_ns + 1) * interval_ns
    words = [job["program"], str(interval_ns), str(job["double_after"]), str(begin_ns), folder]
    words += [beside.place_of(host) for host in net.hosts if host.inNamespace]
    words.append("--")
    for number, link in enumerate(net.links):
        for way, interface in enumerate((link.intf1, link.intf2)):
            if index := _index(interface):
                words.append(f"{number},{way},{beside.place_of(interface.node)},{index}")
    return beside.begin(words, f"{folder}/sampler.log")


def _index(interface: Any) -> int | None:
    """Index of an interface in its node; None: it is none of the kernel's."""
    with beside.inside_node(interface.node):
        try:
            return socket.if_nametoindex(interface.name)
        except OSError:
            return None


def _qdiscs(node: Any) -> dict[str, Any]:
    """Queue disciplines of all interfaces of a node as tc(8) tells them; lines of their classes by interface."""
    with beside.inside_node(node):
        found: list[dict[str, Any]] = json.loads(_tc("-j", "qdisc", "show"))
        devices = {
            kind: sorted({each["dev"] for each in found if each["kind"] in kind}) for kind in (CLASSFUL, INCOMING)
        }
        return {
            "qdisc": found,
            "class": {name: _tc("class", "show", "dev", name).splitlines() for name in devices[CLASSFUL]},
            "filter": {name: _tc("filter", "show", "dev", name, "ingress").splitlines() for name in devices[INCOMING]},
            "tso": [name for _, name in socket.if_nameindex() if _takes_super_packets(name)],
        }


def _takes_super_packets(interface: str) -> bool:
    """ETHTOOL_GTSO of ethtool(8), here."""
    value = array.array("I", (ETHTOOL_GTSO, 0))
    request = struct.pack("16sP16x", interface.encode(), value.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle, contextlib.suppress(OSError):
        fcntl.ioctl(handle, SIOCETHTOOL, request)
    return value[1] != 0


def _tc(*words: str) -> str:
    return subprocess.run([TC, *words], capture_output=True, text=True, check=True).stdout
