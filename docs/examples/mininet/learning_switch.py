#!/usr/bin/env python3
"""A learning switch: Open vSwitch with a controller that installs a flow for each pair of hosts as it learns them.

The first packet between two hosts goes to the controller; those after it match the flow in the switch. Both counts are
of the switch itself: 4 pings between 2 hosts are 8 packets, and the flows have all but the first of each direction.
"""

import re

from mininet.net import Mininet
from mininet.node import OVSController, OVSSwitch
from mininet.topo import SingleSwitchTopo


def main() -> None:
    net = Mininet(SingleSwitchTopo(2), switch=OVSSwitch, controller=OVSController, waitConnected=True)
    net.staticArp()
    net.start()
    h1, h2, s1 = net["h1"], net["h2"], net["s1"]
    print(re.findall(r"\d+ packets.*loss", h1.cmd("ping -c 4", h2.IP()))[0])
    h1.cmd("sleep 2")  # Open vSwitch counts what its datapath passed every half second
    flows = [each for each in s1.dpctl("dump-flows").splitlines() if "icmp" in each]
    counts = [int(count) for each in flows for count in re.findall(r"n_packets=(\d+)", each)]
    print(f"{len(flows)} flows learned, with {sum(counts)} packets")
    net.stop()


if __name__ == "__main__":
    main()
