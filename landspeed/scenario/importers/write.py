"""Writer of the inferred scenario: each value with its source and its uncertainty in a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from landspeed.base.limits import LOSS
from landspeed.base.units import PROBABILITY, RATE, SIZE, TIME, Kind, format_exact, format_round
from landspeed.base.units_text import rate_text
from landspeed.scenario.file.capabilities import CONGESTION_CONTROLS
from landspeed.scenario.importers.infer_form import InferredPath
from landspeed.scenario.importers.path_evidence import Figure, PathEvidence, Traceroute
from landspeed.scenario.importers.round_trip import bottleneck_of
from landspeed.scenario.theory.physics import ETHERNET_FRAMING
from landspeed.scenario.theory.timing import echo_bytes

DURATION_S = 30  # where no transfer tells one
TOLERANCE = 0.05  # within which the emulation is to come near what was measured
LOSS_POWER = 0.75  # CUBIC's goodput falls with the loss to this power (RFC 9438 section 5.1)
SUPER_FROM_BPS = 5e9
_NAME = re.compile(r"[^a-z0-9]+")


def write_scenario(made: InferredPath, evidence: PathEvidence, name: str, title: str = "") -> str:
    """The file's text."""
    ends = _ends(made)
    lines = [
        "# Made by `landspeed import`. Behind each value stand its source and how far it may be off.",
        "format: 1",
        f"name: {name}",
        f"title: {_text(title or _title(made))}",
        "",
        f"ip: {made.ip_version}{'' if _tells_version(evidence) else '  # assumed: no file tells an address'}",
        f"mtu: {made.mtu_bytes} B  # {made.mtu_source or 'assumed: no file tells it'}",
        f"line_rate: {format_exact(RATE, made.fast_bps)}  # {_fast(made)}assumed, of every link but the bottleneck",
    ]
    if made.rate and made.rate.value >= SUPER_FROM_BPS:
        lines += ["fidelity: super-packets  # fast enough for this rate; see docs/reference/scenario.md"]
    lines += ["", "hosts:", *_host(ends[0], "sender", made, made.host), *_host(ends[1], "receiver", made, None)]
    routers = _names(made.round_trip.hops, ends)
    if labelled := [(each, label) for each, label in zip(routers, made.round_trip.hops, strict=True) if label]:
        lines += ["", "routers:", *(f"  {each}: {{label: {_text(label)}}}" for each, label in labelled)]
    lines += ["", "path:", *_path(made, [ends[0], *routers, ends[1]])]
    lines += ["", "transfer:", *_transfer(made)]
    lines += ["", "calibration:", "  rtt_tolerance: 1 %", "", *_expect(made)]
    lines += ["sources:", *(f"  - {_text(each)}" for each in evidence.sources())]
    lines += ["", "assumptions:", *(f"  - {_text(each)}" for each in _assumptions(made))]
    return "\n".join(lines) + "\n"


def _tells_version(evidence: PathEvidence) -> bool:
    """Return whether a file tells an address, of which the version is known."""
    ends = [each.peer for each in evidence.sockets] + [each.address for each in (*evidence.traces, *evidence.probes)]
    return bool(evidence.transfers) or any(ends)


def _fast(made: InferredPath) -> str:
    return f"{made.nic.source}; " if made.nic else ""


def _title(made: InferredPath) -> str:
    rate = rate_text(made.rate.value) if made.rate else "a path"
    return f"Measured: {rate} over {made.round_trip.delay.value * 1e3:.4g} ms"


def _text(text: str) -> str:
    """A YAML scalar in double quotes, in one line."""
    plain = "".join(each if each.isprintable() else " " for each in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _rounded(value: float, digits: int = 6) -> int:
    return round(float(f"{value:.{digits - 1}e}"))


def _off(kind: Kind, figure: Figure) -> str:
    """Format the uncertainty of a figure in words."""
    if not figure.minus and not figure.plus:
        return ""
    if kind is PROBABILITY:
        return f"; {figure.value - figure.minus:.2g} to {figure.value + figure.plus:.2g}"
    shown = [format_round(kind, each, 2) if each else "0" for each in (figure.minus, figure.plus)]
    return f"; ± {shown[0]}" if shown[0] == shown[1] else f"; −{shown[0]}, +{shown[1]}"


def _remark(kind: Kind, figure: Figure) -> str:
    """The comment behind a value; times come in ns."""
    return f"  # {figure.source}{_off(kind, figure)}"


def _in_ns(figure: Figure) -> Figure:
    return Figure(figure.value * 1e9, figure.source, figure.minus * 1e9, figure.plus * 1e9)


def _slug(label: str) -> str:
    """A node's name from what DNS or an address says of it; "" where it gives none."""
    host = label.split(" ", maxsplit=1)[0]
    if not host or not host[0].isalpha() or ":" in host:
        return ""
    return _NAME.sub("-", host.split(".")[0].lower()).strip("-")[:24].strip("-")


def _names(labels: Sequence[str], taken: Sequence[str]) -> list[str]:
    """A name for each router, no two the same."""
    found: list[str] = []
    for number, label in enumerate(labels, start=1):
        name = _slug(label) or f"hop{number}"
        found.append(f"{name}-{number}" if name in (*taken, *found) else name)
    return found


def _ends(made: InferredPath) -> list[str]:
    told = [made.transfer.sender, made.transfer.receiver] if made.transfer else ["", ""]
    names = [_slug(each) for each in told]
    return [names[0] or "sender", names[1] if names[1] and names[1] != names[0] else "receiver"]


def _host(name: str, role: str, made: InferredPath, bus: Figure | None) -> Iterator[str]:
    address = getattr(made.transfer, role) if made.transfer else ""
    yield f"  {name}:"
    yield f"    role: {role}"
    if address:
        yield f"    address_note: {_text(address)}"
    if bus is not None:
        yield "    bus:"
        yield f"      rate: {format_exact(RATE, _rounded(bus.value))}{_off(RATE, bus).replace(';', '  #')}"
        yield "      fitted: true"
        yield f"      why: {_text(bus.source)}"


def _path(made: InferredPath, nodes: Sequence[str]) -> Iterator[str]:
    links = made.round_trip.links_ms
    narrow = bottleneck_of(links)
    for index, rtt_ms in enumerate(links):
        yield f"  - from: {nodes[index]}"
        yield f"    to: {nodes[index + 1]}"
        last = index == len(links) - 1
        remark = _remark(TIME, _in_ns(made.round_trip.delay)) + "; of all links together" if last else ""
        yield f"    rtt: {_ms(rtt_ms)}{remark}"
        if index != narrow:
            continue
        if made.rate is not None:
            yield f"    line_rate: {format_exact(RATE, _rounded(made.rate.value))}{_remark(RATE, made.rate)}"
        if made.queue is not None and made.queue.value > 0:
            yield f"    queue: {format_exact(SIZE, _rounded(made.queue.value, 4))}{_remark(SIZE, made.queue)}"
        if made.loss is not None and made.loss.value > 0:
            yield f"    loss: {made.loss.value * 100:.4g} %{_remark(PROBABILITY, made.loss)}"
        if made.reorder is not None:
            yield f"    reorder: {made.reorder.value * 100:.4g} %{_remark(PROBABILITY, made.reorder)}"
        if back := [key for key, figure in (("loss", made.loss), ("reorder", made.reorder)) if figure and figure.value]:
            yield f"    reverse: {{{', '.join(f'{key}: 0 %' for key in back)}}}"


def _ms(rtt_ms: float) -> str:
    """Format an RTT to 10 ns, because it is halved."""
    return f"{round(rtt_ms, 5):g} ms" if rtt_ms < 1 else f"{round(rtt_ms, 4):.9g} ms"


def _transfer(made: InferredPath) -> Iterator[str]:
    transfer = made.transfer
    yield f"  streams: {transfer.streams}" if transfer else "  streams: 1  # assumed: no transfer was measured"
    control = made.congestion_control
    if control in CONGESTION_CONTROLS:
        yield f"  congestion_control: {control}{f'  # {made.control_guess}' if made.control_guess else ''}"
    if transfer is not None and transfer.asked_bytes:
        yield f"  bytes: {transfer.asked_bytes} B"
    else:
        seconds = (transfer.asked_s or transfer.duration_s) if transfer else DURATION_S
        yield f"  duration: {max(1, round(seconds or DURATION_S))} s{'' if transfer else '  # assumed'}"
    if made.window is not None:
        yield f"  window: {round(made.window.value)} B{_remark(SIZE, made.window)}"
        yield "  window_exact: true"
    elif transfer is not None and transfer.asked_window_bytes:
        yield f"  window: {transfer.asked_window_bytes} B  # {transfer.source}: asked for"
    if made.pacing_bps:
        yield f"  pacing: {format_exact(RATE, round(made.pacing_bps))}  # asked for"


def _expect(made: InferredPath) -> Iterator[str]:
    """Write the expectations that the emulation is compared with: figures of the measurement itself."""
    transfer = made.transfer
    if transfer is None or made.goodput is None:
        return
    yield "expect:"
    yield f"  source: {_text(made.goodput.source)}"
    yield "  measured: true"
    yield f"  goodput: {format_exact(RATE, _rounded(made.goodput.value))}{_remark(RATE, made.goodput)}"
    share = TOLERANCE
    why = "what an emulation is asked for"
    if made.loss is not None and made.bound_by == LOSS:
        share = max(share, LOSS_POWER * made.loss.certain)
        why = "goodput goes with the loss to the power of −0.75, and that is known no better"
    if made.goodput.certain > share:
        share, why = made.goodput.certain, "the measurements differ by as much"
    yield f"  tolerance: {min(share, 1.0) * 100:.3g} %  # {why}"
    yield f"  rtt: {_ms(_ping_s(made) * 1e3)}  # of a ping: the delay, and its packets' time on every line"
    if transfer.asked_bytes:
        yield f"  bytes: {transfer.bytes} B"
    yield f"  duration: {format_exact(TIME, round(transfer.duration_s * 1e9))}"
    if transfer.retransmits is not None:
        yield f"  retransmits: {transfer.retransmits}"
    for key, trace in (("forward", made.round_trip.forward), ("reverse", made.round_trip.reverse)):
        if trace is not None and trace.reached and len(trace.hops) == len(made.round_trip.links_ms):
            yield f"  {key}_traceroute:"
            yield from _recorded(trace)
    yield ""


def _ping_s(made: InferredPath) -> float:
    """RTT of a ping on the path as it is written, in s."""
    lines = [made.fast_bps] * (len(made.round_trip.links_ms) - 1) + [made.rate.value if made.rate else made.fast_bps]
    bits = 2 * (echo_bytes(made.ip_version) + ETHERNET_FRAMING) * 8
    return made.round_trip.delay.value + sum(bits / line for line in lines)


def _recorded(trace: Traceroute) -> Iterator[str]:
    for hop in trace.hops:
        times = ", ".join(f"{ms:g} ms" for ms in hop.rtts_ms)
        yield f"    - {{label: {_text(hop.label or '*')}, rtt: [{times}]}}"


def _assumptions(made: InferredPath) -> Iterator[str]:
    transfer = made.transfer
    if transfer is None:
        yield f"Transfer. None was measured: one stream for {DURATION_S} s is assumed."
    if made.why:
        sure = f" ({made.sure})" if made.sure else ""
        yield f"Bound by: {made.bound_by}{sure}. {made.why[0].upper()}{made.why[1:]}."
        if made.second:
            yield f"Second reading: {made.second}."
    if made.rate is None:
        yield f"Bottleneck. Nothing tells of it: {rate_text(made.fast_bps)} are assumed on every link."
    else:
        yield (
            "Place. Which link is the bottleneck no end can tell: it is the one with most delay. All others and the "
            f"hosts' interfaces have {rate_text(made.fast_bps)}."
        )
    yield from made.assumptions
    if made.queue is None:
        yield "Queue. None was seen: each link is assumed to have the format's own, 1 BDP."
    yield "Framing. Ethernet's 38 B on every link. The way back is taken as the way there."
    if transfer is not None and transfer.mss_bytes is None and transfer.mtu_bytes is None:
        yield f"MTU. {made.mtu_source or f'No file tells it: {made.mtu_bytes} B are assumed'}."
    control = made.congestion_control
    if control is None or control not in CONGESTION_CONTROLS:
        told = f"{control} was used, which no world here has" if control else "no file tells it"
        yield f"Congestion control. {told[0].upper()}{told[1:]}: CUBIC is assumed."
