"""Agreement of several files on one path: which traceroute goes which way, and what the files contradict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from landspeed.base.units_text import rate_text
from landspeed.scenario.importers.path_evidence import MeasuredTransfer, PathEvidence, Traceroute
from landspeed.scenario.importers.peers import is_address, plain_address

AT_SENDER = "the sender"
WHOLE = 0.9  # of the transfer: a capture so long is not one of its beginning
APART = 1.25  # goodputs of one path may differ by so much from run to run


def put_in_order(evidence: PathEvidence) -> None:
    """Put the forward traceroute first, the one back second; of two to the same target keep the quicker."""
    sender = next((plain_address(each.sender) for each in evidence.transfers if each.sender), "")
    traces = evidence.traces
    if len(traces) < 2:
        return
    back = [each for each in traces if sender and sender in _ends(each)]
    there = [each for each in traces if each not in back]
    if len(there) == 2 and not back and set(_ends(there[0])) & set(_ends(there[1])) - {""}:
        there.sort(key=lambda each: (not each.reached, min(each.hops[-1].rtts_ms, default=0.0)))
        evidence.notes.append(
            f"Traceroutes. {there[0].source} and {there[1].source} go to the same target: the first, whose last hop "
            "answered sooner, is used."
        )
        del there[1]
    evidence.traces = [*there, *back]


def of_each_transfer_one(evidence: PathEvidence) -> None:
    """Keep one report of each transfer: its program's before a capture, the sender's capture before the receiver's.

    What only the other tells stays: the control that is guessed, and which packets overtook. A program counts what it
    wrote, in blocks, and a capture what was acknowledged; so what happened over time is the capture's, if it is whole.
    """
    kept: list[MeasuredTransfer] = []
    ordered = sorted(evidence.transfers, key=lambda each: (each.captured_packets > 0, each.captured_at != AT_SENDER))
    for each in ordered:
        twin = next((one for one in kept if each.captured_packets and _same(one, each)), None)
        if twin is None:
            kept.append(each)
            continue
        whole = not twin.captured_packets and each.duration_s >= WHOLE * twin.duration_s
        finer = each if whole else twin
        kept[kept.index(twin)] = replace(
            twin,
            intervals=finer.intervals,
            busy=twin.busy or each.busy,
            mss_bytes=(twin if twin.captured_packets else each).mss_bytes or twin.mss_bytes,
            retransmits=finer.retransmits,
            max_rtt_s=finer.max_rtt_s,
            guessed_control=twin.guessed_control or each.guessed_control,
            guess_why=twin.guess_why or each.guess_why,
            overtaken=max(twin.overtaken, each.overtaken),
            needless=max(twin.needless, each.needless),
            captured_packets=twin.captured_packets or each.captured_packets,
        )
        evidence.notes.append(
            f"Capture. {twin.source} and {each.source} are of the same transfer: its goodput is that of {twin.source}, "
            f"and how it went over time that of {finer.source}."
        )
    evidence.transfers = kept


def _same(one: MeasuredTransfer, other: MeasuredTransfer) -> bool:
    return not one.udp and bool(set(one.sender_ports) & set(other.sender_ports))


def _ends(trace: Traceroute) -> tuple[str, str]:
    return plain_address(trace.address), plain_address(trace.target)


def contradictions(evidence: PathEvidence) -> Iterator[str]:
    """Yield what the files contradict each other in, and what is taken."""
    tcp = [each for each in evidence.transfers if not each.udp]
    mtus = {each.source: each.mtu_bytes for each in (*tcp, *evidence.sockets, *evidence.traces, *evidence.hosts)}
    yield from _apart("MTU", {name: f"{mtu} B" for name, mtu in mtus.items() if mtu}, "the least is taken")
    controls = {each.source: each.congestion_control for each in (*evidence.hosts, *evidence.sockets, *tcp)}
    yield from _apart(
        "congestion control", {name: word for name, word in controls.items() if word}, "that of the transfer is taken"
    )
    yield from _apart(
        "receiver", _receivers(evidence, tcp), "they may be of several paths, and all are taken to be of one"
    )
    rates = {each.source: each.goodput_bps for each in tcp}
    if len(rates) > 1 and max(rates.values()) > APART * min(rates.values()):
        told = {name: rate_text(rate) for name, rate in rates.items()}
        yield from _apart("goodput", told, "the median is taken")


def _receivers(evidence: PathEvidence, tcp: Sequence[MeasuredTransfer]) -> dict[str, str]:
    """The address that each file's packets went to."""
    told = {each.source: plain_address(each.receiver) for each in tcp}
    told |= {each.source: plain_address(each.address) for each in (*evidence.traces[:1], *evidence.probes)}
    senders = {plain_address(each.sender) for each in tcp}
    return {name: end for name, end in told.items() if is_address(end) and end not in senders}


def _apart(what: str, told: dict[str, str], taken: str) -> Iterator[str]:
    if len(set(told.values())) > 1:
        shown = ", ".join(f"{name} says {value}" for name, value in list(told.items())[:4])
        yield f"Contradiction. {what}: {shown}; {taken}."
