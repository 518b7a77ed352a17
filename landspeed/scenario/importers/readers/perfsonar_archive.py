"""perfSONAR's archive (OpenSearch): pScheduler's figures under the names that its Logstash pipeline gives them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from landspeed.scenario.importers.path_evidence import MeasurementError, PathEvidence, Probes
from landspeed.scenario.importers.readers.pscheduler import throughput, trace
from landspeed.scenario.importers.reading import items, member, number, read_json, seconds_of, text_of, whole
from landspeed.scenario.importers.registry import Reader

ARCHIVED = "the answer of the archive's _search (hits.hits[]._source)"


def read_archive(file: Path) -> PathEvidence:
    """Every measurement of a search in perfSONAR's archive that succeeded.

    Raises:
        MeasurementError: it is cut off, or has none.
    """
    found = PathEvidence()
    failed = 0
    for document in _documents(read_json(file, ARCHIVED)):
        kind, result = text_of(document, "test", "type"), member(document, "result")
        if kind not in ARCHIVE_READERS or not isinstance(result, dict):
            continue
        if member(result, "succeeded") is False:
            failed += 1
            continue
        found.add(ARCHIVE_READERS[kind](result, member(document, "test", "spec"), file.name))
    if not found:
        also = f" ({failed} that failed)" if failed else ""
        raise MeasurementError(f"{file}: no measurement of {', '.join(ARCHIVE_READERS)}{also}; give {ARCHIVED}")
    return found


def _documents(data: Any) -> Iterator[Any]:
    listed = data if isinstance(data, list) else items(data, "hits", "hits") or [data]  # pyright: ignore[reportUnknownVariableType]
    for each in listed:  # pyright: ignore[reportUnknownVariableType]
        yield member(each, "_source") or each


def _archived_throughput(result: Any, spec: Any, source: str) -> PathEvidence:
    figures = {
        "throughput-bits": member(result, "throughput"),
        "retransmits": member(result, "retransmits"),
        "sent": member(result, "packets_sent"),
        "lost": member(result, "packets_lost"),
        "start": 0.0,
        "end": seconds_of(member(spec, "duration")) or 0.0,
    }
    return throughput(
        {
            "summary": {"summary": figures, "streams": items(result, "streams", "json")},
            "intervals": items(result, "intervals", "json"),
            "mss": member(result, "mss"),
            "mtu": member(result, "mtu"),
        },
        spec,
        source,
    )


def _archived_rtt(result: Any, spec: Any, source: str) -> PathEvidence:  # noqa: ARG001
    packets = member(result, "packets")
    least, sent = number(result, "rtt", "min"), whole(packets, "sent") or 0
    return PathEvidence(probes=[Probes(source, "perfSONAR's archive, rtt", least, sent, whole(packets, "lost") or 0)])


def _archived_latency(result: Any, spec: Any, source: str) -> PathEvidence:  # noqa: ARG001
    packets, least_ms = member(result, "packets"), number(result, "latency", "min")
    return PathEvidence(
        probes=[
            Probes(
                source,
                "perfSONAR's archive, latency",
                None if least_ms is None else least_ms / 1e3,
                whole(packets, "sent") or 0,
                whole(packets, "lost") or 0,
                one_way=True,
                clock_error_s=(number(result, "max_clock_error") or 0.0) / 1e3,
            )
        ]
    )


ARCHIVE_READERS = {
    "throughput": _archived_throughput,
    "rtt": _archived_rtt,
    "latency": _archived_latency,
    "latencybg": _archived_latency,
    "trace": trace,
}
READER = Reader(
    "perfsonar_archive",
    "an answer of perfSONAR's archive",
    re.compile(r'"_source"\s*:|"hits"\s*:|\A\s*\[(?=[\s\S]*"succeeded"\s*:)').search,
    read_archive,
)
