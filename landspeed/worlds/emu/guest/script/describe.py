"""Description of a net of Mininet once it has started, for the host: `nets/NUMBER/net.json` of the run's folder.

The host makes words and a scenario of it (worlds/emu/script_net.py). Samples of its sockets and links come beside, if
they are asked for.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from typing import Any

from landspeed.worlds.emu.guest import clock
from landspeed.worlds.emu.guest.files import OUT
from landspeed.worlds.emu.guest.network import namespaces
from landspeed.worlds.emu.guest.spawn import SpawnedProgram

SAMPLERS = "/run/samplers"  # a file for each, named by its process
TC = "/sbin/tc"


def tell_of(net: Any) -> None:
    """Write it, if the host wants to know, and sample the net until `end_samples`."""
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


def end_samples(net: Any) -> None:
    """End the samples of a net, if it is sampled."""
    if program := net.__dict__.pop("landspeed_sampler", None):
        program.send_signal(signal.SIGTERM)
        program.wait()


def _sample(net: Any, folder: str) -> SpawnedProgram:
    """Begin the samples: each host's sockets, and both ends of each link (emu/linkwatch/sockwatch.c).

    If the script never stops the net, the guest ends them (run_script.py), by the file in `SAMPLERS`.
    """
    job: dict[str, Any] = json.loads(os.environ["LANDSPEED_SAMPLER"])
    interval_ns = job["interval_ns"]
    begin_ns = (clock.now_ns() // interval_ns + 1) * interval_ns
    words = [job["program"], str(interval_ns), str(job["double_after"]), str(begin_ns), folder]
    words += [_place(host) for host in net.hosts if host.inNamespace]
    words.append("--")
    for number, link in enumerate(net.links):
        for way, interface in enumerate((link.intf1, link.intf2)):
            if index := _index(interface):
                words.append(f"{number},{way},{_place(interface.node)},{index}")
    with open(f"{folder}/sampler.log", "wb") as log:  # noqa: PTH123
        program = SpawnedProgram(words, log.fileno())
    os.makedirs(SAMPLERS, exist_ok=True)  # noqa: PTH103
    open(f"{SAMPLERS}/{program.pid}", "w").close()  # noqa: PTH123
    return program


def _index(interface: Any) -> int | None:
    """Index of an interface in its node; None: it is none of the kernel's."""
    with open(_place(interface.node), "rb") as handle, namespaces.inside(handle.fileno()):  # noqa: PTH123
        try:
            return socket.if_nametoindex(interface.name)
        except OSError:
            return None


def _place(node: Any) -> str:
    return f"/proc/{node.pid}/ns/net"


def _qdiscs(node: Any) -> dict[str, Any]:
    """Queue disciplines of all interfaces of a node as tc(8) tells them; lines of their classes by interface."""
    with open(_place(node), "rb") as handle, namespaces.inside(handle.fileno()):  # noqa: PTH123
        found: list[dict[str, Any]] = json.loads(_tc("-j", "qdisc", "show"))
        classful = sorted({each["dev"] for each in found if each["kind"] in ("htb", "hfsc")})
        return {"qdisc": found, "class": {name: _tc("class", "show", "dev", name).splitlines() for name in classful}}


def _tc(*words: str) -> str:
    return subprocess.run([TC, *words], capture_output=True, text=True, check=True).stdout
