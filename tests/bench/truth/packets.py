"""Questions to the emulated wire: times, rates, queues, chance, marks, MTU, hops."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from landspeed.scenario.plan.plan import Plan

from . import theory
from .classes import (
    CORRUPT,
    DUPLICATE,
    JITTER,
    JITTER_S,
    LINE,
    LOSS,
    MARKED_AFTER,
    MARKING,
    MTU,
    QUEUE,
    QUEUE_BYTES,
    REORDER,
    SHARES,
    SMALL,
    SMALL_MTU,
    RateClass,
    wire_lanes,
    wire_links,
)
from .emulated import a_folder, address, ask, plan_over
from .question import Finding, Question, exactly, within

PINGS = (16, 56, 512, 1000, 4000)  # and what just fits into a packet
ROUND_TRIP = re.compile(r"= ([\d.]+)/([\d.]+)/([\d.]+)/")
HOP = re.compile(r"^ *(\d+)  (\S+)  ([\d.]+) ms", re.MULTILINE)
REFUSED = re.compile(r"mtu ?= ?(\d+)")
CODEL_CLOCK_S = 1.024e-6  # net/codel.h: CODEL_SHIFT
ETHERNET_HEADER = 14  # a queue of the guest counts it for each packet
UDP, STAMP = 8, 16  # a header, and those bytes of a train's packet that differ from one to the next
CHANCES, SIZE = 4000, 500
WHOLE_NS = "the kernel counts whole nanoseconds; or 0.01 %"


def questions(rate: RateClass, plan: Plan) -> list[Question]:
    """All of them, over `wire_links`."""
    return [
        *_pings(rate, plan),
        *_one_way(rate, plan),
        *_rates(rate, plan),
        _queue(rate, plan, MTU),
        _queue(rate, plan, 100),
        *_chances(rate, plan),
        *(_marks(rate, plan, ecn=ecn) for ecn in (2, 0)),
        *_mtu(plan),
        _hops(rate, plan),
    ]


def wire(rate: RateClass, ip: int, fidelity: str) -> list[Finding]:
    """Everything about the wire, of one guest."""
    with a_folder() as folder:
        plan = plan_over(folder, wire_links(rate), ip, fidelity)
        return ask(plan, questions(rate, plan), folder)


def _train(plan: Plan, origin: int, target: int, size: int, count: int, **more: Any) -> dict[str, Any]:
    names = [node.name for node in plan.nodes]
    ends = {"origin": names[origin], "target": names[target], "address": address(plan, origin, target)}
    return {"kind": "train", **ends, "size": size, "count": count, **more}


# --- Times -----------------------------------------------------------------------------------------------------------


def _pings(rate: RateClass, plan: Plan) -> Iterable[Question]:
    """To the router before the small link: three slow lines, and their ways back."""
    there, back = (lanes[:SMALL] for lanes in wire_lanes(rate))
    target, ip = address(plan, 0, SMALL), plan.ip_version
    for size in (*PINGS, MTU - theory.IP[ip] - theory.ICMP):
        wanted_s = theory.ping_s(size, ip, MTU, there, back[::-1])
        name = "ping -s, fragments" if size > MTU else "ping -s"

        def judge(answer: Any, wanted_s: float = wanted_s, name: str = name) -> Iterable[Finding]:
            least, _, most = (float(ms) / 1e3 for ms in ROUND_TRIP.findall(answer["out"])[0])
            for seen_s in (least, most):
                yield within(name, seen_s, wanted_s)

        words = ["ping", "-n", "-c", "2", "-i", "9", "-W", "60", "-s", str(size), target]
        yield Question({"kind": "program", "words": words}, judge)


def _one_way(rate: RateClass, plan: Plan) -> Iterable[Question]:
    """Each way by itself; both have delays and rates of their own."""
    there, back = wire_lanes(rate)
    for size in (100, MTU):
        for origin, target, lanes in ((0, SMALL, there[:SMALL]), (SMALL, LINE, back[LINE:SMALL])):
            wanted_s = theory.one_way_s(size, lanes)
            name = f"one-way delay, {'forward' if origin == 0 else 'reverse'}"

            def judge(answer: Any, wanted_s: float = wanted_s, name: str = name) -> Iterable[Finding]:
                yield exactly("lone packets arrive", len(answer["arrived"]), answer["sent"])
                for _, sent_ns, arrived_ns, *_ in answer["arrived"]:
                    yield within(name, (arrived_ns - sent_ns) / 1e9, wanted_s)

            yield Question(_train(plan, origin, target, size, 3, gap_ns=10**10), judge)


def _rates(rate: RateClass, plan: Plan) -> Iterable[Question]:
    """A UDP train over the line of the class, each way: the time that a packet takes on it."""
    there, back = wire_lanes(rate)
    for size in (576, MTU):
        for origin, target, lane in ((LINE, LINE + 1, there[LINE]), (LINE + 1, LINE, back[LINE])):

            def judge(answer: Any, lane: theory.Lane = lane, size: int = size) -> Iterable[Finding]:
                times = [arrived_ns for _, _, arrived_ns, *_ in answer["arrived"]]
                yield exactly("a train arrives whole", len(times), answer["sent"])
                seen_s, wanted_s = (times[-1] - times[0]) / 1e9 / (len(times) - 1), lane.takes_s(size)
                yield Finding("UDP train: a packet's time", seen_s, wanted_s, max(1e-9, 1e-4 * wanted_s), "s", WHOLE_NS)

            wait_s = 400 * lane.takes_s(size) + 1
            yield Question(_train(plan, origin, target, size, 300, together=50, settle_s=wait_s), judge)


def _hops(rate: RateClass, plan: Plan) -> Question:
    there, back = wire_lanes(rate)
    wanted_s = [theory.hop_s(plan.ip_version, there[:hop], back[:hop][::-1]) for hop in range(1, SMALL + 1)]
    wanted = [address(plan, 0, hop) for hop in range(1, SMALL + 1)]

    def judge(answer: Any) -> Iterable[Finding]:
        hops = HOP.findall(answer["out"])
        right = sum(found == asked for (_, found, _), asked in zip(hops, wanted, strict=False))
        yield exactly("traceroute: hops in their order", right, len(wanted))
        for (_, _, ms), time_s in zip(hops, wanted_s, strict=False):
            yield within("traceroute: each hop's time", float(ms) / 1e3, time_s)

    words = ["traceroute", "-n", "-q", "1", "-N", "1", "-w", "30", wanted[-1]]
    return Question({"kind": "program", "words": words}, judge)


# --- Queues and marks ------------------------------------------------------------------------------------------------


def _queue(rate: RateClass, plan: Plan, size: int) -> Question:
    """A burst of twice the queue into its line."""
    line = wire_lanes(rate)[0][QUEUE]
    holds = theory.held_packets(QUEUE_BYTES, size, ETHERNET_HEADER, MTU)

    def judge(answer: Any) -> Iterable[Finding]:
        passed = [sequence for sequence, *_ in answer["arrived"]]
        why = "one more may be on the line"
        yield Finding("queue overflow: packets that pass", len(passed), holds, 1, "", why)
        in_order = sum(place == sequence for place, sequence in enumerate(passed[:holds]))
        yield exactly("queue: first in, first out", in_order, min(holds, len(passed)))
        last_s = (answer["arrived"][holds - 1][2] - answer["arrived"][0][2]) / 1e9
        wanted_s = (holds - 1) * line.takes_s(size)
        allowed_s = max(holds * 1e-9, 1e-4 * wanted_s)
        yield Finding("queue: time to drain", last_s, wanted_s, allowed_s, "s", WHOLE_NS)

    wait_s = 3 * holds * line.takes_s(size) + 1
    return Question(_train(plan, QUEUE, QUEUE + 1, size, 2 * holds, together=2 * holds, settle_s=wait_s), judge)


def _marks(rate: RateClass, plan: Plan, *, ecn: int) -> Question:
    """What waited longer than the threshold is marked, if it says that it understands (RFC 3168)."""
    count = 3 * MARKED_AFTER
    wanted = count - MARKED_AFTER if ecn else 0
    name = "ECN: packets marked" if ecn else "ECN: marked though not capable"

    def judge(answer: Any) -> Iterable[Finding]:
        marks = [place for place, arrival in enumerate(answer["arrived"]) if arrival[5] == 3]
        yield exactly("ECN: nothing is dropped", len(answer["arrived"]), count)
        near = 2 + math.ceil(CODEL_CLOCK_S / rate.packet_s)
        why = "the packets about the threshold; CoDel's clock counts 1.024 µs" if ecn else ""
        yield Finding(name, len(marks), wanted, near if ecn else 0, "", why)
        yield exactly("ECN: the last ones are marked", sum(place >= count - len(marks) for place in marks), len(marks))

    wait_s = 2 * count * rate.packet_s + 1
    return Question(_train(plan, MARKING, MARKING + 1, MTU, count, together=count, ecn=ecn, settle_s=wait_s), judge)


def _mtu(plan: Plan) -> Iterable[Question]:
    """What just fits comes back; what does not is refused by the router before the small link, with its MTU."""
    room = SMALL_MTU - theory.IP[plan.ip_version] - theory.ICMP
    target, before = address(plan, 0, SMALL + 1), address(plan, 0, SMALL)
    for size, fits in ((room, True), (room + 1, False)):

        def judge(answer: Any, fits: bool = fits) -> Iterable[Finding]:
            received = "1 received" in answer["out"]
            yield exactly("MTU: what fits passes" if fits else "MTU: what does not is refused", received, fits)
            if not fits:
                told = [int(mtu) for mtu in REFUSED.findall(answer["out"])]
                yield exactly("MTU: told by ICMP", told[0] if told else 0, SMALL_MTU)
                yield exactly("MTU: by the router before the link", f"From {before} " in answer["out"], True)

        words = ["ping", "-n", "-c", "1", "-W", "60", "-M", "do", "-s", str(size), target]
        yield Question({"kind": "program", "words": words}, judge)


# --- Chance ----------------------------------------------------------------------------------------------------------


def _chances(rate: RateClass, plan: Plan) -> Iterable[Question]:
    """A train over each link that leaves something to chance."""
    takes_s = wire_lanes(rate)[0][LOSS].takes_s(SIZE)
    compared = SIZE - theory.IP[plan.ip_version] - UDP - STAMP
    judges: dict[int, Callable[[list[list[int]], float], Iterable[Finding]]] = {
        LOSS: _lost,
        DUPLICATE: _twice,
        REORDER: _early,
        CORRUPT: lambda arrived, _: _flipped(arrived, compared),
        JITTER: _late,
    }
    apart_s = {REORDER: 2 * takes_s, JITTER: 2 * JITTER_S + 2 * takes_s}  # where packets must not meet
    for link, judge in judges.items():
        gap_ns = round(apart_s.get(link, 0) * 1e9) + (10_000 if link in apart_s else 0)
        request = _train(plan, link, link + 1, SIZE, CHANCES, gap_ns=gap_ns, together=1 if gap_ns else 50)
        request |= {"whole": link == CORRUPT, "settle_s": CHANCES * takes_s + 1}
        yield Question(request, lambda answer, judge=judge: judge(answer["arrived"], takes_s))


def _share(name: str, count: int, probability: float) -> Finding:
    mean, allowed = theory.binomial(CHANCES, probability)
    return Finding(name, count, mean, allowed, "", "five standard deviations of a binomial count")


def _lost(arrived: list[list[int]], _: float) -> Iterable[Finding]:
    there = {sequence for sequence, *_ in arrived}
    yield _share("loss", CHANCES - len(there), SHARES[LOSS])
    pairs = sum(place not in there and place + 1 not in there for place in range(CHANCES - 1))
    yield _share("loss: two in a row", pairs, SHARES[LOSS] ** 2)


def _twice(arrived: list[list[int]], _: float) -> Iterable[Finding]:
    times = Counter(sequence for sequence, *_ in arrived)
    yield exactly("duplicates: nothing is lost", len(times), CHANCES)
    yield _share("duplicates", sum(count == 2 for count in times.values()), SHARES[DUPLICATE])


def _early(arrived: list[list[int]], takes_s: float) -> Iterable[Finding]:
    times_s = [(arrived_ns - sent_ns) / 1e9 for _, sent_ns, arrived_ns, *_ in arrived]
    early = [time_s for time_s in times_s if time_s < 2.5e-3 + takes_s]
    yield _share("reorder: packets that overtake", len(early), SHARES[REORDER])
    for seen_s in (min(early, default=0.0), max(early, default=0.0)):
        yield within("reorder: they skip the delay, and not the line", 5e-3 + takes_s - seen_s, 5e-3)
    late = [time_s for time_s in times_s if time_s >= 2.5e-3 + takes_s]
    yield within("reorder: the others keep it", max(late), 5e-3 + takes_s)


def _flipped(arrived: list[list[int]], compared: int) -> Iterable[Finding]:
    """One bit anywhere in the frame: the share that hits the bytes compared is known."""
    flips = [row[4] for row in arrived if row[4]]
    yield exactly("corruption: bits of a packet", max(flips, default=1), 1)
    yield _share("corruption", len(flips), SHARES[CORRUPT] * compared / (SIZE + ETHERNET_HEADER))


def _late(arrived: list[list[int]], takes_s: float) -> Iterable[Finding]:
    times_s = [(arrived_ns - sent_ns) / 1e9 for _, sent_ns, arrived_ns, *_ in arrived]
    low, high = 5e-3 - JITTER_S + takes_s, 5e-3 + JITTER_S + takes_s
    distance = theory.uniform_distance(times_s, low, high)
    why = "Kolmogorov's distance that one of a million passes"
    yield Finding("jitter: distance from uniform", distance, 0, theory.distance_bound(CHANCES), "", why)
    yield Finding("jitter: least", min(times_s), low, JITTER_S / 100, "s", "a hundredth of it: one of 4000 comes near")
    yield Finding("jitter: most", max(times_s), high, JITTER_S / 100, "s", "a hundredth of it: one of 4000 comes near")
