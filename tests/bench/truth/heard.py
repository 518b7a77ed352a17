"""A connection as it was captured in the guest: its segments by number, its rounds, its retransmissions."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

from .guest.wire import Segment

SYN, ACK = 2, 16
HALF = 1 << 31


class Heard:
    """What a talk of the guest came to.

    Attributes:
        mss: payload of a full segment.
        sent: segments with data that left the sender's host, in order.
        came: those that came to the receiver's.
        acks: acknowledgments as they came back to the sender's host.
        told: acknowledgments as they left the receiver's.
        samples: TCP_INFO of the sender.
    """

    def __init__(self, answer: dict[str, Any]) -> None:
        """From the guest's answer."""
        self.mss: int = answer["mss"]
        self._first: int = answer["first_seq"]
        self.samples: list[dict[str, int]] = answer["samples"]
        self.notes: list[dict[str, Any]] = answer["notes"]
        segments = [Segment(*row) for row in answer["segments"]]
        near, far = ([each for each in segments if each.at == at] for at in (0, 1))
        self.handshake_ns = [each.time_ns for each in near if each.flags & SYN]
        self.sent = [each for each in near if each.out and each.length]
        self.came = [each for each in far if not each.out and each.length]
        self.acks = [each for each in near if not each.out and not each.flags & SYN]
        self.told = [each for each in far if each.out and not each.flags & SYN]

    def place(self, seq: int) -> int:
        """Bytes from the first one to this sequence number, which may be a little before it."""
        distance = (seq - self._first) & 0xFFFFFFFF
        return distance - (1 << 32) if distance >= HALF else distance

    def number(self, segment: Segment) -> int:
        """Which segment this is; the first is 0."""
        return self.place(segment.seq) // self.mss

    def arrival(self, number: int) -> Segment:
        """The segment that brought the first byte of this one to the receiver."""
        start = number * self.mss
        return next(each for each in self.came if self.place(each.seq) <= start < self.place(each.seq) + each.length)

    def firsts(self) -> list[Segment]:
        """What was sent for the first time."""
        found: list[Segment] = []
        furthest = 0
        for each in self.sent:
            if self.place(each.seq) >= furthest:
                furthest = self.place(each.seq) + each.length
                found.append(each)
        return found

    def again(self) -> list[Segment]:
        """What was sent once more."""
        firsts = {id(each) for each in self.firsts()}
        return [each for each in self.sent if id(each) not in firsts]

    def rounds(self) -> list[int]:
        """Segments sent in each round: one ends when all that was sent in the one before it is acknowledged."""
        counts = [0]
        edge, sent, place = 0, 0, 0
        firsts = self.firsts()
        for ack in self.acks:
            while place < len(firsts) and firsts[place].time_ns < ack.time_ns:
                counts[-1] += round(firsts[place].length / self.mss)
                sent = self.place(firsts[place].seq) + firsts[place].length
                place += 1
            if counts[-1] and self.place(ack.ack) > edge:
                edge = sent
                counts.append(0)
        counts[-1] += sum(round(each.length / self.mss) for each in firsts[place:])
        return [count for count in counts if count]

    def beyond_window(self) -> int:
        """By how many bytes the sender went beyond the right edge of the window that it knew; below zero: never."""
        scale = round(math.log2(self.samples[-1]["snd_wnd"] / self.acks[-1].window))
        edge, worst = -1, -(1 << 31)
        for each in sorted([*self.acks, *self.sent], key=lambda each: (each.time_ns, each.out)):
            if not each.out:
                edge = max(edge, self.place(each.ack) + (each.window << scale))
            elif edge >= 0:
                worst = max(worst, self.place(each.seq) + each.length - edge)
        return worst

    def duplicates_of(self, number: int) -> list[Segment]:
        """Acknowledgments that came back while this segment was missing, each with news of what came behind it."""
        return [each for each in self.acks if self.place(each.ack) == number * self.mss and each.sacks]

    def since(self, sample: dict[str, int]) -> float:
        """When a sample was taken, in seconds after the first segment."""
        return (sample["time_ns"] - self.sent[0].time_ns) / 1e9


def gaps_s(segments: Sequence[Segment]) -> list[float]:
    """Times between them."""
    return [(after.time_ns - before.time_ns) / 1e9 for before, after in itertools.pairwise(segments)]
