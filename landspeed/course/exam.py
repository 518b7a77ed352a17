"""Examination papers: questions of every lesson with numbers that a class's secret draws, and their key by formula."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from landspeed.base.files import write_atomically
from landspeed.course.class_register import ClassRegister
from landspeed.course.exercise_names import ExerciseError
from landspeed.results.bundle import OutputError
from landspeed.scenario.theory.physics import (
    ack_bytes,
    bdp_bytes,
    cubic_k_s,
    line_rate_limit_bps,
    reno_recovery_ns,
    square_root_law_bps,
)

FRAME_BYTES, MSS_BYTES = 1538, 1448  # of a packet of 1500 B on Ethernet: on the line, and payload
MS, MBPS = 1_000_000, 1e6


@dataclass(frozen=True)
class ExamQuestion:
    """A question that is answered by a number.

    Attributes:
        lesson: whose matter it is.
        text: with a format field for each number that is drawn.
        draw: field → what it may be.
        answer: the numbers → the answer, in `unit`.
        points: one a minute.
    """

    lesson: str
    text: str
    draw: Mapping[str, Sequence[int]]
    answer: Callable[[Mapping[str, int]], float]
    unit: str
    points: int = 4


QUESTIONS = (
    ExamQuestion(
        "delay",
        "A ping of {size} B of payload goes over a line of {rate} Mbit/s of {km} km of glass (204 km in a "
        "millisecond) and comes back. It has 66 B of headers and framing. How long does it take?",
        {"size": range(200, 1473, 8), "rate": range(1, 11), "km": range(300, 6001, 100)},
        lambda n: 2 * (n["km"] / 204 + (n["size"] + 66) * 8 / n["rate"] / 1e3),
        "ms",
    ),
    ExamQuestion(
        "window",
        "A path carries {rate} Mbit/s, its round trip is {rtt} ms, and the receiver offers {window} kB. Which "
        "goodput is possible at most, if a full line leaves 94.1 % for payload?",
        {"rate": range(100, 1001, 100), "rtt": range(20, 201, 10), "window": range(256, 4097, 128)},
        lambda n: min(n["window"] * 8 / n["rtt"], 0.941 * n["rate"]),
        "Mbit/s",
    ),
    ExamQuestion(
        "framing",
        "A line of {rate} Mbit/s, Ethernet, IPv6, packets of {mtu} B, TCP with timestamps. How much goodput does "
        "it give?",
        {"rate": range(100, 1001, 100), "mtu": range(1280, 9001, 20)},
        lambda n: line_rate_limit_bps(round(n["rate"] * MBPS), n["mtu"], 38, 6) / MBPS,
        "Mbit/s",
    ),
    ExamQuestion(
        "slow-start",
        "A page of {size} kB, packets with 1448 B of payload, a first window of {first} packets. In how many "
        "round trips is it there, if nothing is lost and the connection is open?",
        {"size": range(60, 2001, 20), "first": (4, 10, 16, 32)},
        lambda n: math.ceil(math.log2(math.ceil(n["size"] * 1e3 / MSS_BYTES) / n["first"] + 1)),
        "RTT",
    ),
    ExamQuestion(
        "one-loss",
        "One packet is lost while a Reno stream fills {rate} Mbit/s over {rtt} ms with packets of 1538 B on the "
        "line, without a queue. After how long is its window back?",
        {"rate": range(50, 1001, 50), "rtt": range(20, 301, 10)},
        lambda n: reno_recovery_ns(bdp_bytes(round(n["rate"] * MBPS), n["rtt"] * MS), FRAME_BYTES, n["rtt"] * MS) / 1e9,
        "s",
    ),
    ExamQuestion(
        "one-loss",
        "CUBIC (C = 0.4, it keeps 70 %) loses a packet at a window of {window} packets. After how long is the "
        "window back, by the cubic curve?",
        {"window": range(500, 20001, 500)},
        lambda n: cubic_k_s(n["window"], 0.7 * n["window"]),
        "s",
    ),
    ExamQuestion(
        "random-loss",
        "A radio link loses one packet in {each} at random; the round trip is {rtt} ms, the MSS 1448 B. Which "
        "goodput does the square-root law give one Reno stream?",
        {"each": range(500, 20001, 500), "rtt": range(10, 201, 10)},
        lambda n: square_root_law_bps(MSS_BYTES, n["rtt"] * MS, 1 / n["each"]) / MBPS,
        "Mbit/s",
    ),
    ExamQuestion(
        "queues",
        "A line of {rate} Mbit/s has a queue of {queue} kB, which is full. How long does the next packet wait?",
        {"rate": range(5, 101, 5), "queue": range(100, 2001, 50)},
        lambda n: n["queue"] * 8 / n["rate"],
        "ms",
        3,
    ),
    ExamQuestion(
        "parallel",
        "{mine} Reno streams of yours and {theirs} of a colleague's share a line of {rate} Mbit/s; all have the "
        "same round trip. How much of it do yours take?",
        {"mine": range(1, 13), "theirs": range(1, 9), "rate": range(100, 1001, 100)},
        lambda n: n["rate"] * n["mine"] / (n["mine"] + n["theirs"]),
        "Mbit/s",
        2,
    ),
    ExamQuestion(
        "pacing",
        "{window} kB leave a card of 10 Gbit/s in one burst, into a line of {rate} Mbit/s. How much must its "
        "queue hold?",
        {"window": range(200, 4001, 100), "rate": range(500, 5001, 500)},
        lambda n: n["window"] * (1 - n["rate"] / 10_000),
        "kB",
    ),
    ExamQuestion(
        "fairness",
        "Three streams get {a}, {b} and {c} Mbit/s. What is Jain's index?",
        {"a": range(10, 101, 5), "b": range(10, 101, 5), "c": range(10, 101, 5)},
        lambda n: (n["a"] + n["b"] + n["c"]) ** 2 / (3 * (n["a"] * n["a"] + n["b"] * n["b"] + n["c"] * n["c"])),
        "",
        3,
    ),
    ExamQuestion(
        "policer",
        "A token bucket of {rate} Mbit/s with a burst of {burst} kB stands before a long queue on a fast line. "
        "How long do {size} kB need, counted on the line?",
        {"rate": range(5, 51, 5), "burst": range(50, 501, 50), "size": range(1000, 5001, 250)},
        lambda n: (n["size"] - n["burst"]) * 8 / n["rate"] / 1e3,
        "s",
    ),
    ExamQuestion(
        "ack-path",
        "A line carries {rate} Mbit/s down in packets of 1538 B. How much must it carry up, for an acknowledgment "
        "(90 B on the line) of every two packets?",
        {"rate": range(50, 1001, 50)},
        lambda n: n["rate"] / FRAME_BYTES / 2 * (ack_bytes(4) + 38),
        "Mbit/s",
    ),
    ExamQuestion(
        "autotuning",
        "A host may use {buffer} MB to receive, of which 60 % are payload. Up to which round trip does it fill a "
        "line that leaves {rate} Mbit/s for payload?",
        {"buffer": range(2, 33, 2), "rate": range(100, 1001, 100)},
        lambda n: 0.6 * n["buffer"] * 8e3 / n["rate"],
        "ms",
    ),
    ExamQuestion(
        "jitter",
        "ping tells an mdev of {deviation} µs. The delay of one direction is even between −J and +J, the other is "
        "constant. What is J?",
        {"deviation": range(500, 6001, 100)},
        lambda n: math.sqrt(3) * n["deviation"] / 1e3,
        "ms",
        3,
    ),
    ExamQuestion(
        "ecn",
        "In one round trip {marked} % of a DCTCP stream's packets are marked, as in all before. Its window was "
        "{window} packets. What is it now?",
        {"marked": range(10, 101, 10), "window": range(50, 1001, 50)},
        lambda n: n["window"] * (1 - n["marked"] / 200),
        "packets",
        3,
    ),
    ExamQuestion(
        "own-window",
        "A program copies at {rate} Mbit/s over {rtt} ms, and at four times the distance a quarter of that. What "
        "does it keep on the way at most?",
        {"rate": range(2, 201, 2), "rtt": range(10, 121, 10)},
        lambda n: n["rate"] * n["rtt"] / 8,
        "kB",
        3,
    ),
    ExamQuestion(
        "record-2004",
        "{streams} streams are to carry {rate} Gbit/s together over {rtt} ms. Which window does each of them need?",
        {"streams": range(2, 17), "rate": range(2, 41), "rtt": range(100, 301, 20)},
        lambda n: n["rate"] * n["rtt"] / 8 / n["streams"],
        "MB",
    ),
    ExamQuestion(
        "converging",
        "Two Reno flows of one round trip lose a packet at the same instants. Their windows differ by {first} packets. "
        "By how many do they differ after {losses} such losses?",
        {"first": range(160, 1001, 40), "losses": range(2, 6)},
        lambda n: n["first"] / 2 ** n["losses"],
        "packets",
        2,
    ),
    ExamQuestion(
        "short-flows",
        "A file of {size} kB is sent over {rtt} ms, in packets with 1448 B of payload, each window at once, the first "
        "one of 10 packets; the line is fast. How long from the first byte sent until the last one is read?",
        {"size": range(60, 2001, 20), "rtt": range(20, 201, 10)},
        lambda n: (math.ceil(math.log2(math.ceil(n["size"] * 1e3 / MSS_BYTES) / 10 + 1)) - 0.5) * n["rtt"],
        "ms",
    ),
    ExamQuestion(
        "changing-line",
        "A Reno stream just fills {rate} Mbit/s over {rtt} ms, with packets of 1538 B on the line and no queue. The "
        "line becomes {times} times as fast. After how long does the stream fill it again, if nothing is lost?",
        {"rate": range(10, 101, 10), "rtt": range(20, 201, 10), "times": range(2, 9)},
        lambda n: n["rate"] * (n["times"] - 1) * MBPS * n["rtt"] / 8e3 / FRAME_BYTES * n["rtt"] / 1e3,
        "s",
    ),
    ExamQuestion(
        "black-hole",
        "A tunnel over a link of {link} B adds {added} B to each packet. Which MSS does its entry have to write into "
        "SYNs of IPv4?",
        {"link": range(1400, 1501, 4), "added": (8, 24, 28, 36, 50, 60, 80)},
        lambda n: n["link"] - n["added"] - 40,
        "B",
        2,
    ),
    ExamQuestion(
        "bbr",
        "A BBR stream is alone on {rate} Mbit/s over {rtt} ms. How much stands in the queue at the end of Startup, "
        "when its window is 2.89 times what the path holds?",
        {"rate": range(10, 1001, 10), "rtt": range(10, 201, 10)},
        lambda n: 1.89 * n["rate"] * n["rtt"] / 8,
        "kB",
        3,
    ),
    ExamQuestion(
        "trace",
        "In a capture the receiver's SYN tells a shift of {shift}; its later packets say a window of {raw}. The SYN "
        "was answered after {rtt} ms. Which goodput is possible at most?",
        {"shift": range(1, 9), "raw": range(500, 5001, 50), "rtt": range(10, 201, 10)},
        lambda n: (n["raw"] << n["shift"]) * 8 / n["rtt"] / 1e3,
        "Mbit/s",
    ),
    ExamQuestion(
        "timeouts",
        "The last acknowledgment of a stream came; then the line is silent. The sender probes after two round trips of "
        "{rtt} ms. Its timeout, the round trip and 200 ms, then doubles. When does timeout number {number} end?",
        {"rtt": range(10, 201, 10), "number": range(2, 8)},
        lambda n: (2 * n["rtt"] + (n["rtt"] + 200) * (2 ** n["number"] - 1)) / 1e3,
        "s",
    ),
    ExamQuestion(
        "flow-queues",
        "A line of {rate} Mbit/s has SFQ before it. {flows} downloads fill it, in packets of 1538 B. How long does a "
        "ping wait for its turn at most?",
        {"rate": range(2, 101, 2), "flows": range(3, 61)},
        lambda n: n["flows"] * FRAME_BYTES * 8 / n["rate"] / 1e3,
        "ms",
        3,
    ),
    ExamQuestion(
        "dtn",
        "A data transfer node is to fill {rate} Gbit/s over {rtt} ms. Linux gives half of the third number of tcp_rmem "
        "to the window. Which number does it need?",
        {"rate": (1, 2, 5, 10, 25, 40, 100), "rtt": range(20, 201, 10)},
        lambda n: 2 * n["rate"] * n["rtt"] / 8,
        "MB",
        3,
    ),
    ExamQuestion(
        "mptcp",
        "A transfer by MPTCP has {fast} Mbit/s over {near} ms and {slow} Mbit/s over {far} ms. Which window does its "
        "receiver need to fill both?",
        {"fast": range(20, 101, 10), "near": range(10, 41, 10), "slow": range(5, 21, 5), "far": range(50, 201, 10)},
        lambda n: (n["fast"] + n["slow"]) * n["far"] / 8,
        "kB",
        3,
    ),
    ExamQuestion(
        "offload",
        "A stream is paced at {rate} Mbit/s. With offload its host makes 1024 packets a second, each of whole segments "
        "of 1448 B. How many segments has one?",
        {"rate": range(30, 301, 10)},
        lambda n: n["rate"] * 1e6 / 8 // 1024 // MSS_BYTES,
        "",
        2,
    ),
    ExamQuestion(
        "quic",
        "A client asks a server {rtt} ms away for {times} pages of {size} B, one after the other, each over a new "
        "connection. How much sooner does it have all of them by QUIC, without tickets, than by TCP and TLS 1.3?",
        {"rtt": range(10, 201, 10), "size": range(200, 1001, 100), "times": range(1, 9)},
        lambda n: n["rtt"] * n["times"],
        "ms",
        2,
    ),
)


def draw(question: ExamQuestion, chance: random.Random) -> tuple[str, float]:
    """(The question with its numbers, its answer.)"""
    numbers = {name: chance.choice(among) for name, among in question.draw.items()}
    return question.text.format(**numbers), question.answer(numbers)


def paper(register: ClassRegister, variant: str, lessons: Sequence[str]) -> tuple[str, str]:
    """(A paper in Markdown, its key); the class's secret and the variant's name draw the numbers.

    Raises:
        ExerciseError: none of the lessons has a question.
    """
    chosen = [each for each in QUESTIONS if not lessons or each.lesson in lessons]
    if not chosen:
        known = ", ".join(dict.fromkeys(each.lesson for each in QUESTIONS))
        raise ExerciseError(f"no question of {', '.join(lessons)}; there are questions of {known}")
    chance = random.Random(register.draw_key("exam", variant))
    points = sum(each.points for each in chosen)
    asked = [f"# {register.name}, variant {variant}", "", "Name:", "", f"{points} points, {points} minutes.", ""]
    answers = [f"# {register.name}, variant {variant}: key", ""]
    for number, each in enumerate(chosen, 1):
        text, answer = draw(each, chance)
        asked += [f"**{number}.** {text} ({each.points} points)", ""]
        answers.append(f"{number}. {answer:.4g} {each.unit}".rstrip() + f" ({each.lesson}; {each.points} points)")
    return "\n".join(asked), "\n".join(answers) + "\n"


def write_papers(folder: Path, register: ClassRegister, variants: int, lessons: Sequence[str]) -> list[Path]:
    """Write so many variants, A, B, C …, and their keys.

    Raises:
        ExerciseError: none of the lessons has a question.
        OutputError: it cannot be written.
    """
    made: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for variant in (chr(ord("A") + number) for number in range(variants)):
            for name, text in zip(("exam", "key"), paper(register, variant, lessons), strict=True):
                made.append(folder / f"{name}-{variant}.md")
                write_atomically(made[-1], text.encode())
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror or error}; give another folder with --out") from error
    return made
