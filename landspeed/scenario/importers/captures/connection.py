"""A TCP connection as its packets tell it, captured anywhere on the path: rates, round trips, losses, windows.

What is sent again below the highest number seen was lost behind the place of the capture. What fills a hole was lost
before it, or came late: with an older time stamp than what had opened the hole (RFC 7323), or, where these do not
tell, within less than a round trip, since nothing is sent again sooner. The receiver tells with D-SACK what was sent
again for nothing (RFC 2883).
"""

from __future__ import annotations

import struct
from collections import deque
from dataclasses import dataclass, field

from landspeed.base.segments import Segment, options_of
from landspeed.scenario.importers.captures.sacked_holes import SackedHoles

BIN_NS = 50_000_000
SLICE_NS = 5_000_000
MSS, SCALE, SACK, TIMESTAMPS = 2, 3, 5, 8
FIN, SYN, RST, ACK = 1, 2, 4, 16
STANDS = 0.25  # of the most that a packet waited: while they wait so long, the line is busy
QUEUE_NS = 500_000  # an RTT less above the least is no queue
EARLY = 0.9  # of a round trip: nothing that is lost is sent again sooner
_USUAL_OPTIONS = b"\x01\x01\x08\x0a"
_TWO = struct.Struct(">II").unpack_from
_HALF, _ALL = 1 << 31, (1 << 32) - 1


@dataclass(slots=True)
class Bin:
    """Counts of a part of the time: bytes, packets, and the sum of round trips in ns."""

    acked: int = 0
    fresh: int = 0
    resent: int = 0
    window: int = 0
    rtt_ns: int = 0
    rtts: int = 0


@dataclass(slots=True)
class LossEpisode:
    """Losses mended together: in flight when the first was seen; with `timed_out` TCP waited for its timer."""

    start_ns: int
    flight: int
    end_ns: int = 0
    timed_out: bool = False


@dataclass(slots=True)
class BusyTime:
    """Times in which a queue stood at the bottleneck without a break: what was acknowledged meanwhile is its rate.

    A packet with a round trip well above the least waited for others; so the line was busy from one such packet to the
    next. A time counts that lasted a round trip and more, for within one a burst waits for itself.

    Attributes:
        times: (from, until, bytes) of each.
    """

    times: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    most_ns: int = 0
    from_ns: int = 0
    until_ns: int = 0
    bytes: int = 0

    def add(self, now: int, size: int, rtt_ns: int, least_ns: int) -> None:
        """Take an acknowledgment, and the least round trip up to now."""
        self.most_ns = max(self.most_ns, rtt_ns)
        if rtt_ns - least_ns < max(STANDS * (self.most_ns - least_ns), QUEUE_NS):
            self.end(least_ns)
        elif not self.from_ns:
            self.from_ns = self.until_ns = now
        else:
            self.until_ns = now
            self.bytes += size

    def end(self, least_ns: int) -> None:
        """End the time that goes on, if one does."""
        if self.until_ns - self.from_ns > max(least_ns, QUEUE_NS):
            self.times.append((self.from_ns, self.until_ns, self.bytes))
        self.from_ns = self.until_ns = self.bytes = 0


@dataclass(slots=True)
class ConnectionHalf:
    """One direction of a connection. Numbers of bytes are counted on beyond 32 bits.

    Attributes:
        ends: the sender's address first.
        least_ns: least round trip from here to the receiver of this way, and back here.
        ahead, behind: bins with round trips seen to the receiver, and to the sender.
    """

    ends: bytes
    first: int = -1
    next: int = 0
    acked: int = -1
    mss: int = 0
    scale: int | None = None
    synced: bool = False
    bytes: int = 0
    packets: int = 0
    resent: int = 0
    needless: int = 0
    overtaken: int = 0
    overtaken_ns: int = 0
    largest: int = 0
    first_ns: int = 0
    last_ns: int = 0
    max_window: int = 0
    unseen: int = 0
    ahead_ns: int | None = None
    behind_ns: int | None = None
    rtts: int = 0
    ahead: dict[int, Bin] = field(default_factory=dict[int, Bin])
    behind: dict[int, Bin] = field(default_factory=dict[int, Bin])
    flights: dict[int, int] = field(default_factory=dict[int, int])
    episodes: list[LossEpisode] = field(default_factory=list[LossEpisode])
    holes: list[list[int]] = field(default_factory=list[list[int]])  # begin, end, opened at, time stamp, all came late
    waiting: deque[tuple[int, int]] = field(default_factory=deque[tuple[int, int]])
    stamps: deque[tuple[int, int]] = field(default_factory=deque[tuple[int, int]])  # of acknowledgments of this way
    recover: int = -1
    sacked: SackedHoles = field(default_factory=SackedHoles)
    busy: BusyTime = field(default_factory=BusyTime)


def _bin(bins: dict[int, Bin], now: int) -> Bin:
    place = now // BIN_NS
    found = bins.get(place)
    if found is None:
        found = bins[place] = Bin()
    return found


class Connection:
    """A connection; `add` its segments in the order of time."""

    def __init__(self, ends: bytes, other: bytes, interface: int = 0) -> None:
        self.ways = (ConnectionHalf(ends), ConnectionHalf(other))
        self.interface = interface
        self.syn_ns = self.syn_ack_ns = self.ack_ns = 0
        self.syns = 0
        self.client: ConnectionHalf | None = None

    def add(self, segment: Segment) -> None:
        """Take the next segment into account."""
        way, back = self.ways if segment.ends == self.ways[0].ends else self.ways[::-1]
        now = segment.time_ns
        if segment.flags & SYN:
            self._open(way, segment)
            return
        if way.first < 0:
            way.first = way.next = segment.sequence
        if segment.flags & RST:
            return
        raw = segment.options
        sack = b""
        if raw[:4] == _USUAL_OPTIONS and len(raw) == 12:
            stamp, echo = _TWO(raw, 4)
        else:
            options = options_of(raw)
            told = options.get(TIMESTAMPS, b"")
            stamp, echo = _TWO(told) if len(told) == 8 else (-1, -1)
            sack = options.get(SACK, b"")
        if not self.ack_ns and way is self.client and self.syn_ack_ns:
            self.ack_ns = now
        if segment.payload > 1:  # one byte is a probe of a window or of life
            self._data(way, segment, now, stamp)
            self._echoed(way, now, echo)
        if segment.flags & ACK:
            self._acknowledge(back, way, segment, now, sack)
            if stamp >= 0 and (not back.stamps or back.stamps[-1][0] != stamp):
                back.stamps.append((stamp, now))
        way.last_ns = now

    def _open(self, way: ConnectionHalf, segment: Segment) -> None:
        options = options_of(segment.options)
        way.first = way.next = way.acked = segment.sequence + 1
        way.synced = True
        size, scale = options.get(MSS, b""), options.get(SCALE, b"")
        way.mss = int.from_bytes(size) if len(size) == 2 else 0
        way.scale = min(scale[0], 14) if len(scale) == 1 else 0
        if TIMESTAMPS in options and way.mss:
            way.mss -= 12
        if segment.flags & ACK:
            self.syn_ack_ns = self.syn_ack_ns or segment.time_ns
        else:
            self.syns += 1
            self.client, self.syn_ns = way, segment.time_ns

    @property
    def handshake_ns(self) -> int:
        """Round trip between the ends, wherever it was captured; 0 where it was not, or not at once."""
        whole = self.syns == 1 and self.ack_ns >= self.syn_ack_ns >= self.syn_ns > 0
        return self.ack_ns - self.syn_ns if whole else 0

    def halves_ns(self, way: ConnectionHalf) -> tuple[int, int]:
        """The handshake's round trip from here to the receiver of a way, and to its sender."""
        there, here = self.syn_ack_ns - self.syn_ns, self.ack_ns - self.syn_ack_ns
        return (there, here) if way is self.client else (here, there)

    def _data(self, way: ConnectionHalf, segment: Segment, now: int, stamp: int) -> None:
        size = segment.payload
        begin = way.next + ((segment.sequence - way.next + _HALF) & _ALL) - _HALF
        end = begin + size
        part = _bin(way.ahead, now)
        way.first_ns = way.first_ns or now
        packets = -(-size // way.mss) if way.mss else 1
        way.packets += packets
        way.largest = max(way.largest, size)
        if begin >= way.next:
            if begin > way.next:
                way.holes.append([way.next, begin, now, stamp, 1])
            part.fresh += size
            way.bytes += size
            way.next = end
            if way.recover < 0:
                way.waiting.append((end, now))
        elif (filled := self._fill(way, begin, end, now, stamp)) is not None:
            part.fresh += filled
            way.bytes += filled
        else:
            part.resent += packets
            way.resent += packets
            way.sacked.send_again(begin, end)
            self._lost(way, now, begin)
            if end > way.next:
                part.fresh += end - way.next
                way.bytes += end - way.next
                way.next = end
        flight = way.next - max(way.acked, way.first)
        place = now // SLICE_NS
        way.flights[place] = max(way.flights.get(place, 0), flight)

    def _fill(self, way: ConnectionHalf, begin: int, end: int, now: int, stamp: int) -> int | None:
        """Bytes of a hole that a segment fills; None where it fills none."""
        for hole in reversed(way.holes):
            if begin < hole[1] and end > hole[0]:
                break
        else:
            return None
        filled = min(end, hole[1]) - max(begin, hole[0])
        rtt_ns = self.handshake_ns or (way.ahead_ns or 0) + (way.behind_ns or 0)
        soon = now - hole[2] < EARLY * rtt_ns
        late = stamp < hole[3] or (stamp == hole[3] and soon) if stamp >= 0 else soon
        if not late:
            hole[4] = 0
            packets = -(-filled // way.mss) if way.mss else 1
            way.resent += packets
            _bin(way.ahead, now).resent += packets
        rest = [[hole[0], begin, *hole[2:]]] if begin > hole[0] else []
        rest += [[end, hole[1], *hole[2:]]] if end < hole[1] else []
        if not rest and hole[4]:
            way.overtaken += 1
            way.overtaken_ns = max(way.overtaken_ns, now - hole[2])
        way.holes.remove(hole)
        way.holes += rest
        return filled

    def _lost(self, way: ConnectionHalf, now: int, begin: int) -> None:
        way.waiting.clear()
        if way.recover >= 0:
            return
        way.recover = way.next
        flight = way.next - max(way.acked, way.first)
        quiet = now - max(way.last_ns, self.ways[way is self.ways[0]].last_ns)
        waited = quiet > 150_000_000 and begin <= way.acked
        way.episodes.append(LossEpisode(now, flight, timed_out=waited))

    def _acknowledge(self, way: ConnectionHalf, back: ConnectionHalf, segment: Segment, now: int, sack: bytes) -> None:
        """Take what an acknowledgment tells of the data of `way`."""
        part = _bin(way.ahead, now)
        offered = segment.window << (back.scale or 0)
        part.window = max(part.window, offered)
        way.max_window = max(way.max_window, offered)
        if way.first < 0:
            return

        def counted(number: int) -> int:
            return way.next + ((number - way.next + _HALF) & _ALL) - _HALF

        acked = counted(segment.acknowledged)
        repeated = len(sack) >= 8 and self._is_repeated(sack, segment.acknowledged)
        if repeated:
            way.needless += 1
            part.resent -= 1
        if sack or way.sacked.holes:
            blocks = [
                (counted(begin), counted(end)) for begin, end in struct.iter_unpack(">II", sack[: len(sack) & ~7])
            ]
            if repeated:
                way.sacked.repeat(*blocks.pop(0))
            way.sacked.acknowledge(acked, [each for each in blocks if acked < each[0] < each[1] <= way.next])
        if way.acked < 0:
            way.acked = min(acked, way.next)
            return
        if acked <= way.acked:
            return
        if acked > way.next:
            way.unseen += acked - way.next - 1  # a FIN counts for one
            way.next = acked
        size = acked - way.acked
        part.acked += size
        way.acked = acked
        if way.recover >= 0:
            way.busy.end(way.ahead_ns or 0)
            if acked >= way.recover:
                way.recover = -1
                way.episodes[-1].end_ns = now
        else:
            self._returned(way, part, size, now)
        place = now // SLICE_NS
        way.flights[place] = max(way.flights.get(place, 0), way.next - acked)

    @staticmethod
    def _is_repeated(sack: bytes, acknowledged: int) -> bool:
        """Return whether the first block tells what came twice: it is acknowledged, or within the second."""
        begin, end = _TWO(sack)
        if (acknowledged - end) & _ALL < _HALF:
            return True
        if len(sack) < 16:
            return False
        outer, last = _TWO(sack, 8)
        return (begin - outer) & _ALL < _HALF and (last - end) & _ALL < _HALF

    @staticmethod
    def _returned(way: ConnectionHalf, part: Bin, size: int, now: int) -> None:
        sent_ns = -1
        while way.waiting and way.waiting[0][0] <= way.acked:
            sent_ns = way.waiting.popleft()[1]
        if sent_ns < 0:
            return
        rtt_ns = now - sent_ns
        part.rtt_ns += rtt_ns
        part.rtts += 1
        way.rtts += 1
        if way.ahead_ns is None or rtt_ns < way.ahead_ns:
            way.ahead_ns = rtt_ns
        way.busy.add(now, size, rtt_ns, way.ahead_ns)

    @staticmethod
    def _echoed(way: ConnectionHalf, now: int, echo: int) -> None:
        """Take the time since the acknowledgment whose time stamp the sender of data gives back."""
        stamped = -1
        while way.stamps and (echo - way.stamps[0][0]) & _ALL < _HALF:
            value, at_ns = way.stamps.popleft()
            stamped = at_ns if value == echo else -1
        if stamped < 0:
            return
        rtt_ns = now - stamped
        part = _bin(way.behind, now)
        part.rtt_ns += rtt_ns
        part.rtts += 1
        if way.behind_ns is None or rtt_ns < way.behind_ns:
            way.behind_ns = rtt_ns
