"""Grades the exercise of a program's own window: what it was, and a fresh run of the repaired program."""

from __future__ import annotations

import base64
import re

import pytest

from landspeed.course.grading import GradingWork

WANTED = 0.80
SECONDS = 12
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
        while data := connection.recv(1 << 20):
            held += len(data)
            if held >= BLOCK:
                connection.sendall(b"." * (held // BLOCK))
                stored, held, last = stored + held // BLOCK, held % BLOCK, time.monotonic()
    except OSError:
        pass  # it went away; what was stored counts
    print(stored, last - begun)
"""


def first_program(work: GradingWork) -> str:
    """The program as it was handed out."""
    return work.handed_out().files["store.py"]


def block_bytes(program: str) -> int:
    """The size of its blocks."""
    found = re.search(r"BLOCK = (\d+)", program)
    assert found is not None, "store.py has no line `BLOCK = …` any more; leave the size of a block as it was"
    return int(found[1])


@pytest.mark.points(1)
def test_own_window(work: GradingWork) -> None:
    """The program's own window, to 5 %"""
    program = first_program(work)
    blocks = re.search(r"range\((\d+)\)", program)
    assert blocks
    window = block_bytes(program) * int(blocks[1])
    assert abs(work.number("own_window") / window - 1) <= 0.05, (
        "not what goodput × round trip gives, measured far from the line's rate"
    )


@pytest.mark.points(4)
def test_repaired(work: GradingWork) -> None:
    """A server of ours stores the blocks of your store.py at 80 % of the line: counted there, for 12 s"""
    exercise = work.lesson.exercise
    assert exercise is not None
    theirs = work.file("store.py")
    size = block_bytes(theirs if work.drawn is None else first_program(work))
    words = [base64.b64encode(each.encode()).decode() for each in (theirs, COUNT.replace("BLOCK", str(size)))]
    run = work.program("client", "sh", "-c", RUN, "run", words[0], str(SECONDS), exercise.UNPACED, words[1])
    counted = run.output.split()
    assert len(counted) == 2, "our server stored nothing: no connection came to port 5000"
    stored, lasted_s = int(counted[0]), float(counted[1])
    assert lasted_s >= 0.75 * SECONDS, f"your program sent for {lasted_s:.1f} s of {SECONDS} s"
    share = 8 * size * stored / lasted_s / run.plan.physics.line_rate_limit_bps
    assert share >= WANTED, f"it reaches {100 * share:.1f} %"
