"""RIPE Atlas: results of traceroutes and pings, as the API gives them or one a line."""

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
from landspeed.scenario.importers.reading import items, member, number, positive, read_json_list, text_of, whole
from landspeed.scenario.importers.registry import Reader

WHAT = "the results of one RIPE Atlas measurement of one probe (api/v2/measurements/ID/results/?probe_ids=PROBE)"
ENDLESS = 255  # hop number of a trace that gave up


def read_ripe_atlas(file: Path) -> PathEvidence:
    """Every traceroute and ping of a file; of the traceroutes that with the least round trip stands for all.

    Raises:
        MeasurementError: it has none, or of several probes.
    """
    found = read_json_list(file, WHAT)
    probes = list(dict.fromkeys(each for data in found if (each := whole(data, "prb_id")) is not None))
    if len(probes) > 1:
        shown = ", ".join(str(each) for each in probes[:3])
        raise MeasurementError(
            f"{file}: results of {len(probes)} probes ({shown} …), each with its own path; give those of one: {WHAT}"
        )
    traces = [trace for data in found if (trace := _trace(data, file.name))]
    pings = [ping for data in found if (ping := _ping(data, file.name))]
    if not traces and not pings:
        raise MeasurementError(f"{file}: no traceroute and no ping that was answered; give {WHAT}")
    best = sorted(traces, key=lambda trace: (not trace.reached, min(trace.hops[-1].rtts_ms)))[:1]
    return PathEvidence(traces=best, probes=pings)


def _trace(data: Any, source: str) -> Traceroute | None:
    if text_of(data, "type") != "traceroute":
        return None
    hops: dict[int, TracerouteHop] = {}
    for each in items(data, "result"):
        at = whole(each, "hop")
        answers = [answer for answer in items(each, "result") if positive(answer, "rtt") and not member(answer, "late")]
        if at is None or not 0 < at < ENDLESS or not answers:
            continue
        label = text_of(answers[0], "from")
        own = tuple(positive(answer, "rtt") or 0.0 for answer in answers if text_of(answer, "from") == label)
        hops[at] = TracerouteHop(label, own)
    if not hops:
        return None
    whole_path = tuple(hops.get(at, TracerouteHop("", ())) for at in range(1, max(hops) + 1))
    target = text_of(data, "dst_addr")
    reached = bool(target) and whole_path[-1].label == target
    return Traceroute(source, text_of(data, "dst_name") or target or whole_path[-1].label, whole_path, reached, target)


def _ping(data: Any, source: str) -> Probes | None:
    least, sent = positive(data, "min"), whole(positive(data, "sent"))
    if text_of(data, "type") != "ping" or least is None or not sent:
        return None
    lost = max(0, min(sent, sent - (whole(number(data, "rcvd")) or 0)))
    return Probes(source, "RIPE Atlas, ping", least / 1e3, sent, lost, address=text_of(data, "dst_addr"))


READER = Reader(
    "ripe_atlas", "results of RIPE Atlas", re.compile(r'"(?:msm_id|prb_id|mver|lts)"\s*:').search, read_ripe_atlas
)
