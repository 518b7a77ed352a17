"""The largest reply that passes a tunnel of the student's own, and the MSS that lets all of them pass."""

import random

from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory
from landspeed.course.lesson import lesson_named
from landspeed.scenario.plan.plan import Plan

ASKED = {
    "reply": AnswerSpec("the largest reply in one packet that comes without ICMP", "size"),
    "mss": AnswerSpec("the largest MSS in the client's SYN with which every reply comes", "number"),
    "probing": AnswerSpec("time of a reply of 1448 B without ICMP, if the server probes", "time"),
}
HINTS = (
    "A packet has 20 B of IP, 20 B of TCP and 12 B of timestamps before the payload.",
    "The MSS in a SYN counts 40 B of headers only; timestamps are taken from what it allows.",
    "The first timeout is the round trip plus 200 ms. It comes twice, then doubles three times; add the round trips.",
)
SCENARIO = """\
format: 1
name: exercise-black-hole
title: A tunnel of {mtu} B, {rtt} ms
line_rate: 100 Mbit/s
hosts:
  server: {{role: sender}}
  client: {{role: receiver}}
path:
  - {{from: server, to: entry, one_way_delay: 3 ms, mtu: 1500 B}}
  - {{from: entry, to: exit, one_way_delay: {middle} ms, mtu: {mtu} B}}
  - {{from: exit, to: client, one_way_delay: 1 ms, mtu: 1500 B}}
transfer:
  bytes: 1 MB
"""
TASK = """\
Between a server and a client is a tunnel of {mtu} B; the round trip is {rtt} ms. The tunnel's entry sends no ICMP.

1. How large is the largest reply in one packet that comes?
2. Which MSS must the client say in its SYN, so that every reply comes? The largest one.
3. The server probes (`tcp_mtu_probing=1`). How long from the SYN until a reply of 1448 B is read? To 6 %.

Look with `landspeed exec scenario.yaml --at server -- sh`, or take the lesson's `replies.sh` and `fetch.py`.
"""


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """A tunnel of 1200 to 1439 B over 20 to 100 ms."""
    mtu, rtt = chance.randrange(1200, 1440), chance.randrange(10, 51) * 2
    return StudentDraw.of(SCENARIO, TASK, mtu=mtu, rtt=rtt, middle=rtt // 2 - 4)


def key(_: random.Random, plan: Plan, __: Laboratory) -> dict[str, str]:
    """By theory, the time 3 % longer."""
    theory, mtu = lesson_named("black-hole").theory, plan.links[1].mtu_bytes
    probed_s = 1.03 * theory.probed_s(plan.physics.rtt_ns / 1e9)
    return {
        "reply": f"{theory.payload_bytes(mtu)} B",
        "mss": f"{theory.mss_option(mtu)}",
        "probing": f"{probed_s:.2f} s",
    }


def replies(work: GradingWork) -> dict[tuple[str, int], tuple[int, float]]:
    """(Bytes that a fresh client read, seconds) of replies without ICMP: the student's, a byte more, larger ones."""
    here, size = lesson_named("black-hole"), round(work.number("reply"))
    files = [str(here.folder / name) for name in ("replies.sh", "fetch.py")]
    sizes = [str(each) for each in (size, size + 1, 1448, 5000)]
    words = ("closed probing clamped", str(round(work.number("mss"))), *sizes)
    run = work.program("server", "sh", *files, *words)
    return {(network, size): (count, took_s) for network, size, count, took_s in here.theory.replies(run)}


@points(2)
def test_reply(work: GradingWork) -> None:
    """A fresh client without ICMP reads your reply, and not one of a byte more"""
    size = round(work.number("reply"))
    read = [replies(work)["closed", each][0] for each in (size, size + 1)]
    assert read == [size, 0], f"of {size} B it reads {read[0]}, and of {size + 1} B {read[1]}"


@points(2)
def test_mss(work: GradingWork) -> None:
    """With your MSS a fresh client reads 5000 B, and it is the largest such MSS"""
    count, _ = replies(work)["clamped", 5000]
    assert count == 5000, f"it reads {count} B"
    right = lesson_named("black-hole").theory.mss_option(work.plan.links[1].mtu_bytes)
    assert work.number("mss") == right, "it could be larger"


@points(1)
def test_probing(work: GradingWork) -> None:
    """The time of a reply of 1448 B to a fresh client, to 6 %"""
    _, took_s = replies(work)["probing", 1448]
    work.near("probing", 1e9 * took_s, 0.06, "add up the timeouts, each twice the one before but for the first two")
