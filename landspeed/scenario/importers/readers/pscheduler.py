"""pScheduler's results (throughput, rtt, latency, trace).

The formats are those of pScheduler's own schemas (pscheduler-test-*/validate.py). A file is a result, a result with its
test (`{"test": …, "result": …}`, as archivers get it), or a run as the REST interface gives it (`result-merged`).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from landspeed.scenario.importers.path_evidence import (
    GoodputInterval,
    MeasuredTransfer,
    MeasurementError,
    PathEvidence,
    Probes,
    Traceroute,
    TracerouteHop,
)
from landspeed.scenario.importers.readers.iperf3 import arrived
from landspeed.scenario.importers.reading import (
    items,
    mean,
    member,
    number,
    plain_number,
    positive,
    read_json,
    seconds_of,
    text_of,
    total,
    whole,
)
from landspeed.scenario.importers.registry import Reader

WHAT = "what `pscheduler task --format json …` printed, or a run of its REST interface"
RTT_UNIT_S = 1e-6  # pScheduler passes on what iperf3 tells, in µs


def read_pscheduler(file: Path) -> PathEvidence:
    """The result of a file.

    Raises:
        MeasurementError: it is cut off, of a test that failed, or of another kind.
    """
    data = read_json(file, WHAT)
    own = ("result-merged", "result-full", "result")
    result: Any = next((member(data, name) for name in own if member(data, name) is not None), data)
    spec: Any = member(data, "test", "spec") or member(data, "spec")
    if not isinstance(result, dict):
        raise MeasurementError(f"{file}: no result of pScheduler; give {WHAT}")
    kind = text_of(data, "test", "type") or _kind(result)
    if kind not in READERS:
        raise MeasurementError(
            f"{file}: {f'a test of kind {kind}' if kind else 'no result of pScheduler'}; "
            f"give one of {', '.join(READERS)}: {WHAT}"
        )
    if member(result, "succeeded") is False:
        why = text_of(result, "error") or text_of(result, "diags").strip().partition("\n")[0] or "it does not say why"
        raise MeasurementError(f"{file}: this test of pScheduler failed: {why}; import one that succeeded")
    return READERS[kind](result, spec, file.name)


def _kind(result: Any) -> str:
    """Find which test a single result is of."""
    for kind, name in (
        ("throughput", "summary"),
        ("trace", "paths"),
        ("rtt", "roundtrips"),
        ("latency", "packets-sent"),
    ):
        if name in result:
            return kind
    return "rtt" if "mean" in result and "sent" in result else ""


def throughput(result: Any, spec: Any, source: str) -> PathEvidence:
    """The transfer of a throughput test."""
    summary = member(result, "summary", "summary")
    got = positive(summary, "receiver-throughput-bits") or positive(summary, "throughput-bits")
    intervals = tuple(_interval(each) for each in items(result, "intervals") if not member(each, "summary", "omitted"))
    rtts = [each.rtt_s for each in intervals if each.rtt_s is not None]
    udp, seconds = bool(member(spec, "udp")), (number(summary, "end") or 0.0) - (number(summary, "start") or 0.0)
    bandwidth = None if udp else positive(spec, "bandwidth")
    offered, packets = positive(summary, "throughput-bits"), whole(summary, "sent")
    lost = max(0, whole(summary, "lost") or 0)
    if udp:
        got = arrived(positive(summary, "receiver-throughput-bits"), offered, packets, lost)
    if got is None:
        raise MeasurementError(f"{source}: a throughput test of which nothing arrived; import another one")
    sender, receiver = text_of(spec, "source"), text_of(spec, "dest")
    if member(spec, "reverse"):
        sender, receiver = receiver, sender
    made = MeasuredTransfer(
        source=source,
        program="pScheduler throughput",
        sender=sender,
        receiver=receiver,
        udp=udp,
        ip_version=whole(spec, "ip-version") or (6 if ":" in receiver else 4),
        streams=whole(positive(spec, "parallel")) or max(1, len(items(result, "summary", "streams"))),
        congestion_control=text_of(spec, "congestion") or None,
        mss_bytes=whole(positive(result, "mss")),
        mtu_bytes=whole(positive(result, "mtu")),
        asked_s=seconds_of(member(spec, "duration")),
        asked_window_bytes=whole(positive(result, "requested-tcp-window-size")) or whole(positive(spec, "window-size")),
        asked_pacing_bps=bandwidth,
        goodput_bps=got,
        bytes=(None if udp else whole(summary, "throughput-bytes")) or round(got * seconds / 8),
        duration_s=seconds,
        retransmits=None if udp else whole(summary, "retransmits"),
        packets=packets if udp else None,
        lost=lost if udp else None,
        packet_bytes=round((offered or 0) * seconds / 8 / packets) or None if udp and packets else None,
        offered_bps=offered if udp else None,
        min_rtt_s=min(rtts, default=None),
        max_rtt_s=max(rtts, default=None),
        intervals=intervals,
    )
    return PathEvidence(transfers=[made])


def _interval(data: Any) -> GoodputInterval:
    rtt = mean([positive(each, "rtt") for each in items(data, "streams")])
    return GoodputInterval(
        start_s=number(data, "summary", "start") or 0.0,
        end_s=number(data, "summary", "end") or 0.0,
        rate_bps=number(data, "summary", "throughput-bits") or 0.0,
        rtt_s=None if rtt is None else rtt * RTT_UNIT_S,
        retransmits=whole(data, "summary", "retransmits"),
        cwnd_bytes=total([whole(positive(each, "tcp-window-size")) for each in items(data, "streams")]),
    )


def _rtt(result: Any, spec: Any, source: str) -> PathEvidence:  # noqa: ARG001 (of every reader)
    times = [seconds_of(member(each, "rtt")) for each in items(result, "roundtrips")]
    least = seconds_of(member(result, "min"))
    if least is None:
        least = min((each for each in times if each), default=None)
    sent, lost = whole(result, "sent") or len(times), whole(result, "lost")
    if lost is None:
        lost = sum(each is None for each in times)
    return PathEvidence(probes=[Probes(source, "pScheduler rtt", least, sent, lost)])


def _latency(result: Any, spec: Any, source: str) -> PathEvidence:
    buckets: dict[str, Any] = member(result, "histogram-latency") or {}
    width_s = positive(spec, "bucket-width") or 0.001  # spec: seconds; the default is a millisecond
    least = min((ms for key in buckets if (ms := plain_number(key))), default=None)
    return PathEvidence(
        probes=[
            Probes(
                source,
                "pScheduler latency",
                None if least is None else least * width_s,
                whole(result, "packets-sent") or 0,
                whole(result, "packets-lost") or 0,
                one_way=True,
                clock_error_s=(number(result, "max-clock-error") or 0.0) / 1e3,
            )
        ]
    )


def trace(result: Any, spec: Any, source: str) -> PathEvidence:
    """The traceroute of a trace test."""
    paths = items(result, "paths") or items(result, "json")
    hops = [_hop(each) for each in (paths[0] if paths and isinstance(paths[0], list) else paths)]  # pyright: ignore[reportUnknownVariableType]
    while hops and not hops[-1].rtts_ms:
        hops.pop()
    if not hops:
        raise MeasurementError(f"{source}: a trace in which no hop answered; import another one")
    target = text_of(spec, "dest")
    reached = bool(target) and any(part.strip("[].") == target for part in hops[-1].label.split())
    return PathEvidence(traces=[Traceroute(source, target or hops[-1].label, tuple(hops), reached)])


def _hop(data: Any) -> TracerouteHop:
    rtt_s, address, name = seconds_of(member(data, "rtt")), text_of(data, "ip"), text_of(data, "hostname").rstrip(".")
    label = f"{name} [{address}]" if name and address and name != address else name or address
    return TracerouteHop(label, () if rtt_s is None else (rtt_s * 1e3,))


READERS = {"throughput": throughput, "rtt": _rtt, "latency": _latency, "trace": trace}
READER = Reader(
    "pscheduler",
    "pScheduler's JSON",
    re.compile(
        r'\A(?![\s\S]*"(?:hits|_source)")\s*\{(?=[\s\S]*"(?:succeeded|result-merged|result-full|roundtrips|packets-sent)"\s*:)'
    ).match,
    read_pscheduler,
)
