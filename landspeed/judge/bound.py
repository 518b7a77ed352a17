"""Limit of a run: the window, the bus, the line rate, the ACK path, loss, one of the ends, or the time it had.

Only what happened in the span that is judged counts, or what a loss before it still did there (`sample_evidence.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from landspeed.base import limits
from landspeed.base.limits import LARGE_SHARE, LIMIT_NEARNESS, RunLimit
from landspeed.base.text import rate_text
from landspeed.judge.ack_path import FullLine, full_line_back, fullest_line
from landspeed.judge.bbr_probing import CONTROL, PROBE_PACKETS, probing
from landspeed.judge.sample_evidence import SampleEvidence, WindowTime
from landspeed.results.record import RunRecord
from landspeed.scenario.theory import physics as ph

if TYPE_CHECKING:
    from landspeed.results.samples_reader import Samples
    from landspeed.results.series import ByteCurves
    from landspeed.scenario.plan.limits import Limit
    from landspeed.scenario.plan.plan import Plan

BLIND_CONTROLS = frozenset({CONTROL})  # a loss does not make their window smaller


@dataclass
class _Shares:
    """Parts of the transfer's time, mean over the streams, 0…1; None if the tool does not say."""

    busy: float | None
    rwnd: float | None
    sndbuf: float | None


def limited_by(plan: Plan, record: RunRecord, samples: Samples | None = None) -> tuple[RunLimit | None, str | None]:
    """Find what limited the run, and the figures that show it.

    A steady goodput (from 10 s on, in shorter runs that of the second half) within 2 % of a limit of the plan is bound
    by that limit (the nearest). Otherwise a line of the way back that was full of acknowledgments; then TCP's own
    account decides (time limited by the receiver's window or the send buffer, time with something to send), then
    pacing, what besides goodput a full line carried (or BBR's own probing left out), losses and reordering, and whether
    the run was over before the window had grown, or grew slowly. Where nothing shows a cause, it is unknown.
    """
    curves = samples.curves if samples else None
    goodput, from_s, span = _settled(record, curves)
    if not goodput:
        return None, None
    near = [limit for limit in plan.physics.limits if abs(goodput / limit.goodput_bps - 1) <= LIMIT_NEARNESS + 1e-9]
    if near:
        limit = min(near, key=lambda each: abs(goodput / each.goodput_bps - 1))
        apart = _apart(goodput, limit.goodput_bps)
        allowed = f"the {rate_text(limit.goodput_bps)} that the {limit.name} allows{limit.after_headers}"
        return word_of(limit), f"goodput {span} was {rate_text(goodput)}, {apart} {allowed}"
    if record.retransmits and (overtaken := _above_the_line(plan, goodput)):
        allowed = f"the {rate_text(overtaken.goodput_bps)} that the {overtaken.name} allows{overtaken.after_headers}"
        told = f"goodput {span} was {rate_text(goodput)}, {_apart(goodput, overtaken.goodput_bps)} {allowed}"
        return word_of(overtaken), f"{told}: some of it had come before, and was delivered then"
    if samples and (full := full_line_back(plan, record.world, samples, from_s)):
        return limits.ACK_PATH, _acks(plan, full, goodput)
    return _from_tcp(plan, record, samples, goodput, from_s)


def _above_the_line(plan: Plan, goodput: float) -> Limit | None:
    """Return the line that a goodput is above, since a hole was filled in the span before which packets had waited.

    A line whose rate changes is no such limit.
    """
    changes = any(each.kind == "rate" for each in plan.events) or any(
        way.trace is not None for link in plan.links for way in (link.forward, link.reverse)
    )
    lines = [limit for limit in plan.physics.limits if limit.kind == limits.LINE_RATE and limit.goodput_bps < goodput]
    return None if changes else min(lines, key=lambda each: each.goodput_bps, default=None)


def _settled(record: RunRecord, curves: ByteCurves | None) -> tuple[float | None, float, str]:
    """The goodput that shows the limit, and from when on it was measured, in seconds and in words."""
    if record.steady_goodput_bps:
        return record.steady_goodput_bps, 10.0, "from 10 s on"
    if curves is not None and (late := curves.goodput_bps(curves.end_s / 2)):
        return late, curves.end_s / 2, "in the second half"
    return record.goodput_bps, 0.0, "over the whole run"


def _acks(plan: Plan, full: FullLine, goodput: float) -> str:
    link = full.link
    line = f"{link.b} → {link.a}, {rate_text(link.reverse.rate_bps)}"
    each = goodput / 8 / full.packets_per_s / plan.physics.mss_bytes if full.packets_per_s else 0
    return (
        f"the line back {line}, was {full.share * 100:.0f} % full: {full.packets_per_s:.0f} packets a second, "
        f"each the acknowledgment of {each:.1f} full packets"
    )


def _from_tcp(
    plan: Plan, record: RunRecord, samples: Samples | None, goodput: float, from_s: float
) -> tuple[RunLimit, str]:
    shares = _shares(record)
    evidence = SampleEvidence(samples, from_s) if samples else None
    window = evidence.window(alone=_alone(plan, samples)) if evidence else None
    rwnd = window.share if window and window.share is not None else shares.rwnd
    if rwnd is not None and rwnd > LARGE_SHARE:
        return _window_or_receiver(plan, goodput, rwnd, window)
    if shares.sndbuf is not None and shares.sndbuf > LARGE_SHARE:
        return limits.SEND_BUFFER, f"TCP waited for room in the send buffer {shares.sndbuf * 100:.0f} % of the time"
    if shares.busy is not None and shares.busy < LARGE_SHARE:
        return limits.APPLICATION, f"there was something to send only {shares.busy * 100:.0f} % of the time"
    return (
        _shared_window(plan, record, samples, goodput)
        or _paced(plan, goodput)
        or _beside_goodput(plan, record, samples, goodput, from_s)
        or _lost(plan, record, samples, evidence, goodput)
        or _standing(plan, record, samples)
        or _starting(plan, record, samples)
        or _growing(plan, record, samples)
        or (
            limits.UNKNOWN,
            f"{rate_text(goodput)} is near no limit of the plan, and {_what_is_missing(record, evidence)}",
        )
    )


def _what_is_missing(record: RunRecord, evidence: SampleEvidence | None) -> str:
    resent = evidence.resent() if evidence else None
    if record.retransmits and resent is None:
        return f"no samples tell what {record.retransmits} retransmissions did to the window"
    if resent and resent.packets:
        return f"TCP names no reason: {resent.packets} retransmissions did not hold its window down"
    return "TCP names no reason"


def _alone(plan: Plan, samples: Samples | None) -> bool:
    """Return whether only this transfer's packets wait at the lines."""
    return samples is not None and not samples.of_network and not any(e.kind == "background" for e in plan.events)


def _blind(plan: Plan) -> bool:
    transfer = plan.transfer
    return BLIND_CONTROLS.issuperset(transfer.congestion_controls or [transfer.congestion_control])


def _lost(
    plan: Plan, record: RunRecord, samples: Samples | None, evidence: SampleEvidence | None, goodput: float
) -> tuple[RunLimit, str] | None:
    """A window that losses made smaller, and that was full, or packets that came late and were taken for lost."""
    if samples is None or evidence is None or not record.retransmits or _blind(plan):
        return None
    resent, cut = evidence.resent(), evidence.cut()
    if resent is None or cut is None or cut.share < LARGE_SHARE:
        return None
    busy = evidence.busy_line() if _alone(plan, samples) else None
    if busy is not None and busy[1] >= limits.BUSY_QUEUE_SHARE:
        line = plan.links[busy[0]]
        return limits.LINE_RATE, (
            f"a queue kept {line.a} → {line.b} busy {busy[1] * 100:.0f} % of the time from {evidence.from_s:.3g} s on: "
            f"the line was full at {rate_text(goodput)} of goodput"
        )
    full = f"the window was full {cut.share * 100:.0f} % of the time from {evidence.from_s:.3g} s on"
    if not resent.packets:
        why = f"{cut.packets} retransmissions, the last at {cut.last_s:.3g} s, held the window down: {full}"
        return limits.LOSS, why + _where_dropped(plan, samples)
    corrupted = sum(link.forward.corrupt for link in plan.links) * (resent.sent_packets + resent.packets)
    if (
        any(link.forward.reorder for link in plan.links)
        and resent.dropped is not None
        and resent.packets > limits.SPURIOUS_FACTOR * (resent.dropped + corrupted)
    ):
        why = f"{resent.packets} packets were sent again, and {resent.dropped} were dropped"
        why += ": packets that others had overtaken were taken for lost"
        why += ", since ns-3 has no reordering timer (RFC 8985)" if record.world == "sim" else ""
        return limits.REORDERING, f"{why}; {full}"
    why = f"{resent.packets} retransmissions held the window down: {full}"
    return limits.LOSS, why + _where_dropped(plan, samples, evidence.from_s)


def _standing(plan: Plan, record: RunRecord, samples: Samples | None) -> tuple[RunLimit, str] | None:
    """A run that had stopped before it was halfway, and ended before a timeout sent anything again."""
    since_s = samples.stands_since_s() if samples else None
    known_s = plan.transfer.sample_interval_ns / 1e9  # it stopped at some time since the sample before
    if since_s is None or record.duration_s is None or since_s - known_s > LARGE_SHARE * record.duration_s:
        return None
    why = f"nothing was acknowledged from {since_s:.3g} s on: it ended before TCP's timeout"
    return limits.LOSS, why + _where_dropped(plan, samples)


def _paced(plan: Plan, goodput: float) -> tuple[RunLimit, str] | None:
    """A paced run not far from its pace: short runs and losses stay below, and what had waited behind a hole adds."""
    pace = next((limit.goodput_bps for limit in plan.physics.limits if limit.kind == limits.PACING), None)
    if pace is None or not abs(goodput / pace - 1) <= limits.PACING_NEARNESS:
        return None
    return limits.PACING, f"{rate_text(goodput)} is {_apart(goodput, pace)} the {rate_text(pace)} to which it was paced"


def _starting(plan: Plan, record: RunRecord, samples: Samples | None) -> tuple[RunLimit, str] | None:
    """A run without a loss that still grew, or that ended before slow start could bring it to the plan's goodput."""
    curves = samples.curves if samples else None
    over, last = _settled(record, curves)[0], curves.goodput_bps(0.8 * curves.end_s) if curves is not None else None
    if last and over and last > limits.GROWING_FACTOR * over:
        return limits.SLOW_START, f"the last fifth ran at {rate_text(last)}: it was over before its window had grown"
    if samples is None or samples.left_slow_start() is not False:
        return None
    physics, streams = plan.physics, plan.transfer.streams
    wanted = physics.expected_goodput_bps * physics.rtt_ns // (8 * 10**9 * streams)
    needs_s = ph.slow_start_ns(wanted, physics.mss_bytes, physics.rtt_ns) / 1e9
    if record.duration_s is None or record.duration_s > limits.START_FACTOR * needs_s:
        return None
    return (
        limits.SLOW_START,
        f"no stream left it in {record.duration_s:.2f} s; it takes {needs_s:.2f} s to the plan's goodput",
    )


def _growing(plan: Plan, record: RunRecord, samples: Samples | None) -> tuple[RunLimit, str] | None:
    """Find a window that held the run and that no loss made smaller: a delay or a mark ended slow start early."""
    share = samples.congestion_window_share() if samples else None
    if samples is None or share is None or share < LARGE_SHARE or not samples.left_slow_start():
        return None
    marks = sum(samples.passed_by_link("marks").values())
    untouched = "no loss held it down" if record.retransmits else "nothing was lost or marked"
    told = f"{marks} packets were marked" if marks else untouched
    control = plan.transfer.congestion_control
    return (
        limits.CONGESTION_WINDOW,
        f"it was full {share * 100:.0f} % of the time; {told}, {control} had left slow start",
    )


def _beside_goodput(
    plan: Plan, record: RunRecord, samples: Samples | None, goodput: float, from_s: float
) -> tuple[RunLimit, str] | None:
    """A run at a limit but for one thing: BBR's looks at the round trip, what was sent again, or duplicates.

    The largest of the three, where without all of them it would be at a limit, and where it is half of what is missing.
    """
    if samples is None:
        return None
    parts = dict[RunLimit, tuple[float, str]]()
    if _blind(plan):
        found = probing(samples, from_s, (record.rtt_ms or plan.physics.rtt_ns / 1e6) / 1e3)
        if found is not None and found.between_bps > goodput:
            looks = (
                f"BBR kept {PROBE_PACKETS} packets in flight {_times(found.looks)} to see the round trip; this took "
            )
            looks += f"{found.share * 100:.1f} % of the time, and in the rest it ran at {rate_text(found.between_bps)}"
            parts[limits.RTT_PROBING] = 1 - goodput / found.between_bps, looks
        resent = SampleEvidence(samples, from_s).resent()
        if resent is not None and resent.share:
            why = f"{resent.share * 100:.1f} % of what was sent was {resent.packets} packets sent again"
            parts[limits.LOSS] = resent.share, why + _where_dropped(plan, samples, from_s)
    line = fullest_line(plan, record.world, samples, from_s, "forward") if _alone(plan, samples) else None
    if line is not None and (copies := sum(each.forward.duplicate for each in plan.links[: line.link.index + 1])):
        share = copies / (1 + copies)
        where = f"{line.link.a} → {line.link.b}"
        parts[limits.DUPLICATES] = (
            share,
            f"{where} was full, and {share * 100:.1f} % of what it carried were duplicates",
        )
    most = max(parts, key=lambda each: parts[each][0], default=None)
    if most is None:
        return None
    without = goodput
    for share, _ in parts.values():
        without /= 1 - share
    limit = min(plan.physics.limits, key=lambda each: abs(without / each.goodput_bps - 1))
    missing, (share, why) = 1 - goodput / limit.goodput_bps, parts[most]
    if abs(without / limit.goodput_bps - 1) > LIMIT_NEARNESS or missing < 0 or share < missing / 2:
        return None
    return most, (
        f"{rate_text(goodput)} is {_apart(goodput, limit.goodput_bps)} the {rate_text(limit.goodput_bps)} that the "
        f"{limit.name} allows{limit.after_headers}: {why}"
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _window_or_receiver(plan: Plan, goodput: float, share: float, window: WindowTime | None) -> tuple[RunLimit, str]:
    """TCP waited for the receiver: because the window is small for the RTT of that time, or because it was not emptied.

    Or it waited although the path was busy: what was in flight stood in a queue of a line that had become slower.
    """
    told = f"TCP waited for the receiver's window {share * 100:.0f} % of the time"
    if window is None or window.allowed_bps is None or window.bytes is None or window.rtt_ms is None:
        return limits.WINDOW, told
    if window.queued > LARGE_SHARE and window.line is not None:
        line = plan.links[window.line]
        return limits.LINE_RATE, (
            f"{told}, but in {window.queued * 100:.0f} % of it a queue kept {line.a} → {line.b} busy: "
            f"the line was full at {rate_text(goodput)} of goodput"
        )
    allowed = f"{window.bytes / 1e6:.3g} MB per {window.rtt_ms:.1f} ms allow {rate_text(window.allowed_bps)}"
    if goodput >= window.allowed_bps * (1 - limits.WINDOW_NEARNESS):
        return limits.WINDOW, f"{told}; {allowed}"
    return limits.RECEIVER, f"{told}, though {allowed}: it reads too slowly"


def _shared_window(
    plan: Plan, record: RunRecord, samples: Samples | None, goodput: float
) -> tuple[RunLimit, str] | None:
    """MPTCP whose congestion windows had room: then its one window had none, of which TCP keeps no account.

    It is seldom quite full: Linux fills it again in bursts, now on this route and now on that.
    """
    most, share = plan.physics.window_limit_bps, samples.congestion_window_share() if samples else None
    if not plan.transfer.mptcp or not most or record.retransmits or share is None or share > LARGE_SHARE:
        return None
    told = f"the congestion windows had room {100 - share * 100:.0f} % of the time, and nothing was lost"
    allowed = f"{_apart(goodput, most)} the {rate_text(most)} that one window for both routes allows"
    near = goodput >= most * (1 - limits.SHARED_WINDOW_NEARNESS)
    return limits.WINDOW if near else limits.RECEIVER, f"{rate_text(goodput)} is {allowed}; {told}"


def _where_dropped(plan: Plan, samples: Samples | None, from_s: float = 0.0) -> str:
    drops = samples.drops_by_link(from_s) if samples else {}
    where = ", ".join(f"{count} dropped at {_link(plan, *key)}" for key, count in sorted(drops.items()))
    return f" ({where})" if where else ""


def _shares(record: RunRecord) -> _Shares:
    def share(name: str) -> float | None:
        known = [
            getattr(stream, name) / 1e6 / duration
            for stream in record.streams
            if getattr(stream, name) is not None and (duration := stream.duration_s or record.duration_s)
        ]
        return sum(known) / len(known) if known else None

    return _Shares(busy=share("busy_us"), rwnd=share("rwnd_limited_us"), sndbuf=share("sndbuf_limited_us"))


def word_of(limit: Limit) -> RunLimit:
    """The judge's word for a limit of the plan."""
    return limits.BUS_FITTED if limit.kind == limits.BUS and limit.fitted else limit.kind


def _link(plan: Plan, index: int, direction: str) -> str:
    link = plan.links[index]
    return f"{link.a} → {link.b}" if direction == "forward" else f"{link.b} → {link.a}"


def _apart(goodput: float, limit: float) -> str:
    apart = (goodput / limit - 1) * 100
    if abs(apart) < 0.005:
        return "at"
    return f"{abs(apart):.2f} % {'above' if apart > 0 else 'below'}"
