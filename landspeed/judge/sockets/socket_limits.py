"""Limit of the TCP traffic from the programs of one node to those of another, in one run.

The states are those of every transfer (`judge/attribution`); what is a program's own is looked at here, where TCP
waited for it. `bound_by_tcp` looks at one run, `answer.py` at the same program over several round-trip times, which
tells more. Virtual time hides what a program computes: a program that waits only for its own processor is as fast here
as the path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias

from landspeed.base import limits
from landspeed.base.limits import LARGE_SHARE, LIMIT_NEARNESS, ProbeLimit, RunLimit
from landspeed.base.text import bytes_text, rate_text
from landspeed.judge.attribution.attribution import Attribution, SharedTimes
from landspeed.judge.attribution.line_evidence import LineEvidence
from landspeed.judge.cause_words import OTHERS, WHY, link_words, nagle_words, states_text
from landspeed.judge.loaded_delay import settled_s
from landspeed.judge.shared_limit import add_background
from landspeed.judge.sockets.phases import (
    Plateau,
    held_tails,
    intervals_of,
    mean_mss_bytes,
    plateau,
    steady_bytes_per_s,
    turns_s,
)
from landspeed.judge.sockets.series import SentSeries, SocketSamples
from landspeed.judge.sockets.ways import path_between, way_between
from landspeed.results.flow_result import LimitPhase, phases_text
from landspeed.scenario.theory.physics import INITIAL_WINDOW_PACKETS

if TYPE_CHECKING:
    from landspeed.scenario.plan.flow_path import Step
    from landspeed.scenario.plan.plan import Plan

Place: TypeAlias = Literal["sender", "receiver"]

WORLD = "emu"  # whose lines programs run on
MOST_TURN_RTTS = 4
HTTP2_WINDOW = 65_535  # which both ends begin with (RFC 9113, section 6.9.2)
HIDDEN = "what it computes takes no virtual time, so it is not in this"


@dataclass(frozen=True, kw_only=True)
class Bound:
    """Limit of one direction.

    Attributes:
        kind: the one word.
        source, target: nodes.
        explanation: a sentence with the figures that say so.
        shares: of the judged time, what held it; empty of datagrams.
        phases: what held it in turn, in s since its first byte; of several connections that with most bytes.
        bytes: that TCP delivered in this direction.
        goodput_bps: from the first byte until the last was acknowledged.
        steady_bps: of the connection with most bytes, once its window was full; the goodput where there was none.
        connections: that sent something.
        window_bytes: of the program, or of TCP, where that is the kind; of the connection with most bytes.
        windows_bytes: of a program: of each connection that was open beside that one, itself among them.
        window_at: whose it is, where it can be told.
        round_trips: of the pauses, where that is the kind.
        held_tails: of these, those that Nagle's algorithm made.
        needs_bytes: of "slow start": with so many, TCP's start takes less than half of the time.
        datagrams: it is of UDP.
    """

    kind: ProbeLimit
    source: str
    target: str
    explanation: str
    shares: dict[ProbeLimit, float] = field(default_factory=dict[ProbeLimit, float])
    phases: list[LimitPhase] = field(default_factory=list[LimitPhase])
    bytes: int = 0
    goodput_bps: float | None = None
    steady_bps: float | None = None
    connections: int = 0
    window_bytes: float | None = None
    windows_bytes: tuple[float, ...] = ()
    window_at: Place | None = None
    round_trips: float | None = None
    held_tails: int = 0
    needs_bytes: int | None = None
    datagrams: bool = False

    def __str__(self) -> str:
        """The word, the figures that say so, and what held it in turn."""
        return f"{self.kind}: {self.explanation}{self.in_turn}"

    @property
    def in_turn(self) -> str:
        """Words for the phases, to be added to the explanation; empty of one."""
        return f"; in turn: {phases_text(self.phases)}" if len(self.phases) > 1 else ""


def bound_by_tcp(samples: SocketSamples, plan: Plan, source: str, target: str) -> Bound:
    """Find what limited the TCP traffic from one node's programs to another's.

    Args:
        samples: of the run.
        plan: of the network; its events count from the first sample.
        source, target: nodes.

    Raises:
        SamplesError: the samples cannot be read.
    """
    ahead, back = samples.between(source, target), samples.between(target, source)
    total, other = sum(each.bytes for each in ahead), sum(each.bytes for each in back)
    if not total:
        return Bound(kind=limits.IDLE, source=source, target=target, explanation="nothing was sent in this direction")
    known = _Known(samples, plan, ahead, back)
    small = total <= limits.IDLE_SHARE * other and total <= INITIAL_WINDOW_PACKETS * mean_mss_bytes(ahead) * max(
        known.rounds, 1
    )
    if small and other > INITIAL_WINDOW_PACKETS * mean_mss_bytes(ahead):
        share = f"{bytes_text(total)}, {total / other * 100:.2g} % of what came back"
        return known.bound(limits.IDLE, f"there was nothing more to send than {share}")
    return _of_line(known) or _of_state(known)


class _Known:
    """Values that every question about a direction needs. Times count from its first byte."""

    def __init__(self, samples: SocketSamples, plan: Plan, ahead: list[SentSeries], back: list[SentSeries]) -> None:
        self.ahead, self.back, self.main = ahead, back, ahead[0]
        self.total = sum(each.bytes for each in ahead)
        source, target = self.main.source, self.main.target
        self.way = way_between(plan, source, target)
        self.capacity_bytes = self.way.limit_bps / 8 * self.way.rtt_s
        self.begins_s = min(each.begins_s for each in ahead)
        self.span_s = max(each.ends_s for each in ahead) - self.begins_s
        self.goodput_bps = self.total * 8 / self.span_s if self.span_s > 0 else None
        self.rounds = self.span_s / self.way.rtt_s
        self.from_s = settled_s(self.span_s)[0]
        self.plateau: Plateau = plateau(self.main, self.begins_s + self.from_s)
        self.steady_bps = self.goodput_bps
        self.plan, way = path_between(_later(plan, self.begins_s), source, target)
        large = [each for each in ahead if each.bytes >= LARGE_SHARE * self.main.bytes]
        self.others = _others(samples, plan, self, way)
        self.attribution = Attribution(
            self.plan,
            LineEvidence(self.plan, WORLD, samples.along(way, self.begins_s)),
            {number: intervals_of(each, self.way.rtt_s, self.begins_s) for number, each in enumerate(large)},
            self.others,
        )
        self.shares = self.attribution.shares(self.from_s, self.span_s)

    def bound(self, kind: ProbeLimit, explanation: str, **more: float | int | str | tuple[float, ...] | None) -> Bound:
        """Make the result, with the figures that every kind has."""
        empty = kind == limits.IDLE
        shares: dict[ProbeLimit, float] = (
            {} if empty else {_named(state, kind): round(share, 3) for state, share in self.shares.items()}
        )
        phases = [
            LimitPhase(state=_named(span.state, kind), begin_s=round(span.begin_s, 6), end_s=round(span.end_s, 6))
            for span in self.attribution.phases()
        ]
        return Bound(
            kind=kind,
            source=self.main.source,
            target=self.main.target,
            explanation=explanation,
            shares=shares,
            phases=[] if empty else phases,
            bytes=self.total,
            goodput_bps=self.goodput_bps,
            steady_bps=self.steady_bps,
            connections=len(self.ahead),
            **more,  # pyright: ignore[reportArgumentType]
        )

    @property
    def loaded_rtt_s(self) -> float:
        """The path's round trip, or TCP's own if others' packets stood in queues: mean of the judged time."""
        every = [(each.rtt_s, each.span_s) for each in self.attribution.intervals[0] if each.begin_s >= self.from_s]
        measured = sum((rtt or 0.0) * span for rtt, span in every) / (sum(span for _, span in every) or 1.0)
        return measured if self.others and measured > limits.QUEUE_FACTOR * self.way.rtt_s else self.way.rtt_s

    def of_time(self, state: RunLimit) -> str:
        """A state's share of the judged time, in words."""
        return f"{self.shares.get(state, 0.0) * 100:.0f} % of the time from {self.from_s:.3g} s on"


def _named(state: RunLimit, kind: ProbeLimit) -> ProbeLimit:
    """A time in which TCP waited for the program, by what is known of the program."""
    return kind if state == limits.APPLICATION and kind in (limits.APPLICATION_WINDOW, limits.ROUND_TRIPS) else state


def _later(plan: Plan, begin_s: float) -> Plan:
    """The plan with the times of its events counted from a time on."""
    events = [replace(event, at_ns=event.at_ns - round(begin_s * 1e9)) for event in plan.events]
    return replace(plan, events=events)


def _others(samples: SocketSamples, plan: Plan, known: _Known, way: Sequence[Step]) -> SharedTimes:
    """Times at which other programs' connections, or background traffic, pass links of the way."""
    found, least = dict[int, list[tuple[float, float]]](), limits.IDLE_SHARE * known.total
    for each in samples.sendings:
        if (each.source, each.target) == (known.main.source, known.main.target) or not each.target:
            continue
        if each.bytes > least:
            passed = {step.ahead for step in path_between(plan, each.source, each.target)[1]}
            for number, step in enumerate(way):
                if step.ahead and step.ahead in passed:
                    found.setdefault(number, []).append((each.begins_s - known.begins_s, each.ends_s - known.begins_s))
    return add_background(known.plan, found)


def _of_line(known: _Known) -> Bound | None:
    """All connections together in the judged time, or the whole of it, at what the line carries."""
    from_s = known.begins_s + known.from_s
    late = sum(_acked_after(each, from_s) for each in known.ahead) * 8 / max(known.span_s - known.from_s, 1e-9)
    most = max(late, known.goodput_bps or 0.0)
    if most < (1 - LIMIT_NEARNESS) * known.way.limit_bps:
        return None
    text = f"{rate_text(most)} of the {rate_text(known.way.limit_bps)} that it allows after headers"
    return known.bound(limits.LINE_RATE, f"the line was full: {text}")


def _acked_after(sending: SentSeries, from_s: float) -> int:
    before = [count for at, count in zip(sending.times_s, sending.acked, strict=True) if at <= from_s]
    return sending.acked[-1] - (before[-1] if before else 0)


def _of_state(known: _Known) -> Bound:
    """The state that held most of the judged time."""
    state: RunLimit = next(iter(known.shares)) if known.shares else limits.UNKNOWN
    told = {
        limits.APPLICATION: _of_program,
        limits.WINDOW: _of_receiver,
        limits.SEND_BUFFER: _of_buffer,
        limits.SLOW_START: _of_start,
    }
    if state in told:
        return told[state](known)
    if state in {limits.LOSS, limits.REORDERING}:
        return known.bound(state, _resent_words(known, state))
    if state == limits.UNKNOWN:
        return known.bound(state, _missing(known))
    link = known.attribution.link_of(state, known.from_s, known.span_s)
    where = "" if link is None else link_words(known.plan, link, "reverse" if state == limits.ACK_PATH else "forward")
    why = f"{where} was full" if where else WHY.get(state, f"it was held by the {state}")
    return known.bound(state, f"{why} {known.of_time(state)}{OTHERS if state == limits.SHARED_LINE else ''}")


def _of_buffer(known: _Known) -> Bound:
    text = (
        f"{WHY[limits.SEND_BUFFER]} {known.of_time(limits.SEND_BUFFER)}; {_buffer_words(known, known.main, 'sndbuf')}"
    )
    size = known.main.sender.most("sndbuf_bytes")
    return known.bound(limits.SEND_BUFFER, text, window_bytes=size, window_at="sender")


def _of_start(known: _Known) -> Bound:
    needs, capacity = _needs_bytes(known), bytes_text(known.capacity_bytes)
    text = f"TCP's congestion window still grew {known.of_time(limits.SLOW_START)}: {bytes_text(known.total)} are too "
    text += f"few to fill a path of {capacity} under way; {bytes_text(needs)} would do"
    return known.bound(limits.SLOW_START, text, needs_bytes=needs)


def _resent_words(known: _Known, state: RunLimit) -> str:
    """Losses, or packets that came late, that made the window smaller."""
    late = [each for of in known.attribution.intervals.values() for each in of if each.begin_s >= known.from_s]
    packets, when = sum(each.resent_packets or 0 for each in late), ""
    if not packets:
        last_s, packets = known.attribution.last_loss()
        when = f", the last at {last_s:.3g} s,"
    window = sum((each.cwnd or 0) * each.mss_bytes * each.span_s for each in late) / sum(each.span_s for each in late)
    was = f"it was {bytes_text(window)} and full {known.of_time(state)}, and {bytes_text(known.capacity_bytes)} fill "
    return f"{packets} retransmissions{when} held the congestion window down: {was}the path"


def _missing(known: _Known) -> str:
    """Evidence that is missing to tell more."""
    if not known.shares:
        return f"too few samples: none lies between {known.from_s:.3g} and {known.span_s:.3g} s"
    if known.attribution.path.uncounted:
        return "nobody counted what the lines carried; TCP names no reason"
    return f"neither the program nor TCP's windows nor a line held it for long ({states_text(known.shares)})"


def _needs_bytes(known: _Known) -> int:
    """Slow start sends about the path's capacity (RFC 5681); as much time again at the full rate, and it is half."""
    mss, capacity = known.main.mss_bytes, known.capacity_bytes
    doublings, window = 0, float(INITIAL_WINDOW_PACKETS * mss)
    while window < capacity:
        doublings, window = doublings + 1, 2 * window
    return round(capacity * (1 + doublings))


def _of_receiver(known: _Known) -> Bound:
    main = known.main
    window = max(main.rows["snd_wnd_bytes"])
    text = f"{WHY[limits.WINDOW]} {known.of_time(limits.WINDOW)}"
    if main.receiver is not None:
        rows = main.receiver.rows
        queued = sorted(each for each in rows["rqueue_bytes"] if each is not None)
        if queued[len(queued) // 2] > limits.UNREAD_SHARE * window:
            full = bytes_text(queued[len(queued) // 2])
            return known.bound(limits.RECEIVER, f"{text}, whose program did not read: {full} waited for it; {HIDDEN}")
        text += f"; {_buffer_words(known, main, 'rcvbuf')}"
    return known.bound(limits.WINDOW, text, window_bytes=window, window_at="receiver")


def _buffer_words(known: _Known, main: SentSeries, name: str) -> str:
    """Say which buffer is the limit, who set it, and which size would do."""
    end = main.sender if name == "sndbuf" else main.receiver
    option, sysctl = ("SO_SNDBUF", "tcp_wmem") if name == "sndbuf" else ("SO_RCVBUF", "tcp_rmem")
    assert end is not None
    sizes = [each for each in end.rows[f"{name}_bytes"] if each is not None]
    grew = len(set(sizes)) > 1
    who = f"net.ipv4.{sysctl} ends it" if grew else f"{end.program or 'its program'} set {option}"
    wanted = 2 * known.capacity_bytes  # the kernel counts its own overhead in it: twice
    return f"its buffer is {bytes_text(max(sizes))} ({who}), {bytes_text(wanted)} would do"


def _of_program(known: _Known) -> Bound:
    """TCP waited for the program: for a window of its own, for answers, or for itself."""
    flat, turns = known.plateau, _round_trips(known)
    # What is smaller than TCP's first window, no window of a program holds back.
    if flat.bytes >= INITIAL_WINDOW_PACKETS * known.main.mss_bytes and flat.share >= limits.PLATEAU_SHARE:
        rate = steady_bytes_per_s(known.main, flat.bytes)
        least_s = 0.9 * known.way.rtt_s
        most_s = limits.GRANT_FACTOR * (known.loaded_rtt_s + flat.bytes * 8 / known.way.limit_bps)
        if rate and least_s <= flat.bytes / rate <= most_s and _answered(known):
            known.steady_bps = rate * 8
            place, words = window_place(known.main, known.back, flat.bytes)
            text = f"{bytes_text(flat.bytes)} were in flight and no more, with TCP waiting for the program "
            text += f"{known.of_time(limits.APPLICATION)}; {words}"
            if place is None and turns is not None:
                text += ", and messages of this size, each sent when the last one was answered, look the same"
            return known.bound(
                limits.APPLICATION_WINDOW,
                text,
                window_bytes=flat.bytes,
                windows_bytes=_windows_bytes(known),
                window_at=place,
            )
    if turns is not None:
        each = known.total / max(turns, 1)
        held = held_tails(known.ahead, known.way.rtt_s)
        text = f"{turns:.0f} round trips one after the other, {bytes_text(each)} in each{nagle_words(held, turns)}"
        return known.bound(limits.ROUND_TRIPS, text, round_trips=turns, held_tails=held)
    waits = f"TCP waited for the program {known.of_time(limits.APPLICATION)}, and not for an answer"
    return known.bound(limits.APPLICATION, f"{waits}: it made pauses of its own; {HIDDEN}")


def _windows_bytes(known: _Known) -> tuple[float, ...]:
    """Tell where each connection stood that was open for most of the time of the main one."""
    main, found = known.main, list[float]()
    for each in known.ahead:
        together_s = min(each.ends_s, main.ends_s) - max(each.begins_s, main.begins_s)
        if together_s >= LARGE_SHARE * (main.ends_s - main.begins_s) and each.bytes >= LARGE_SHARE * main.bytes:
            found.append(plateau(each, known.begins_s + known.from_s).bytes)
    return tuple(found)


def _answered(known: _Known) -> bool:
    """Return whether the receiver's program sent something during most of the transfer."""
    begin, end = known.main.begins_s, known.main.ends_s
    return any(end > each.begins_s and each.ends_s > begin + (end - begin) / 4 for each in known.back)


def _round_trips(known: _Known) -> float | None:
    """Round trips that the pauses between what was sent are; None where they are something else."""
    both = [*known.ahead, *known.back]
    turns = turns_s(known.ahead, known.way.rtt_s / 2)
    if len(turns) == 1:
        return 1.0 if sum(each.bytes for each in both) <= 2 * INITIAL_WINDOW_PACKETS * known.main.mss_bytes else None
    found = waited = 0.0
    for before, after in pairwise(turns):
        rounds = (after - before) / known.loaded_rtt_s
        if round(rounds) <= MOST_TURN_RTTS and abs(rounds - round(rounds)) <= limits.ROUND_NEARNESS * round(rounds):
            found, waited = found + round(rounds), waited + after - before
    return found + 1 if waited >= LARGE_SHARE * known.span_s else None


def window_place(main: SentSeries, back: Sequence[SentSeries], window_bytes: float) -> tuple[Place | None, str]:
    """Find which end owns a window, by what the sender had sent before the receiver's first data."""
    word_s = min((each.begins_s for each in back if each.sender is main.receiver), default=None)
    sent = [count for at, count in zip(main.times_s, main.sent, strict=True) if word_s is None or at <= word_s]
    before = sent[-1] if sent else 0
    if abs(window_bytes / HTTP2_WINDOW - 1) < 0.02:
        return None, "if this is HTTP/2: both ends of a connection begin with 65 535 B (RFC 9113)"
    if before >= 0.9 * window_bytes:
        return "sender", "the sender stopped there before the receiver had said a word, so the limit is its own"
    if before <= 0.1 * window_bytes and main.sender.local[1] > main.sender.remote[1]:
        return "receiver", "the sender sent that much only after the receiver had spoken, which grants it"
    return None, "whose limit it is cannot be told from outside"
