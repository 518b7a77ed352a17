"""Flent's data file (version 4): each stream's goodput and TCP's round-trip time, which its plots take for a ping's."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from typing import Any

from landspeed.base.version import __version__
from landspeed.exporters.addresses import own_address
from landspeed.exporters.exporter import Exported, Exporter
from landspeed.exporters.seconds import FlowSteps, flows_in_steps

STEP_S = 0.2  # Flent's own
PING = "Ping (ms) ICMP"


def _data(exported: Exported, flow: FlowSteps) -> dict[str, Any]:
    times = [step.end_s for step in flow.steps]
    results: dict[str, list[float | None]] = {}
    for number in range(len(flow.steps[0].streams)):
        name = "TCP upload" if len(flow.steps[0].streams) == 1 else f"TCP upload::{number + 1}"
        results[name] = [
            step.streams[number].received_bytes * 8 / (step.end_s - step.begin_s) / 1e6 for step in flow.steps
        ]
    if len(results) > 1:
        together = zip(*results.values(), strict=True)
        results["TCP upload sum"] = [sum(value or 0.0 for value in each) for each in together]
    rtts = [[part.rtt_us for part in step.streams if part.rtt_us is not None] for step in flow.steps]
    results[PING] = [sum(each) / len(each) / 1e3 if each else None for each in rtts]
    at = datetime.fromtimestamp(exported.start_unix_ns / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    streams = len(flow.steps[0].streams)
    return {
        "version": 4,
        "metadata": {
            "NAME": "tcp_upload" if streams == 1 else "tcp_nup",
            "TITLE": f"{exported.name} {flow.result.name}",
            "NOTE": f"landspeed {__version__}, {exported.measured.world}; the ping's series is TCP's smoothed RTT",
            "TIME": at,
            "LOCAL_HOST": flow.result.source,
            "HOST": own_address(exported.plan, flow.result.target),
            "LENGTH": round(flow.result.duration_s or 0.0),
            "TOTAL_LENGTH": round(flow.result.duration_s or 0.0),
            "STEP_SIZE": STEP_S,
            "IP_VERSION": exported.plan.ip_version,
            "SYSCTLS": {"net.ipv4.tcp_congestion_control": flow.planned.transfer.congestion_control},
            "DATA_FILENAME": f"{exported.name}{flow.suffix}.flent.gz",
            "FAILED_RUNNERS": 0,
            "TEST_PARAMETERS": {"upload_streams": str(streams)},
            "SERIES_META": {name: {"UNITS": "ms" if name == PING else "Mbits/s"} for name in results},
        },
        "raw_values": {},
        "x_values": times,
        "results": results,
    }


def _write(exported: Exported) -> dict[str, str | bytes]:
    return {
        f"{flow.suffix}.flent.gz": gzip.compress(json.dumps(_data(exported, flow)).encode(), mtime=0)
        for flow in flows_in_steps(exported, STEP_S)
    }


EXPORTER = Exporter("flent", "Flent's data file", "run", _write, "flent -i FILE -f summary")
