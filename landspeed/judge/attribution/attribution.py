"""Attribution: every interval of every stream of a flow to exactly one state, and the shares of a span's time.

A state is what kept the stream from sending more in that interval, from what the kernel says of its socket (and the
simulator the same) and the lines of theirs. Ancestors: T-RAT (Zhang, Breslau, Paxson, Shenker: On the Characteristics
and Origins of Internet Flow Rates, SIGCOMM 2002), Dapper (Ghasemi, Benson, Rexford, SOSR 2017) and the kernel's chrono
statistics (tcp_chrono_start in net/ipv4/tcp_output.c).

What comes first counts: a cut path; a sender that has nothing to send, or no room in its buffer; the receiver's window
and the pace, which would hold it on any path; BBR's own looks; a full line, there or back; and the congestion window,
with what made it what it is.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from landspeed.base import limits
from landspeed.base.limits import (
    BLIND_LINE_SHARE,
    FULL_LINE_SHARE,
    LARGE_SHARE,
    PACING_NEARNESS,
    PHASE_SHARE,
    SPURIOUS_FACTOR,
    RunLimit,
)
from landspeed.judge.attribution.intervals import Interval, stream_intervals
from landspeed.judge.attribution.line_evidence import LineEvidence
from landspeed.judge.bbr_probing import CONTROL, PROBE_PACKETS, Startup

if TYPE_CHECKING:
    from landspeed.results.samples_reader import Samples
    from landspeed.scenario.plan.plan import Plan


SharedTimes: TypeAlias = Mapping[int, Sequence[tuple[float, float]]]
"""Links of a path, by their numbers along it → when others' data passes them, in s since the flow's start."""


class StateSpan(NamedTuple):
    """A time in which a stream was in one state.

    Attributes:
        link: where, if the state is one of a line.
    """

    stream: int
    begin_s: float
    end_s: float
    state: RunLimit
    link: int | None = None

    @property
    def span_s(self) -> float:
        """Duration in s."""
        return self.end_s - self.begin_s


class Attribution:
    """States of a flow's streams over time."""

    def __init__(
        self,
        plan: Plan,
        path: LineEvidence,
        intervals: Mapping[int, list[Interval]],
        others: SharedTimes | None = None,
        pace_bps: float | None = None,
    ) -> None:
        """Attribute every interval.

        Args:
            plan: of the path.
            path: what its lines did.
            intervals: of each stream; the first one's states are told in turn.
            others: when others' data passes links of the path, too.
            pace_bps: of each stream, if it was told to keep one.
        """
        self._plan, self._others, self._pace_bps = plan, others or {}, pace_bps
        self.path, self.intervals = path, intervals
        controls = plan.transfer.congestion_controls or [plan.transfer.congestion_control]
        self._spurious = _only_late(plan, path, intervals)
        known = [each.rtt_s for of in intervals.values() for each in of if each.rtt_s]
        # Nobody counts what real lines carry: then a round trip above the smallest shows a queue that somebody filled.
        self._queued_s = limits.QUEUE_FACTOR * min(known, default=0.0) if path.uncounted else None
        self.spans = list[StateSpan]()
        self._acked = list[tuple[StateSpan, int]]()
        for stream, own in intervals.items():
            states = list(self._states(stream, own, blind=controls[stream % len(controls)] == CONTROL))
            self.spans += _joined(states)
            self._acked += [(span, each.acked_bytes) for span, each in zip(states, own, strict=True)]
        self.end_s = max((span.end_s for span in self.spans), default=0.0)

    @classmethod
    def of_flow(cls, plan: Plan, world: str, samples: Samples, others: SharedTimes | None = None) -> Attribution:
        """Attribute the intervals of a flow that an engine, or the simulator, sampled.

        Args:
            plan: of the path: what theory knows of this flow alone.
            world: in which it ran.
            samples: of the flow.
            others: when others' data passes links of the path, too.
        """
        pace = next((limit.goodput_bps for limit in plan.physics.limits if limit.kind == limits.PACING), None)
        intervals = stream_intervals(samples, plan.physics.rtt_ns / 1e9)
        each_bps = pace / plan.transfer.streams if pace else None
        return cls(plan, LineEvidence(plan, world, samples), intervals, others, each_bps)

    def shares(self, from_s: float, to_s: float) -> dict[RunLimit, float]:
        """Share of a time that each state had, mean over the streams, the largest first; they add up to 1."""
        held: defaultdict[RunLimit, float] = defaultdict(float)
        for span in self.spans:
            held[span.state] += max(0.0, min(span.end_s, to_s) - max(span.begin_s, from_s))
        total = sum(held.values())
        return {state: part / total for state, part in _largest_first(held) if part > 0} if total > 0 else {}

    def missing(self, from_s: float, limit_bps: float) -> dict[RunLimit, float]:
        """Share of what a limit allows from a time on that did not come, state by state, the largest first."""
        lost: defaultdict[RunLimit, float] = defaultdict(float)
        allowed = limit_bps / max(len(self.intervals), 1)
        for span, acked in self._acked:
            if span.begin_s >= from_s - 1e-9:
                lost[span.state] += allowed * span.span_s - 8 * acked
        whole = limit_bps * (self.end_s - from_s)
        return {state: part / whole for state, part in _largest_first(lost) if part > 0} if whole > 0 else {}

    def rate_bps(self, state: RunLimit, from_s: float) -> float:
        """Goodput of all streams while they were in a state, from a time on; 0 if none was."""
        own = [(span.span_s, acked) for span, acked in self._acked if span.state == state and span.begin_s >= from_s]
        held_s = sum(span_s for span_s, _ in own) / max(len(self.intervals), 1)
        return 8 * sum(acked for _, acked in own) / held_s if held_s > 0 else 0.0

    def link_of(self, state: RunLimit, from_s: float, to_s: float) -> int | None:
        """The link where a state was mostly."""
        held: defaultdict[int, float] = defaultdict(float)
        for span in self.spans:
            if span.state == state and span.link is not None:
                held[span.link] += max(0.0, min(span.end_s, to_s) - max(span.begin_s, from_s))
        return max(held, key=lambda link: held[link], default=None)

    def last_loss(self) -> tuple[float, int]:
        """Time at which a loss last made a window smaller, in s, and packets sent again altogether."""
        every = [each for of in self.intervals.values() for each in of if each.resent_packets]
        cuts = [each.end_s for each in every if each.reduced or each.recovering]
        return max(cuts, default=0.0), sum(each.resent_packets or 0 for each in every)

    def phases(self) -> list[StateSpan]:
        """States of the flow in turn, the first stream's states for all: only what lasted a tenth of the run.

        Where none did, as of a program that sends and waits in turns, the whole run is one phase of what it was most.
        """
        of_first = _joined(span._replace(link=None) for span in self.spans if span.stream == self.spans[0].stream)
        least_s = PHASE_SHARE * self.end_s
        long = list(_joined(span for span in of_first if span.span_s >= least_s))
        held = {} if long else self.shares(0.0, self.end_s)
        return [StateSpan(self.spans[0].stream, self.spans[0].begin_s, self.end_s, next(iter(held)))] if held else long

    def _states(self, stream: int, intervals: list[Interval], *, blind: bool) -> Iterator[StateSpan]:
        held: RunLimit | None = None
        start = Startup()
        cut_s = -1.0  # the path was cut until then, or nothing had come through since
        for each in intervals:
            if self.path.cut(each.begin_s, each.end_s) or (each.begin_s <= cut_s and not each.acked_bytes):
                cut_s, held = each.end_s, limits.OUTAGE
                yield StateSpan(stream, each.begin_s, each.end_s, limits.OUTAGE)
                continue
            shared = self._shared(each.begin_s, each.end_s)
            if each.reduced:
                after_cut = each.begin_s <= cut_s + 2 * (each.rtt_s or 0.0)
                held = limits.OUTAGE if after_cut and cut_s > 0 else self._reduced_by(each, held, shared)
            starting = blind and start.goes_on(each.acked_bytes / each.span_s if each.span_s else 0.0)
            state, link = self._state(each, held, shared, blind=blind)
            state = limits.SLOW_START if starting and state == limits.UNKNOWN else state
            yield StateSpan(stream, each.begin_s, each.end_s, state, link)

    def _shared(self, begin_s: float, end_s: float) -> Set[int]:
        """Links that others' data passed, too, in a time."""
        return {
            link for link, spans in self._others.items() if any(begin < end_s and end > begin_s for begin, end in spans)
        }

    def _state(
        self, each: Interval, held: RunLimit | None, shared: Set[int], *, blind: bool
    ) -> tuple[RunLimit, int | None]:
        in_flight = each.in_flight * each.mss_bytes if each.in_flight is not None else None
        full = BLIND_LINE_SHARE if blind else FULL_LINE_SHARE
        line = self.path.full_line("forward", each.begin_s, each.end_s, in_flight, full=full, shared=shared)
        return (
            self._of_ends(each, line, shared, blind=blind)
            or self._of_lines(each, line, shared, held)
            or (self._of_window(each, held, line, blind=blind), None)
        )

    def _of_ends(
        self, each: Interval, line: int | None, shared: Set[int], *, blind: bool
    ) -> tuple[RunLimit, int | None] | None:
        """State that would hold the stream on any path; what a buffer or a window holds may wait in a queue, though."""
        if each.busy is not None and each.busy < LARGE_SHARE:
            return limits.APPLICATION, None
        if (end := each.held_by_end) is not None:
            return (end, None) if line is None or line in shared else (self._line_word(line), line)
        if self._pace_bps and each.acked_bytes * 8 >= (1 - PACING_NEARNESS) * self._pace_bps * each.span_s:
            return limits.PACING, None
        looks = blind and each.cwnd is not None and 0 < each.cwnd <= PROBE_PACKETS
        return (limits.RTT_PROBING, None) if looks else None

    def _of_lines(
        self, each: Interval, line: int | None, shared: Set[int], held: RunLimit | None
    ) -> tuple[RunLimit, int | None] | None:
        """A full line: of this flow; of others, too, if nothing else held its window down; the bus; or the way back."""
        if line is not None and line not in shared:
            return self._line_word(line), line
        if line is not None and held in {None, limits.SHARED_LINE, limits.CONGESTION_WINDOW}:
            return limits.SHARED_LINE, line
        if self.path.source_full(each.begin_s, each.end_s):
            return limits.BUS, None
        back = self.path.full_line("reverse", each.begin_s, each.end_s)
        return None if back is None else (limits.ACK_PATH, back)

    def _of_window(self, each: Interval, held: RunLimit | None, line: int | None, *, blind: bool) -> RunLimit:
        """A congestion window that was full, by what made it what it is."""
        if blind:
            return limits.UNKNOWN if line is None else limits.SHARED_LINE
        if each.stands:
            return limits.LOSS
        queued = self._queued_s is not None and (each.rtt_s or 0.0) > self._queued_s
        if not each.cwnd_full or (queued and held is not None):
            return limits.UNKNOWN
        if held is not None and (held != limits.CONGESTION_WINDOW or each.in_flight is not None):
            return held
        if each.in_slow_start:
            return limits.SLOW_START
        return limits.UNKNOWN if each.in_flight is None else limits.CONGESTION_WINDOW

    def _line_word(self, link: int) -> RunLimit:
        direction = self._plan.links[link].forward
        bucket = direction.parameters and direction.parameters.rate_bps
        if self.path.by_bus[link]:
            return limits.BUS
        return limits.TOKEN_BUCKET if bucket and bucket < direction.rate_bps else limits.LINE_RATE

    def _reduced_by(self, each: Interval, held: RunLimit | None, shared: Set[int]) -> RunLimit | None:
        """The cause of a smaller window: a loss and where, packets that came late, or a mark or a delay."""
        since_s = each.begin_s - 2 * (each.rtt_s or 0.0)
        if each.resent_packets or each.recovering:
            if self._spurious:
                return limits.REORDERING
            own = {link.index for link in self._plan.links} - shared
            here = self.path.grown("drops", since_s, each.end_s, own)
            there = self.path.grown("drops", since_s, each.end_s, set(shared)) if shared else 0.0
            if there > 0 and here < LARGE_SHARE * (each.resent_packets or 1):
                return limits.SHARED_LINE
            dropping = [index for index in own if self._line_word(index) == limits.TOKEN_BUCKET]
            if dropping and self.path.grown("drops", since_s, each.end_s, set(dropping)) >= LARGE_SHARE * here > 0:
                return limits.TOKEN_BUCKET
            return limits.LOSS
        if self.path.grown("marks", since_s, each.end_s):
            return limits.SHARED_LINE if shared else limits.CONGESTION_WINDOW
        return held or limits.CONGESTION_WINDOW  # by a delay; or what a loss began goes on


def _largest_first(parts: Mapping[RunLimit, float]) -> list[tuple[RunLimit, float]]:
    return sorted(parts.items(), key=lambda part: -part[1])


def _only_late(plan: Plan, path: LineEvidence, intervals: Mapping[int, list[Interval]]) -> bool:
    """Return whether most of what was sent again was not lost, but overtaken."""
    if not any(link.forward.overtakes for link in plan.links):
        return False
    every = [each for of in intervals.values() for each in of]
    resent = sum(each.resent_packets or 0 for each in every)
    end_s = max((each.end_s for each in every), default=0.0)
    packets = sum(each.acked_bytes // max(each.mss_bytes, 1) for each in every) + resent
    lost = path.grown("drops", 0.0, end_s) + packets * sum(link.forward.corrupt for link in plan.links)
    return resent > SPURIOUS_FACTOR * lost


def _joined(spans: Iterable[StateSpan]) -> Iterator[StateSpan]:
    """Spans of the same state, one after the other, as one; what is unknown between two of a state is of it."""
    kept: StateSpan | None = None
    waiting: StateSpan | None = None
    for span in spans:
        if kept is None:
            kept = span
        elif span.state == kept.state and span.link == kept.link:
            kept, waiting = kept._replace(end_s=span.end_s), None
        elif span.state == limits.UNKNOWN and waiting is None:
            waiting = span
        else:
            yield kept
            if waiting is not None:
                yield waiting
            kept, waiting = span, None
    yield from itertools.chain([kept] if kept else [], [waiting] if waiting else [])
