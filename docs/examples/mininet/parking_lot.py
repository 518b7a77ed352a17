#!/usr/bin/env python3
"""A parking lot: one flow over three lines of 10 Mbit/s, and on each of them one flow of its own.

Arithmetic: the long flow has three times the round trip and three places to lose at. It gets less than half of a line;
each short one gets what it leaves, so that both together fill the line: 10 Mbit/s × 1448 / 1514 = 9.56 Mbit/s.
`parking_lot.py 20` lets them send for 20 s in place of 60.
"""

import itertools
import json
import sys

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.nodelib import LinuxBridge

LINES = 3
SECONDS = sys.argv[1] if len(sys.argv) > 1 else "60"


def main() -> None:
    net = Mininet(switch=LinuxBridge, link=TCLink, controller=None)
    switches = [net.addSwitch(f"s{number}") for number in range(1, LINES + 2)]
    for one, next_one in itertools.pairwise(switches):
        net.addLink(one, next_one, bw=10, delay="5ms", max_queue_size=50)
    pairs = [("long", 0, LINES)] + [(f"short{number + 1}", number, number + 1) for number in range(LINES)]
    flows = []
    for name, begin, end in pairs:
        sender, receiver = net.addHost(f"{name}a"), net.addHost(f"{name}b")
        net.addLink(sender, switches[begin], bw=100)
        net.addLink(receiver, switches[end], bw=100)
    net.start()
    for name, _, _ in pairs:
        net[f"{name}b"].cmd("iperf3 -s -D")
        flows.append(net[f"{name}a"].popen(["iperf3", "-J", "-t", SECONDS, "-c", net[f"{name}b"].IP()]))
    for (name, _, _), flow in zip(pairs, flows, strict=True):
        print(f"{name}: {json.loads(flow.communicate()[0])['end']['sum_received']['bits_per_second'] / 1e6:.2f} Mbit/s")
    net.stop()


if __name__ == "__main__":
    main()
