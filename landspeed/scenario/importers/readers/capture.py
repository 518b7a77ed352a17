"""Packet captures (pcap, pcapng, also compressed by gzip): the largest transfer over TCP in them, captured anywhere."""

from __future__ import annotations

import gzip
import ipaddress
import math
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from landspeed.base.captures import MAGICS, SECTION, Capture, CaptureError
from landspeed.base.segments import Segment, SegmentReader, other_way
from landspeed.base.text import bytes_text
from landspeed.scenario.importers.agreement import AT_SENDER
from landspeed.scenario.importers.captures.connection import BIN_NS, Bin, Connection, ConnectionHalf
from landspeed.scenario.importers.captures.control import guess_control
from landspeed.scenario.importers.path_evidence import (
    GoodputInterval,
    MeasuredTransfer,
    MeasurementError,
    PathEvidence,
    Socket,
)
from landspeed.scenario.importers.reading import usable
from landspeed.scenario.importers.registry import Reader
from landspeed.scenario.theory import physics as ph

LEAST_BYTES = 100_000  # less is no transfer: a control connection, or somebody's shell
LEAST_SHARE = 0.1  # of the largest connection between the same hosts: a stream of the same transfer
MOST_UNPACKED = 2 * 2**30
MOST_COMPARED = 20_000  # packets of data, to see whether they stand there twice
LEAST_AGAIN = 0.5  # of these: what is sent again carries another time stamp, and is never half of all
STEP_S = 1.0  # of the intervals, as iperf3 has them; of a short capture a twentieth
END = 0.2  # of the round trip between the place of the capture and a host: then it is that host's


def read_capture(file: Path) -> PathEvidence:
    """The transfer in a capture.

    Raises:
        MeasurementError: it has none, or is no capture.
    """
    reader = SegmentReader(Capture(file, _unpacked(file)))
    connections: dict[tuple[int, bytes], Connection] = {}
    seen, again = set[Segment](), 0
    try:
        for segment in reader:
            if segment.payload and len(seen) < MOST_COMPARED:
                same = segment._replace(time_ns=0)
                again += same in seen
                seen.add(same)
            key = (segment.interface, segment.ends)
            found = connections.get(key)
            if found is None:
                back = other_way(segment.ends)
                found = connections[key] = connections[segment.interface, back] = Connection(
                    segment.ends, back, segment.interface
                )
            found.add(segment)
    except CaptureError as error:
        raise MeasurementError(str(error)) from error
    except OSError as error:
        raise MeasurementError(f"{file}: {error.strerror or error}; give what `tcpdump -w` wrote") from error
    streams = _streams(list(dict.fromkeys(connections.values())))
    if not streams or sum(way.bytes for _, way in streams) < LEAST_BYTES:
        also = f", but {reader.udp} of UDP, of which QUIC encrypts what TCP tells" if reader.udp else ""
        raise MeasurementError(
            f"{file}: no transfer over TCP of {bytes_text(LEAST_BYTES)} or more in {reader.packets} packets{also}; "
            "give a capture of one, such as `tcpdump -s 128 -w FILE host RECEIVER` at the sender from before it begins"
        )
    if again > LEAST_AGAIN * len(seen):
        raise MeasurementError(
            f"{file}: packets stand twice in it ({again} of {len(seen)} compared came again, unchanged to their time "
            "stamps): captures of two places merged into one (mergecap), or one of all interfaces of a "
            "router or bridge; give the capture of one place, best of the sender, or filter it by tshark"
        )
    return _Captured(file, streams, cut=reader.capture.is_cut, count=reader.packets).evidence()


def _unpacked(file: Path) -> bytes | None:
    """The content of a file that gzip compressed; None for any other."""
    try:
        with file.open("rb") as opened:
            if opened.read(2) != b"\x1f\x8b":
                return None
        with gzip.open(file) as opened:
            content = opened.read(MOST_UNPACKED + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise MeasurementError(f"{file}: not gzip as it says ({error}); give the whole file") from error
    except OSError as error:
        raise MeasurementError(f"{file}: {error.strerror or error}; give what `tcpdump -w` wrote") from error
    if len(content) > MOST_UNPACKED:
        raise MeasurementError(f"{file}: more than {MOST_UNPACKED // 2**30} GiB when unpacked; unpack it with gunzip")
    return content


def _streams(connections: Sequence[Connection]) -> list[tuple[Connection, ConnectionHalf]]:
    """The connections that carried most between two hosts; of an interface near the sender, if there are several."""
    groups: dict[tuple[bytes, int], list[tuple[Connection, ConnectionHalf]]] = {}
    for each in connections:
        way = max(each.ways, key=lambda one: one.bytes)
        groups.setdefault((way.ends[:-4], each.interface), []).append((each, way))
    sizes = {key: sum(way.bytes for _, way in group) for key, group in groups.items()}
    most = max(sizes.values(), default=0)
    best = [groups[key] for key, size in sizes.items() if size > 0.9 * most]
    if not best:
        return []
    group = max(best, key=lambda one: one[0][1].ahead_ns or 0)
    largest = max(way.bytes for _, way in group)
    return [pair for pair in group if pair[1].bytes >= LEAST_SHARE * largest]


def _address(ends: bytes) -> tuple[str, str]:
    size = (len(ends) - 4) // 2
    return str(ipaddress.ip_address(ends[:size])), str(ipaddress.ip_address(ends[size : 2 * size]))


class _Captured:
    """A transfer that was captured, of one or more connections."""

    def __init__(self, file: Path, streams: list[tuple[Connection, ConnectionHalf]], *, cut: bool, count: int) -> None:
        self.file, self.streams, self.name = file, streams, file.name
        self.ways = [way for _, way in streams]
        self.sender, self.receiver = _address(self.ways[0].ends)
        self.ip_version = 6 if len(self.ways[0].ends) > 12 else 4
        self.notes = [f"Capture. {self.name} ends in the middle of a packet, and is used up to there."] if cut else []
        self.count = count
        handshakes = [(each.handshake_ns, *each.halves_ns(way)) for each, way in streams if each.handshake_ns]
        self.handshake_ns = min(handshakes, default=(0, 0, 0))[0]
        aheads = [each[1] for each in handshakes] or [way.ahead_ns for way in self.ways if way.ahead_ns is not None]
        behinds = [each[2] for each in handshakes] or [way.behind_ns for way in self.ways if way.behind_ns is not None]
        self.ahead_ns, self.behind_ns = min(aheads, default=None), min(behinds, default=None)
        self.begin_ns = min(way.first_ns for way in self.ways)
        self.end_ns = max(
            (place + 1) * BIN_NS for way in self.ways for place, part in way.ahead.items() if _moved(part)
        )
        self.end_ns = min(self.end_ns, max(max(one.last_ns for one in each.ways) for each, _ in streams))
        self.acked = sum(part.acked for way in self.ways for part in way.ahead.values())
        self.by_acks = self.acked > 0.5 * sum(way.bytes for way in self.ways)

    def evidence(self) -> PathEvidence:
        """The transfer and its least round trip."""
        step_ns = self._step_ns()
        mtu, mss = self._mtu()
        place = self._place()
        moved = self.acked if self.by_acks else sum(way.bytes for way in self.ways)
        seconds = max(self.end_ns - self.begin_ns, 1) / 1e9
        packets = sum(way.packets for way in self.ways)
        guess = guess_control(self.ways, self.handshake_ns or self.ahead_ns or 0) if place == AT_SENDER else None
        needless = sum(way.needless for way in self.ways)
        resent = sum(way.resent for way in self.ways)
        least, most = self._extremes_s()
        transfer = MeasuredTransfer(
            source=self.name,
            program=f"a packet capture at {place}" if place else "a packet capture",
            goodput_bps=moved * 8 / seconds,
            bytes=moved,
            duration_s=seconds,
            sender=self.sender,
            receiver=self.receiver,
            sender_ports=tuple(int.from_bytes(way.ends[-4:-2]) for way in self.ways),
            ip_version=self.ip_version,
            streams=len(self.ways),
            mss_bytes=mss,
            mtu_bytes=mtu,
            retransmits=max(0, resent - needless),
            overtaken=self._overtook(),
            captured_packets=packets,
            captured_at=place,
            guessed_control=guess[0] if guess else None,
            guess_why=f"guessed from {self.name} ({guess[1]}): {guess[2]}" if guess else "",
            needless=needless,
            min_rtt_s=None if self.handshake_ns else least,
            max_rtt_s=most,
            intervals=tuple(self._intervals(step_ns)),
            busy=tuple(self._busy()),
        )
        self._say(needless, resent, packets)
        sockets: list[Socket] = []
        if self.handshake_ns:  # small packets, as the first ones of data may be
            sooner = math.inf if transfer.overtaken or not least else least  # what overtakes has a shorter way
            told = min(self.handshake_ns / 1e9, sooner)
            port = transfer.sender_ports[0]
            sockets = [Socket(self.name, self.receiver, port, min_rtt_s=told, least_of="the least round trip seen")]
        return PathEvidence(transfers=[usable(transfer)], sockets=sockets, notes=self.notes)

    def _place(self) -> str:
        """Place where it was captured; "" where nothing tells it."""
        if self.ahead_ns is None or self.behind_ns is None:
            return ""
        share = self.behind_ns / max(self.ahead_ns + self.behind_ns, 1)
        return AT_SENDER if share < END else "the receiver" if share > 1 - END else "a place in between"

    @property
    def _by_echoes(self) -> bool:
        """Return whether round trips under load are those from here to the sender and back, which cross the path."""
        return (self.behind_ns or 0) > (self.ahead_ns or 0)

    def _rtt_parts(self, way: ConnectionHalf) -> tuple[dict[int, Bin], int]:
        """Bins with round trips that cross the most of the path, and the least of the rest."""
        if self._by_echoes:
            return way.behind, self.ahead_ns or 0
        return way.ahead, self.behind_ns or 0

    def _extremes_s(self) -> tuple[float | None, float | None]:
        """The least round trip of any packet, and the greatest mean of a twentieth of a second."""
        leasts = [(way.behind_ns if self._by_echoes else way.ahead_ns, self._rtt_parts(way)[1]) for way in self.ways]
        known = [own + rest for own, rest in leasts if own is not None]
        means = [
            part.rtt_ns / part.rtts + rest
            for way in self.ways
            for bins, rest in [self._rtt_parts(way)]
            for part in bins.values()
            if part.rtts
        ]
        return min(known, default=0) / 1e9 or None, max(means, default=0) / 1e9 or None

    def _step_ns(self) -> int:
        """Length of an interval: some round trips, and whole bins."""
        seconds = min(STEP_S, (self.end_ns - self.begin_ns) / 20e9)
        least = 2 * ((self.ahead_ns or 0) + (self.behind_ns or 0))
        return max(1, round(max(seconds * 1e9, least, 2 * BIN_NS) / BIN_NS)) * BIN_NS

    def _intervals(self, step_ns: int) -> list[GoodputInterval]:
        bins, first = step_ns // BIN_NS, self.begin_ns // BIN_NS
        scales = all(self._scale(each, way) is not None for each, way in self.streams)
        found: list[GoodputInterval] = []
        for begin in range(first, -(-self.end_ns // BIN_NS), bins):
            moved = resent = window = 0
            rtts: list[float] = []
            for way in self.ways:
                parts = [part for place in range(begin, begin + bins) if (part := way.ahead.get(place))]
                moved += sum(part.acked if self.by_acks else part.fresh for part in parts)
                resent += sum(part.resent for part in parts)
                window += max((part.window for part in parts), default=0)
                across, rest = self._rtt_parts(way)
                trips = [part for place in range(begin, begin + bins) if (part := across.get(place)) and part.rtts]
                if trips:
                    rtts.append(sum(part.rtt_ns for part in trips) / sum(part.rtts for part in trips) + rest)
            start_s = (max(begin * BIN_NS, self.begin_ns) - self.begin_ns) / 1e9
            end_s = (min((begin + bins) * BIN_NS, self.end_ns) - self.begin_ns) / 1e9
            if end_s - start_s <= 0:
                continue
            found.append(
                GoodputInterval(
                    start_s,
                    end_s,
                    moved * 8 / (end_s - start_s),
                    rtt_s=sum(rtts) / len(rtts) / 1e9 if rtts else None,
                    window_bytes=window if scales and window else None,
                    retransmits=max(0, resent),
                )
            )
        return found

    def _busy(self) -> Iterator[GoodputInterval]:
        """Times in which a queue stood throughout, as only the sender's round trips show it.

        Of several connections none tells what the others had meanwhile.
        """
        if len(self.ways) > 1 or self._place() != AT_SENDER:
            return
        busy = self.ways[0].busy
        busy.end(self.ways[0].ahead_ns or 0)
        for from_ns, until_ns, size in busy.times:
            start_s, end_s = ((each - self.begin_ns) / 1e9 for each in (from_ns, until_ns))
            yield GoodputInterval(start_s, end_s, size * 8 / (end_s - start_s))

    @staticmethod
    def _scale(connection: Connection, way: ConnectionHalf) -> int | None:
        """Exponent of the receiver's window; None where its SYN was not captured."""
        receiver = connection.ways[way is connection.ways[0]]
        return receiver.scale if receiver.synced and way.synced else None

    def _mtu(self) -> tuple[int | None, int | None]:
        """MTU and payload of a full packet: of both SYNs, or of the packets, where the host has not joined them."""
        headers = ph.IP_HEADER[self.ip_version] + ph.TCP_HEADER
        told = [one.mss for each, _ in self.streams for one in each.ways if one.mss]
        largest = max(way.largest for way in self.ways)
        payload = min(told) if told and len(told) == 2 * len(self.streams) else None
        if payload is not None and largest > payload:
            self.notes.append(
                f"Offload. {self.name} has packets of {largest} B of payload: the host joins and divides them. They "
                "count as so many of full size."
            )
        if payload is None or (1000 < largest < payload):
            payload = largest if largest <= 8960 else None
        if payload is None:
            return None, None
        stamps = ph.TCP_TIMESTAMPS if any(way.stamps or way.behind for way in self.ways) else 0
        return payload + stamps + headers, payload

    def _overtook(self) -> int:
        """Packets that came before others sent earlier: seen here, or told by the receiver to the sender."""
        return sum(way.overtaken for way in self.ways) or sum(way.sacked.overtook for way in self.ways)

    def _say(self, needless: int, resent: int, packets: int) -> None:
        """Note what the capture tells beside."""
        ahead, behind = self.ahead_ns, self.behind_ns
        where = (
            f", captured {ahead / 1e6:.4g} ms from the receiver and {behind / 1e6:.4g} ms from the sender (there and "
            "back)"
            if ahead is not None and behind is not None
            else ""
        )
        self.notes.append(
            f"Capture. {self.name}: {self.count} packets; the transfer is {self.sender} → {self.receiver} in "
            f"{len(self.ways)} connection{'s' * (len(self.ways) > 1)}{where}."
        )
        if ahead is None or behind is None:
            self.notes.append(
                f"Round trip. {self.name} has neither the beginning of the connection nor time stamps: a round trip is "
                "that from the place of the capture to the receiver."
            )
        if any(self._scale(each, way) is None for each, way in self.streams):
            self.notes.append(
                f"Window. {self.name} begins after the connection, so nobody knows what a window in it is to be "
                "multiplied by, and none is taken."
            )
        if overtaken := self._overtook():
            far_ms = max(way.overtaken_ns for way in self.ways) / 1e6
            how = f"by up to {far_ms:.3g} ms" if far_ms else "as the receiver's selective acknowledgments tell"
            self.notes.append(
                f"Reordering. {overtaken} of {packets} packets came before others that were sent earlier, {how}."
            )
        if needless:
            self.notes.append(
                f"Sent for nothing. Of {resent} packets that were sent again {needless} had come already (D-SACK): "
                "they were late, not lost."
            )
        if unseen := sum(way.unseen for way in self.ways):
            self.notes.append(
                f"Capture. {self.name} lacks {bytes_text(unseen)} that the receiver acknowledged: the capturing "
                "program missed packets, and losses may be counted wrongly."
            )


def _moved(part: Bin) -> bool:
    return bool(part.acked or part.fresh)


READER = Reader(
    "capture",
    "a packet capture",
    re.compile("|".join(re.escape(magic.decode("latin-1")) for magic in (*MAGICS, SECTION))).match,
    read_capture,
)
