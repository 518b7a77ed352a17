"""Reader of `ss -ti`: its facts on TCP connections (ss(8) names the fields)."""

from __future__ import annotations

import re
from pathlib import Path

from landspeed.scenario.importers.path_evidence import MeasurementError, PathEvidence, Socket
from landspeed.scenario.importers.peers import plain_address
from landspeed.scenario.importers.reading import read_text
from landspeed.scenario.importers.registry import Reader

# State and protocol are missing where ss was asked for one state, or for one protocol.
_ENDS = re.compile(r"^(?:(?:tcp|mptcp)\s+)?(?:[A-Z][A-Z0-9-]+\s+)?\d+\s+\d+\s+(\S+):(\S+)\s+(\S+):\S+")
_FIELD = re.compile(r"(?<!\S)([a-z_]+):(\S+)")
_CONTROL = re.compile(r"(?<!\S)([a-z][a-z0-9_]*) (?:wscale:\S+ )?rto:")
LEAST_BYTES = 100_000  # a control connection has sent less
MOST = {"mss": 65_535, "pmtu": 65_535, "snd_wnd": 2**31, "rtt": 1e7, "minrtt": 1e7}
"""What a field can be at most; times in ms."""


def read_ss(file: Path) -> PathEvidence:
    """The connections of a file, of each peer those that sent something; the one that sent most comes first.

    Raises:
        MeasurementError: it has none.
    """
    found: list[tuple[int, Socket]] = []
    peer, port = "", ""
    for count, line in enumerate(read_text(file).splitlines(), start=1):
        if ends := _ENDS.match(line):
            port, peer = ends[2], plain_address(ends[3])
        fields = dict(_FIELD.findall(line))
        if "rtt" in fields and "mss" in fields:
            if not peer:
                raise MeasurementError(
                    f"{file}:{count}: a connection without its line of addresses above; give the whole of what "
                    "`ss -tin` printed"
                )
            found.append(_Line(file, count, line, fields).socket(peer, port))
    if not found:
        raise MeasurementError(f"{file}: no connection with an rtt: give what `ss -ti` printed while the transfer ran")
    best = {socket.peer: 0 for _, socket in found}
    for sent, socket in found:
        best[socket.peer] = max(best[socket.peer], sent)
    kept = [pair for pair in found if pair[0] >= min(LEAST_BYTES, best[pair[1].peer])]
    return PathEvidence(sockets=[socket for _, socket in sorted(kept, key=lambda pair: -pair[0])])


class _Line:
    """A connection's line of fields."""

    def __init__(self, file: Path, count: int, line: str, fields: dict[str, str]) -> None:
        self.file, self.count, self.line, self.fields = file, count, line, fields

    def number(self, name: str) -> float | None:
        """A field, of `a/b` the first; None where it is missing."""
        text = self.fields.get(name, "").partition("/")[0]
        if not text:
            return None
        if not re.fullmatch(r"\d{1,20}(\.\d{1,9})?", text) or float(text) > MOST.get(name, 1e20):
            raise MeasurementError(
                f"{self.file}:{self.count}: {name}:{text[:40]} is not a figure that ss prints; give its whole output, "
                "unchanged"
            )
        return float(text)

    def whole(self, name: str) -> int | None:
        found = self.number(name)
        return None if found is None else round(found)

    def socket(self, peer: str, port: str) -> tuple[int, Socket]:
        """The bytes that it sent, and what is told of it."""
        rtt_ms, least_ms = self.number("rtt"), self.number("minrtt")
        control = _CONTROL.search(self.line)
        limited = re.fullmatch(r"\d{1,12}ms\((\d{1,3}(?:\.\d{1,3})?)%\)", self.fields.get("rwnd_limited", ""))
        resent = self.fields.get("retrans", "").rpartition("/")[2]
        return self.whole("bytes_acked") or self.whole("bytes_sent") or 0, Socket(
            source=self.file.name,
            peer=peer,
            local_port=int(port) if port.isdecimal() else None,
            rtt_s=None if rtt_ms is None else rtt_ms / 1e3,
            min_rtt_s=None if least_ms is None else least_ms / 1e3,
            mss_bytes=self.whole("mss"),
            mtu_bytes=self.whole("pmtu"),
            window_bytes=self.whole("snd_wnd"),
            congestion_control=control[1] if control else None,
            packets=self.whole("data_segs_out"),
            window_limited=min(float(limited[1]) / 100, 1.0) if limited else None,
            retransmits=int(resent) if re.fullmatch(r"\d{1,12}", resent) else 0,
        )


READER = Reader(
    "ss",
    "what `ss -tin` prints",
    re.compile(r"(?<!\S)rto:\d\S* .*\brtt:[\d.]+/").search,
    read_ss,
)
