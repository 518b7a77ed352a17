"""The path of Datta and Fund by their own commands, for what GSO and pacing do to a cell.

    landspeed mn --quiet --line none tests/bench/published/imc23_bbr/their_commands.py cubic 100 100 100

Words: the congestion control, the rate in Mbit/s, the round trip in ms, the buffer in kb. Printed is the goodput in
Mbit/s over 60 s through sockets of 100 MB, with each setting of the hosts:

- fq: their packets are spaced, as landspeed's are; without GSO;
- fq_codel: Ubuntu's default, which spaces nothing; without GSO;
- fq_codel, GSO: TCP's packets of up to 64 kB are cut where they leave the sender, and what reaches the router at once
  is put together again (GRO) and passes it whole;
- the same, ACKs in bunches: what comes within 1 to 500 us, by chance, reaches the sender at once, as from NICs that
  wait before they interrupt, and from machines that have to wake up.

The sender is some lines of Python: what iperf3 would do, without its waiting for each system call.
"""

import socket
import sys
import time
from pathlib import Path

from mininet.net import Mininet
from mininet.topo import Topo

BUNCHES = "slot 1us 500us"  # of netem; the random times are the kernel's, which a seed makes
SETTINGS = (("fq", "off", ""), ("fq_codel", "off", ""), ("fq_codel", "on", ""), ("fq_codel", "on", BUNCHES))
SECONDS, PORT, WINDOW_BYTES = 60, 5201, 100 << 20
SIZES = (socket.SO_SNDBUF, socket.SO_RCVBUF)


class Three(Topo):
    """Sender, router, receiver."""

    def build(self) -> None:
        for name, address in (("h1", "10.0.1.1/24"), ("r", None), ("h3", "10.0.2.1/24")):
            self.addHost(name, ip=address)
        self.addLink("h1", "r", params2={"ip": "10.0.1.2/24"})
        self.addLink("r", "h3", params1={"ip": "10.0.2.2/24"})


def opened() -> socket.socket:
    """A socket with buffers as `iperf3 -w 100M` asks for them."""
    made = socket.socket()
    for size in SIZES:
        made.setsockopt(socket.SOL_SOCKET, size, WINDOW_BYTES)
    return made


def receive() -> None:
    """Print the goodput of one connection, in Mbit/s."""
    listener = opened()
    listener.bind(("", PORT))
    listener.listen()
    connection, _ = listener.accept()
    read, end = 0, time.monotonic() + SECONDS
    while (left := end - time.monotonic()) > 0:
        connection.settimeout(left)
        try:
            read += connection.recv_into(bytearray(1 << 20))
        except TimeoutError:
            break
    print(8 * read / SECONDS / 1e6, flush=True)


def send(control: str) -> None:
    """Write until the receiver has gone."""
    sender = opened()
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    sender.connect(("10.0.2.1", PORT))
    try:
        while True:
            sender.send(bytes(1 << 17))
    except OSError:
        pass


def goodput_mbit(words: list[str], qdisc: str, gso: str, bunches: str) -> float:
    """Of one transfer, with these settings of both hosts."""
    control, rate, rtt, buffer = words
    net = Mininet(Three(), controller=None)
    net.start()
    h1, r, h3 = net.get("h1", "r", "h3")
    r.cmd("sysctl -w net.ipv4.ip_forward=1")
    for host, gateway in ((h1, "10.0.1.2"), (h3, "10.0.2.2")):
        host.cmd(f"ip route add default via {gateway}")
        host.cmd(f"tc qdisc add dev {host.defaultIntf()} root {qdisc}")
    for node in (h1, r, h3):
        for interface in node.intfNames():
            node.cmd(f"ethtool -K {interface} tso off gso {gso} gro {gso}")
    r.cmd(f"tc qdisc add dev r-eth0 root netem delay {rtt}ms limit 10000 {bunches}")
    r.cmd("tc qdisc add dev r-eth1 root handle 1: htb default 3")
    r.cmd(f"tc class add dev r-eth1 parent 1: classid 1:3 htb rate {rate}Mbit")
    r.cmd(f"tc qdisc add dev r-eth1 parent 1:3 handle 3: bfifo limit {buffer}kb")
    receiver = h3.popen([sys.executable, __file__, "receive"])
    h1.cmd("sleep 1")
    sender = h1.popen([sys.executable, __file__, "send", control])
    told = float(receiver.communicate()[0])
    sender.kill()
    net.stop()
    return told


def main() -> None:
    """Print the goodput with each setting."""
    for key in ("rmem_max", "wmem_max"):
        Path("/proc/sys/net/core", key).write_text("2147483647")
    Path("/proc/sys/net/ipv4/tcp_mem").write_text(" ".join(["1000000"] * 3))  # pages: the guest has little memory
    for qdisc, gso, bunches in SETTINGS:
        name = qdisc + (", GSO" if gso == "on" else "") + (", ACKs in bunches" if bunches else "")
        print(f"{name}: {goodput_mbit(sys.argv[1:], qdisc, gso, bunches):.2f}", flush=True)


if sys.argv[1] == "receive":
    receive()
elif sys.argv[1] == "send":
    send(sys.argv[2])
else:
    main()
