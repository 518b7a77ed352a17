"""`tc -s qdisc`, also as JSON (`-j`): a device's disciplines, their rate, queue and loss, and what they dropped."""

from __future__ import annotations

import re
from pathlib import Path

from landspeed.scenario.importers.path_evidence import MeasuredDiscipline, MeasurementError, PathEvidence
from landspeed.scenario.importers.reading import (
    member,
    number,
    plain_number,
    positive,
    read_json_list,
    read_text,
    text_of,
    whole,
)
from landspeed.scenario.importers.registry import Reader

WHAT = "what `tc -s qdisc show dev DEVICE` printed"
_HEAD = re.compile(r"^(?:qdisc|class) (\S+) \S+(?: dev (\S+))?(.*)$")
_RATE = re.compile(r"(?<!\S)(?:rate|bandwidth) (\d{1,12}(?:\.\d{1,6})?)([KMGT]?i?)bit\b")
_CEIL = re.compile(r"(?<!\S)ceil (\d{1,12}(?:\.\d{1,6})?)([KMGT]?i?)bit\b")
_BURST = re.compile(r"(?<!\S)burst (\d{1,12}(?:\.\d{1,6})?)([KMG]?)b\b")
_LATENCY = re.compile(r"(?<!\S)lat (\d{1,9}(?:\.\d{1,6})?)(s|ms|us)\b")
_PACKETS = re.compile(r"(?<!\S)limit (\d{1,9})(?:p|(?= delay| loss| rate|$))")
_BYTES = re.compile(r"(?<!\S)limit (\d{1,12}(?:\.\d{1,6})?)([KMG]?)b\b")
_LOSS = re.compile(r"(?<!\S)loss (?:random )?(\d{1,3}(?:\.\d{1,9})?)%")
_SENT = re.compile(r"Sent \d{1,18} bytes (\d{1,15}) pkts? \(dropped (\d{1,15}),")
_DECIMAL = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
COUNT_BYTES = ("tbf", "bfifo", "red")
"""Their limit is in bytes, that of others in packets."""
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


def read_tc(file: Path) -> PathEvidence:
    """The disciplines of a file.

    Raises:
        MeasurementError: it has none.
    """
    if read_text(file).lstrip().startswith("["):
        return _by_json(file)
    found: list[MeasuredDiscipline] = []
    head: re.Match[str] | None = None
    place = "a device"  # lines of classes do not name it
    for line in read_text(file).splitlines():
        if head is not None and (sent := _SENT.search(line)):
            found.append(_discipline(file, head, place, (int(sent[1]), int(sent[2]))))
            head = None
        elif begin := _HEAD.match(line):
            if head is not None:
                found.append(_discipline(file, head, place, (0, 0)))
            head, place = begin, begin[2] or place
    if head is not None:
        found.append(_discipline(file, head, place, (0, 0)))
    if not found:
        raise MeasurementError(f"{file}: no discipline of tc; give {WHAT}")
    return PathEvidence(disciplines=found)


def _by_json(file: Path) -> PathEvidence:
    """Rates of JSON are in bytes a second, a bucket's latency in µs, losses as shares."""
    found: list[MeasuredDiscipline] = []
    for each in read_json_list(file, WHAT):
        options, drops = member(each, "options"), whole(each, "drops") or 0
        rate = positive(options, "rate") or positive(options, "rate", "rate") or positive(options, "bandwidth")
        latency_us, burst = positive(options, "lat"), number(options, "burst") or 0.0
        limit, packets = positive(options, "limit"), None
        if limit and text_of(each, "kind") not in COUNT_BYTES:
            limit, packets = None, whole(limit)
        elif limit is None and latency_us and rate:
            limit = latency_us / 1e6 * rate + burst
        if text_of(each, "kind"):
            found.append(
                _checked(
                    file,
                    MeasuredDiscipline(
                        source=file.name,
                        kind=text_of(each, "kind"),
                        place=text_of(each, "dev") or "a device",
                        rate_bps=rate * 8 if rate else None,
                        limit_bytes=round(limit) if limit else None,
                        limit_packets=packets,
                        loss=positive(options, "loss-random", "loss"),
                        dropped=drops,
                        packets=whole(each, "packets") or 0,
                    ),
                )
            )
    if not found:
        raise MeasurementError(f"{file}: no discipline of tc; give {WHAT}")
    return PathEvidence(disciplines=found)


def _bits(match: re.Match[str]) -> float:
    prefix = match[2].rstrip("i")
    return plain_number(match[1]) * (_BINARY if match[2].endswith("i") else _DECIMAL)[prefix]


def _discipline(file: Path, head: re.Match[str], place: str, counts: tuple[int, int]) -> MeasuredDiscipline:
    """A discipline. `counts`: packets sent, packets dropped."""
    text = head[3]
    rate = _CEIL.search(text) or _RATE.search(text)
    rate_bps = _bits(rate) if rate else None
    size, burst, latency = _BYTES.search(text), _BURST.search(text), _LATENCY.search(text)
    limit = round(plain_number(size[1]) * _BINARY[size[2]]) if size else None
    if limit is None and latency and rate_bps:  # tbf prints its limit as the time that it takes
        bucket = plain_number(burst[1]) * _BINARY[burst[2]] if burst else 0.0
        limit = round(plain_number(latency[1]) * _SECONDS[latency[2]] * rate_bps / 8 + bucket)
    count, loss = _PACKETS.search(text), _LOSS.search(text)
    return _checked(
        file,
        MeasuredDiscipline(
            source=file.name,
            kind=head[1],
            place=place,
            rate_bps=rate_bps,
            limit_bytes=limit,
            limit_packets=int(count[1]) or None if count and not size else None,
            loss=plain_number(loss[1]) / 100 if loss else None,
            dropped=counts[1],
            packets=counts[0],
        ),
    )


def _checked(file: Path, found: MeasuredDiscipline) -> MeasuredDiscipline:
    """Return it as it is. Raises MeasurementError: a figure is none of a path."""
    rate_bps, limit, share = found.rate_bps, found.limit_bytes, found.loss
    if rate_bps is not None and not 1e3 <= rate_bps <= 1e12:
        raise MeasurementError(f"{file}: {rate_bps:g} bit/s is no rate of a line; give {WHAT}, unchanged")
    if (limit is not None and not 0 < limit <= 2**40) or (share is not None and share >= 1):
        raise MeasurementError(
            f"{file}: a queue of {limit} B, a loss of {share}: none of a path; give {WHAT}, unchanged"
        )
    return found


_LIKE = re.compile(r'^(?:qdisc|class) \S+ \S+|\{\s*"kind"\s*:\s*"\w+",\s*"handle"\s*:', re.MULTILINE)
READER = Reader("tc", "what `tc -s qdisc` prints", _LIKE.search, read_tc)
