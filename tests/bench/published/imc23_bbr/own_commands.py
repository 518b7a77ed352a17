"""The replication's path with its own commands, for `landspeed mn`, where TCP's super-packets stay whole on their way.

landspeed mn own_commands.py 500 100    # Mbit/s, round trip in ms
"""

import os
import sys

from mininet.net import Mininet

LIMITS = ("rmem_max", "wmem_max", "rmem_default", "wmem_default")

rate_mbit, rtt_ms = sys.argv[1:]
net = Mininet(controller=None)
h1, h3 = net.addHost("h1", ip="10.0.1.1/24"), net.addHost("h3", ip="10.0.2.1/24")
router = net.addHost("r", ip=None)
net.addLink(h1, router, params2={"ip": "10.0.1.254/24"})
net.addLink(h3, router, params2={"ip": "10.0.2.254/24"})
net.start()
for limit in LIMITS:
    os.system(f"sysctl -q -w net.core.{limit}=2147483647")
router.cmd("sysctl -w net.ipv4.ip_forward=1")
h1.cmd("ip route add default via 10.0.1.254")
h3.cmd("ip route add default via 10.0.2.254")
router.cmd(f"tc qdisc add dev r-eth0 root netem delay {rtt_ms}ms limit 10000")
router.cmd("tc qdisc add dev r-eth1 root handle 1: htb default 3")
router.cmd(f"tc class add dev r-eth1 parent 1: classid 1:3 htb rate {rate_mbit}Mbit")
router.cmd("tc qdisc add dev r-eth1 parent 1:3 handle 3: bfifo limit 100kb")
h3.cmd("iperf3 -s -D")
print(h1.cmd("iperf3 -c 10.0.2.1 -C cubic -t 60 -w 100M"))
net.stop()
