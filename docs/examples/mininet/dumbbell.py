#!/usr/bin/env python3
"""Fairness on a dumbbell: two flows of one congestion control share 20 Mbit/s; Jain's index of their goodput.

Arithmetic: both round trips are 20 ms, so both get the same: 20 Mbit/s × 1448 / 1514 = 19.1 Mbit/s together, and an
index near 1. Their shares differ a little, as it is drawn who loses when the queue overflows (`landspeed mn --seed 2`
draws anew). `dumbbell.py reno cubic` lets two of them meet.
"""

import json
import sys

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.nodelib import LinuxBridge


def main() -> None:
    controls = (sys.argv[1:] * 2)[:2] or ["cubic", "cubic"]
    net = Mininet(switch=LinuxBridge, link=TCLink, controller=None)
    left, right = net.addSwitch("s1"), net.addSwitch("s2")
    senders, receivers = ([net.addHost(f"{side}{number}") for number in (1, 2)] for side in ("a", "b"))
    for host, switch in [(each, left) for each in senders] + [(each, right) for each in receivers]:
        net.addLink(host, switch, bw=100)
    net.addLink(left, right, bw=20, delay="10ms", max_queue_size=100)
    net.start()
    flows = []
    for sender, receiver, control in zip(senders, receivers, controls, strict=True):
        receiver.cmd("iperf3 -s -D")
        flows.append(sender.popen(["iperf3", "-J", "-t", "60", "-C", control, "-c", receiver.IP()]))
    got = [json.loads(flow.communicate()[0])["end"]["sum_received"]["bits_per_second"] for flow in flows]
    for control, rate in zip(controls, got, strict=True):
        print(f"{control}: {rate / 1e6:.2f} Mbit/s")
    print(f"together {sum(got) / 1e6:.2f} Mbit/s, Jain's index {sum(got) ** 2 / (2 * sum(x * x for x in got)):.3f}")
    net.stop()


if __name__ == "__main__":
    main()
