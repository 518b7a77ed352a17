"""netperf's result: TCP_STREAM, TCP_MAERTS, UDP_STREAM and TCP_RR as tables, or any test as KEY=VALUE (`-- -k`)."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from landspeed.scenario.importers.path_evidence import (
    GoodputInterval,
    MeasuredTransfer,
    MeasurementError,
    PathEvidence,
    Probes,
)
from landspeed.scenario.importers.reading import plain_number, read_text, usable
from landspeed.scenario.importers.registry import Reader

WHAT = "what `netperf -H HOST -t TCP_STREAM -D 1 -- -k` printed"
_HEAD = re.compile(
    r"(?:MIGRATED )?(TCP STREAM|TCP MAERTS|TCP SENDFILE|UDP STREAM|TCP REQUEST/RESPONSE|UDP REQUEST/RESPONSE|OMNI)"
    r".*?\bTEST from (\S+)(?: \([^)]*\))?.*?\bto (\S+)",
    re.DOTALL,
)
_ROW = re.compile(r"^ *\d[\d. ]*$", re.MULTILINE)
_UNIT = re.compile(r"(?:10\^(\d{1,2})|([KMG]?))bits/s")
_PAIR = re.compile(r"^([A-Z][A-Z0-9_]+)=(.*)$", re.MULTILINE)
_INTERIM = re.compile(r"Interim result:\s*(\d+\.\d+) 10\^(\d{1,2})bits/s over (\d+\.\d+) seconds")
COLUMNS = {"TCP STREAM": 5, "TCP MAERTS": 5, "TCP SENDFILE": 5, "UDP STREAM": 6}
"""Columns of a table's first row, at least."""


def read_netperf(file: Path) -> PathEvidence:
    """The result of a file.

    Raises:
        MeasurementError: it has none.
    """
    text = read_text(file)
    head = _HEAD.search(text)
    kind = head[1] if head else "OMNI"
    pairs = dict(_PAIR.findall(text))
    if pairs:
        return _by_pairs(file, text, pairs, head)
    rows = [[plain_number(each) for each in row.split()] for row in _ROW.findall(text)]
    if "REQUEST" in kind:
        rates = [row[-1] for row in rows if len(row) >= 6]
        if not rates or not rates[0]:
            raise MeasurementError(f"{file}: no row of netperf's table; give the whole of {WHAT}")
        return PathEvidence(probes=[_probes(file, rates[0], None, head)])
    found = next((row for row in rows if len(row) >= COLUMNS.get(kind, 5)), None)
    if found is None or (head is None):
        raise MeasurementError(f"{file}: no row of netperf's table; give the whole of {WHAT}")
    if kind != "UDP STREAM":
        transfer = _transfer(file, text, head, found[4] * _unit(text), found[3])
        return PathEvidence(transfers=[usable(transfer)])
    remote = next((row for row in rows if len(row) == 4), None)
    if remote is None or not remote[2]:
        raise MeasurementError(
            f"{file}: no packet arrived, or the row of the receiver is missing; give the whole of {WHAT}"
        )
    return PathEvidence(transfers=[usable(_udp(file, text, head, found, remote))])


def _unit(text: str) -> float:
    """Bits per second of the table's rates."""
    found = _UNIT.search(text)
    if not found:
        return 1e6
    return 10.0 ** int(found[1]) if found[1] else {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}[found[2]]


def _intervals(text: str) -> tuple[GoodputInterval, ...]:
    found: list[GoodputInterval] = []
    at_s = 0.0
    for rate, power, seconds in _INTERIM.findall(text):
        lasted = plain_number(seconds)
        found.append(GoodputInterval(at_s, at_s + lasted, plain_number(rate) * 10.0 ** int(power)))
        at_s += lasted
    return tuple(found)


def _ends(head: re.Match[str] | None, *, back: bool) -> tuple[str, str]:
    if head is None:
        return "", ""
    here = "" if head[2] in ("0.0.0.0", "::") else head[2]
    return (head[3], here) if back else (here, head[3])


def _transfer(
    file: Path, text: str, head: re.Match[str] | None, rate_bps: float, seconds: float, *, back: bool = False
) -> MeasuredTransfer:
    sender, receiver = _ends(head, back=back or bool(head and head[1] == "TCP MAERTS"))
    return MeasuredTransfer(
        source=file.name,
        program="netperf",
        goodput_bps=rate_bps,
        bytes=round(rate_bps * seconds / 8),
        duration_s=seconds,
        sender=sender,
        receiver=receiver,
        ip_version=6 if "AF_INET6" in text or ":" in receiver else 4,
        intervals=_intervals(text),
    )


def _udp(file: Path, text: str, head: re.Match[str], local: list[float], remote: list[float]) -> MeasuredTransfer:
    plain = _transfer(file, text, head, remote[3] * _unit(text), remote[1])
    packets, arrived = round(local[3]), round(remote[2])
    return replace(
        plain,
        intervals=(),
        udp=True,
        packets=packets,
        lost=max(0, packets - arrived),
        packet_bytes=round(local[1]),
        offered_bps=local[5] * _unit(text),
    )


def _probes(file: Path, rate: float, least_us: float | None, head: re.Match[str] | None) -> Probes:
    least_s = least_us / 1e6 if least_us else 1 / rate
    if not 1e-7 <= least_s <= 1e4:
        raise MeasurementError(f"{file}: {rate:g} transactions a second are none of a path; give the whole of {WHAT}")
    what = "netperf's requests, " + ("the least" if least_us else "their mean, an upper bound")
    return Probes(file.name, what, least_s, 1, 0, address=head[3] if head else "")


def _by_pairs(file: Path, text: str, pairs: dict[str, str], head: re.Match[str] | None) -> PathEvidence:
    rate, seconds = plain_number(pairs.get("THROUGHPUT", "")), plain_number(pairs.get("ELAPSED_TIME", ""))
    unit = pairs.get("THROUGHPUT_UNITS", "")
    if not rate or not unit:
        raise MeasurementError(f"{file}: no THROUGHPUT with its THROUGHPUT_UNITS; give the whole of {WHAT}")
    if unit.startswith("Trans"):
        return PathEvidence(probes=[_probes(file, rate, plain_number(pairs.get("MIN_LATENCY", "")), head)])
    if pairs.get("PROTOCOL", "TCP") != "TCP":
        raise MeasurementError(f"{file}: {pairs['PROTOCOL']} with -k; give the table of `netperf -t UDP_STREAM`")
    plain = _transfer(file, text, head, rate * _unit(unit), seconds, back=pairs.get("DIRECTION", "") == "Recv")
    here = "REMOTE" if pairs.get("DIRECTION", "") == "Recv" else "LOCAL"
    again = pairs.get(f"{here}_TRANSPORT_RETRANS", "")
    return PathEvidence(
        transfers=[
            usable(
                replace(
                    plain,
                    congestion_control=pairs.get(f"{here}_CONG_CONTROL") or None,
                    mss_bytes=round(plain_number(pairs.get("TRANSPORT_MSS", ""))) or None,
                    retransmits=round(plain_number(again)) if re.fullmatch(r"\d{1,12}", again) else None,
                )
            )
        ]
    )


_LIKE = re.compile(
    r"(?:STREAM|MAERTS|SENDFILE|REQUEST/RESPONSE|OMNI) (?:\S+ )?TEST from|^THROUGHPUT(?:_UNITS)?=|^Interim result:",
    re.MULTILINE,
)
READER = Reader("netperf", "netperf's result", _LIKE.search, read_netperf)
