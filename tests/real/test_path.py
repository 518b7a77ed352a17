"""The chain that the role `shape` builds in a box: one link or several, IPv4 and IPv6, gone without a trace.

In namespaces of this machine, whose kernel may have no netem: the links have no qdiscs here, the lab's have.
"""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.root
PLAYBOOKS = Path(__file__).resolve().parents[2] / "playbooks"
SCRIPT = """
import importlib.util, re, subprocess, sys, time
from types import SimpleNamespace

def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

playbooks, version, number = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for name in ("host", "kinds_nic", "kinds", "state"):
    load("ansible.module_utils.landspeed_" + name, playbooks + "/plugins/module_utils/landspeed_" + name + ".py")
kinds = sys.modules["ansible.module_utils.landspeed_kinds"]
path = load("ansible.modules.landspeed_path", playbooks + "/plugins/modules/landspeed_path.py")

def sh(text):
    return subprocess.run(text, shell=True, check=True, capture_output=True, text=True).stdout

def wait_until(condition, what):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, what()
        time.sleep(0.05)

def world():
    shown = "ip -o link; ip -o addr; ip netns; ip -4 rule; ip -6 rule; ip -4 route; ip -6 route"
    return re.sub(r"valid_lft|state \\w+|\\d+sec|tentative |\\(id: \\d+\\)", "", sh(shown))

net, width = ("10.99.%d.", 24) if version == 4 else ("fd99:%d::", 64)
sh("mount -t tmpfs tmpfs /run; mount -t sysfs sysfs /sys; ip link set lo up; echo 1 >/proc/sys/net/ipv4/ip_forward")
sh("echo 1 >/proc/sys/net/ipv4/conf/all/rp_filter; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding")
for side, name in ((1, "alpha"), (2, "omega")):
    own, box = net % side + "2", net % side + "1"
    nodad = "nodad" if version == 6 else ""
    sh(f"ip netns add {name}; ip link add to-{name} type veth peer name data netns {name}; ip link set to-{name} up")
    sh(f"ip addr add {box}/{width} dev to-{name} {nodad}; ip -n {name} link set data up")
    sh(f"ip -n {name} addr add {own}/{width} dev data {nodad}; ip -n {name} -{version} route add default via {box}")
# The kernel gives each port its own address in its own time.
wait_until(lambda: sh("ip -6 route").count("fe80::") == 2, world)
before = world()
links = [{"mtu_bytes": 1400 + each, "rtt_ms": 1.0, "forward": [], "reverse": []} for each in range(number)]
ends = {"sender": net % 1 + "2", "receiver": net % 2 + "2"}
chain = path.Chain({"to_sender": "to-alpha", "to_receiver": "to-omega", "links": links, **ends})
sh("echo 2 >/proc/sys/net/ipv4/conf/all/rp_filter")  # as the role sets it
assert "missing" in chain.shown()[0]
chain.build()
shown = chain.shown()
assert not any("missing" in line for line in shown), shown
for host, peer in (("alpha", ends["receiver"]), ("omega", ends["sender"])):
    answer = sh(f"ip netns exec {host} ping -n -c 2 -i 0.2 -W 5 {peer}")
    # Into the box, through each router between two links, and out of the box.
    assert re.search(rf"ttl={64 - (number + 1)}\\b", answer), answer
    # The first link has the smallest MTU.
    size = 1400 - (28 if version == 4 else 48)
    sh(f"ip netns exec {host} ping -n -M do -s {size} -c 1 -W 5 {peer}")
    too_large = f"ip netns exec {host} ping -n -M do -s {size + 1} -c 1 -W 1 {peer}"
    assert subprocess.run(too_large, shell=True, capture_output=True).returncode
hops = chain.hops()
for host, role, peer, along in (("alpha", "sender", "receiver", hops), ("omega", "receiver", "sender", hops[::-1])):
    for number_of, hop in enumerate(along, start=2):  # the box itself is the first
        ping = f"ip netns exec {host} ping -n -c 1 -W 5 -t {number_of} {ends[peer]}"
        answer = subprocess.run(ping, shell=True, capture_output=True, text=True).stdout
        assert f"From {hop[role]['address']} " in answer, answer
assert all(kinds.KINDS[kind].read(name) for kind, name in chain.entries())
for kind, name in reversed(chain.entries()):
    kinds.KINDS[kind].write(name, False)
wait_until(lambda: world() == before, world)  # devices of a namespace that is gone are removed later
assert chain.hops() == [] or chain.hops()[0]["sender"]["rtt_ms"] == 1.0
print("the chain held")
"""


@pytest.mark.parametrize(("version", "links"), [(4, 1), (4, 2), (4, 5), (6, 3)])
def test_the_chain_carries_and_goes_without_a_trace(version: int, links: int) -> None:
    words = [sys.executable, "-c", SCRIPT, PLAYBOOKS, str(version), str(links)]
    done = subprocess.run(
        ["unshare", "--mount", "--net", *words], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0 and "the chain held" in done.stdout, done.stdout + done.stderr
