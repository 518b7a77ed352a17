"""A result of pScheduler's throughput test, with the test beside it, as its archivers get it."""

from __future__ import annotations

import json
from typing import Any

from landspeed.exporters.addresses import own_address
from landspeed.exporters.exporter import Exported, Exporter
from landspeed.exporters.seconds import FlowInterval, FlowSteps, flows_in_steps


def _result(exported: Exported, flow: FlowSteps) -> dict[str, Any]:
    transfer, result = flow.planned.transfer, flow.result
    duration_s = result.duration_s or 0.0
    asked = {"congestion": transfer.congestion_control, "parallel": transfer.streams}
    if transfer.window_bytes:
        asked["window-size"] = transfer.window_bytes
    whole = FlowInterval(0.0, duration_s, tuple(part for step in flow.steps for part in step.streams))
    return {
        "test": {
            "type": "throughput",
            "spec": {
                "schema": 1,
                "source": own_address(exported.plan, result.source),
                "dest": own_address(exported.plan, result.target),
                "duration": f"PT{duration_s:.6f}S".replace(".000000S", "S"),
                "ip-version": exported.plan.ip_version,
                **asked,
            },
        },
        "tool": {"name": "landspeed", "version": exported.measured.versions.get("landspeed", "")},
        "result": {
            "schema": 1,
            "succeeded": True,
            "diags": f"{exported.measured.world} world of landspeed, not measured on a network: {exported.name}",
            "mss": next((each.mss_bytes for each in result.streams if each.mss_bytes), flow.planned.physics.mss_bytes),
            "intervals": [{"summary": _summary(step), "streams": _streams(step)} for step in flow.steps],
            "summary": {"summary": _summary(whole), "streams": []},
        },
    }


def _summary(step: FlowInterval) -> dict[str, Any]:
    seconds = step.end_s - step.begin_s
    return {
        "start": step.begin_s,
        "end": step.end_s,
        "throughput-bits": step.received_bytes * 8 / seconds if seconds else 0.0,
        "throughput-bytes": step.received_bytes,
        "receiver-throughput-bits": step.received_bytes * 8 / seconds if seconds else 0.0,
        "retransmits": sum(each.retransmits or 0 for each in step.streams),
        "omitted": False,
    }


def _streams(step: FlowInterval) -> list[dict[str, Any]]:
    seconds = step.end_s - step.begin_s
    return [
        {
            "stream-id": part.stream,
            "start": step.begin_s,
            "end": step.end_s,
            "throughput-bits": part.received_bytes * 8 / seconds if seconds else 0.0,
            "throughput-bytes": part.received_bytes,
            **({"retransmits": part.retransmits} if part.retransmits is not None else {}),
            **({"tcp-window-size": part.cwnd_bytes} if part.cwnd_bytes is not None else {}),
            **({"rtt": part.rtt_us} if part.rtt_us is not None else {}),
        }
        for part in step.streams
    ]


def _write(exported: Exported) -> dict[str, str | bytes]:
    return {
        f"{flow.suffix}.pscheduler.json": json.dumps(_result(exported, flow), indent=1) + "\n"
        for flow in flows_in_steps(exported)
    }


EXPORTER = Exporter("pscheduler", "a result of pScheduler's throughput test", "run", _write, "landspeed import FILE")
