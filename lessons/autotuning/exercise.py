"""The buffers that a host needs, set by sysctl."""

import random

from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory
from landspeed.scenario.plan.plan import Plan

WANTED, MOST = 0.90, 4  # of the line; of the BDP
ASKED = {
    "bdp": AnswerSpec("the bandwidth-delay product of your path", "size"),
    "receive": AnswerSpec("the greatest receive buffer that you allow (the third number of tcp_rmem)", "size"),
    "send": AnswerSpec("the greatest send buffer that you allow (the third number of tcp_wmem)", "size"),
}
HINTS = (
    "What must be in flight to fill the line: rate × round trip.",
    "A buffer is not a window: it has the packets' descriptors in it, too. Half of a buffer may be payload.",
    "Two to four BDP for each of them. More costs memory for each connection, and gives nothing.",
)
SCENARIO = """\
format: 1
name: exercise-autotuning
title: A host that nobody has tuned, {rate} Mbit/s over {rtt} ms
line_rate: {rate} Mbit/s
queue: 1 BDP
hosts:
  a: {{role: sender}}
  b: {{role: receiver}}
path:
  - {{from: a, to: r, one_way_delay: 1 ms}}
  - {{from: r, to: b, one_way_delay: {second} ms}}
transfer: {{duration: 10 s}}
"""
TASK = """\
Somebody wrote `net.ipv4.tcp_rmem = 4096 131072 262144` and `net.ipv4.tcp_wmem = 4096 16384 262144` into both hosts.
Your path carries {rate} Mbit/s over {rtt} ms.

1. What is its BDP?
2. Choose the third numbers anew. `iperf3` is to read 90 % of what the line leaves, from the sixth second on. Neither
   may be above four BDP: a server has many connections.

Try with `landspeed shell scenario.yaml`, `sysctl` on both hosts, and `iperf3`.
"""
# Both hosts with the student's limits. A program of ours counts what the other end has read from the sixth second on:
# the same bytes as iperf3's, which costs a grade six times as much.
RUN = """
for host in "" "ip netns exec b"; do
  $host sysctl -q -w net.ipv4.tcp_rmem="4096 131072 $1" net.ipv4.tcp_wmem="4096 16384 $2"
done
ip netns exec b python3 -c "$3" &
sleep 1
python3 -c "$4"
wait
"""
READ = """\
import socket, time
with socket.create_server(("", 5201)) as listener:
    connection, _ = listener.accept()
begun, since, read = time.monotonic(), 0.0, 0
while data := connection.recv(1 << 16):
    last = time.monotonic() - begun
    if since:
        read += len(data)
    elif last >= 5:
        since = last
print(8 * read / (last - since))
"""
SEND = """\
import socket, time
with socket.create_connection(("b", 5201)) as connection:
    end = time.monotonic() + 9
    while time.monotonic() < end:
        connection.sendall(bytes(131072))
"""


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """16 to 24 Mbit/s over 140 to 240 ms: at least twice what the present buffers let through."""
    rate, rtt = chance.randrange(16, 25), chance.randrange(70, 121) * 2
    return StudentDraw.of(SCENARIO, TASK, rate=rate, rtt=rtt, second=rtt // 2 - 1)


def key(_: random.Random, plan: Plan, __: Laboratory) -> dict[str, str]:
    """The BDP, and three of them for each buffer."""
    bdp = plan.physics.bdp_bytes
    return {"bdp": f"{bdp} B", "receive": f"{3 * bdp} B", "send": f"{3 * bdp} B"}


@points(1)
def test_bdp(work: GradingWork) -> None:
    """The bandwidth-delay product, to 1 %"""
    work.near("bdp", work.plan.physics.bdp_bytes, 0.01, "not rate × round trip; mind that a byte has eight bits")


@points(3)
def test_line_is_filled(work: GradingWork) -> None:
    """With your buffers, the other end reads 90 % of what the line leaves, from the sixth second on"""
    sizes = [str(round(work.number(name))) for name in ("receive", "send")]
    run = work.program("a", "sh", "-c", RUN, "run", *sizes, READ, SEND)
    share = float(run.output) / run.plan.physics.line_rate_limit_bps
    assert share >= WANTED, f"it reads {100 * share:.1f} %"


@points(1)
def test_memory_is_not_wasted(work: GradingWork) -> None:
    """Neither buffer is above four BDP"""
    over = max(work.number(name) for name in ("receive", "send")) / work.plan.physics.bdp_bytes
    assert over <= MOST, f"one is {over:.1f} BDP"
