"""iperf2's report: of the client or the server, over TCP or UDP, plain, `-e` or CSV (`-y C`)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from landspeed.scenario.importers.path_evidence import (
    GoodputInterval,
    MeasuredTransfer,
    MeasurementError,
    PathEvidence,
    Socket,
)
from landspeed.scenario.importers.peers import plain_address
from landspeed.scenario.importers.reading import mean, plain_number, read_text, total, usable
from landspeed.scenario.importers.registry import Reader

WHAT = "what `iperf -e -i 1 -c HOST` printed"
CLOSE = 0.05  # a line from the start over so much less than the whole is the whole, and no interval
_LINE = re.compile(
    r"\[\s*(\d{1,4}|SUM)[^\]]*\]\s+(\d{1,7}\.\d+)\s*-\s*(\d{1,7}\.\d+) sec\s+([\d.]+) ([KMGT]?)Bytes\s+"
    r"([\d.]+) ([KMGT]?)bits/sec(.*)"
)
_TCP_MORE = re.compile(r"\s+\d+/\d+\s+(\d{1,12})\s+(-?\d{1,12})K(?:\([^)]*\))?/(\d{1,12})(?:\(\d+\))? us")
_UDP_MORE = re.compile(r"\s+[\d.]+ ms\s+(\d{1,12})\s*/\s*(\d{1,12})\s+\(")
_ENDS = re.compile(r"\[\s*\d+\] local (\S+) port (\d{1,5}) connected with (\S+) port (\d{1,5})(.*)")
_CSV = re.compile(
    r"[\d.:+-]{14,30},([^,\s]+),(\d{1,5}),([^,\s]+),(\d{1,5}),(-?\d{1,4}),(\d+\.\d+)-(\d+\.\d+),(\d{1,18}),(\d{1,18})"
    r"(?:,[\d.-]+,(\d{1,12}),(\d{1,12}),.*)?"
)
_WINDOW = re.compile(r"WARNING: requested\s+([\d.]+) ([KMG]?)Byte")
_PAYLOAD = re.compile(r"(?:Sending|Receiving) (\d{1,5}) byte datagrams")
_PREFIX = ("", "K", "M", "G", "T")


def _scaled(text: str, prefix: str, step: int) -> float:
    return plain_number(text) * step ** _PREFIX.index(prefix)


def read_iperf2(file: Path) -> PathEvidence:
    """The transfer of a file.

    Raises:
        MeasurementError: it has none, or one in both directions.
    """
    text = read_text(file)
    report = _Report(file, text)
    transfer = usable(report.transfer())
    connects = [
        Socket(
            file.name, transfer.receiver, port, min_rtt_s=seconds, mss_bytes=transfer.mss_bytes, least_of="its connect"
        )
        for port, seconds in report.connected
    ]
    return PathEvidence(transfers=[transfer], sockets=connects if report.client else [])


class _Row(NamedTuple):
    """A line with a rate; `again`: sent again over TCP; `lost` of `packets` over UDP."""

    stream: str
    part: GoodputInterval
    moved_bytes: float
    again: int | None
    lost: int | None
    packets: int | None


class _Report:
    """The lines of a report."""

    def __init__(self, file: Path, text: str) -> None:
        self.file, self.text = file, text
        lines = text.splitlines()
        self.client = "Server listening" not in text
        if (not self.client and "Client connecting" in text) or "[FD" in text or "(full-duplex)" in text:
            raise MeasurementError(f"{file}: iperf sent both ways at once; import a run in one direction (no -d)")
        self.ends = [match for line in lines if (match := _ENDS.match(line))]
        self.csv = [match for line in lines if (match := _CSV.fullmatch(line.strip()))]
        self.rows = [self._row(match) for line in lines if (match := _LINE.match(line))]
        self.rows += [self._csv_row(match) for match in self.csv]
        if not self.rows:
            raise MeasurementError(f"{file}: no line with a rate of iperf2; give {WHAT}")
        self.udp = any(row.packets is not None for row in self.rows) or "UDP port" in text

    @property
    def connected(self) -> list[tuple[int, float]]:
        """The sender's port of each connection, with how long its connect took, in s."""
        told = [(match, re.search(r"\(ct=(\d{1,7}\.\d+) ms\)", match[5])) for match in self.ends]
        return [(int(match[2]), float(ms[1]) / 1e3) for match, ms in told if ms and float(ms[1])]

    @staticmethod
    def _row(match: re.Match[str]) -> _Row:
        rate = _scaled(match[6], match[7], 1000)
        tcp, udp = _TCP_MORE.match(match[8]), _UDP_MORE.match(match[8])
        part = GoodputInterval(
            start_s=float(match[2]),
            end_s=float(match[3]),
            rate_bps=rate,
            rtt_s=int(tcp[3]) / 1e6 if tcp and int(tcp[3]) else None,
            retransmits=int(tcp[1]) if tcp else None,
            cwnd_bytes=int(tcp[2]) * 1024 if tcp and int(tcp[2]) > 0 else None,
        )
        lost, packets = (int(udp[1]), int(udp[2])) if udp else (None, None)
        return _Row(match[1], part, _scaled(match[4], match[5], 1024), part.retransmits, lost, packets)

    @staticmethod
    def _csv_row(match: re.Match[str]) -> _Row:
        part = GoodputInterval(float(match[6]), float(match[7]), float(match[9]))
        lost, packets = (int(match[10]), int(match[11])) if match[10] else (None, None)
        return _Row("SUM" if match[5] == "-1" else match[5], part, float(match[8]), None, lost, packets)

    def transfer(self) -> MeasuredTransfer:
        """All streams as one."""
        last = max(row.part.end_s for row in self.rows)
        wholes = [row for row in self.rows if row.part.end_s - row.part.start_s >= (1 - CLOSE) * last]
        if not wholes:
            raise MeasurementError(f"{self.file}: cut off: no line over the whole {last:g} s; give the whole of {WHAT}")
        own = [row for row in wholes if row.stream != "SUM"]
        streams = len(dict.fromkeys(row.stream for row in own)) or 1
        newest = {row.stream: row for row in wholes}  # over UDP a report of the server follows the client's
        parts = (
            [newest["SUM"]] if "SUM" in newest and self.udp is False else [r for n, r in newest.items() if n != "SUM"]
        )
        parts = parts or [newest["SUM"]]
        lasted = max(row.part.end_s - row.part.start_s for row in parts)
        moved = sum(row.moved_bytes for row in parts)
        known = [(row.lost, row.packets) for row in parts if row.lost is not None and row.packets]
        lost, packets = sum(pair[0] for pair in known), sum(pair[1] for pair in known)
        if packets and lost >= packets:
            raise MeasurementError(
                f"{self.file}: none of its {packets} packets arrived; import a run in which some did"
            )
        if self.udp and not known:
            raise MeasurementError(
                f"{self.file}: a run over UDP without the server's report, so nobody knows what arrived; give the "
                "server's output"
            )
        rate = sum(row.part.rate_bps for row in parts)
        here, there = (self.ends[0][1], self.ends[0][3]) if self.ends else self._csv_ends()
        sender, receiver = (here, there) if self.client else (there, here)
        version = re.search(r"iperf (?:v|version )(2\.\S+)", self.text)
        payload, window = _PAYLOAD.search(self.text), _WINDOW.search(self.text)
        mss = re.search(r"\(?MSS(?:=| size )(\d{1,5})", self.text)
        return MeasuredTransfer(
            source=self.file.name,
            program=f"iperf {version[1]}" if version else "iperf2",
            goodput_bps=rate,
            bytes=round(moved),
            duration_s=lasted,
            sender=plain_address(sender),
            receiver=plain_address(receiver),
            sender_ports=tuple(int(each[2 if self.client else 4]) for each in self.ends),
            udp=self.udp,
            ip_version=6 if ":" in plain_address(receiver) else 4,
            streams=streams,
            mss_bytes=int(mss[1]) if mss and not self.udp else None,
            asked_window_bytes=round(_scaled(window[1], window[2], 1024)) or None if window and not self.udp else None,
            retransmits=None if self.udp else total([row.again for row in parts]),
            packets=packets or None,
            lost=lost if packets else None,
            packet_bytes=int(payload[1]) if payload else None,
            offered_bps=rate * packets / (packets - lost) if packets else None,
            intervals=() if self.udp else tuple(self._intervals(lasted)),
        )

    def _csv_ends(self) -> tuple[str, str]:
        return (self.csv[0][1], self.csv[0][3]) if self.csv else ("", "")

    def _intervals(self, lasted: float) -> list[GoodputInterval]:
        """The intervals, each of all streams."""
        found: dict[tuple[float, float], list[GoodputInterval]] = {}
        for stream, part, *_ in self.rows:
            if stream != "SUM" and 0 < part.end_s - part.start_s < (1 - CLOSE) * lasted:
                found.setdefault((round(part.start_s, 1), round(part.end_s, 1)), []).append(part)
        return [
            GoodputInterval(
                start,
                end,
                sum(each.rate_bps for each in parts),
                mean([each.rtt_s for each in parts]),
                None,
                total([each.retransmits for each in parts]),
                total([each.cwnd_bytes for each in parts]),
            )
            for (start, end), parts in sorted(found.items())
        ]


_LIKE = re.compile(
    r"^\[\s*(?:\d+|SUM)[^\]]*\]\s+\d+\.\d+\s*-\s*\d+\.\d+ sec\s+\S+ [KMGT]?Bytes\s"
    r"|^(?:Client connecting to|Server listening on) .*(?:TCP|UDP) port|^\d{14}(?:[.\d+-]*),[^,]*,\d+,[^,]*,\d+,-?\d+,",
    re.MULTILINE,
)
READER = Reader("iperf2", "iperf2's report", _LIKE.search, read_iperf2)
