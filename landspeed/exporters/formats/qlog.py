"""qlog of TCP's state, for qvis: windows, flight, round-trip times, states of recovery, each sender's stream a trace.

draft-ietf-quic-qlog-main-schema and its events of recovery, version 0.3, which qvis reads. TCP has no packet numbers,
so packets are not there; `recovery:packet_lost` counts what was marked lost since the sample before.
"""

from __future__ import annotations

import itertools
import json
import operator
from collections.abc import Iterator
from typing import Any

from landspeed.base.version import __version__
from landspeed.exporters.exporter import Exported, Exporter

COLUMNS = ("flow", "stream", "time_ns", "cwnd_packets", "ssthresh_packets", "mss_bytes", "in_flight_packets",
           "srtt_us", "rttvar_us", "min_rtt_us", "retransmits", "state", "pacing_rate_bps")  # fmt: skip
STATES = {0: "open", 1: "disorder", 2: "cwr", 3: "recovery", 4: "loss"}
"""enum tcp_ca_state of Linux."""
NO_THRESHOLD = 0x7FFFFFFF


def _write(exported: Exported) -> dict[str, str | bytes]:
    rows = exported.samples.rows("sender", *COLUMNS)
    traces = [
        {
            "title": f"{flow}, stream {stream}",
            "vantage_point": {"name": f"{flow} {stream}", "type": "server"},
            "common_fields": {
                "time_format": "relative",
                "reference_time": exported.start_unix_ns / 1e6,
                "protocol_type": ["TCP"],
                "group_id": f"{flow}-{stream}",
            },
            "events": list(_events([dict(zip(COLUMNS, row, strict=True)) for row in of])),
        }
        for (flow, stream), of in itertools.groupby(rows, operator.itemgetter(0, 1))
    ]
    told = {
        "qlog_version": "0.3",
        "qlog_format": "JSON",
        "title": f"{exported.name} ({exported.measured.world})",
        "description": f"made by landspeed {__version__}",
        "traces": traces,
    }
    return {".qlog": json.dumps(told, separators=(",", ":")) + "\n"}


def _events(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    before: dict[str, Any] = {}
    state, again = None, 0
    for row in rows:
        time = row["time_ns"] / 1e6
        told = _metrics(row)
        if changed := {name: value for name, value in told.items() if before.get(name) != value}:
            yield {"time": time, "name": "recovery:metrics_updated", "data": changed}
        before |= told
        if row["state"] is not None and row["state"] != state:
            data = {"new": STATES.get(row["state"], str(row["state"]))}
            yield {"time": time, "name": "recovery:congestion_state_updated",
                   "data": data if state is None else {"old": STATES.get(state, str(state)), **data}}  # fmt: skip
            state = row["state"]
        if row["retransmits"] is not None and row["retransmits"] > again:
            yield {"time": time, "name": "recovery:packet_lost", "data": {"count": row["retransmits"] - again}}
            again = row["retransmits"]


def _metrics(row: dict[str, Any]) -> dict[str, float]:
    """Bytes, and ms, as qlog has them; what the kernel did not tell is left out."""
    mss = row["mss_bytes"] or 0
    threshold = row["ssthresh_packets"]
    told = {
        "congestion_window": row["cwnd_packets"] and row["cwnd_packets"] * mss,
        "ssthresh": threshold * mss if threshold is not None and threshold < NO_THRESHOLD else None,
        "bytes_in_flight": None if row["in_flight_packets"] is None else row["in_flight_packets"] * mss,
        "packets_in_flight": row["in_flight_packets"],
        "smoothed_rtt": row["srtt_us"] and row["srtt_us"] / 1e3,
        "rtt_variance": row["rttvar_us"] and row["rttvar_us"] / 1e3,
        "min_rtt": row["min_rtt_us"] and row["min_rtt_us"] / 1e3,
        "pacing_rate": row["pacing_rate_bps"],
    }
    return {name: value for name, value in told.items() if value is not None}


EXPORTER = Exporter("qlog", "qlog of TCP's state, for qvis", "run", _write, "load FILE in qvis")
