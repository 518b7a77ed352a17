"""nuttcp's result, over TCP or UDP: plain, with `-i`, or `-fparse`."""

from __future__ import annotations

import re
from pathlib import Path

from landspeed.scenario.importers.path_evidence import (
    GoodputInterval,
    MeasuredTransfer,
    MeasurementError,
    PathEvidence,
    Socket,
)
from landspeed.scenario.importers.reading import plain_number, read_text, usable
from landspeed.scenario.importers.registry import Reader

WHAT = "what `nuttcp -i 1 HOST` printed"
_LINE = re.compile(r"^\s*(\d+\.\d+) MB /\s*(\d+\.\d+) sec =\s*(\d+\.\d+) Mbps(.*)$", re.MULTILINE)
_TOTAL = re.compile(r"%TX|%RX")
_AGAIN = re.compile(r"\s(\d{1,12}) (?:host-)?retrans")
_CONGESTION = re.compile(r"\s(\d{1,12}) KB-cwnd")
_DROPPED = re.compile(r"\s(\d{1,12}) /\s*(\d{1,12}) ~?drop/pkt")
_CONNECT = re.compile(r"\s(\d+\.\d+) msRTT|RTT=(\d+\.\d+) ms|\brtt_ms=(\d+\.\d+)")
_PARSED = re.compile(r"^\s*megabytes=(\d+\.\d+) real_sec(?:onds)?=(\d+\.\d+) rate_Mbps=(\d+\.\d+)(.*)$", re.MULTILINE)
_PAIR = re.compile(r"(\w+)=([\d.]+)")
_PEER = re.compile(r"(?:tcp|udp) (->|<-) ([0-9A-Za-z.:-]+)")


def read_nuttcp(file: Path) -> PathEvidence:
    """The transfer of a file; of several runs the last.

    Raises:
        MeasurementError: it has no result.
    """
    text = read_text(file)
    intervals: list[GoodputInterval] = []
    summary: tuple[float, float, float] | None = None
    again: int | None = None
    dropped: tuple[int, int] | None = None
    at_s = 0.0
    for match in _PARSED.finditer(text):
        figures = (plain_number(match[1]), plain_number(match[2]), plain_number(match[3]))
        pairs = dict(_PAIR.findall(match[4]))
        resent = round(plain_number(pairs["retrans"])) if "retrans" in pairs else None
        if "tx_cpu" not in pairs:
            intervals.append(GoodputInterval(at_s, at_s := at_s + figures[1], figures[2] * 1e6, retransmits=resent))
            continue
        summary, again = figures, resent
        if "drop" in pairs and "pkt" in pairs:
            dropped = (round(plain_number(pairs["drop"])), round(plain_number(pairs["pkt"])))
    for match in _LINE.finditer(text):
        figures = (plain_number(match[1]), plain_number(match[2]), plain_number(match[3]))
        resent = _AGAIN.search(match[4])
        lost = _DROPPED.search(match[4])
        if _TOTAL.search(match[4]):
            summary, again = figures, int(resent[1]) if resent else None
            dropped = (int(lost[1]), int(lost[2])) if lost else None
            continue
        window = _CONGESTION.search(match[4])
        intervals.append(
            GoodputInterval(
                at_s,
                at_s := at_s + figures[1],
                figures[2] * 1e6,
                retransmits=int(resent[1]) if resent else None,
                cwnd_bytes=int(window[1]) * 1024 if window else None,
            )
        )
    if summary is None:
        raise MeasurementError(f"{file}: no result of nuttcp (its last line has %TX and %RX); give the whole of {WHAT}")
    lost, packets = dropped or (0, 0)
    if packets and lost >= packets:
        raise MeasurementError(f"{file}: none of its {packets} packets arrived; import a run in which some did")
    megabytes, seconds, rate = summary
    moved = megabytes * 2**20
    peer, buffer = _PEER.search(text), re.search(r"buflen=(\d{1,9}), nstream=(\d{1,3})", text)
    sends = peer is None or peer[1] == "->"
    mss = re.search(r"\bmss=(\d{1,5})\b", text)
    transfer = MeasuredTransfer(
        source=file.name,
        program="nuttcp",
        goodput_bps=rate * 1e6,
        bytes=round(moved),
        duration_s=seconds,
        sender="" if sends or not peer else peer[2],
        receiver=peer[2] if sends and peer else "",
        udp=bool(packets),
        ip_version=6 if peer and ":" in peer[2] else 4,
        streams=max(1, int(buffer[2])) if buffer else 1,
        mss_bytes=int(mss[1]) if mss else None,
        retransmits=None if packets else again,
        packets=packets or None,
        lost=lost if packets else None,
        packet_bytes=round(moved / (packets - lost)) if packets else None,
        offered_bps=rate * 1e6 * packets / (packets - lost) if packets else None,
        intervals=() if packets else tuple(intervals),
    )
    took = _CONNECT.search(text)
    ms = plain_number(next((each for each in took.groups() if each), "")) if took else 0.0
    connect = [Socket(file.name, transfer.receiver, min_rtt_s=ms / 1e3, least_of="its connect")] if ms else []
    return PathEvidence(transfers=[usable(transfer)], sockets=connect if transfer.receiver or ms else [])


_LIKE = re.compile(r"^\s*\d+\.\d+ MB /\s*\d+\.\d+ sec =|^\s*megabytes=\d|^nuttcp-[tr]", re.MULTILINE)
READER = Reader("nuttcp", "nuttcp's result", _LIKE.search, read_nuttcp)
