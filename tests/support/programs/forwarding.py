"""Who of two hosts gets a router's packets, while what decides about them changes; prints a JSON object.

For any Linux, with root's rights and a network namespace of its own: makes four more (a and a router r, hosts b and c
that both have 10.9.0.9). Of each step: how many echoes of three b had, and c.
"""

import json
import subprocess

ECHOES = 3
PING = ("ping", "-n", "-c", str(ECHOES), "-i", "0.2", "-W", "0.2")
seen: dict[str, list[int]] = {}


def run(words: str, *, check: bool = True) -> str:
    return subprocess.run(words.split(), check=check, capture_output=True, text=True).stdout


def inside(node: str, words: str, *, check: bool = True) -> str:
    return run(f"ip netns exec {node} {words}", check=check)


def echoes(node: str) -> int:
    names, values = (line.split() for line in inside(node, "cat /proc/net/snmp").splitlines() if line[:5] == "Icmp:")
    return int(values[names.index("InEchos")])


def step(what: str, *options: str) -> None:
    """Three echoes from a; the first shows the way to the two others."""
    before = [echoes(node) for node in "bc"]
    inside("a", " ".join([*PING, *options, "10.9.0.9"]), check=False)
    seen[what] = [echoes(node) - count for node, count in zip("bc", before, strict=True)]


def link(node: str, number: int) -> None:
    """Join a host to the router; its own address is 10.NUMBER.0.2."""
    run(f"ip link add name to_{node} netns r type veth peer name eth0 netns {node}")
    inside(node, "ip link set lo up")
    for place, interface, last in ((node, "eth0", 2), ("r", f"to_{node}", 1)):
        inside(place, f"ip address add 10.{number}.0.{last}/24 dev {interface}")
        inside(place, f"ip link set {interface} up")
    inside(node, f"ip route add default via 10.{number}.0.1")


def router() -> None:
    run("ip netns add r")
    inside("r", "sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0")
    for number, node in enumerate("abc", start=1):
        link(node, number)


def to(node: str, more: str = "") -> None:
    inside("r", f"ip route replace 10.9.0.9 via 10.{'abc'.index(node) + 1}.0.2 {more}")


for each in "abc":
    run(f"ip netns add {each}")
router()
for each in "bc":
    inside(each, "ip address add 10.9.0.9/32 dev lo")
to("b")
step("first")
to("c")
step("another route")
to("b", "table 100")
for rule in ("from 10.1.0.2", "iif to_a", "tos 0x10", "ipproto icmp"):
    inside("r", f"ip rule add {rule} lookup 100")
    step(rule, *(("-Q", "0x10") if "tos" in rule else ()))
    if "tos" in rule:
        step("another tos")
    inside("r", f"ip rule delete {rule} lookup 100")
    step(f"no more {rule}")
inside("a", "ip address add 10.8.0.8/32 dev lo")  # nobody knows the way back: what a reverse-path filter drops
step("from nowhere", "-I", "10.8.0.8")
inside("r", "sysctl -qw net.ipv4.conf.to_a.rp_filter=1")
step("from nowhere, filtered", "-I", "10.8.0.8")
step("filtered")
inside("r", "sysctl -qw net.ipv4.conf.to_a.rp_filter=0")
inside("r", "ip address add 10.1.0.3/24 dev to_a")
inside("a", "ip address add 10.1.0.3/24 dev eth0")
step("from the router's own address", "-I", "10.1.0.3")
inside("r", "ip address delete 10.1.0.3/24 dev to_a")
step("no more its own", "-I", "10.1.0.3")
inside("r", "sysctl -qw net.ipv4.ip_forward=0")
step("no router")
inside("r", "sysctl -qw net.ipv4.ip_forward=1")
step("a router again")
inside("r", "ip link set to_c mtu 1000")
step("too large", "-s", "1200", "-M", "do")
inside("r", "ip link set to_c mtu 1500")
inside("r", "ip route replace blackhole 10.9.0.9")
step("a black hole")
to("c")
inside("r", "ip link set to_c down")
step("its link is down")
inside("r", "ip link set to_c up")
to("c")
step("its link is up")
inside("r", "ip address add 10.9.0.9/32 dev lo")
step("the router's own")
inside("r", "ip address delete 10.9.0.9/32 dev lo")
run("ip netns delete r")
while "eth0" in inside("c", "ip -o link"):
    pass
router()
to("b")
step("another router")
inside("r", "ip link delete to_b")
step("no interface")
for each in "abcr":
    run(f"ip netns delete {each}")
print(json.dumps(seen))
