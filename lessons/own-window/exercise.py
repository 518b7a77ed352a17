"""A program with a window of its own, to be repaired."""

import base64
import random
import re

from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory
from landspeed.scenario.plan.plan import Plan

ASKED = {
    "own_window": AnswerSpec("the program's own window, as you found it", "size"),
}

UNPACED = "tc qdisc change dev eth1 parent 1:1 handle 2: fq nopacing"

HINTS = (
    "Measure the rate over two distances, far below the line's rate. What do rate × round trip have in common?",
    "The program sends some blocks, then waits for all their answers. How much is unanswered at most?",
    "Let more blocks be on the way: as many as line rate × round trip needs. Read answers while you send.",
)

WANTED = 0.80
SECONDS = 8
# Theirs runs as nobody: it reaches neither our server's result nor the lecturer's files.
RUN = """
$3
mkdir -p /tmp/theirs && echo "$1" | base64 -d >/tmp/theirs/store.py && echo "$4" | base64 -d >/tmp/count.py
ip netns exec server timeout 60 python3 /tmp/count.py >/tmp/counted &
sleep 1
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
timeout 40 $nobody python3 /tmp/theirs/store.py send server $2 >/dev/null 2>&1
wait
cat /tmp/counted
"""
COUNT = """\
import socket, time
with socket.create_server(("", 5000)) as listener:
    listener.settimeout(30)
    connection, _ = listener.accept()
    connection.settimeout(30)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    held = stored = 0
    begun = last = time.monotonic()
    try:
        while data := connection.recv(1 << 16):
            held += len(data)
            if held >= BLOCK:
                connection.sendall(b"." * (held // BLOCK))
                stored, held, last = stored + held // BLOCK, held % BLOCK, time.monotonic()
    except OSError:
        pass  # it went away; what was stored counts
    print(stored, last - begun)
"""

SCENARIO = """\
format: 1
name: exercise-own-window
title: A path of {rate} Mbit/s over {rtt} ms
line_rate: {rate} Mbit/s
hosts:
  client: {{role: sender}}
  server: {{role: receiver}}
path:
  - {{from: client, to: r, one_way_delay: 1 ms}}
  - {{from: r, to: server, one_way_delay: {second} ms}}
transfer: {{duration: 5 s}}
"""

TASK = """\
`store.py` sends blocks to a server, which stores them and answers. It is slow on your path of {rate} Mbit/s over
{rtt} ms, though TCP fills it. Nobody remembers why.

1. Measure it, on your path and on longer ones, and find the window that it has of its own (in bytes).
2. Repair `store.py`, so that it reaches at least 80 % of the line on your path. The server must still answer each
   block, and the client must still know of each block that it was stored: it may not just stop asking.

Run it with

```sh
landspeed exec scenario.yaml --at client -- \\
  sh -c '{unpaced}
ip netns exec server python3 store.py serve & sleep 1; python3 store.py send server 6'
```

The last line that it prints is the rate in bit/s. `tc` switches off pacing, which would stretch each block: the lesson
says why. The repaired program is graded by a fresh run against a server of ours, which counts the blocks that it has
stored; leave `BLOCK` and the port as they are.
"""

PROGRAM = '''\
"""Stores blocks on another computer.

    python3 store.py serve                  stores what comes
    python3 store.py send HOST SECONDS      sends blocks for so long; prints how many were stored, and the rate in bit/s
"""

import socket
import sys
import time

BLOCK = {block}
PORT = 5000


def serve() -> None:
    with socket.create_server(("", PORT)) as listener:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        held = 0
        while data := connection.recv(1 << 16):
            held += len(data)
            if held >= BLOCK:
                connection.sendall(b"." * (held // BLOCK))
                held %= BLOCK


def send(host: str, seconds: float) -> None:
    with socket.create_connection((host, PORT)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        begun, stored = time.monotonic(), 0
        while time.monotonic() < begun + seconds:
            for _ in range({blocks}):
                connection.sendall(bytes(BLOCK))
            answered = 0
            while answered < {blocks}:
                answered += len(connection.recv(1024))
            stored += answered
        print(stored, "blocks stored")
        print(round(8 * BLOCK * stored / (time.monotonic() - begun)))


if sys.argv[1] == "serve":
    serve()
else:
    send(sys.argv[2], float(sys.argv[3]))
'''


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """A rate, a round trip, and a window of 4 to 9 blocks of 8 to 16 KiB."""
    rate, rtt = chance.randrange(4, 11) * 10, chance.randrange(20, 61) * 2
    block, blocks = chance.choice((8192, 12288, 16384)), chance.randrange(4, 10)
    values = {"rate": rate, "rtt": rtt, "second": rtt // 2 - 1, "unpaced": UNPACED}
    program = PROGRAM.replace("{block}", str(block)).replace("{blocks}", str(blocks))
    return StudentDraw(SCENARIO.format(**values), TASK.format(**values), {"store.py": program})


def key(chance: random.Random, _: Plan, __: Laboratory) -> dict[str, str]:
    """The window. `store.py` is to keep a BDP or more on the way."""
    block, blocks = (
        int(each) for each in re.findall(r"(?:BLOCK = |range\()(\d+)", draw(chance, None).files["store.py"])
    )
    return {"own_window": f"{block * blocks} B"}


def first_program(work: GradingWork) -> str:
    """The program as it was handed out."""
    return work.handed_out().files["store.py"]


def block_bytes(program: str) -> int:
    """The size of its blocks."""
    found = re.search(r"BLOCK = (\d+)", program)
    assert found is not None, "store.py has no line `BLOCK = …` any more; leave the size of a block as it was"
    return int(found[1])


@points(1)
def test_own_window(work: GradingWork) -> None:
    """The program's own window, to 5 %"""
    program = first_program(work)
    blocks = re.search(r"range\((\d+)\)", program)
    assert blocks
    window = block_bytes(program) * int(blocks[1])
    work.near("own_window", window, 0.05, "not what goodput × round trip gives, measured far from the line's rate")


@points(4)
def test_repaired(work: GradingWork) -> None:
    """A server of ours stores the blocks of your store.py at 80 % of the line: counted there, for 8 s"""
    theirs = work.file("store.py")
    size = block_bytes(theirs if work.drawn is None else first_program(work))
    words = [base64.b64encode(each.encode()).decode() for each in (theirs, COUNT.replace("BLOCK", str(size)))]
    run = work.program("client", "sh", "-c", RUN, "run", words[0], str(SECONDS), UNPACED, words[1])
    counted = run.output.split()
    assert len(counted) == 2, "our server stored nothing: no connection came to port 5000"
    stored, lasted_s = int(counted[0]), float(counted[1])
    assert lasted_s >= 0.75 * SECONDS, f"your program sent for {lasted_s:.1f} s of {SECONDS} s"
    share = 8 * size * stored / lasted_s / run.plan.physics.line_rate_limit_bps
    assert share >= WANTED, f"it reaches {100 * share:.1f} %"
