"""CUBIC over 100 ms and 1 % loss, with netem on the sender itself, as one machine of two would have it.

    landspeed mn --quiet --line none --seed 1 tests/bench/published/bbr_commit/their_commands.py

Printed is the goodput of 30 s in Mbit/s. Linux's TCP hands packets of several segments to the queue discipline, also
where the interface has no GSO, and netem loses such a packet whole; and nothing spaces the packets.
"""

import socket
import sys
import time

from mininet.net import Mininet

SECONDS, PORT = 30, 5201
NETEM = "root handle 1: netem delay 50ms limit 1000000"


def receive() -> None:
    """Print the goodput of one connection, in Mbit/s."""
    listener = socket.create_server(("", PORT))
    connection, _ = listener.accept()
    read, end = 0, time.monotonic() + SECONDS
    while (left := end - time.monotonic()) > 0:
        connection.settimeout(left)
        try:
            read += connection.recv_into(bytearray(1 << 20))
        except TimeoutError:
            break
    print(8 * read / SECONDS / 1e6, flush=True)


def send(address: str) -> None:
    """Write until the receiver has gone, as netperf does: 16 kB at once."""
    sender = socket.socket()
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    sender.connect((address, PORT))
    try:
        while True:
            sender.send(bytes(16384))
    except OSError:
        pass


def goodput_mbit() -> float:
    """Of one transfer between two hosts."""
    net = Mininet(controller=None)
    near, far = net.addHost("near", ip="10.0.0.1/24"), net.addHost("far", ip="10.0.0.2/24")
    net.addLink(near, far)
    net.start()
    near.cmd(f"tc qdisc add dev near-eth0 {NETEM} loss 1%")
    far.cmd(f"tc qdisc add dev far-eth0 {NETEM}")
    receiver = far.popen([sys.executable, __file__, "receive"])
    near.cmd("sleep 1")
    sender = near.popen([sys.executable, __file__, "send", "10.0.0.2"])
    told = float(receiver.communicate()[0])
    sender.kill()
    net.stop()
    return told


if sys.argv[1:] == ["receive"]:
    receive()
elif sys.argv[1:2] == ["send"]:
    send(sys.argv[2])
else:
    print(f"{goodput_mbit():.3f}")
