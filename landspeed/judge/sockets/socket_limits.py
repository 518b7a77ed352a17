"""Limit of the TCP traffic from the programs of one node to those of another, in one run.

`bound_by` looks at one run, `landspeed.judge.sockets.answer` at the same program over several round-trip times, which
tells more. Virtual time hides what a program computes: a program that waits only for its own processor is as fast here
as the path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from landspeed.base import limits
from landspeed.base.limits import LARGE_SHARE, ProbeLimit
from landspeed.base.text import bytes_text, rate_text
from landspeed.judge.sockets.phases import (
    PhaseShares,
    Plateau,
    mean_cwnd_bytes,
    mean_mss_bytes,
    plateau,
    retransmits_that_hold,
    shares,
    steady_bytes_per_s,
    turns_s,
)
from landspeed.judge.sockets.series import SentSeries, SocketSamples

Place: TypeAlias = Literal["sender", "receiver"]

INITIAL_PACKETS = 10  # TCP's first window (RFC 6928): what is smaller, no window of a program holds back
MOST_TURN_RTTS = 4
HTTP2_WINDOW = 65_535  # which both ends begin with (RFC 9113, section 6.9.2)
HIDDEN = "what it computes takes no virtual time, so it is not in this"


@dataclass(frozen=True)
class Way:
    """Path from one node to another, as the plan has it.

    Attributes:
        rtt_s: there and back, of propagation and what a small packet takes.
        limit_bps: payload that TCP can send over the slowest line.
    """

    rtt_s: float
    limit_bps: float


@dataclass(frozen=True, kw_only=True)
class Bound:
    """Limit of one direction.

    Attributes:
        kind: the one word.
        source, target: nodes.
        explanation: a sentence with the figures that say so.
        bytes: that TCP delivered in this direction.
        goodput_bps: from the first byte until the last was acknowledged.
        steady_bps: of the connection with most bytes, once its window was full; the goodput where there was none.
        connections: that sent something.
        window_bytes: of the program, or of TCP, where that is the kind.
        window_at: whose it is, where it can be told.
        round_trips: of the pauses, where that is the kind.
        needs_bytes: of "slow start": with so many, TCP's start takes less than half of the time.
        datagrams: it is of UDP.
    """

    kind: ProbeLimit
    source: str
    target: str
    explanation: str
    bytes: int = 0
    goodput_bps: float | None = None
    steady_bps: float | None = None
    connections: int = 0
    window_bytes: float | None = None
    window_at: Place | None = None
    round_trips: float | None = None
    needs_bytes: int | None = None
    datagrams: bool = False


def bound_by(samples: SocketSamples, source: str, target: str, way: Way) -> Bound:
    """Find what limited the TCP traffic from one node's programs to another's.

    Args:
        samples: of the run.
        source, target: nodes.
        way: from source to target, as planned.

    Raises:
        SamplesError: the samples cannot be read.
    """
    ahead, back = samples.between(source, target), samples.between(target, source)
    total, other = sum(each.bytes for each in ahead), sum(each.bytes for each in back)
    if not total:
        return Bound(kind=limits.IDLE, source=source, target=target, explanation="nothing was sent in this direction")
    known = _Known(ahead, back, total, way)
    small = total <= limits.IDLE_SHARE * other and total <= INITIAL_PACKETS * mean_mss_bytes(ahead) * max(
        known.rounds, 1
    )
    if small and other > INITIAL_PACKETS * mean_mss_bytes(ahead):
        share = f"{bytes_text(total)}, {total / other * 100:.2g} % of what came back"
        return known.bound(limits.IDLE, f"there was nothing more to send than {share}")
    return _of_line(known) or _of_tcp(known) or _of_program(known)


class _Known:
    """Values that every question about a direction needs."""

    def __init__(self, ahead: list[SentSeries], back: list[SentSeries], total: int, way: Way) -> None:
        self.ahead, self.back, self.total, self.way = ahead, back, total, way
        self.main = ahead[0]
        self.begins_s = min(each.begins_s for each in ahead)
        self.ends_s = max(each.ends_s for each in ahead)
        self.span_s = self.ends_s - self.begins_s
        self.goodput_bps = total * 8 / self.span_s if self.span_s > 0 else None
        self.rounds = self.span_s / way.rtt_s
        self.middle_s = (self.main.begins_s + self.main.ends_s) / 2
        self.shares: PhaseShares = shares(self.main, self.middle_s)
        self.plateau: Plateau = plateau(self.main, self.middle_s)
        self.steady_bps = self.goodput_bps

    def bound(self, kind: ProbeLimit, explanation: str, **more: float | int | str | None) -> Bound:
        """Make the result, with the figures that every kind has."""
        return Bound(
            kind=kind,
            source=self.main.source,
            target=self.main.target,
            explanation=explanation,
            bytes=self.total,
            goodput_bps=self.goodput_bps,
            steady_bps=self.steady_bps,
            connections=len(self.ahead),
            **more,  # pyright: ignore[reportArgumentType]
        )


def _of_line(known: _Known) -> Bound | None:
    """All connections together in the second half of the time, or the whole of it, near what the line carries."""
    middle_s = (known.begins_s + known.ends_s) / 2
    late = sum(_acked_after(each, middle_s) for each in known.ahead) * 8 / max(known.ends_s - middle_s, 1e-9)
    most = max(late, known.goodput_bps or 0.0)
    if most < limits.PROBED_LINE_SHARE * known.way.limit_bps:
        return None
    text = f"{rate_text(most)} of the {rate_text(known.way.limit_bps)} that it allows after headers"
    return known.bound(limits.LINE_RATE, f"the line was full: {text}")


def _acked_after(sending: SentSeries, from_s: float) -> int:
    before = [count for at, count in zip(sending.times_s, sending.acked, strict=True) if at <= from_s]
    return sending.acked[-1] - (before[-1] if before else 0)


def _of_tcp(known: _Known) -> Bound | None:
    """TCP had something to send, and something of its own held it back."""
    part, main = known.shares, known.main
    if part.rwnd > LARGE_SHARE:
        return _of_receiver(known)
    if part.sndbuf > LARGE_SHARE:
        window = main.sender.most("sndbuf_bytes")
        text = f"TCP waited for room in the send buffer {part.sndbuf * 100:.0f} % of the time"
        return known.bound(
            limits.SEND_BUFFER,
            f"{text}; {_buffer_words(known, main, 'sndbuf')}",
            window_bytes=window,
            window_at="sender",
        )
    if part.waits > LARGE_SHARE:
        return None
    window, capacity = mean_cwnd_bytes(main, known.middle_s), known.way.limit_bps / 8 * known.way.rtt_s
    resent = sum(retransmits_that_hold(each, known.middle_s) for each in known.ahead)
    if resent and (part.cwnd > part.line or window < capacity):
        text = f"{resent} retransmissions held the congestion window down"
        return known.bound(
            limits.LOSS, f"{text}: it was {bytes_text(window)}, and {bytes_text(capacity)} fill the path"
        )
    needs = _needs_bytes(known)
    text = f"TCP's congestion window still grew: {bytes_text(known.total)} are too few to fill a path of "
    text += f"{bytes_text(known.way.limit_bps / 8 * known.way.rtt_s)} under way; {bytes_text(needs)} would do"
    return known.bound(limits.SLOW_START, text, needs_bytes=needs)


def _needs_bytes(known: _Known) -> int:
    """Slow start sends about the path's capacity (RFC 5681); as much time again at the full rate, and it is half."""
    mss, capacity = known.main.mss_bytes, known.way.limit_bps / 8 * known.way.rtt_s
    doublings, window = 0, float(INITIAL_PACKETS * mss)
    while window < capacity:
        doublings, window = doublings + 1, 2 * window
    return round(capacity * (1 + doublings))


def _of_receiver(known: _Known) -> Bound:
    main, part = known.main, known.shares
    window = max(main.rows["snd_wnd_bytes"])
    text = f"TCP waited for the receiver's window {part.rwnd * 100:.0f} % of the time"
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
    wanted = 2 * known.way.limit_bps / 8 * known.way.rtt_s  # the kernel counts its own overhead in it: twice
    return f"its buffer is {bytes_text(max(sizes))} ({who}), {bytes_text(wanted)} would do"


def _of_program(known: _Known) -> Bound:
    """TCP waited for the program: for a window of its own, for answers, or for itself."""
    flat, rtt_s = known.plateau, known.way.rtt_s
    if flat.bytes >= INITIAL_PACKETS * known.main.mss_bytes and flat.share >= limits.PLATEAU_SHARE:
        rate = steady_bytes_per_s(known.main, flat.bytes)
        least_s, most_s = 0.9 * rtt_s, limits.GRANT_FACTOR * (rtt_s + flat.bytes * 8 / known.way.limit_bps)
        if rate and least_s <= flat.bytes / rate <= most_s and _answered(known):
            known.steady_bps = rate * 8
            place, words = window_place(known.main, known.back, flat.bytes)
            text = f"{bytes_text(flat.bytes)} were in flight and no more, with TCP waiting for the program "
            text += f"{known.shares.waits * 100:.0f} % of the time; {words}"
            return known.bound(limits.APPLICATION_WINDOW, text, window_bytes=flat.bytes, window_at=place)
    turns = _round_trips(known)
    if turns is not None:
        each = known.total / max(turns, 1)
        text = f"{turns:.0f} round trips one after the other, {bytes_text(each)} in each"
        return known.bound(limits.ROUND_TRIPS, text, round_trips=turns)
    waits = f"TCP waited for the program {known.shares.waits * 100:.0f} % of the time, and not for an answer"
    return known.bound(limits.APPLICATION, f"{waits}: it made pauses of its own; {HIDDEN}")


def _answered(known: _Known) -> bool:
    """Return whether the receiver's program sent something during most of the transfer."""
    begin, end = known.main.begins_s, known.main.ends_s
    return any(end > each.begins_s and each.ends_s > begin + (end - begin) / 4 for each in known.back)


def _round_trips(known: _Known) -> float | None:
    """Round trips that the pauses between what was sent are; None where they are something else."""
    rtt_s = known.way.rtt_s
    both = [*known.ahead, *known.back]
    turns = turns_s(known.ahead, rtt_s / 2)
    if len(turns) == 1:
        return 1.0 if sum(each.bytes for each in both) <= 2 * INITIAL_PACKETS * known.main.mss_bytes else None
    found = waited = 0.0
    for before, after in pairwise(turns):
        rounds = (after - before) / rtt_s
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
