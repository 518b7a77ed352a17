"""Speed tests of Ookla (`speedtest -f json`) and of speedtest-cli (`--json`): latency and what was downloaded."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from landspeed.scenario.importers.path_evidence import MeasuredTransfer, MeasurementError, PathEvidence, Probes
from landspeed.scenario.importers.reading import member, number, positive, read_json, text_of, usable
from landspeed.scenario.importers.registry import Reader

WHAT = "what `speedtest -f json` or `speedtest-cli --json` printed"
MANY = 4  # connections at once, where the file does not tell: both programs open several
CLI_S = 10.0  # speedtest-cli downloads for so long (its source, speedtest.py)


def read_speedtest(file: Path) -> PathEvidence:
    """The latency and the download of a file.

    Raises:
        MeasurementError: it has neither.
    """
    data = read_json(file, WHAT)
    latency_ms = positive(data, "ping", "latency") or positive(data, "ping")
    bandwidth = positive(data, "download", "bandwidth")
    rate = bandwidth * 8 if bandwidth else positive(data, "download")
    if rate is None or latency_ms is None or not 1e-3 <= latency_ms <= 1e6:
        raise MeasurementError(f"{file}: no download with its latency; give {WHAT}")
    elapsed_ms, moved = positive(data, "download", "elapsed"), positive(data, "download", "bytes")
    seconds = elapsed_ms / 1e3 if elapsed_ms else CLI_S
    least_ms = positive(data, "ping", "low") or latency_ms
    server = text_of(data, "server", "ip") or text_of(data, "server", "host").partition(":")[0]
    transfer = MeasuredTransfer(
        source=file.name,
        program="speedtest, its download",
        when=text_of(data, "timestamp"),
        goodput_bps=rate,
        bytes=round(moved or rate * seconds / 8),
        duration_s=seconds,
        sender=server,
        receiver=_receiver(data),
        ip_version=6 if ":" in server else 4,
        streams=MANY,
    )
    return PathEvidence(
        transfers=[usable(transfer)],
        probes=[Probes(file.name, "speedtest's latency", least_ms / 1e3, 1, 0, address=server)],
        notes=[
            f"Streams. {file.name} does not tell how many connections it opened: {MANY} are assumed."
            + ("" if elapsed_ms else f" Nor how long it downloaded: {CLI_S:g} s are assumed.")
            + (
                f" It lost {loss:.3g} % of its packets, which the path here does not have."
                if (loss := _loss(data))
                else ""
            )
        ],
    )


def _receiver(data: Any) -> str:
    """The client's own address behind its router; the public one is personal and says nothing of the path."""
    return text_of(data, "interface", "internalIp") or ("client" if member(data, "client") else "")


def _loss(data: Any) -> float:
    return number(data, "packetLoss") or 0.0


_LIKE = re.compile(
    r'"type"\s*:\s*"result"(?=[\s\S]*"bandwidth")|"bytes_received"\s*:(?=[\s\S]*"ping")|"ping"\s*:\s*[\d.]+(?=[\s\S]*"bytes_received")|"ping"\s*:\s*\{\s*"(?:jitter|latency)'
)
READER = Reader("speedtest", "a result of speedtest", _LIKE.search, read_speedtest)
