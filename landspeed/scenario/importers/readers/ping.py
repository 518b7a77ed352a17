"""ping of Linux, BSD, macOS, busybox, Windows in any language, Cisco, RouterOS: least round trip, and what was lost."""

from __future__ import annotations

import re
from pathlib import Path

from landspeed.scenario.importers.path_evidence import MeasurementError, PathEvidence, Probes
from landspeed.scenario.importers.reading import plain_number, read_text
from landspeed.scenario.importers.registry import Reader

WHAT = "what `ping -c 20 HOST` printed"
BELOW_SHARE = 0.5  # Windows' "<1ms" counts as half of it, as in traceroute.py
_TIME = re.compile(
    r"\S ?(=|<)\s?(\d{1,7}(?:[.,]\d{1,6})?) ?(?:ms\b|[^\s\d=<]{1,6}(?= +TTL=))", re.IGNORECASE
)  # Windows' unit in words of any language, in whatever code page
_ANSWER = re.compile(r"\bttl[=:]\s?\d+|\bhlim[=:]\s?\d+|::?[0-9a-f]*:.*[=<]\d+ ?ms|icmp_seq=\d+\. time=", re.IGNORECASE)
_LEAST = re.compile(r"(?:rtt|round-trip|,) +(?:\(ms\) +)?min/\w+/max\S* = (\d{1,7}(?:[.,]\d{1,6})?)/")
_COUNT = re.compile(
    r"(\d{1,9}) packets transmitted, (\d{1,9})(?: packets)? received"
    r"|^---.*---\s*\n(\d{1,9}) [^\d,\n]+, (\d{1,9}) [^\d,\n]+, ",  # in other languages
    re.MULTILINE,
)
_WINDOWS = re.compile(r"=\s*(\d{1,9})[^=\d]{1,20}=\s*(\d{1,9})[^=\d]{1,20}=\s*(\d{1,9})\s*\(\d+\s?%")
_CISCO = re.compile(r"\((\d{1,7})/(\d{1,7})\)(?:, round-trip min/avg/max = (\d{1,7})/)?")
_ROUTEROS = re.compile(
    r"\bsent=(\d{1,9}) received=(\d{1,9}) packet-loss=\d{1,3}%(?: min-rtt=((?:\d{1,6}(?:s|ms|us))+))?"
)
_PART = re.compile(r"(\d+)(s|ms|us)")  # 12ms213us
_PART_MS = {"s": 1e3, "ms": 1.0, "us": 1e-3}
_FPING = re.compile(r"xmt/rcv/%loss = (\d{1,9})/(\d{1,9})/")
_TARGET = re.compile(r"^(?:(?:PING6?|\S+.*?) )?(\S+?) ?[\[(]([0-9A-Fa-f.:]+)[\])]", re.MULTILINE)


def read_ping(file: Path) -> PathEvidence:
    """The ping of a file.

    Raises:
        MeasurementError: no packet was answered.
    """
    text = read_text(file, "cp850")
    times = [
        plain_number(ms.replace(",", ".")) * (BELOW_SHARE if below == "<" else 1.0)
        for line in text.splitlines()
        if _ANSWER.search(line)
        for below, ms in _TIME.findall(line)[-1:]
    ]
    least, windows = _LEAST.search(text), _WINDOWS.search(text)
    routeros = [*_ROUTEROS.finditer(text)][-1:]  # below each screen of lines, of all up to there
    count = _COUNT.search(text) or _FPING.search(text)
    cisco = _CISCO.search(text) if "Success rate" in text else None
    sent, got = len(times), len(times)
    if count:
        sent, got = (int(each) for each in count.groups() if each)
    elif windows:
        sent, got = int(windows[1]), int(windows[2])
    elif cisco:
        sent, got = int(cisco[2]), int(cisco[1])
    elif routeros:
        sent, got = int(routeros[0][1]), int(routeros[0][2])
    told = [
        *([plain_number(least[1].replace(",", "."))] if least else times),
        *([float(cisco[3])] if cisco and cisco[3] else []),
        *(sum(int(n) * _PART_MS[unit] for n, unit in _PART.findall(each[3])) for each in routeros if each[3]),
    ]
    known = [ms for ms in told if ms > 0]
    if not known or not sent:
        raise MeasurementError(f"{file}: no answer to a ping with a time; give {WHAT}, of a host that answers")
    target = _TARGET.search(text)
    lost = max(0, min(sent, sent - got))
    return PathEvidence(
        probes=[Probes(file.name, "ping", min(known) / 1e3, sent, lost, address=target[2] if target else "")]
    )


_LIKE = re.compile(
    r"^PING6? |packets transmitted, |\bicmp_seq=|[=<]\s?\d+ ?[^\s\d=<]{1,6} +TTL=|xmt/rcv/%loss = "
    r"|Success rate is \d+ percent|\bsent=\d+ received=\d+ packet-loss=|^Ping\w* .*[\[(]",
    re.MULTILINE,
)
READER = Reader("ping", "what ping prints", _LIKE.search, read_ping)
