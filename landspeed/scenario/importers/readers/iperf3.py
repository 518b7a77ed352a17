"""iperf3's JSON, of the client or of the server (`--json`), also as one event a line (`--json-stream`)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from landspeed.scenario.importers.path_evidence import GoodputInterval, MeasuredTransfer, MeasurementError, PathEvidence
from landspeed.scenario.importers.peers import plain_address
from landspeed.scenario.importers.reading import (
    items,
    mean,
    member,
    number,
    positive,
    read_json_documents,
    read_text,
    text_of,
    total,
    whole,
)
from landspeed.scenario.importers.registry import Reader

DRAINING = 0.05  # by so much of a UDP run a queue may empty after its end
WHAT = "what `iperf3 --json` printed"


def read_iperf3(file: Path) -> PathEvidence:
    """The transfers of a file: of one run, or of several one after another.

    Raises:
        MeasurementError: it is cut off, of a run that failed, or not iperf3's.
    """
    events = _events(file)
    runs = [(1, events)] if events else read_json_documents(file, WHAT)
    for _, data in runs:
        if not any(member(data, name) is not None for name in ("start", "end", "error")):
            raise MeasurementError(f"{file}: not iperf3's JSON; give {WHAT}")
    names = [f"{file.name}:{line}" if len(runs) > 1 else file.name for line, _ in runs]
    return PathEvidence(transfers=[transfer_of(data, name) for name, (_, data) in zip(names, runs, strict=True)])


def _events(file: Path) -> dict[str, Any] | None:
    """The events of `--json-stream` as one object; None for a file of `--json`."""
    lines = [line for line in read_text(file).splitlines() if line.strip()]
    if not lines[0].lstrip().startswith('{"event"'):
        return None
    found: dict[str, Any] = {"intervals": []}
    for count, line in enumerate(lines, start=1):
        try:
            event = json.loads(line)
        except json.JSONDecodeError as error:
            raise MeasurementError(f"{file}: cut off in line {count}; give the whole of {WHAT}") from error
        if text_of(event, "event") == "interval":
            found["intervals"].append(member(event, "data"))
        else:
            found[text_of(event, "event")] = member(event, "data")
    if "end" not in found and "error" not in found:
        raise MeasurementError(f"{file}: cut off after line {len(lines)}: it has no end; give the whole of {WHAT}")
    return found


def transfer_of(data: dict[str, Any], source: str) -> MeasuredTransfer:
    """The transfer that iperf3's JSON tells of.

    Raises:
        MeasurementError: the run failed or ended early, was in both directions, or moved nothing.
    """
    if error := text_of(data, "error"):
        raise MeasurementError(f"{source}: this run of iperf3 failed: {error}; import one that completed")
    start, end = member(data, "start"), member(data, "end")
    if not items(data, "intervals") or not isinstance(end, dict) or not end:
        raise MeasurementError(f"{source}: this run of iperf3 has no result; import one that completed")
    asked = member(start, "test_start")
    if member(asked, "bidir") or member(end, "sum_sent_bidir_reverse"):
        raise MeasurementError(f"{source}: iperf3 sent both ways at once; import a run in one direction (no --bidir)")
    udp = text_of(asked, "protocol") == "UDP"
    here, there = (text_of((items(start, "connected") or [None])[0], f"{end_}_host") for end_ in ("local", "remote"))
    own = [each for each in items(data, "intervals") if items(each, "streams")]
    told = member(items(own[0], "streams")[0], "sender") if own else None
    if told is None:  # before iperf 3.7: by what was asked for, and by which end this is
        told = bool(member(asked, "reverse")) == (member(start, "accepted_connection") is not None)
    sends = bool(told)
    if not sends and (others := items(data, "server_output_json", "intervals")):
        own = others  # only the sending end knows round-trip times
    which = "sum_received" if positive(end, "sum_received", "bits_per_second") else "sum"
    got, packets, lost = positive(end, which, "bits_per_second"), whole(end, "sum", "packets"), _lost(end)
    offered = positive(end, "sum_sent", "bits_per_second") or positive(end, "sum", "bits_per_second")
    sent_bytes = whole(end, "sum_sent", "bytes") or whole(end, "sum", "bytes") or 0
    if udp:
        got = arrived(got if which == "sum_received" else None, offered, packets, lost)
    if got is None:
        none = f"none of its {packets} packets arrived" if udp and packets else "iperf3 reports no received byte"
        raise MeasurementError(f"{source}: {none}; import a run in which some arrived")
    ends = [member(each, "sender") for each in items(end, "streams")]
    return MeasuredTransfer(
        source=source,
        program=text_of(start, "version") or "iperf3",
        when=text_of(start, "timestamp", "time"),
        sender=here if sends else there,
        receiver=there if sends else here,
        sender_ports=_ports(start, "local_port" if sends else "remote_port"),
        udp=udp,
        ip_version=6 if ":" in plain_address(here) else 4,
        streams=whole(positive(asked, "num_streams")) or max(1, len(items(end, "streams"))),
        congestion_control=text_of(end, "sender_tcp_congestion") or None,
        mss_bytes=whole(start, "tcp_mss") or whole(start, "tcp_mss_default"),
        mtu_bytes=whole(positive_of(own, "pmtu")),
        asked_s=positive(asked, "duration") if not positive(asked, "bytes") else None,
        asked_bytes=whole(positive(asked, "bytes")),
        asked_window_bytes=whole(positive(start, "sock_bufsize")),
        asked_pacing_bps=positive(asked, "fqrate") or positive(asked, "target_bitrate"),
        goodput_bps=got,
        bytes=round(got * (number(end, which, "seconds") or 0.0) / 8) if udp else whole(end, which, "bytes") or 0,
        duration_s=number(end, which, "seconds") or 0.0,
        retransmits=None if udp else whole(end, "sum_sent", "retransmits"),
        packets=packets if udp else None,
        lost=lost if udp else None,
        packet_bytes=round(sent_bytes / packets) if udp and packets else None,
        offered_bps=offered if udp else None,
        min_rtt_s=_least([positive(each, "min_rtt") for each in ends]),
        max_rtt_s=_greatest([positive(each, "max_rtt") for each in ends]),
        intervals=tuple(_interval(each) for each in own if not member(each, "sum", "omitted")),
    )


def arrived(received: float | None, offered: float | None, packets: int | None, lost: int) -> float | None:
    """The rate of a UDP transfer at its receiver (bit/s); None where nothing arrived.

    Of what was sent that share arrived which was not lost. The receiver's own figure has the true time in it, until the
    queue was empty; but some versions put the sender's there, or nothing.
    """
    if not packets or lost >= packets or offered is None:
        return None
    counted = offered * (packets - lost) / packets
    return received if received and abs(received / counted - 1) <= DRAINING else counted


def _lost(end: Any) -> int:
    """Lost packets; fewer than none, as packets that overtook others make it, are none."""
    return max(0, whole(end, "sum", "lost_packets") or 0)


def _ports(start: Any, name: str) -> tuple[int, ...]:
    """Ports of its connections at the sending end."""
    return tuple(port for each in items(start, "connected") if (port := whole(each, name)))


def positive_of(intervals: list[Any], name: str) -> float | None:
    """The first stream's figure in the last interval."""
    streams = items(intervals[-1], "streams") if intervals else []
    return positive(streams[0], name) if streams else None


def _interval(data: Any) -> GoodputInterval:
    streams = items(data, "streams")
    rtt_us = mean([positive(each, "rtt") for each in streams])
    return GoodputInterval(
        start_s=number(data, "sum", "start") or 0.0,
        end_s=number(data, "sum", "end") or 0.0,
        rate_bps=number(data, "sum", "bits_per_second") or 0.0,
        rtt_s=None if rtt_us is None else rtt_us / 1e6,
        window_bytes=total([whole(positive(each, "snd_wnd")) for each in streams]),
        retransmits=whole(data, "sum", "retransmits"),
        cwnd_bytes=total([whole(positive(each, "snd_cwnd")) for each in streams]),
    )


def _least(values_us: list[float | None]) -> float | None:
    return min((value / 1e6 for value in values_us if value is not None), default=None)


def _greatest(values_us: list[float | None]) -> float | None:
    return max((value / 1e6 for value in values_us if value is not None), default=None)


READER = Reader(
    "iperf3",
    "iperf3's JSON",
    re.compile(
        r'"(?:test_start|connected|tcp_mss_default)"\s*:|^\s*\{"event"|^Connecting to host |^iperf Done', re.MULTILINE
    ).search,
    read_iperf3,
)
