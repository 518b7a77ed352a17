"""When a packet leaves a token bucket in which it waits, while what decides about it changes; prints a JSON object.

For any Linux, with root's rights and a network namespace of its own: makes two hosts, a and b. a sends an echo of
1000 B with its headers, and 0.2 s later another. The bucket brings 1000 B a second and holds 1100 B, so the second one
waits. Of each step: round trip of each echo in ms, null where it was not answered.
"""

import json
import re
import subprocess
import time

BUCKET = "dev eth0 root handle 1: tbf rate 8kbit burst 1100 limit 100000"
ECHO = ("ip", "netns", "exec", "a", "ping", "-n", "-c", "1", "-W", "3")
LARGE, SMALL = ("-s", "958"), ("-s", "58")  # beside them 42 B of headers, Ethernet's too
seen: dict[str, list[float | None]] = {}


def run(words: str) -> None:
    subprocess.run(words.split(), check=True)


def inside(node: str, words: str) -> None:
    run(f"ip netns exec {node} {words}")


def tc(words: str) -> None:
    if words:
        inside("a", f"tc {words}")


def sleep_until(at_s: float) -> None:
    time.sleep(at_s - time.monotonic())


def echo(size: tuple[str, ...]) -> subprocess.Popen[str]:
    return subprocess.Popen([*ECHO, *size, "10.1.0.2"], stdout=subprocess.PIPE, text=True)


def step(what: str, third: tuple[str, ...], *, first: str = "", change: str = "") -> None:
    """A command before the first echo, and one 0.3 s after it. A third echo at 0.4 s lets Linux look at its queue."""
    tc(f"qdisc replace {BUCKET}")
    tc(first)
    begin_s = time.monotonic()
    pings = [echo(LARGE)]
    sleep_until(begin_s + 0.2)
    pings.append(echo(LARGE))
    sleep_until(begin_s + 0.3)
    tc(change)
    sleep_until(begin_s + 0.4)
    pings.append(echo(third))
    told = [ping.communicate()[0] for ping in pings]
    seen[what] = [float(found[1]) if (found := re.search(r"time=([\d.]+)", text)) else None for text in told]
    tc("qdisc del dev eth0 root")


for node in "ab":
    run(f"ip netns add {node}")
run("ip link add name eth0 netns a type veth peer name eth0 netns b")
for number, node in enumerate("ab", start=1):
    inside(node, "sysctl -qw net.ipv6.conf.all.disable_ipv6=1")  # its own packets would take of what the bucket holds
    inside(node, "ip link set lo up")
    inside(node, f"ip address add 10.1.0.{number}/24 dev eth0")
    inside(node, "ip link set eth0 up")
    mac = "02:00:00:00:00:0{}"
    inside(node, f"ip link set eth0 address {mac.format(number)}")
    inside(node, f"ip neigh replace 10.1.0.{3 - number} lladdr {mac.format(3 - number)} dev eth0")
step("nothing changes", SMALL)
step("a faster rate", LARGE, change=f"qdisc change {BUCKET.replace('8kbit', '8mbit')}")
step("a slower rate", SMALL, change=f"qdisc change {BUCKET.replace('8kbit', '4kbit')}")
step("another queue", LARGE, change="qdisc add dev eth0 parent 1:1 bfifo limit 5000")
step("another head", SMALL, first="qdisc add dev eth0 parent 1:1 pfifo_head_drop limit 1")
step("emptied", LARGE, change=f"qdisc replace {BUCKET.replace('1:', '2:')}")
print(json.dumps(seen))
