"""Words for the cause of a run: what each state is told with, and whether the figures show it, or a nearer cause."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from landspeed.base import limits
from landspeed.base.limits import RunLimit
from landspeed.base.text import rate_text
from landspeed.judge.ack_path import fullest_line
from landspeed.judge.bbr_probing import CONTROL
from landspeed.judge.sample_evidence import SampleEvidence
from landspeed.scenario.theory import physics as ph

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from landspeed.judge.attribution.attribution import Attribution
    from landspeed.results.record import RunRecord
    from landspeed.results.samples_reader import Samples
    from landspeed.scenario.plan.limits import Limit
    from landspeed.scenario.plan.plan import Plan

Cause: TypeAlias = tuple[RunLimit, str]
"""The word, and the figures that show it."""

WHY: dict[RunLimit, str] = {
    limits.OUTAGE: "the path was cut, or TCP had not yet grown again,",
    limits.LOSS: "losses held the window down",
    limits.REORDERING: "packets that others had overtaken were taken for lost, and held the window down",
    limits.CONGESTION_WINDOW: "a delay or a mark had made the congestion window small, and it was full",
    limits.TOKEN_BUCKET: "packets found no token, and TCP's window became small,",
    limits.PACING: "it ran at its pace",
    limits.RTT_PROBING: "BBR kept four packets in flight to see the round trip",
    limits.APPLICATION: "there was nothing to send",
    limits.SEND_BUFFER: "TCP waited for room in the send buffer",
    limits.WINDOW: "TCP waited for the receiver's window",
}
"""What each state is told with; a share of the time follows."""
OTHERS = ", with others' packets, too"

BLIND_CONTROLS = frozenset({CONTROL})  # a loss does not make their window smaller


@dataclass(frozen=True)
class Judged:
    """A transfer that is judged.

    Attributes:
        plan: of its path.
        record: what was measured.
        samples, attribution: of it; None without a bundle.
        goodput_bps: that shows the limit.
        from_s: since when it was measured.
    """

    plan: Plan
    record: RunRecord
    samples: Samples | None
    attribution: Attribution | None
    goodput_bps: float
    from_s: float

    @cached_property
    def evidence(self) -> SampleEvidence | None:
        """The samples from then on."""
        return SampleEvidence(self.samples, self.from_s) if self.samples else None

    def of_time(self, share: float) -> str:
        """A share of the judged time, in words."""
        return f"{share * 100:.0f} % of the time from {self.from_s:.3g} s on"


def words(judged: Judged, state: RunLimit, share: float) -> Cause | None:
    """A state that is the cause, with the figures that show it; None where these do not."""
    of_time = judged.of_time(share)
    told: dict[RunLimit, Callable[[], Cause | None]] = {
        limits.WINDOW: lambda: _window_or_receiver(judged, share),
        limits.SEND_BUFFER: lambda: (limits.SEND_BUFFER, sndbuf_words(share)),
        limits.APPLICATION: lambda: (limits.APPLICATION, busy_words(1 - share)),
        limits.PACING: lambda: (limits.PACING, f"{WHY[limits.PACING]} {of_time}"),
        limits.ACK_PATH: lambda: (limits.ACK_PATH, _acks(judged, of_time)),
        limits.OUTAGE: lambda: (limits.OUTAGE, f"{WHY[limits.OUTAGE]} {of_time}"),
        limits.SLOW_START: lambda: (limits.SLOW_START, _starting(judged, of_time)),
        limits.CONGESTION_WINDOW: lambda: _growing(judged, share),
        limits.LOSS: lambda: (limits.LOSS, _standing(judged, of_time)),
    }
    resent = judged.attribution.last_loss()[1] if judged.attribution else 0
    if state in {limits.LOSS, limits.REORDERING, limits.TOKEN_BUCKET} and resent:
        return state, _lost_words(judged, state, share)
    if state in told:
        return told[state]()
    whose = OTHERS if state == limits.SHARED_LINE else ""
    full = f"{_where(judged, state, 'forward')} was full {of_time}{whose}"
    return state, f"{full}: {rate_text(judged.goodput_bps)} of goodput"


def states_text(shares: Mapping[RunLimit, float]) -> str:
    """States with their shares of a time: "loss 48 %, slow start 30 %"."""
    return ", ".join(f"{state} {share * 100:.0f} %" for state, share in shares.items())


def sndbuf_words(share: float) -> str:
    """Words for a send buffer that was full for so much of the time."""
    return f"TCP waited for room in the send buffer {share * 100:.0f} % of the time"


def busy_words(share: float) -> str:
    """Words for a program that had something to send for so much of the time."""
    return f"there was something to send only {share * 100:.0f} % of the time"


def is_blind(plan: Plan) -> bool:
    """Return whether losses make no stream's window smaller."""
    return BLIND_CONTROLS.issuperset(plan.transfer.congestion_controls or [plan.transfer.congestion_control])


def _where(judged: Judged, state: RunLimit, way: str) -> str:
    attribution = judged.attribution
    link = attribution.link_of(state, judged.from_s, attribution.end_s) if attribution else None
    return link_words(judged.plan, link, way) if link is not None else f"the bus of {judged.plan.nodes[0].name}"


def _lost_words(judged: Judged, state: RunLimit, share: float) -> str:
    """Losses, or packets that came late, that made the window smaller, and how long it was full."""
    assert judged.attribution is not None
    full = f"the window was full {judged.of_time(share)}"
    resent = judged.evidence.resent() if judged.evidence else None
    if resent is None or not resent.packets:
        last_s, packets = judged.attribution.last_loss()
        why = f"{packets} retransmissions, the last at {last_s:.3g} s, held the window down: {full}"
        return why + where_dropped(judged)
    if state == limits.REORDERING:
        why = f"{resent.packets} packets were sent again, and {resent.dropped or 0} were dropped"
        why += ": packets that others had overtaken were taken for lost"
        return f"{why}; {full}"
    why = f"{resent.packets} retransmissions held the window down: {full}"
    if state == limits.TOKEN_BUCKET:
        why = f"{resent.packets} packets that found no token were sent again, and held the window down: {full}"
    return why + where_dropped(judged, judged.from_s)


def _acks(judged: Judged, of_time: str) -> str:
    told = f"the line back {_where(judged, limits.ACK_PATH, 'reverse')} was full {of_time}"
    plan, samples = judged.plan, judged.samples
    full = fullest_line(plan, judged.record.world, samples, judged.from_s, "reverse") if samples else None
    if full is None or not full.packets_per_s:
        return told
    each = judged.goodput_bps / 8 / full.packets_per_s / plan.physics.mss_bytes
    return f"{told}: {full.packets_per_s:.0f} packets a second, each the acknowledgment of {each:.1f} full packets"


def _standing(judged: Judged, of_time: str) -> str:
    """A run whose data stood without an acknowledgment, and which ended before a timeout sent anything again."""
    since_s = judged.samples.stands_since_s() if judged.samples else None
    since = f" from {since_s:.3g} s on" if since_s is not None else f", {of_time}"
    return f"nothing was acknowledged{since}: it ended before TCP's timeout{where_dropped(judged)}"


def _starting(judged: Judged, of_time: str) -> str:
    """Time that slow start held, and that it takes to the plan's goodput."""
    physics, streams = judged.plan.physics, judged.plan.transfer.streams
    wanted = physics.expected_goodput_bps * physics.rtt_ns // (8 * 10**9 * streams)
    needs_s = ph.slow_start_ns(wanted, physics.mss_bytes, physics.rtt_ns) / 1e9
    lasted = f" in {duration_s:.2f} s" if (duration_s := judged.record.duration_s) is not None else ""
    blind = judged.plan.transfer.congestion_control == CONTROL  # has no threshold that would tell
    if not blind and judged.samples is not None and judged.samples.left_slow_start() is False:
        return f"no stream left it{lasted}; it takes {needs_s:.2f} s to the plan's goodput"
    return f"the window still grew {of_time}; from its start it takes {needs_s:.2f} s to the plan's goodput"


def _growing(judged: Judged, share: float) -> Cause | None:
    """A window that held the run and that no loss made smaller: a delay or a mark ended slow start early."""
    assert judged.samples is not None
    marks = sum(judged.samples.passed_by_link("marks").values())
    untouched = "no loss held it down" if judged.record.retransmits else "nothing was lost or marked"
    told = f"{marks} packets were marked" if marks else untouched
    control = judged.plan.transfer.congestion_control
    return (
        limits.CONGESTION_WINDOW,
        f"it was full {share * 100:.0f} % of the time; {told}, {control} had left slow start",
    )


def _window_or_receiver(judged: Judged, share: float) -> Cause:
    """TCP waited for the receiver: as the window is small for the RTT of that time, or because it was not emptied."""
    window, goodput = judged.evidence.window() if judged.evidence else None, judged.goodput_bps
    part = window.share if window and window.share else share
    told = f"TCP waited for the receiver's window {part * 100:.0f} % of the time"
    if window is None or window.allowed_bps is None or window.bytes is None or window.rtt_ms is None:
        return limits.WINDOW, told
    allowed = f"{window.bytes / 1e6:.3g} MB per {window.rtt_ms:.1f} ms allow {rate_text(window.allowed_bps)}"
    while_held = judged.attribution.rate_bps(limits.WINDOW, judged.from_s) if judged.attribution else 0.0
    if max(goodput, while_held) >= window.allowed_bps * (1 - limits.WINDOW_NEARNESS):
        return limits.WINDOW, f"{told}; {allowed}"
    return limits.RECEIVER, f"{told}, though {allowed}: it reads too slowly"


def nagle_words(held: int, turns: float) -> str:
    """Words for what Nagle's algorithm took of a program's round trips; empty where that is little.

    Args:
        held: packets that were not full and waited a round trip for what was sent before them.
        turns: round trips of the program.
    """
    if held < limits.HELD_TAILS_SHARE * turns:
        return ""
    why = "Nagle's algorithm kept a packet that was not full until what was sent before it was acknowledged"
    return f"; in {held} of them {why}: one write for each message, or TCP_NODELAY, saves these"


def where_dropped(judged: Judged, from_s: float = 0.0) -> str:
    """The links that dropped something, in brackets; empty where none did."""
    drops = judged.samples.drops_by_link(from_s) if judged.samples else {}
    where = ", ".join(f"{count} dropped at {link_words(judged.plan, *key)}" for key, count in sorted(drops.items()))
    return f" ({where})" if where else ""


def link_words(plan: Plan, index: int, direction: str) -> str:
    """A direction of a link, as messages name it."""
    link = plan.links[index]
    return f"{link.a} → {link.b}" if direction == "forward" else f"{link.b} → {link.a}"


def apart(goodput: float, limit: float) -> str:
    """Distance of a goodput from a limit, in words."""
    far = (goodput / limit - 1) * 100
    if abs(far) < 0.005:
        return "at"
    return f"{abs(far):.2f} % {'above' if far > 0 else 'below'}"


def word_of(limit: Limit) -> RunLimit:
    """The judge's word for a limit of the plan."""
    return limits.BUS_FITTED if limit.kind == limits.BUS and limit.fitted else limit.kind
