"""Description of a net of Mininet once it has started, for the host: `net.json` of the run's folder.

The host makes words and a scenario of it (worlds/emu/script_net.py).
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

from landspeed.worlds.emu.guest.files import OUT
from landspeed.worlds.emu.guest.network import namespaces

TC = "/sbin/tc"


def tell_of(net: Any) -> None:
    """Write it, if the host wants to know; the last net that starts counts."""
    if "LANDSPEED_TELL" not in os.environ:
        return
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
                }
            )
        links.append({"ends": ends})
    told = {
        "hosts": [host.name for host in net.hosts],
        "switches": [each.name for each in net.switches],
        "links": links,
    }
    with open(f"{OUT}/net.json.partial", "w") as handle:  # noqa: PTH123
        json.dump(told, handle, indent=1)
    os.replace(f"{OUT}/net.json.partial", f"{OUT}/net.json")  # noqa: PTH105


def _qdiscs(node: Any) -> dict[str, Any]:
    """Queue disciplines of all interfaces of a node as tc(8) tells them; lines of their classes by interface."""
    with open(f"/proc/{node.pid}/ns/net", "rb") as handle, namespaces.inside(handle.fileno()):  # noqa: PTH123
        found: list[dict[str, Any]] = json.loads(_tc("-j", "qdisc", "show"))
        classful = sorted({each["dev"] for each in found if each["kind"] in ("htb", "hfsc")})
        return {"qdisc": found, "class": {name: _tc("class", "show", "dev", name).splitlines() for name in classful}}


def _tc(*words: str) -> str:
    return subprocess.run([TC, *words], capture_output=True, text=True, check=True).stdout
