#!/usr/bin/env python3
"""OSPF, then BGP, of FRRouting (Debian: apt-get install frr) in a triangle of routers, when a link fails silently.

The link between r1 and r3 loses all packets from one moment on, but stays up, as behind a switch. So each router waits:
OSPF until it has heard no hello for 40 s (RFC 2328, RouterDeadInterval), BGP no message for 180 s (RFC 4271, Hold
Timer). Each knows how long it has left when the link fails. With OSPF the hosts are apart until the first router tells
the others, since a link of one direction is none; with BGP until the second one has gone the other way, over r2. The
longest time between two answers, of ten a second, tells how long that was.
"""

import itertools
import json
import re
import shutil
import sys

from mininet.net import Mininet
from mininet.node import Node

DAEMONS = "/usr/lib/frr"
OWN = ["/etc/frr", "/var/run/frr"]  # folders of its own for each router
BGP_HOLD_S = 180
SETTLED_S = 200  # after which all neighbours know each other
LAST = {"ospf": min, "bgp": max}  # the router that ends it: see above
MEASURED_S = {"ospf": 60, "bgp": 240}


def make_net() -> Mininet:
    """h1 - r1 - r3 - h3, and r2 beside both; the link of routers i and j is 10.i.j.0/24, that of a host 10.i.0.0/24."""
    net = Mininet(controller=None)
    routers = {i: net.addHost(f"r{i}", ip=None, privateDirs=OWN) for i in (1, 2, 3)}
    for i in (1, 3):
        host = net.addHost(f"h{i}", ip=f"10.{i}.0.2/24", defaultRoute=f"via 10.{i}.0.1")
        net.addLink(host, routers[i], params2={"ip": f"10.{i}.0.1/24"})
    for i, j in ((1, 2), (2, 3), (1, 3)):
        ends = {"params1": {"ip": f"10.{i}.{j}.{i}/24"}, "params2": {"ip": f"10.{i}.{j}.{j}/24"}}
        net.addLink(routers[i], routers[j], **ends)
    return net


def configuration(router: Node, protocol: str) -> str:
    """A router's, for its daemon."""
    i = int(router.name[1])
    if protocol == "ospf":
        links = [each.name for each in router.intfList() if each.link and "h" not in str(each.link)]
        lines = [f"interface {name}\n ip ospf network point-to-point" for name in links]
        return "\n".join([*lines, "router ospf", f" ospf router-id 10.0.0.{i}", " network 10.0.0.0/8 area 0", ""])
    lines = [f"router bgp {65000 + i}", " no bgp ebgp-requires-policy", f" network 10.{i}.0.0/24"]
    for j in {1, 2, 3} - {i}:
        lines.append(f" neighbor 10.{min(i, j)}.{max(i, j)}.{j} remote-as {65000 + j}")
    return "\n".join([*lines, ""])


def start_routing(router: Node, protocol: str) -> None:
    router.cmd("sysctl -w net.ipv4.ip_forward=1; touch /etc/frr/vtysh.conf /etc/frr/zebra.conf")
    router.cmd(f"cat > /etc/frr/routing.conf <<'END'\n{configuration(router, protocol)}END")
    router.cmd("chown -R frr:frr /etc/frr /var/run/frr")
    router.cmd(f"{DAEMONS}/zebra -d -f /etc/frr/zebra.conf; {DAEMONS}/{protocol}d -d -f /etc/frr/routing.conf")


def left_s(router: Node, other: int, protocol: str) -> float:
    """What a router has left of its timer for a neighbour."""
    if protocol == "ospf":
        told = json.loads(router.cmd("vtysh -c 'show ip ospf neighbor json'"))
        return told["neighbors"][f"10.0.0.{other}"][0]["deadTimeMsecs"] / 1e3
    told = json.loads(router.cmd(f"vtysh -c 'show bgp neighbors 10.1.3.{other} json'"))
    return BGP_HOLD_S - told[f"10.1.3.{other}"]["bgpTimerLastRead"] / 1e3


def measure(protocol: str) -> None:
    net = make_net()
    net.start()
    h1, h3, r1, r3 = (net[name] for name in ("h1", "h3", "r1", "r3"))
    for name in ("r1", "r2", "r3"):
        start_routing(net[name], protocol)
    h1.cmd(f"sleep {SETTLED_S}")
    seconds = MEASURED_S[protocol]
    pings = h1.popen(f"ping -D -i 0.1 -w {seconds} {h3.IP()}", shell=True)
    h1.cmd("sleep 5")
    expected_s = LAST[protocol](left_s(r1, 3, protocol), left_s(r3, 1, protocol))
    for router in (r1, r3):
        router.cmd(
            f"iptables -A INPUT -i {router.name}-eth2 -j DROP; iptables -A FORWARD -i {router.name}-eth2 -j DROP"
        )
    answers = [
        float(each) for each in re.findall(r"^\[([\d.]+)\] 64 bytes", pings.communicate()[0].decode(), re.MULTILINE)
    ]
    apart_s = max(after - before for before, after in itertools.pairwise(answers))
    print(f"{protocol.upper()}: apart for {apart_s:.1f} s, by its timers {expected_s:.1f} s")
    print(h1.cmd(f"traceroute -n {h3.IP()}").splitlines()[2].split()[1], "is now the second hop")
    net.stop()


if __name__ == "__main__":
    if not shutil.which(f"{DAEMONS}/ospfd"):
        sys.exit("routing.py: FRRouting is not here; install it: apt-get install frr")
    for each in sys.argv[1:] or MEASURED_S:
        measure(each)
