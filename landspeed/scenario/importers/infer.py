"""A path from what was measured on it: round trip, bottleneck, queue, loss and window, as far as the figures hold them.

What bound a transfer decides what can be known. A queue that stands shows the bottleneck's rate and, at its highest,
at least how long the queue is; then losses are taken as its overflows. A transfer that filled its window, its pace or a
host shows that limit, and of the line only that it carries more. Losses without a queue are chance. Nothing is given
twice: a loss that a queue explains is not put into the path once more.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from landspeed.base import limits
from landspeed.base.units_text import rate_text
from landspeed.scenario.importers.agreement import contradictions
from landspeed.scenario.importers.configured import apply_settings
from landspeed.scenario.importers.infer_form import STANDARD_BPS, InferredPath
from landspeed.scenario.importers.path_evidence import Figure, GoodputInterval, MeasuredTransfer, PathEvidence, Socket
from landspeed.scenario.importers.round_trip import round_trip
from landspeed.scenario.importers.udp import over_udp
from landspeed.scenario.theory import physics as ph

QUEUE_LEAST_S = 0.0005  # an RTT less above the path's own is no queue
STANDING = 0.25  # of the queue's greatest delay: while it stands higher, the line is busy
FLAT, BURSTS = 0.1, 2.0  # a policed goodput varies by so little; a variance of losses so far above chance's
USUAL_MTU = 1500
HELD_BACK = 0.5  # of the time: then the window is what limits
FEWEST = 100  # probes; of fewer, one that is lost would be a loss that no TCP survives
FEW = 3  # packets that overtook: less is no figure
NORMAL = 1.96  # standard deviations of a 95 % interval


def infer(evidence: PathEvidence) -> InferredPath:
    """Infer the path from the evidence.

    Raises:
        MeasurementError: it tells no round-trip time.
    """
    tcp = [each for each in evidence.transfers if not each.udp]
    transfer = _typical(tcp)
    mtu, mtu_source = _mtu(evidence, transfer)
    # A packet's time on the line belongs to what is measured, not to the path's delay; so the rate comes first.
    rough = InferredPath(round_trip(evidence, transfer, mtu, math.inf), mtu, transfer)
    _bound(rough, evidence.sockets)
    line = rough.rate.value if rough.rate else math.inf
    made = InferredPath(round_trip(evidence, transfer, mtu, line), mtu, transfer)
    if transfer is not None:
        made.goodput = _goodput(tcp, transfer)
    _bound(made, evidence.sockets)
    made.mtu_source = mtu_source
    _overtaking(made)
    _by_probes(made, evidence)
    apply_settings(made, evidence)
    made.assumptions += [*made.round_trip.assumptions, *evidence.notes, *contradictions(evidence)]
    made.ip_version = _ip_version(evidence, transfer)
    told = [transfer, *evidence.sockets, *evidence.hosts]
    made.congestion_control = next((each.congestion_control for each in told if each and each.congestion_control), None)
    guesses = [(each.guessed_control, each.guess_why) for each in tcp if each.guessed_control]
    if made.congestion_control is None and guesses:
        made.congestion_control, made.control_guess = guesses[0]
    return made


def _ip_version(evidence: PathEvidence, transfer: MeasuredTransfer | None) -> int:
    """The transfer's; without one, that of the target's address."""
    if transfer is not None:
        return transfer.ip_version
    ends = [*(each.receiver for each in evidence.transfers), *(each.address for each in evidence.traces)]
    ends += [*(each.peer for each in evidence.sockets), *(each.address for each in evidence.probes)]
    return 6 if any(":" in end for end in ends) else 4


def _typical(transfers: Sequence[MeasuredTransfer]) -> MeasuredTransfer | None:
    """The one with the median goodput."""
    ordered = sorted(transfers, key=lambda each: each.goodput_bps)
    return ordered[len(ordered) // 2] if ordered else None


def _goodput(all_of_them: Sequence[MeasuredTransfer], transfer: MeasuredTransfer) -> Figure:
    if len(all_of_them) > 1:
        rates = [each.goodput_bps for each in all_of_them]
        what = f"{transfer.source}: the median of {len(rates)} transfers"
        return Figure(transfer.goodput_bps, what, transfer.goodput_bps - min(rates), max(rates) - transfer.goodput_bps)
    half = _half([each.rate_bps for each in settled(transfer)])
    return Figure(transfer.goodput_bps, f"{transfer.source}: {transfer.program}", half, half)


def _mtu(evidence: PathEvidence, transfer: MeasuredTransfer | None) -> tuple[int, str]:
    """The MTU, and what tells it; "" where nothing does."""
    told = [*([transfer] if transfer else []), *evidence.sockets]
    known = [each for each in (*told, *evidence.traces, *evidence.hosts) if each.mtu_bytes]
    if known:
        least = min(known, key=lambda each: each.mtu_bytes or 0)
        return least.mtu_bytes or USUAL_MTU, least.source
    segment = next((each for each in told if each.mss_bytes), None)
    if segment is None or segment.mss_bytes is None:
        return USUAL_MTU, ""
    headers = ph.IP_HEADER[transfer.ip_version if transfer else 4] + ph.TCP_HEADER
    plain = segment.mss_bytes + headers  # an MSS told before the connection was made has no time stamps in it
    mtu = plain if plain in (1500, 9000, 4470) else plain + ph.TCP_TIMESTAMPS
    return mtu, f"{segment.source}: MSS of {segment.mss_bytes} B and its headers"


def settled(transfer: MeasuredTransfer) -> list[GoodputInterval]:
    """The intervals after the start: from the one after the first that has nine tenths of the highest rate."""
    whole = [each for each in transfer.intervals if each.end_s > each.start_s]
    if len(whole) < 4:
        return whole
    usual = statistics.median(each.end_s - each.start_s for each in whole)
    whole = [each for each in whole if each.end_s - each.start_s > usual / 2]
    highest = max(each.rate_bps for each in whole[1:])
    begin = next((i for i, each in enumerate(whole) if each.rate_bps >= 0.9 * highest), 0) + 1
    return whole[begin:] if len(whole) - begin >= 2 else whole[1:]


def _half(values: Sequence[float]) -> float:
    """Half of the 95 % interval of a mean, of draws that are taken as independent; 0 for fewer than two."""
    return NORMAL * statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def _bound(made: InferredPath, sockets: Sequence[Socket]) -> None:
    """Find what limited the transfer, and what follows for the path."""
    transfer = made.transfer
    if transfer is None:
        _by_sockets(made, sockets)
        return None
    parts = settled(transfer)
    base_s = made.round_trip.base.value
    rates = [each.rate_bps for each in parts] or [transfer.goodput_bps]
    rtts = [each.rtt_s for each in parts if each.rtt_s is not None]
    rate, rtt_s = statistics.fmean(rates), statistics.fmean(rtts) if rtts else base_s
    if _by_pacing(made, rate) or _by_sockets(made, sockets):
        return _at_least(made, rates)
    queued = bool(rtts) and max(rtts) - base_s > max(limits.QUEUE_SHARE * base_s, QUEUE_LEAST_S)
    wire = rate * made.wire_share
    line = next((each for each in STANDARD_BPS if abs(wire / each - 1) <= limits.IMPORTED_LINE_NEARNESS), None)
    if line and not queued:
        made.bound_by, made.rate_known = limits.LINE_RATE, True
        no_queue = "no queue stood" if rtts else "no file tells whether a queue stood"
        made.why = f"{rate_text(rate)} is what a line of {rate_text(line)} carries, and {no_queue}"
        made.sure, made.second = "likely", "a shaper or policer of that rate, or an interface of a host"
        half = _half(rates) * made.wire_share
        made.rate = Figure(line, f"{transfer.source}: {made.why}", half, half)
        return None
    if _by_window(made, parts, rate, rtt_s):
        return _at_least(made, rates)
    if queued:
        return _by_queue(made, parts, base_s)
    resent = sum(each.retransmits or 0 for each in parts)
    if not any(each.retransmits is not None for each in parts):
        resent, parts = transfer.retransmits or 0, [_as_one(transfer)]
    if transfer.needless > resent:
        _by_reordering(made)
    elif resent:
        _by_loss(made, parts, resent, seen=bool(rtts))
    else:
        made.bound_by, made.sure = limits.HOST, "possible"
        if rtts:
            made.why = f"{rate_text(rate)}, no loss, no queue, and no window filled: one of the hosts sets the pace"
            made.second = "traffic of others on the path, or a window that no file tells"
        else:
            lossless = "no loss" if transfer.retransmits is not None else "no file tells losses"
            made.why = f"{rate_text(rate)}, {lossless}, and no file tells round trips under load or windows"
            made.second = "a line of that rate, or a window; what `ss -tin` printed meanwhile would tell"
        bus = rate * made.mtu_bytes / ph.mss_bytes(made.mtu_bytes, transfer.ip_version)
        made.host = Figure(bus, f"{transfer.source}: {made.why}", _half(rates), _half(rates))
    return _at_least(made, rates)


def _at_least(made: InferredPath, rates: Sequence[float]) -> None:
    """The line was never filled: it carries the most that was seen, and more."""
    most = max(rates) * made.wire_share
    line = next((each for each in STANDARD_BPS if each >= 1.05 * most), STANDARD_BPS[-1])
    source = made.transfer.source if made.transfer else ""
    made.rate = Figure(
        line, f"assumed; {source}: it carried {rate_text(most)}, framing included, and nothing shows it full"
    )
    made.assumptions.append(
        f"Bottleneck. No measurement shows the line full: {rate_text(line)} is the next rate of Ethernet above the "
        f"{rate_text(most)} that it carried."
    )


def _by_queue(made: InferredPath, parts: Sequence[GoodputInterval], base_s: float) -> None:
    transfer = made.transfer
    assert transfer is not None
    highest_s = max(each.rtt_s for each in parts if each.rtt_s is not None)
    enough_s = base_s + STANDING * (highest_s - base_s)
    busy = [each.rate_bps for each in transfer.busy] or [
        each.rate_bps
        for before, each in zip([None, *parts], parts, strict=False)
        if (each.rtt_s or 0.0) >= enough_s and (before is None or (before.rtt_s or 0.0) >= enough_s)
    ]
    busy = busy or [max(each.rate_bps for each in parts)]
    # What a program wrote comes in blocks, so only their mean tells; what was acknowledged has less where the queue ran
    # empty within an interval, which the median leaves out.
    if transfer.busy:
        average_bps = statistics.fmean(busy, [each.end_s - each.start_s for each in transfer.busy])
    else:
        average_bps = statistics.median(busy) if transfer.captured_packets else statistics.fmean(busy)
    share, rate = made.wire_share, average_bps or transfer.goodput_bps
    half = _half(busy) if len(busy) > 1 else 0.05 * rate
    made.bound_by, made.rate_known = limits.LINE_RATE, True
    made.why = f"its round trips grew from {base_s * 1e3:.4g} to {highest_s * 1e3:.4g} ms: a queue stood on the path"
    times = f"{len(busy)} interval{'s' * (len(busy) > 1)}"
    what = f"goodput {rate_text(rate)} in {times} with a queue, × {share:.4f} for headers and framing"
    made.rate = Figure(rate * share, f"{transfer.source}: {what}", half * share, half * share)
    peak_s = max(highest_s, transfer.max_rtt_s or 0.0)
    size = (peak_s - base_s) * made.rate.value / 8
    overflowed = bool(transfer.retransmits)
    told = f"{transfer.source}: round trips up to {peak_s * 1e3:.4g} ms, above {base_s * 1e3:.4g} ms; at least this"
    made.sure, made.second = "certain", "a queue that others' traffic filled; then the line is faster"
    made.queue = Figure(size, told, 0.0, size * (0.25 if overflowed else 1.0))
    if overflowed:
        made.assumptions.append(
            f"Loss. The {transfer.retransmits} retransmissions are taken as overflows of that queue; none is chance."
        )
    else:
        made.assumptions.append("Queue. It never overflowed, so it may be any longer than what was seen of it.")


def _by_pacing(made: InferredPath, rate_bps: float) -> bool:
    """Return whether the transfer had the rate that was asked for."""
    transfer = made.transfer
    assert transfer is not None
    made.pacing_bps = transfer.asked_pacing_bps
    paced = (transfer.asked_pacing_bps or 0.0) * transfer.streams
    if not paced or abs(rate_bps / paced - 1) > limits.PACING_NEARNESS:
        return False
    made.bound_by, made.why = limits.PACING, f"{rate_text(rate_bps)} is the {rate_text(paced)} that was asked for"
    made.sure, made.second = "likely", "a shaper of that very rate on the path"
    return True


def _by_sockets(made: InferredPath, sockets: Sequence[Socket]) -> bool:
    """Return whether `ss` shows that the receiver's window held the transfer back, or, without one, a connection."""
    transfer = made.transfer
    own = [each for each in sockets if transfer is None or each.local_port in transfer.sender_ports]
    held = [each for each in own if each.window_bytes and (each.window_limited or 0.0) > HELD_BACK]
    streams = transfer.streams if transfer else 1
    if len(held) < streams:
        return False
    share = min(each.window_limited or 0.0 for each in held[:streams])
    made.why = f"the receiver's window held it back for {share * 100:.3g} % of its busy time, says {held[0].source}"
    made.bound_by, made.sure, made.second = limits.WINDOW, "certain", "a receiving program that reads slowly"
    window = sum(each.window_bytes or 0 for each in held[:streams]) / streams
    made.window = Figure(window, f"{held[0].source}: the window that the receiver offered")
    return True


def _by_window(made: InferredPath, parts: Sequence[GoodputInterval], rate_bps: float, rtt_s: float) -> bool:
    """Return whether the data in flight filled a window other than cwnd, which fills if the path is the limit."""
    transfer = made.transfer
    assert transfer is not None
    in_flight = rate_bps * rtt_s / 8
    allowed = [each.cwnd_bytes for each in parts if each.cwnd_bytes]
    if allowed and statistics.fmean(allowed) < limits.IDLE_WINDOW_FACTOR * in_flight:
        return False
    told = [each.window_bytes for each in parts if each.window_bytes]
    asked = (transfer.asked_window_bytes or 0) * transfer.streams
    empty = rate_bps * made.round_trip.base.value / 8
    if told and in_flight >= (1 - limits.WINDOW_NEARNESS) * max(told):
        made.why = f"{in_flight / 1e6:.4g} MB were in flight, all of the window of {max(told) / 1e6:.4g} MB"
        window, what, minus = max(told), "the largest window that the receiver offered", 0.0
    elif asked and (1 - limits.WINDOW_NEARNESS) * asked <= in_flight <= ph.LINUX_BUFFER_FACTOR * asked:
        made.why = (
            f"{in_flight / 1e6:.4g} MB were in flight, as buffers of {asked / 1e6:.4g} MB allow, and cwnd was larger"
        )
        window, what, minus = in_flight, "in flight: its goodput × its round trip", max(0.0, in_flight - empty)
    else:
        return False
    made.bound_by, made.second = limits.WINDOW, "a program that had no more to send"
    made.sure = "certain" if told and window == max(told) else "likely"
    each = window / transfer.streams
    made.window = Figure(each, f"{transfer.source}: {what}", minus / transfer.streams, 0.0)
    return True


def _as_one(transfer: MeasuredTransfer) -> GoodputInterval:
    """The whole transfer as an interval, where its intervals do not tell what was sent again."""
    return GoodputInterval(0.0, transfer.bytes * 8 / transfer.goodput_bps, transfer.goodput_bps)


def _by_loss(made: InferredPath, parts: Sequence[GoodputInterval], resent: int, *, seen: bool) -> None:
    """Take the losses as chance. `seen`: round trips under load are known, and show no queue."""
    transfer = made.transfer
    assert transfer is not None
    payload = ph.mss_bytes(made.mtu_bytes, transfer.ip_version)
    packets = sum(each.rate_bps * (each.end_s - each.start_s) / 8 for each in parts) / payload + resent
    no_queue = "no queue stood" if seen else "no file tells whether a queue stood"
    made.bound_by, made.why = limits.LOSS, f"{resent} of {packets:.0f} packets were sent again, and {no_queue}"
    made.sure = "likely" if seen else "one of two"
    made.second = "overflows of a queue" + (
        " too short to be seen in the round trips" if seen else " at the bottleneck"
    )
    made.loss = _chance(resent, packets, f"{transfer.source}: {made.why}")
    rates = [each.rate_bps for each in parts]
    mean_bps = statistics.fmean(rates)
    if _in_bursts([each.retransmits or 0 for each in parts]) and statistics.stdev(rates) <= FLAT * mean_bps:
        made.sure, made.second = "one of two", "a policer"
        made.assumptions.append(
            "Loss. Two readings fit: each packet is lost for itself, which is written here; or a policer at "
            f"{rate_text(mean_bps * made.wire_share)}, for the goodput is flat, the losses come in "
            "bursts and the round trip does not grow. For a policer write discipline: {tbf: …} and a queue of few "
            "packets."
        )
    else:
        made.assumptions.append(
            "Loss. Each packet is lost for itself; that losses come in bursts, the figures cannot tell."
        )


def _by_reordering(made: InferredPath) -> None:
    """Most of what was sent again had come already: others had overtaken it, and TCP took it for lost."""
    transfer = made.transfer
    assert transfer is not None
    made.bound_by, made.sure = limits.REORDERING, "likely"
    made.why = f"{transfer.needless} packets were sent again that had come already: others had overtaken them"
    made.second = "acknowledgments that were lost or late"


def _overtaking(made: InferredPath) -> None:
    """Take the packets that came before others; at the sender only what they caused is seen."""
    transfer = made.transfer
    if transfer is None or not transfer.captured_packets or max(transfer.overtaken, transfer.needless) < FEW:
        return
    if transfer.overtaken:
        told = f"{transfer.overtaken} of {transfer.captured_packets} packets came before others sent earlier"
        made.reorder = _chance(transfer.overtaken, transfer.captured_packets, f"{transfer.source}: {told}")
        made.assumptions.append("Reordering. It is put on one link, forward; where packets overtook, no end can tell.")
    elif made.bound_by == limits.REORDERING:
        made.assumptions.append(
            "Reordering. How many packets overtook others only a capture at the receiver tells; none is assumed."
        )


def _in_bursts(lost: Sequence[int]) -> bool:
    """Return whether counts vary more than by chance: chance's have a variance as large as their mean."""
    return len(lost) > 1 and statistics.variance(lost) >= BURSTS * statistics.fmean(lost)


def _chance(lost: int, packets: float, source: str) -> Figure:
    """A share with its 95 % interval (Wilson 1927)."""
    share, z2 = lost / packets, NORMAL**2
    middle = (share + z2 / (2 * packets)) / (1 + z2 / packets)
    half = NORMAL / (1 + z2 / packets) * math.sqrt(share * (1 - share) / packets + z2 / (4 * packets**2))
    return Figure(share, source, max(0.0, share - (middle - half)), max(0.0, middle + half - share))


def _by_probes(made: InferredPath, evidence: PathEvidence) -> None:
    """Use probes and transfers over UDP: their losses, and how much the line carries."""
    tcp = [each for each in evidence.transfers if not each.udp]
    seen = [part.rate_bps for each in tcp for part in each.intervals] + [each.goodput_bps for each in tcp]
    known_bps = made.rate.value if made.rate and made.rate_known else max(seen, default=0.0) * made.wire_share
    udp = over_udp([each for each in evidence.transfers if each.udp], known_bps)
    made.assumptions += udp.notes
    if udp.rate is not None and not made.rate_known:
        made.rate, made.rate_known = udp.rate, True
    elif made.transfer is None and udp.carried is not None:
        line = next((each for each in STANDARD_BPS if each >= udp.carried.value), STANDARD_BPS[-1])
        made.rate = Figure(line, f"assumed; {udp.carried.source}")
        made.assumptions.append(f"Bottleneck. {rate_text(line)}: the next rate of Ethernet above what UDP carried.")
    if made.loss is not None or made.queue is not None:
        return
    sent = sum(each.sent for each in evidence.probes) + sum(each.packets or 0 for each in udp.chance)
    lost = sum(min(max(each.lost, 0), each.sent) for each in evidence.probes) + sum(
        each.lost or 0 for each in udp.chance
    )
    if lost and 0 < sent < FEWEST:
        made.assumptions.append(
            f"Loss. {lost} of {sent} packets of probes were lost: too few were sent to make a loss of it, and none is "
            "assumed."
        )
    elif lost and sent:
        names = ", ".join(dict.fromkeys([each.source for each in (*evidence.probes, *udp.chance)]))
        made.loss = _chance(lost, sent, f"{names}: {lost} of {sent} packets lost")
        made.assumptions.append(
            "Loss. All of it is put on one link, forward; the probes do not tell where they were lost."
        )
