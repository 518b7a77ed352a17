#!/usr/bin/env python3
"""Bufferbloat on a home uplink: a ping beside an upload, through a modem with a large queue, then with fq_codel.

Arithmetic: 10 ms each way make a ping of 20 ms. 100 packets of 1514 B take 121 ms at 10 Mbit/s: that is what a full
queue adds. Goodput: 10 Mbit/s × 1448 / 1514 = 9.56 Mbit/s.
"""

import json
import re

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.nodelib import LinuxBridge


def main() -> None:
    net = Mininet(switch=LinuxBridge, link=TCLink, controller=None)
    home, server, modem = net.addHost("home"), net.addHost("server"), net.addSwitch("s1")
    net.addLink(home, modem, bw=1000)
    net.addLink(modem, server, bw=10, delay="10ms", max_queue_size=100)
    net.start()
    for node, interface in ((home, "home-eth0"), (modem, "s1-eth1")):
        node.cmd(f"ethtool -K {interface} tso off gso off gro off")  # the modem's queue counts single packets
    server.cmd("iperf3 -s -D")
    show("idle", home.cmd("ping -c 10 -i 0.2", server.IP()))
    for name in ("a queue of 100 packets", "fq_codel"):
        if name == "fq_codel":  # before the line, where the delay was; the rest of the path keeps it
            home.cmd("sleep 2")  # the last packets of the first upload pass
            modem.cmd("tc qdisc del dev s1-eth2 parent 5:1 handle 10:")
            modem.cmd("tc qdisc add dev s1-eth2 parent 5:1 handle 10: fq_codel limit 1000")
            server.cmd("tc qdisc change dev server-eth0 parent 5:1 handle 10: netem delay 20ms limit 1000")
        upload = home.popen(["iperf3", "-J", "-t", "20", "-c", server.IP()])
        home.cmd("sleep 5")
        show(name, home.cmd("ping -c 50 -i 0.2", server.IP()))
        sent = json.loads(upload.communicate()[0])["end"]["sum_received"]["bits_per_second"]
        print(f"{name}: goodput {sent / 1e6:.2f} Mbit/s")
    net.stop()


def show(name: str, told: str) -> None:
    ((least, mean, most),) = re.findall(r"= ([\d.]+)/([\d.]+)/([\d.]+)", told)
    print(f"{name}: ping {least} to {most} ms, mean {mean} ms")


if __name__ == "__main__":
    main()
