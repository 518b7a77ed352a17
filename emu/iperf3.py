"""iperf3 as the tool of a transfer: its command lines, and its JSON put into the engine's terms.

It is here as the peer that everybody knows, so that the engine's figures can be checked against it on the same path.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
from pathlib import Path
from typing import Any

from ..engine.command import ENGINE_PORT
from ..results.files import read_object
from ..results.raw_samples import SAMPLE_COLUMNS
from ..scenarios.plan import Plan, Transfer
from ..worlds.distribution import how_to_install
from ..worlds.tool import Tool, ToolError


class Iperf3(Tool):
    """iperf3 3.x of the distribution, on the path inside the guest."""

    name = "iperf3"
    summary = "the peer that everybody knows"

    def refusals(self, plan: Plan) -> list[str]:
        """What iperf3 does not have: it is refused, not left out."""
        transfer, found = plan.transfer, list[str]()
        if plan.changes:
            these = "events" if plan.events else "traces"
            found.append(f"it does not tell when its transfer starts, and {these} need it: leave out the {these}")
        if transfer.congestion_controls:
            found.append("it has one congestion control for all streams: use transfer.congestion_control")
        if transfer.send not in ("auto", "write", "sendfile"):
            found.append(f"it has no transfer.send: {transfer.send}: write auto, write or sendfile")
        if transfer.window_exact:
            found.append("it cannot offer a window to the byte: leave out transfer.window_exact")
        if transfer.receive == "verify":
            found.append("it does not verify what it receives: write transfer.receive: memory or discard")
        if transfer.protect != "none":
            found.append(f"it has no transfer.protect: {transfer.protect}: leave it out")
        if transfer.start_stagger_ns:
            found.append("it starts all streams at once: leave out transfer.start_stagger")
        if transfer.duration_ns is not None and transfer.duration_ns % 10**9:
            found.append("it counts whole seconds: give transfer.duration in seconds without a fraction")
        return found

    def check(self, plan: Plan) -> None:
        """Refuse what cannot be done, and a host without iperf3."""
        super().check(plan)
        if not shutil.which("iperf3"):
            raise ToolError(f"iperf3 is not installed, or not in PATH; {how_to_install('iperf3')}")

    def commands(self, plan: Plan, out: str) -> tuple[list[str], list[str]]:
        """Receiver and sender."""
        return _commands(plan.transfer, out)

    def convert(self, folder: Path, plan: Plan) -> dict[str, Any]:
        """Write sender.csv and receiver.csv from iperf3's two JSON files; what they tell of the transfer."""
        return _convert(folder, plan)

    def build_id(self) -> str:
        """Its version."""
        if not (program := shutil.which("iperf3")):
            return ""
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout.split()
        return said[1] if len(said) > 1 else ""


IPERF3 = Iperf3()


def _commands(transfer: Transfer, out: str) -> tuple[list[str], list[str]]:
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
    sender += ["-n", str(transfer.bytes)] if transfer.bytes else ["-t", str((transfer.duration_ns or 0) // 10**9)]
    return receiver, sender


def _convert(folder: Path, plan: Plan) -> dict[str, Any]:
    """Write sender.csv and receiver.csv from iperf3's two JSON files.

    Returns:
        what iperf3 told of the transfer, in the terms of the engine's JSON.
    """
    sender, receiver = (read_object(folder / f"iperf3-{end}.json") for end in ("sender", "receiver"))
    start, end = sender.get("start", {}), sender.get("end", {})
    mss = start.get("tcp_mss") or start.get("tcp_mss_default") or plan.physics.mss_bytes
    _write_samples(folder / "sender.csv", sender, mss)
    _write_samples(folder / "receiver.csv", receiver, mss)
    streams: list[dict[str, Any]] = []
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
    return {
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
