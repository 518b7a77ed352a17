"""RED below a token bucket does not learn that nothing waits, and drops after a pause from an empty queue.

    sudo unshare --net python3 emu/kernel/reproduce/red-idle-below-tbf.py

It needs root, iproute2, and a Linux with veth, sch_red and sch_tbf; two interfaces are made and removed. A burst fills
the queue, then ten seconds of nothing, then single packets, 5 ms apart, over a line that needs 1 ms for each. RED's
average ought to have fallen to nothing in the pause. It did not: tbf looks into RED before it takes a packet
(red_peek), so RED never gives nothing to tbf, which is when it notes the beginning of idle time (red_dequeue).

Printed are RED's drops in the burst, and among the 50 packets after the pause: 0 if it learned of it.
"""

from __future__ import annotations

import re
import socket
import subprocess
import time

RATE_BPS = 8_000_000
BYTES = 1000
BURST, AFTER = 600, 50
PAUSE_S, GAP_S = 10, 0.005
RED = "limit 400000 min 30000 max 90000 avpkt 1000 burst 55 probability 1 bandwidth 8mbit"
COMMANDS = (
    "ip link add red0 type veth peer name red1",
    "ip addr add 10.9.9.1/24 dev red0",
    "ip link set red0 up",
    "ip link set red1 up",
    "ip neigh add 10.9.9.2 lladdr 02:00:00:00:00:02 dev red0",
    f"tc qdisc add dev red0 root handle 1: tbf rate {RATE_BPS}bit burst 2000 limit 1000000",
    f"tc qdisc add dev red0 parent 1:1 handle 2: red {RED}",
)


def run(command: str) -> str:
    """What a command prints."""
    return subprocess.run(command.split(), check=True, capture_output=True, text=True).stdout


def dropped() -> int:
    """Packets that RED has dropped."""
    _, _, told = run("tc -s qdisc show dev red0").partition("qdisc red")
    found = re.search(r"dropped (\d+)", told)
    assert found is not None, told
    return int(found[1])


for each in COMMANDS:
    run(each)
try:
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
    for _ in range(BURST):  # three times as fast as the line
        sender.sendto(bytes(BYTES - 42), ("10.9.9.2", 9))
        time.sleep(BYTES * 8 / RATE_BPS / 3)
    time.sleep(PAUSE_S)
    burst = dropped()
    for _ in range(AFTER):
        sender.sendto(bytes(BYTES - 42), ("10.9.9.2", 9))
        time.sleep(GAP_S)
    time.sleep(1)
    print(f"burst: {burst} of {BURST} dropped")
    print(f"after {PAUSE_S} s of nothing: {dropped() - burst} of {AFTER} dropped")
finally:
    run("ip link del red0")
