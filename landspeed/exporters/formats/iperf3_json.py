"""iperf3's JSON, as its client prints it with `--json`: what reads iperf3's results reads a run of landspeed.

`title` says that it is landspeed's; the figures are those of the run's own samples, second by second. Readers ask for a
processor's share, and in virtual time work takes none.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from landspeed.base.version import __version__
from landspeed.exporters.addresses import own_address
from landspeed.exporters.exporter import Exported, Exporter
from landspeed.exporters.seconds import FlowInterval, FlowSteps, StreamStep, flows_in_steps

PORT = 5201
FIRST_SOCKET = 5


def iperf3_json(exported: Exported, flow: FlowSteps) -> dict[str, Any]:
    """One flow as iperf3's client would have printed it."""
    result, transfer = flow.result, flow.planned.transfer
    duration_s = result.duration_s or 0.0
    here, there = (own_address(exported.plan, name) for name in (result.source, result.target))
    sockets = [FIRST_SOCKET + 2 * number for number in range(len(flow.steps[0].streams))]
    started = exported.start_unix_ns / 1e9
    streams = list(zip(*(step.streams for step in flow.steps), strict=True))
    retransmits = [sum(part.retransmits or 0 for part in each) for each in streams]
    received = [sum(part.received_bytes for part in each) for each in streams]
    ends = [
        {"sender": _part(socket, 0, duration_s, count, sender=True) | {"retransmits": again} | _most(flow, number),
         "receiver": _part(socket, 0, duration_s, count, sender=True)}
        for number, (socket, count, again) in enumerate(zip(sockets, received, retransmits, strict=True))
    ]  # fmt: skip
    whole = _part(None, 0, duration_s, sum(received), sender=True)
    mss = next((each.mss_bytes for each in result.streams if each.mss_bytes), exported.plan.physics.mss_bytes)
    return {
        "title": f"landspeed {__version__}: {exported.name}, flow {result.name} ({exported.measured.world})",
        "start": {
            "connected": [
                {"socket": socket, "local_host": here, "local_port": 40_000 + number, "remote_host": there,
                 "remote_port": PORT} for number, socket in enumerate(sockets)
            ],
            "version": "iperf 3.12",
            "system_info": f"landspeed {__version__}",
            "timestamp": {"time": datetime.fromtimestamp(started, UTC).strftime("%a, %d %b %Y %H:%M:%S GMT"),
                          "timesecs": int(started)},
            "connecting_to": {"host": there, "port": PORT},
            "cookie": f"landspeed-{exported.plan.sha256[:20]}",
            "tcp_mss_default": mss,
            "target_bitrate": transfer.pacing_rate_bps or 0,
            "sock_bufsize": transfer.window_bytes or 0,
            "test_start": {
                "protocol": "TCP", "num_streams": transfer.streams, "blksize": 131_072, "omit": 0,
                "duration": 0 if transfer.bytes else round(duration_s), "bytes": transfer.bytes or 0, "blocks": 0,
                "reverse": 0, "tos": 0, "target_bitrate": transfer.pacing_rate_bps or 0, "bidir": 0,
            },
        },
        "intervals": [
            {"streams": [_stream(socket, step, part) for socket, part in zip(sockets, step.streams, strict=True)],
             "sum": _part(None, step.begin_s, step.end_s, step.received_bytes, sender=True)
             | {"retransmits": sum(each.retransmits or 0 for each in step.streams), "omitted": False}}
            for step in flow.steps
        ],
        "end": {
            "streams": ends,
            "sum_sent": whole | {"retransmits": sum(retransmits)},
            "sum_received": whole,
            "cpu_utilization_percent": {
                f"{end}_{part}": 0.0 for end in ("host", "remote") for part in ("total", "user", "system")
            },
            "sender_tcp_congestion": transfer.congestion_control,
            "receiver_tcp_congestion": transfer.congestion_control,
        },
    }  # fmt: skip


def _part(socket: int | None, begin_s: float, end_s: float, count: int, *, sender: bool) -> dict[str, Any]:
    seconds = end_s - begin_s
    named = {} if socket is None else {"socket": socket}
    rate = count * 8 / seconds if seconds else 0.0
    return named | {"start": begin_s, "end": end_s, "seconds": seconds, "bytes": count, "bits_per_second": rate,
                    "sender": sender}  # fmt: skip


def _stream(socket: int, step: FlowInterval, part: StreamStep) -> dict[str, Any]:
    told = {"retransmits": part.retransmits, "snd_cwnd": part.cwnd_bytes, "rtt": part.rtt_us, "rttvar": part.rttvar_us}
    known = {name: value for name, value in told.items() if value is not None}
    return _part(socket, step.begin_s, step.end_s, part.received_bytes, sender=True) | known | {"omitted": False}


def _most(flow: FlowSteps, number: int) -> dict[str, int]:
    windows = [step.streams[number].cwnd_bytes or 0 for step in flow.steps]
    return {"max_snd_cwnd": max(windows)} | dict(
        zip(("min_rtt", "max_rtt", "mean_rtt"), flow.rtts_us[number], strict=False)
    )


def _write(exported: Exported) -> dict[str, str | bytes]:
    return {
        f"{flow.suffix}.iperf3.json": json.dumps(iperf3_json(exported, flow), indent=1) + "\n"
        for flow in flows_in_steps(exported)
    }


EXPORTER = Exporter("iperf3", "JSON as iperf3 prints it", "run", _write, "jq .end.sum_received FILE")
