"""What `ss -ti` told of TCP connections (ss(8) names the fields)."""

from __future__ import annotations

import re
from pathlib import Path

from .evidence import Evidence, MeasurementError, Socket
from .reading import read_text

_STATE = re.compile(r"^(?:tcp\s+)?(ESTAB|SYN|FIN|CLOSE|LAST|TIME)\S*\s+\d+\s+\d+\s+\S+\s+(\S+)")
_FIELD = re.compile(r"(?<!\S)([a-z_]+):(\S+)")
_BARE = re.compile(
    r"(?<!\S)(bbr|cubic|reno|vegas|westwood|htcp|illinois|scalable|bic|dctcp|hybla|highspeed|yeah|nv|cdg|veno|lp)(?!\S)"
)
LEAST_BYTES = 100_000  # a control connection has sent less


def read_ss(file: Path) -> Evidence:
    """The connections of a file that sent something; the one that sent most comes first.

    Raises:
        MeasurementError: it has none.
    """
    found: list[tuple[int, Socket]] = []
    peer = ""
    for line in read_text(file).splitlines():
        if state := _STATE.match(line):
            peer = state[2]
        fields = dict(_FIELD.findall(line))
        if "rtt" in fields and "mss" in fields:
            found.append(
                (int(fields.get("bytes_acked", fields.get("bytes_sent", "0"))), _socket(line, fields, peer, file))
            )
    if not found:
        raise MeasurementError(f"{file}: no connection with an rtt: give what `ss -ti` printed while the transfer ran")
    best = max(count for count, _ in found)
    kept = [pair for pair in found if pair[0] >= min(LEAST_BYTES, best)]
    return Evidence(sockets=[socket for _, socket in sorted(kept, key=lambda pair: -pair[0])])


def _socket(line: str, fields: dict[str, str], peer: str, file: Path) -> Socket:
    control = _BARE.search(line)
    resent = fields.get("retrans", "").rpartition("/")[2]
    try:
        return Socket(
            source=file.name,
            peer=peer,
            rtt_s=float(fields["rtt"].partition("/")[0]) / 1e3,
            min_rtt_s=float(fields["minrtt"]) / 1e3 if "minrtt" in fields else None,
            mss_bytes=int(fields["mss"]),
            mtu_bytes=int(fields["pmtu"]) if "pmtu" in fields else None,
            window_bytes=int(fields["snd_wnd"]) if "snd_wnd" in fields else None,
            congestion_control=control[1] if control else None,
            packets=int(fields["data_segs_out"]) if "data_segs_out" in fields else None,
            retransmits=int(resent) if resent else 0,
        )
    except ValueError as error:
        raise MeasurementError(f"{file}: a field of ss is not a number ({error}): {line.strip()[:80]}") from error
