"""iperf3's JSON, of the client or of the server (`--json`), also as one event a line (`--json-stream`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .evidence import Evidence, Interval, MeasurementError, Transfer
from .peers import plain_address
from .reading import items, mean, member, number, positive, read_json, read_text, text_of, total, whole

WHAT = "what `iperf3 --json` printed"


def read_iperf3(file: Path) -> Evidence:
    """The transfer of a file.

    Raises:
        MeasurementError: it is cut off, of a run that failed, or not iperf3's.
    """
    data = _events(file) or read_json(file, WHAT)
    if not any(member(data, name) is not None for name in ("start", "end", "error")):
        raise MeasurementError(f"{file}: not iperf3's JSON; give {WHAT}")
    return Evidence(transfers=[transfer_of(data, file.name)])


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


def transfer_of(data: dict[str, Any], source: str) -> Transfer:
    """The transfer that iperf3's JSON tells of.

    Raises:
        MeasurementError: the run failed or ended early, was in both directions, or moved nothing.
    """
    if error := text_of(data, "error"):
        raise MeasurementError(f"{source}: this run of iperf3 failed: {error}; import one that completed")
    start, end = member(data, "start"), member(data, "end")
    if not items(data, "intervals") or not end:
        raise MeasurementError(f"{source}: this run of iperf3 has no result; import one that completed")
    asked = member(start, "test_start")
    if member(asked, "bidir"):
        raise MeasurementError(f"{source}: iperf3 sent both ways at once; import a run in one direction")
    udp = text_of(asked, "protocol") == "UDP"
    here, there = (text_of((items(start, "connected") or [None])[0], f"{end_}_host") for end_ in ("local", "remote"))
    own = [each for each in items(data, "intervals") if items(each, "streams")]
    sends = bool(own) and bool(member(items(own[0], "streams")[0], "sender"))
    sent_by_us = sends or (not own and not member(asked, "reverse"))
    if not sends and (others := items(data, "server_output_json", "intervals")):
        own = others  # only the sending end knows round-trip times
    got = positive(end, "sum_received", "bits_per_second") or positive(end, "sum", "bits_per_second")
    which = "sum_received" if positive(end, "sum_received", "bits_per_second") else "sum"
    if got is None:
        raise MeasurementError(f"{source}: iperf3 reports no received byte; import a run that moved some")
    ends = [member(each, "sender") for each in items(end, "streams")]
    return Transfer(
        source=source,
        program=text_of(start, "version") or "iperf3",
        when=text_of(start, "timestamp", "time"),
        sender=here if sent_by_us else there,
        receiver=there if sent_by_us else here,
        sender_ports=_ports(start, "local_port" if sent_by_us else "remote_port"),
        udp=udp,
        ip_version=6 if ":" in plain_address(here) else 4,
        streams=whole(asked, "num_streams") or max(1, len(items(end, "streams"))),
        congestion_control=text_of(end, "sender_tcp_congestion") or None,
        mss_bytes=whole(start, "tcp_mss") or whole(start, "tcp_mss_default"),
        mtu_bytes=whole(positive_of(own, "pmtu")),
        asked_s=positive(asked, "duration") if not positive(asked, "bytes") else None,
        asked_bytes=whole(positive(asked, "bytes")),
        asked_window_bytes=whole(positive(start, "sock_bufsize")),
        asked_pacing_bps=positive(asked, "fqrate") or positive(asked, "target_bitrate"),
        goodput_bps=got,
        bytes=whole(end, which, "bytes") or 0,
        duration_s=number(end, which, "seconds") or 0.0,
        retransmits=None if udp else whole(end, "sum_sent", "retransmits"),
        packets=whole(end, "sum", "packets") if udp else None,
        lost=whole(end, "sum", "lost_packets") if udp else None,
        min_rtt_s=_least([positive(each, "min_rtt") for each in ends]),
        max_rtt_s=_greatest([positive(each, "max_rtt") for each in ends]),
        intervals=tuple(_interval(each) for each in own if not member(each, "sum", "omitted")),
    )


def _ports(start: Any, name: str) -> tuple[int, ...]:
    """Of its connections, at the sending end."""
    return tuple(port for each in items(start, "connected") if (port := whole(each, name)))


def positive_of(intervals: list[Any], name: str) -> float | None:
    """The first stream's figure in the last interval."""
    streams = items(intervals[-1], "streams") if intervals else []
    return positive(streams[0], name) if streams else None


def _interval(data: Any) -> Interval:
    streams = items(data, "streams")
    rtt_us = mean([positive(each, "rtt") for each in streams])
    return Interval(
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
