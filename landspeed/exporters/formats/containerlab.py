"""A topology of containerlab: each node a container, its addresses, routes and qdiscs set when it starts."""

from __future__ import annotations

import re
from typing import Any

import yaml

from landspeed.base.version import __version__
from landspeed.exporters.addresses import TAKE_ANY_WAY, interfaces, routes
from landspeed.exporters.exporter import Exported, Exporter
from landspeed.exporters.stock_qdiscs import left_out, qdisc_lines

IMAGE = "nicolaka/netshoot"  # has tc, ethtool, iperf3 and ping
FIRST_DEVICE = 1  # eth0 is the management network's


def _write(exported: Exported) -> dict[str, str | bytes]:
    plan = exported.plan
    first = [TAKE_ANY_WAY] if any(flow.route_back for flow in plan.flows) else []
    setup: dict[str, list[str]] = {node.name: [*first] for node in plan.nodes}
    for node in plan.nodes:
        if node.kind == "router":
            setup[node.name].append("sysctl -q -w net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1")
    ends: dict[int, list[str]] = {}
    for each in interfaces(plan):
        device, link = f"eth{each.number + FIRST_DEVICE}", plan.links[each.link]
        ends.setdefault(each.link, []).append(f"{each.node}:{device}")
        setup[each.node] += [
            f"ip link set {device} mtu {link.mtu_bytes} up",
            f"ip address add {each.address} dev {device}",
            f"ethtool -K {device} tso off gso off gro off",
            *(f"tc qdisc add dev {device} {line}" for line in qdisc_lines(plan, link, forward=each.forward)),
        ]
    for name, entries in routes(plan).items():
        setup[name] += [f"ip route add {destination} via {gateway}" for destination, gateway in entries]
    topology: dict[str, Any] = {
        "name": re.sub(r"[^a-z0-9-]+", "-", exported.name.lower()),
        "topology": {
            "defaults": {"kind": "linux", "image": IMAGE},
            "nodes": {name: {"exec": commands} for name, commands in setup.items()},
            "links": [{"endpoints": pair} for pair in ends.values()],
        },
    }
    told = [f"# Left out: {each}.\n" for each in left_out(plan)]
    begin = f"# {plan.title or exported.name}: made by landspeed {__version__} from {plan.scenario_file}.\n"
    return {".clab.yml": begin + "".join(told) + yaml.safe_dump(topology, sort_keys=False, width=10_000)}


EXPORTER = Exporter(
    "containerlab", "a topology of containerlab", "plan", _write, "sudo containerlab deploy --topo FILE"
)
