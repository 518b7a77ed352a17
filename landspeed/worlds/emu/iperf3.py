"""iperf3 as the tool of a transfer: its command lines, and its JSON put into the engine's terms.

It is here as the peer that everybody knows, so that the engine's figures can be checked against it on the same path.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
from pathlib import Path
from typing import Any

from landspeed.base.files import read_object
from landspeed.results.sample_columns import SAMPLE_COLUMNS
from landspeed.results.tool_result import StreamResult, ToolResult, TransferResult, WindowResult
from landspeed.scenario.plan.plan import Plan, Transfer
from landspeed.scenario.theory import physics as ph
from landspeed.scenario.theory.timing import round_trip_ns
from landspeed.worlds.distribution import how_to_install
from landspeed.worlds.tool import Tool, ToolError

# iperf.h of iperf 3.12
LEAST_INTERVAL_NS, MOST_INTERVAL_NS = 10**8, 60 * 10**9
MOST_STREAMS = 128
OWN_STALL_NS = 120 * 10**9  # DEFAULT_NO_MSG_RCVD_TIMEOUT: how long its server waits for data
MOST_WINDOW_BYTES = 512 << 20


class Iperf3(Tool):
    """iperf3 3.x of the distribution, on the network inside the guest."""

    name = "iperf3"
    summary = "the peer that everybody knows"
    networks = True

    def refusals(self, plan: Plan) -> list[str]:
        """List the features that iperf3 lacks; they are refused. Of a network, name the flows that ask for them."""
        found, asking = list[str](), dict[str, list[str]]()
        if plan.changes and len({flow.start_ns for flow in plan.flows}) > 1:
            these = "events" if plan.events else "traces"
            found.append(f"its flows are started one after the other, and {these} do not wait: give all the same start")
        for flow in plan.flows:
            for refused in _refused(flow.transfer):
                asking.setdefault(refused, []).append(flow.name)
        everybody = [flow.name for flow in plan.flows]
        return [
            *found,
            *(
                refused if names == everybody else f"flow {', '.join(names)}: {refused}"
                for refused, names in asking.items()
            ),
        ]

    def check(self, plan: Plan) -> None:
        """Refuse what cannot be done, and a host without iperf3."""
        super().check(plan)
        if not shutil.which("iperf3"):
            raise ToolError(f"iperf3 is not installed, or not in PATH; {how_to_install('iperf3')}")

    def commands(self, plan: Plan, out: str, port: int) -> tuple[list[str], list[str]]:
        """Receiver and sender of a flow."""
        return _commands(plan.transfer, out, port)

    def handshake_ns(self, plan: Plan) -> int:
        """Handshake time of iperf3's client before it sends, in round trips (iperf_client_api.c of iperf 3).

        One to connect; one each until the server asks for parameters, and for streams; one to connect each stream; and
        one until the server says that the test starts.
        """
        trips = 4 + plan.transfer.streams
        return trips * round_trip_ns(plan, 0, plan.hops, ph.ack_bytes(plan.ip_version))

    def convert(self, folder: Path, plan: Plan) -> TransferResult:
        """Write sender.csv and receiver.csv from iperf3's two JSON files; what they tell of the transfer."""
        return _convert(folder, plan)

    def build_id(self) -> str:
        """Version of iperf3."""
        if not (program := shutil.which("iperf3")):
            return ""
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout.split()
        return said[1] if len(said) > 1 else ""


IPERF3 = Iperf3()


def _refused(transfer: Transfer) -> list[str]:
    """List the features of a transfer that iperf3 lacks, each with what would be right."""
    if transfer.protocol == "udp":
        return ["of datagrams it tells no one-way delay: leave out --tool"]
    found = list[str]()
    found += ["it has no MPTCP: leave out transfer.mptcp"] if transfer.mptcp else []
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
    if transfer.bytes is not None:
        found.append("it ends when it has sent all, before its receiver has read all: use transfer.duration")
    if transfer.duration_ns is not None and transfer.duration_ns % 10**9:
        found.append("it counts whole seconds: give transfer.duration in seconds without a fraction")
    if not LEAST_INTERVAL_NS <= transfer.sample_interval_ns <= MOST_INTERVAL_NS:
        found.append("it samples every 100 ms to 60 s: give such a transfer.sample_interval")
    if transfer.streams > MOST_STREAMS:
        found.append(f"it has at most {MOST_STREAMS} streams: write a smaller transfer.streams")
    if (transfer.window_bytes or 0) > MOST_WINDOW_BYTES:
        found.append("it has windows of at most 512 MiB: write a smaller transfer.window")
    return found


def _commands(transfer: Transfer, out: str, port: int) -> tuple[list[str], list[str]]:
    """Command lines of the receiver and the sender; `{receiver}` stands for the address."""
    interval = str(transfer.sample_interval_ns / 1e9)
    receiver = ["iperf3", "-s", "-1", "-p", str(port), "-i", interval]
    receiver += ["--json", "--logfile", f"{out}/iperf3-receiver.json"]
    if (transfer.stall_ns or 0) > OWN_STALL_NS:
        receiver += ["--rcv-timeout", str((transfer.stall_ns or 0) // 10**6)]
    sender = [
        "iperf3",
        "-c",
        "{receiver}",
        "-p",
        str(port),
        "-P",
        str(transfer.streams),
        "-C",
        transfer.congestion_control,
    ]
    sender += [
        "-i",
        interval,
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
    return receiver, [*sender, "-t", str((transfer.duration_ns or 0) // 10**9)]


def _convert(folder: Path, plan: Plan) -> TransferResult:
    """Write sender.csv and receiver.csv from iperf3's two JSON files; what they tell of the transfer."""
    sender, receiver = (read_object(folder / f"iperf3-{end}.json") for end in ("sender", "receiver"))
    start, end = sender.get("start", {}), sender.get("end", {})
    mss = start.get("tcp_mss") or start.get("tcp_mss_default") or plan.physics.mss_bytes
    _write_samples(folder / "sender.csv", sender, mss)
    _write_samples(folder / "receiver.csv", receiver, mss)
    both = zip(end.get("streams", []), receiver.get("end", {}).get("streams", []), strict=False)
    streams = [
        StreamResult(
            stream=number,
            bytes=received["receiver"]["bytes"],
            duration_s=received["receiver"]["seconds"],
            goodput_bps=received["receiver"]["bits_per_second"],
            retransmits=sent["sender"].get("retransmits"),
            min_rtt_us=sent["sender"].get("min_rtt"),
            srtt_us=sent["sender"].get("mean_rtt"),
            mss_bytes=mss,
            congestion_control=plan.transfer.congestion_control,
        )
        for number, (sent, received) in enumerate(both)
    ]
    total = receiver.get("end", {}).get("sum_received", {})
    error = sender.get("error") or (None if streams else "iperf3 left no streams in its result")
    return TransferResult(
        goodput_bps=total.get("bits_per_second"),
        bytes=total.get("bytes"),
        duration_s=total.get("seconds"),
        retransmits=end.get("sum_sent", {}).get("retransmits"),
        streams=streams,
        window=WindowResult(
            asked_bytes=plan.transfer.window_bytes,
            sender_sndbuf_bytes=start.get("sndbuf_actual"),
            receiver_rcvbuf_bytes=receiver.get("start", {}).get("rcvbuf_actual"),
            bdp_bytes=plan.physics.bdp_bytes,
        ),
        tool_result=ToolResult(
            version=start.get("version", "iperf3"),
            build="",
            complete=error is None,
            error=error,
            receive_mode="memory",
            start_unix_ns=int(start.get("timestamp", {}).get("timesecs", 0)) * 10**9,
        ),
    )


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
