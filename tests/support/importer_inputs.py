"""Measurements that the tests import: those of tests/scenario/importer_inputs, and what is made of them.

pScheduler is in no distribution: its results are made of iperf3's by the renaming that its iperf3 tool does
(iperf3_parser.py), in the form of its schemas (pscheduler-test-*/validate.py); the archive's by what perfSONAR's
Logstash pipeline does to them.
"""

import fcntl
import functools
import json
import os
from pathlib import Path
from typing import Any

from tests.support.places import ROOT, TESTS

MEASURED = TESTS / "scenario" / "importer_inputs"
ALL = ROOT / "build" / "importer_inputs"
RENAMED = {
    "socket": "stream-id", "start": "start", "end": "end", "bytes": "throughput-bytes", "rtt": "rtt",
    "bits_per_second": "throughput-bits", "omitted": "omitted", "retransmits": "retransmits",
    "snd_cwnd": "tcp-window-size", "mean_rtt": "rtt",
}  # fmt: skip


def renamed(data: dict[str, Any]) -> dict[str, Any]:
    """One object of iperf3's JSON as pScheduler passes it on."""
    return {RENAMED[key]: value for key, value in data.items() if key in RENAMED}


def pscheduler_throughput(data: dict[str, Any]) -> dict[str, Any]:
    """A result of the test `throughput`."""
    end = data["end"]
    summary = renamed(end["sum_sent"]) | {"receiver-throughput-bits": end["sum_received"]["bits_per_second"]}
    return {
        "schema": 1,
        "succeeded": True,
        "diags": "iperf3 -c athens -t 10 --json",
        "mss": data["start"]["tcp_mss_default"],
        "intervals": [
            {"streams": [renamed(each) for each in one["streams"]], "summary": renamed(one["sum"])}
            for one in data["intervals"]
        ],
        "summary": {"summary": summary, "streams": [renamed(each["sender"]) for each in end["streams"]]},
    }


@functools.cache
def importer_inputs() -> Path:
    """The folder of all of them; of workers that ask at once one writes what is not there."""
    ALL.mkdir(parents=True, exist_ok=True)
    content = {each.name: each.read_bytes() for each in MEASURED.iterdir() if each.is_file() and each.suffix != ".py"}
    content |= {name: (json.dumps(data, indent=1) + "\n").encode() for name, data in made().items()}
    handle = os.open(ALL, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        for file in ALL.iterdir():
            if file.name not in content:
                file.unlink()
        for name, data in content.items():
            file = ALL / name
            if not file.exists() or file.read_bytes() != data:
                file.write_bytes(data)
    finally:
        os.close(handle)
    return ALL


def made() -> dict[str, Any]:
    """What pScheduler and an archive pass on, by the names of their files."""
    iperf3 = json.loads((MEASURED / "queue-iperf3.json").read_text())
    spec = {"schema": 1, "source": "amsterdam", "dest": "athens", "duration": "PT10S"}
    throughput = pscheduler_throughput(iperf3)
    rtts_ms = [50.006, 50.012, 50.009]
    rtt = {
        "schema": 1, "succeeded": True, "sent": 4, "received": 3, "lost": 1, "loss": 0.25, "duplicates": 0,
        "reorders": 0, "min": "PT0.050006S", "mean": "PT0.050009S", "max": "PT0.050012S", "stddev": "PT0.000002S",
        "roundtrips": [
            {"seq": number, "length": 64, "ip": "10.0.4.2", "ttl": 60, "rtt": f"PT{ms / 1e3:.6f}S"}
            for number, ms in enumerate(rtts_ms, start=1)
        ] + [{"seq": 4, "error": "request-timed-out"}],
    }  # fmt: skip
    hops = [("frankfurt", "10.0.0.2", 8.006), ("milan", "10.0.1.2", 20.006), ("bari", "10.0.2.2", 36.006)]
    path: list[dict[str, Any]] = [
        {"ip": address, "hostname": f"{name}.example.net.", "rtt": f"PT{ms / 1e3:.6f}S"} for name, address, ms in hops
    ]
    path.insert(2, {})  # one that does not answer
    path.append(
        {"ip": "10.0.3.2", "hostname": "athens", "rtt": "PT0.050006S", "as": {"number": 64512, "owner": "test"}}
    )
    trace = {"schema": 1, "succeeded": True, "paths": [path]}
    latency = {
        "schema": 1, "succeeded": True, "packets-sent": 600, "packets-received": 594, "packets-lost": 6,
        "packets-duplicated": 0, "packets-reordered": 0, "max-clock-error": 0.27, "histogram-ttl": {"252": 594},
        "histogram-latency": {"25.01": 400, "25.03": 190, "31.20": 4},
    }  # fmt: skip
    hits = [
        {
            "_source": {
                "@timestamp": f"2026-11-{day}T00:00:00Z",
                "test": {"type": "throughput", "spec": {"source": "amsterdam", "dest": "athens", "duration": 10}},
                "result": {
                    "succeeded": True, "throughput": bps, "retransmits": 520, "mss": 8948,
                    "intervals": {"json": throughput["intervals"]},
                },
            }
        }
        for day, bps in ((20, 9.5e8), (21, 9.6e8), (22, 9.4e8))
    ]  # fmt: skip
    hits.append(
        {"_source": {"test": {"type": "throughput", "spec": {}}, "result": {"succeeded": False, "error": "no route"}}}
    )
    hits.append({"_source": {"test": {"type": "rtt", "spec": {}}, "result": {
        "succeeded": True, "rtt": {"min": 0.050006, "max": 0.06}, "packets": {"sent": 10, "lost": 0}}}})  # fmt: skip
    return {
        "pscheduler-throughput.json": {"test": {"type": "throughput", "spec": spec}, "result": throughput},
        "pscheduler-rtt.json": rtt,
        "pscheduler-trace.json": {"spec": {"schema": 1, "dest": "athens"}, "result": trace},
        "pscheduler-latency.json": latency,
        "archive.json": {"took": 3, "hits": {"total": {"value": len(hits)}, "hits": hits}},
    }
