"""iperf3 as the tool of a transfer: its command lines, and its JSON put into the engine's terms.

It is here as the peer that everybody knows, so that the engine's figures can be checked against it on the same path.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from ..engine.command import ENGINE_PORT
from ..results.samples import SAMPLE_COLUMNS
from ..scenarios.plan import Plan, Transfer


def unable(plan: Plan) -> str | None:
    """What the plan asks for and iperf3 does not have."""
    if plan.events:
        return "iperf3 does not tell when its transfer starts, and events need it"
    if plan.transfer.congestion_controls:
        return "iperf3 has one congestion control for all streams, and transfer.congestion_controls names several"
    if plan.transfer.send not in ("auto", "write", "sendfile"):
        return f"iperf3 has no transfer.send: {plan.transfer.send}"
    return None


def commands(transfer: Transfer, out: str) -> tuple[list[str], list[str]]:
    """Command lines of the receiver and the sender; `{receiver}` stands for the address."""
    receiver = ["iperf3", "-s", "-1", "-p", str(ENGINE_PORT), "--json", "--logfile", f"{out}/iperf3-receiver.json"]
    sender = [
        "iperf3",
        "-c",
        "{receiver}",
        "-p",
        str(ENGINE_PORT),
        "-P",
        str(transfer.streams),
        "-C",
        transfer.congestion_control,
    ]
    sender += [
        "-i",
        str(max(transfer.sample_interval_ns / 1e9, 0.1)),
        "-l",
        "1M",
        "--json",
        "--logfile",
        f"{out}/iperf3-sender.json",
    ]
    sender += ["-Z"] if transfer.send == "sendfile" else []
    if transfer.window_bytes:
        sender += ["-w", str(transfer.window_bytes)]
    if transfer.pacing_rate_bps:
        sender += ["--fq-rate", str(transfer.pacing_rate_bps)]
    sender += ["-n", str(transfer.bytes)] if transfer.bytes else ["-t", str(round((transfer.duration_ns or 0) / 1e9))]
    return receiver, sender


def _load(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return {}


def convert(folder: Path, plan: Plan) -> None:
    """Write engine.json, sender.csv and receiver.csv from iperf3's two JSON files."""
    sender, receiver = (_load(folder / f"iperf3-{end}.json") for end in ("sender", "receiver"))
    start, end = sender.get("start", {}), sender.get("end", {})
    mss = start.get("tcp_mss") or start.get("tcp_mss_default") or plan.physics.mss_bytes
    _write_samples(folder / "sender.csv", sender, mss)
    _write_samples(folder / "receiver.csv", receiver, mss)
    streams = []
    for number, (sent, received) in enumerate(
        zip(end.get("streams", []), receiver.get("end", {}).get("streams", []), strict=False)
    ):
        out, into = sent["sender"], received["receiver"]
        streams.append(
            {
                "stream": number,
                "bytes": into["bytes"],
                "duration_s": into["seconds"],
                "goodput_bps": into["bits_per_second"],
                "retransmits": out.get("retransmits"),
                "min_rtt_us": out.get("min_rtt"),
                "srtt_us": out.get("mean_rtt"),
                "mss_bytes": mss,
                "congestion_control": plan.transfer.congestion_control,
            }
        )
    total = receiver.get("end", {}).get("sum_received", {})
    error = sender.get("error") or (None if streams else "iperf3 left no streams in its result")
    result = {
        "engine": {"version": start.get("version", "iperf3"), "build": ""},
        "role": "send",
        "complete": error is None,
        "error": error,
        "receive_mode": "memory",
        "window": {
            "asked_bytes": plan.transfer.window_bytes,
            "sender_sndbuf_bytes": start.get("sndbuf_actual"),
            "receiver_rcvbuf_bytes": receiver.get("start", {}).get("rcvbuf_actual"),
            "bdp_bytes": plan.physics.bdp_bytes,
        },
        "start_unix_ns": int(start.get("timestamp", {}).get("timesecs", 0)) * 10**9,
        "duration_s": total.get("seconds"),
        "bytes": total.get("bytes"),
        "goodput_bps": total.get("bits_per_second"),
        "retransmits": end.get("sum_sent", {}).get("retransmits"),
        "streams": streams,
    }
    (folder / "engine.json").write_text(json.dumps(result, indent=1))


def _write_samples(path: Path, data: dict[str, Any], mss: int) -> None:
    """iperf3's intervals in the engine's columns; what iperf3 does not tell is 0."""
    totals: dict[int, int] = {}
    retransmits: dict[int, int] = {}
    with path.open("w", newline="") as handle:
        writer = csv.DictWriter(handle, SAMPLE_COLUMNS, restval=0, lineterminator="\n")
        writer.writeheader()
        for interval in data.get("intervals", []):
            for number, stream in enumerate(interval["streams"]):
                totals[number] = totals.get(number, 0) + stream["bytes"]
                retransmits[number] = retransmits.get(number, 0) + stream.get("retransmits", 0)
                writer.writerow(
                    {
                        "time_ns": round(stream["end"] * 1e9),
                        "stream": number,
                        "bytes": totals[number],
                        "cwnd_packets": stream.get("snd_cwnd", 0) // mss,
                        "srtt_us": stream.get("rtt", 0),
                        "rttvar_us": stream.get("rttvar", 0),
                        "retransmits": retransmits[number],
                        "snd_wnd_bytes": stream.get("snd_wnd", 0),
                        "mss_bytes": mss,
                    }
                )
