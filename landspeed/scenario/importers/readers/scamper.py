"""scamper's JSON (`sc_warts2json`, `scamper -O json`), CAIDA's: its traceroutes and pings, an object a line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from landspeed.scenario.importers.path_evidence import (
    MeasurementError,
    PathEvidence,
    Probes,
    Traceroute,
    TracerouteHop,
)
from landspeed.scenario.importers.reading import items, positive, read_json_list, text_of, whole
from landspeed.scenario.importers.registry import Reader

WHAT = "what `sc_warts2json FILE` printed of one target"


def read_scamper(file: Path) -> PathEvidence:
    """Every traceroute and ping of a file; of several traceroutes that with the least round trip stands for all.

    Raises:
        MeasurementError: it has none, or to several targets.
    """
    found = [data for data in read_json_list(file, WHAT) if text_of(data, "type") in ("trace", "ping")]
    targets = list(dict.fromkeys(text_of(data, "dst") for data in found))
    if len(targets) > 1:
        raise MeasurementError(
            f"{file}: {len(targets)} targets ({', '.join(targets[:3])} …), each with its own path; give {WHAT}"
        )
    traces = [trace for data in found if (trace := _trace(data, file.name))]
    pings = [ping for data in found if (ping := _ping(data, file.name))]
    if not traces and not pings:
        raise MeasurementError(f"{file}: no trace and no ping that was answered; give {WHAT}")
    best = sorted(traces, key=lambda trace: (not trace.reached, min(trace.hops[-1].rtts_ms)))[:1]
    return PathEvidence(traces=best, probes=pings)


def _trace(data: Any, source: str) -> Traceroute | None:
    if text_of(data, "type") != "trace":
        return None
    hops: dict[int, TracerouteHop] = {}
    for each in items(data, "hops"):
        at, rtt, label = whole(each, "probe_ttl"), positive(each, "rtt"), text_of(each, "addr")
        if at is None or not 0 < at < 256 or rtt is None:
            continue
        before = hops.get(at, TracerouteHop(label, ()))
        hops[at] = TracerouteHop(before.label, (*before.rtts_ms, rtt)) if before.label == label else before
    if not hops:
        return None
    whole_path = tuple(hops.get(at, TracerouteHop("", ())) for at in range(1, max(hops) + 1))
    target = text_of(data, "dst")
    reached = text_of(data, "stop_reason") == "COMPLETED" or (bool(target) and whole_path[-1].label == target)
    return Traceroute(source, target or whole_path[-1].label, whole_path, reached, target)


def _ping(data: Any, source: str) -> Probes | None:
    if text_of(data, "type") != "ping":
        return None
    times = [rtt for each in items(data, "responses") if (rtt := positive(each, "rtt"))]
    least = positive(data, "statistics", "min") or min(times, default=None)
    sent = whole(positive(data, "ping_sent")) or len(times)
    if least is None or not sent:
        return None
    replies = whole(data, "statistics", "replies")
    lost = max(0, min(sent, sent - (len(times) if replies is None else replies)))
    return Probes(source, "scamper, ping", least / 1e3, sent, lost, address=text_of(data, "dst"))


_LIKE = re.compile(
    r'"type"\s*:\s*"(?:cycle-start|trace|ping)"(?=[\s\S]*"(?:probe_ttl|stop_reason|list_name|ping_sent)")'
)
READER = Reader("scamper", "scamper's JSON", _LIKE.search, read_scamper)
