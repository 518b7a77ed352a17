"""Packets that overtook others, as selective acknowledgments tell it to the sender (RFC 2018, RFC 2883).

What is acknowledged above a hole came before what is in the hole. A hole that closes although nothing in it was sent
again was no loss: its packets were late. So it was if they were sent again and the receiver tells that it got them
twice. Linux counts reordering in the same way (tcp_check_sack_reordering).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(slots=True)
class SackedHole:
    """A range of bytes that was missing below others; `again`: some of it was sent again."""

    begin: int
    end: int
    again: bool = False


@dataclass(slots=True)
class SackedHoles:
    """The holes of one direction.

    Attributes:
        overtook: how many packets came before others that were sent earlier.
        doubtful: closed ones that were sent again: lost or late, which a D-SACK tells.
    """

    overtook: int = 0
    highest: int = 0
    holes: list[SackedHole] = field(default_factory=list[SackedHole])
    doubtful: list[SackedHole] = field(default_factory=list[SackedHole])

    def acknowledge(self, acked: int, blocks: Iterable[tuple[int, int]]) -> None:
        """Take an acknowledgment up to a byte, and the blocks above it."""
        self.highest = max(self.highest, acked)
        self._close(0, acked)
        for begin, end in sorted(blocks):
            if begin > self.highest:
                self.holes.append(SackedHole(self.highest, begin))
            self.highest = max(self.highest, end)
            self._close(begin, end)

    def send_again(self, begin: int, end: int) -> None:
        """Note what was sent again."""
        for hole in self.holes:
            if begin < hole.end and end > hole.begin:
                hole.again = True

    def repeat(self, begin: int, end: int) -> None:
        """Note what the receiver got twice."""
        for hole in [each for each in self.doubtful if begin < each.end and end > each.begin]:
            self.overtook += 1
            self.doubtful.remove(hole)

    def _close(self, begin: int, end: int) -> None:
        for hole in [each for each in self.holes if begin < each.end and end > each.begin]:
            self.holes.remove(hole)
            rest = [SackedHole(hole.begin, begin, hole.again)] if hole.begin < begin else []
            rest += [SackedHole(end, hole.end, hole.again)] if hole.end > end else []
            self.holes += rest
            if rest:
                continue
            if hole.again:
                self.doubtful.append(hole)
            else:
                self.overtook += 1
