"""A Mininet script: every node, link and qdisc of the plan, on any Linux with Mininet."""

from __future__ import annotations

from landspeed.base.version import __version__
from landspeed.exporters.addresses import TAKE_ANY_WAY, interfaces, own_address, routes
from landspeed.exporters.exporter import Exported, Exporter
from landspeed.exporters.stock_qdiscs import left_out, qdisc_lines

SCRIPT = '''\
#!/usr/bin/env python3
"""{title}

Made by landspeed {version} from {file}. Run it as root, with Mininet: it builds the network and opens a prompt, or
runs a command on a node: {name}.py NODE COMMAND…{left_out}
"""

import sys

from mininet.cli import CLI
from mininet.net import Mininet
from mininet.node import Node

HOSTS = {hosts}
ROUTERS = {routers}
# node, node, MTU
LINKS = [
{links}]
# device → its address, and the arguments of `tc qdisc add dev DEVICE`
DEVICES = {{
{devices}}}
# node → destinations and next addresses
ROUTES = {{
{routes}}}


def build():
    net = Mininet(controller=None)
    for name in (*HOSTS, *ROUTERS):
        net.addHost(name, cls=Node, ip=None)
    for a, b, mtu in LINKS:
        link = net.addLink(net[a], net[b])
        for end in (link.intf1, link.intf2):
            address, qdiscs = DEVICES[end.name]
            end.node.cmd(f"ip link set {{end.name}} mtu {{mtu}} up && ip address add {{address}} dev {{end.name}}")
            end.node.cmd(f"ethtool -K {{end.name}} tso off gso off gro off")  # qdiscs see single packets
            for qdisc in qdiscs:
                answer = end.node.cmd(f"tc qdisc add dev {{end.name}} {{qdisc}}")
                if answer.strip():
                    raise SystemExit(f"{{end.name}}: tc: {{answer.strip()}}")
    for name in ROUTERS:
        net[name].cmd("sysctl -q -w net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1")
{any_way}    for name, entries in ROUTES.items():
        for destination, gateway in entries:
            net[name].cmd(f"ip route add {{destination}} via {{gateway}}")
    return net


def main():
    net = build()
    try:
        if len(sys.argv) > 2:
            node = net[sys.argv[1]]
            node.sendCmd(*sys.argv[2:])
            while node.waiting:
                print(node.monitor(), end="", flush=True)
            return int(node.cmd("echo $?"))
        print({addresses!r})
        CLI(net)
    finally:
        net.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
'''

ANY_WAY = f"""\
    for node in net.hosts:
        node.cmd({TAKE_ANY_WAY!r})
"""


def _write(exported: Exported) -> dict[str, str | bytes]:
    plan = exported.plan
    hosts = [node.name for node in plan.nodes if node.kind == "host"]
    devices = [
        (
            f"{each.node}-eth{each.number}",
            (each.address, qdisc_lines(plan, plan.links[each.link], forward=each.forward)),
        )
        for each in interfaces(plan)
    ]
    missing = left_out(plan)
    text = SCRIPT.format(
        title=(plan.title or exported.name).replace('"""', "'''").replace("\\", "/"),
        version=__version__,
        file=plan.scenario_file.replace("\\", "/"),
        name=exported.name,
        left_out=f"\nLeft out: {'; '.join(missing)}." if missing else "",
        hosts=hosts,
        routers=[node.name for node in plan.nodes if node.kind == "router"],
        links="".join(f"    {(link.a, link.b, link.mtu_bytes)!r},\n" for link in plan.links),
        devices="".join(f"    {name!r}: {entry!r},\n" for name, entry in devices),
        routes="".join(f"    {name!r}: {entries!r},\n" for name, entries in routes(plan).items() if entries),
        any_way=ANY_WAY if any(flow.route_back for flow in plan.flows) else "",
        addresses=", ".join(f"{host} {own_address(plan, host)}" for host in hosts),
    )
    return {".py": text}


EXPORTER = Exporter("mininet", "a Mininet script with every node, link and queue", "plan", _write, "sudo python3 FILE")
