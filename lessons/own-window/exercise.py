"""A program with a window of its own, to be repaired."""

from __future__ import annotations

import random
import re

from landspeed.course.exercise import AnswerSpec, StudentDraw
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
        while data := connection.recv(1 << 20):
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
