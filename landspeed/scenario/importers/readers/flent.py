"""Flent's data file (`.flent.gz`, `.flent`, old `.json.gz`): its TCP streams and its ping beside them."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from landspeed.scenario.importers.path_evidence import (
    GoodputInterval,
    MeasuredHost,
    MeasuredTransfer,
    MeasurementError,
    PathEvidence,
    Probes,
)
from landspeed.scenario.importers.reading import (
    MOST_BYTES,
    items,
    member,
    number,
    parse_json,
    plain_number,
    text_of,
    usable,
    whole,
)
from landspeed.scenario.importers.registry import Reader

WHAT = "the .flent.gz that a test of Flent wrote, such as tcp_nup or ping"
_PING = re.compile(r"ping", re.IGNORECASE)
_STREAM = re.compile(r"^TCP\s+(upload|download)(?!.*(?:avg|sum|totals|rtt|cwnd))(?:::.*| .*)?$", re.IGNORECASE)


def read_flent(file: Path) -> PathEvidence:
    """The transfer and the ping of a file. Of a test in both directions, such as rrul, only the ping is taken.

    Raises:
        MeasurementError: it has neither.
    """
    data = parse_json(file, _text(file), WHAT)
    series: dict[str, Any] = member(data, "results") if isinstance(member(data, "results"), dict) else {}
    told = member(data, "metadata")
    pings = {name: _figures(series, name) for name in series if _PING.search(name) and "::" not in name}
    pings = {name: values for name, values in pings.items() if any(each and each > 0 for each in values)}
    ping = min(pings, key=lambda name: min(each for each in pings[name] if each and each > 0), default=None)
    streams = {name: match[1].lower() for name in series if (match := _STREAM.match(name))}
    ways = set(streams.values())
    made = PathEvidence(hosts=_hosts(file, told))
    if ping is not None:
        answered = [each for each in pings[ping] if each and each > 0]
        if not 1e-4 <= min(answered) <= 1e7:
            raise MeasurementError(f"{file}: a ping of {min(answered):g} ms is none of a path; give {WHAT}, unchanged")
        made.probes.append(Probes(file.name, f"Flent's {ping}", min(answered) / 1e3, len(answered), 0))
    if len(ways) > 1:
        made.notes.append(
            f"Transfer. {file.name} sent both ways at once ({text_of(told, 'NAME') or 'Flent'}): only its ping is "
            "used. A test of one way, such as tcp_nup, would tell the rate."
        )
    elif ways:
        rates = [_figures(series, each) for each in streams]
        made.transfers.append(usable(_transfer(file, data, rates, pings.get(ping or "", []), ways.pop())))
    if not made.probes and not made.transfers:
        raise MeasurementError(f"{file}: no TCP stream and no ping of Flent with a figure; give {WHAT}")
    return made


def _text(file: Path) -> str:
    try:
        content = file.read_bytes()
        if content.startswith(b"\x1f\x8b"):
            with gzip.open(file) as opened:
                content = opened.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise MeasurementError(f"{file}: larger than {MOST_BYTES // 2**20} MiB; give {WHAT}")
        return content.decode("utf-8")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise MeasurementError(f"{file}: cut off or damaged ({error}); give the whole of {WHAT}") from error
    except UnicodeDecodeError as error:
        raise MeasurementError(f"{file}: not text (byte {error.start}); give {WHAT}") from error
    except OSError as error:
        raise MeasurementError(f"{file}: {error.strerror or error}; give {WHAT}") from error


def _figures(series: dict[str, Any], name: str) -> list[float | None]:
    return [number(each) for each in items(series, name)]


def _transfer(
    file: Path, data: Any, streams: Sequence[Sequence[float | None]], ping_ms: Sequence[float | None], way: str
) -> MeasuredTransfer:
    """All streams as one; each value is the mean rate until its time, in Mbit/s."""
    told, at_s = member(data, "metadata"), [number(each) for each in items(data, "x_values")]
    parts: list[GoodputInterval] = []
    before: float | None = None
    for at, x in enumerate(at_s):
        rates = [values[at] for values in streams if at < len(values) and values[at] is not None]
        ms = ping_ms[at] if at < len(ping_ms) else None
        if x is not None and before is not None and x > before and rates and sum(each or 0 for each in rates) > 0:
            rate = sum(each or 0.0 for each in rates) * 1e6
            parts.append(GoodputInterval(before, x, rate, ms / 1e3 if ms and ms > 0 else None))
        before = x if x is not None else before
    lasted = sum(each.end_s - each.start_s for each in parts)
    if not lasted:
        raise MeasurementError(f"{file}: its streams have no rate; give {WHAT}")
    moved = sum(each.rate_bps * (each.end_s - each.start_s) for each in parts)
    here, there = text_of(told, "LOCAL_HOST"), text_of(told, "HOST")
    control = text_of(told, "SYSCTLS", "net.ipv4.tcp_congestion_control") if way == "upload" else ""
    return MeasuredTransfer(
        source=file.name,
        program=f"Flent {text_of(told, 'NAME')}".strip(),
        when=text_of(told, "TIME"),
        goodput_bps=moved / lasted,
        bytes=round(moved / 8),
        duration_s=lasted,
        sender=here if way == "upload" else there,
        receiver=there if way == "upload" else here,
        ip_version=6 if whole(told, "IP_VERSION") == 6 else 4,
        streams=len(streams),
        congestion_control=control or None,
        intervals=tuple(parts),
    )


def _hosts(file: Path, told: Any) -> list[MeasuredHost]:
    """The sending host's MTU and control, as Flent notes them."""
    mtu = round(plain_number(str(member(told, "EGRESS_INFO", "mtu"))))
    return [MeasuredHost(file.name, mtu_bytes=mtu)] if mtu and 576 <= mtu <= 65_535 else []


_LIKE = re.compile(r'"(?:x_values|raw_values|SERIES_META)"\s*:')
READER = Reader("flent", "Flent's data file", _LIKE.search, read_flent)
