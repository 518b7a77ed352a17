"""Settings of devices and hosts put to the measured path: a shaper's rate and queue, an interface's speed."""

from __future__ import annotations

from collections.abc import Sequence

from landspeed.base.units_text import rate_text
from landspeed.scenario.importers.infer_form import InferredPath
from landspeed.scenario.importers.path_evidence import Figure, MeasuredDiscipline, PathEvidence
from landspeed.scenario.theory import physics as ph

FRAME_HEADER = 14  # what tc's rates count of a frame: Ethernet's header, without preamble, gap and checksum
ABOVE = 1.05  # a rate that was measured so far above a configured one was not carried by that device
LEAVES = ("pfifo", "bfifo", "netem", "codel", "fq_codel", "pie", "sfq", "fq_pie", "tbf", "cake")


def apply_settings(made: InferredPath, evidence: PathEvidence) -> None:
    """Put the settings to the path, where no measurement tells more; say what they contradict."""
    seen_bps = _seen_bps(made)
    shapers = sorted((each for each in evidence.disciplines if each.rate_bps), key=lambda each: each.rate_bps or 0.0)
    if shapers:
        _shaped(made, evidence.disciplines, shapers[0], seen_bps)
    for each in evidence.disciplines:
        if each.loss and made.loss is None and made.queue is None:
            made.loss = Figure(each.loss, f"{each.source}: {each.kind} at {each.place}, as configured")
        if each.dropped:
            made.assumptions.append(
                f"Drops. {each.source}: {each.kind} at {each.place} dropped {each.dropped} of "
                f"{each.dropped + each.packets} packets since it was made; of which connection, it does not tell."
            )
    speeds = [each for each in evidence.hosts if each.nic_bps]
    if speeds:
        slowest = min(speeds, key=lambda each: each.nic_bps or 0.0)
        _interface(made, Figure(slowest.nic_bps or 0.0, f"{slowest.source}: the interface's speed"), seen_bps)
    for host in evidence.hosts:
        told = [
            f"{word} {size / 1e6:.4g} MB"
            for word, size in (("send", host.send_buffer_bytes), ("receive", host.receive_buffer_bytes))
            if size
        ]
        if told:
            made.assumptions.append(
                f"Buffers. {host.source}: TCP may use {' and '.join(told)} at most (tcp_wmem, tcp_rmem). The file does "
                "not tell which end it is, so no window is made of it."
            )


def _seen_bps(made: InferredPath) -> float:
    """The most that was seen on the line, framing included; 0 without a transfer."""
    return made.goodput.value * made.wire_share if made.goodput else 0.0


def _shaped(
    made: InferredPath, disciplines: Sequence[MeasuredDiscipline], shaper: MeasuredDiscipline, seen_bps: float
) -> None:
    assert shaper.rate_bps is not None
    what = f"{shaper.source}: {shaper.kind} at {shaper.place}, {rate_text(shaper.rate_bps)} as configured"
    share = (made.mtu_bytes + ph.ETHERNET_FRAMING) / (made.mtu_bytes + FRAME_HEADER)
    line = Figure(shaper.rate_bps * share, f"{what}, × {share:.4f} for the framing that tc does not count")
    if seen_bps > ABOVE * line.value:
        made.assumptions.append(
            f"Contradiction. {what}, but {rate_text(seen_bps)} were carried: that device is not on this path, or was "
            "configured afterwards. It is not used."
        )
        return
    if made.rate is None or not made.rate_known:
        made.rate, made.rate_known = line, True
        made.assumptions = [each for each in made.assumptions if not each.startswith("Bottleneck. ")]
    elif abs(made.rate.value / line.value - 1) > ABOVE - 1:
        made.assumptions.append(
            f"Contradiction. {what}; measured were {rate_text(made.rate.value)} ({made.rate.source}). The measurement "
            "is taken."
        )
    limits = [each for each in disciplines if (each.source, each.place) == (shaper.source, shaper.place)]
    limits = [each for each in limits if each.kind in LEAVES and (each.limit_bytes or each.limit_packets)]
    if not limits or (made.queue is not None and made.queue.plus == 0):
        return
    leaf = shaper if shaper in limits else limits[-1]
    size = leaf.limit_bytes or (leaf.limit_packets or 0) * made.mtu_bytes
    made.queue = Figure(float(size), f"{leaf.source}: {leaf.kind} at {leaf.place}, its limit as configured")
    if leaf.kind not in ("pfifo", "bfifo", "netem", "tbf"):
        made.assumptions.append(
            f"Discipline. {leaf.source} has {leaf.kind}, and here the queue drops at its end: write discipline: "
            f"{leaf.kind}, where landspeed has it."
        )


def _interface(made: InferredPath, speed: Figure, seen_bps: float) -> None:
    if seen_bps > ABOVE * speed.value:
        made.assumptions.append(
            f"Contradiction. {speed.source} is {rate_text(speed.value)}, but {rate_text(seen_bps)} were carried: that "
            "interface was not in use. It is not used here."
        )
        return
    if made.rate is not None and not made.rate_known and made.rate.value > speed.value:
        made.rate = Figure(speed.value, f"assumed; {speed.source}, and nothing tells of a slower line")
    if made.rate is None or made.rate.value <= speed.value:
        made.nic = speed
