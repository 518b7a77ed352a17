#!/usr/bin/env python3
"""Four queues before one line of 10 Mbit/s with a round trip of 20 ms: a plain one, RED, CoDel, fq_codel.

Arithmetic: a plain queue of 100 packets adds up to 121 ms to a ping. CoDel holds the delay of the queue near 5 ms, RED
near its thresholds of 15 to 45 kB, which are 12 to 36 ms. fq_codel lets the ping pass before the upload.
"""

import json
import re

from mininet.net import Mininet

QUEUES = {
    "pfifo": "pfifo limit 100",
    "RED": "red limit 150000 min 15000 max 45000 avpkt 1500 burst 20 bandwidth 10mbit probability 0.1",
    "CoDel": "codel limit 1000",
    "fq_codel": "fq_codel limit 1000",
}


def main() -> None:
    net = Mininet(controller=None)
    a, router, b = net.addHost("a", ip="10.0.1.1/24"), net.addHost("r", ip=None), net.addHost("b", ip="10.0.2.1/24")
    net.addLink(a, router, params2={"ip": "10.0.1.254/24"})
    net.addLink(router, b, params1={"ip": "10.0.2.254/24"})
    net.start()
    router.cmd("sysctl -w net.ipv4.ip_forward=1")
    a.cmd("ip route add default via 10.0.1.254")
    b.cmd("ip route add default via 10.0.2.254")
    b.cmd("tc qdisc add dev b-eth0 root netem delay 20ms limit 1000")  # all of the round trip, on the way back
    for node, interface in ((a, "a-eth0"), (router, "r-eth0"), (router, "r-eth1")):
        node.cmd(f"ethtool -K {interface} tso off gso off gro off")  # queues count single packets
    b.cmd("iperf3 -s -D")
    router.cmd("tc qdisc add dev r-eth1 root handle 1: htb default 1")
    router.cmd("tc class add dev r-eth1 parent 1: classid 1:1 htb rate 10mbit burst 3028")
    for name, words in QUEUES.items():
        router.cmd("tc qdisc replace dev r-eth1 parent 1:1 handle 10: " + words)
        upload = a.popen(["iperf3", "-J", "-t", "20", "-c", b.IP()])
        a.cmd("sleep 5")
        ((least, mean, most),) = re.findall(r"= ([\d.]+)/([\d.]+)/([\d.]+)", a.cmd("ping -c 50 -i 0.2", b.IP()))
        got = json.loads(upload.communicate()[0])["end"]["sum_received"]["bits_per_second"]
        print(f"{name}: ping {least} to {most} ms, mean {mean} ms; goodput {got / 1e6:.2f} Mbit/s")
        router.cmd("tc qdisc del dev r-eth1 parent 1:1 handle 10:")
    net.stop()


if __name__ == "__main__":
    main()
