"""Limit of a run: a limit of the plan that its goodput is at, else the state that held most of the judged time.

States are those of `attribution/`; what a state is told with is in `cause_words.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from landspeed.base import limits
from landspeed.base.limits import LARGE_SHARE, LIMIT_NEARNESS, RunLimit
from landspeed.base.text import rate_text
from landspeed.judge.attribution.attribution import Attribution
from landspeed.judge.beside_goodput import beside_goodput, missing_of_line
from landspeed.judge.cause_words import (
    Cause,
    Judged,
    apart,
    busy_words,
    sndbuf_words,
    states_text,
    word_of,
    words,
)
from landspeed.results.record import RunRecord

if TYPE_CHECKING:
    from landspeed.results.samples_reader import Samples
    from landspeed.results.series import ByteCurves
    from landspeed.scenario.plan.limits import Limit
    from landspeed.scenario.plan.plan import Plan

LINES: frozenset[RunLimit] = frozenset({limits.LINE_RATE, limits.BUS, limits.BUS_FITTED, limits.TOKEN_BUCKET})


@dataclass
class _Shares:
    """Parts of the transfer's time, mean over the streams, 0…1; None if the tool does not say."""

    busy: float | None
    rwnd: float | None
    sndbuf: float | None


def limited_by(
    plan: Plan, record: RunRecord, samples: Samples | None = None, attribution: Attribution | None = None
) -> tuple[RunLimit | None, str | None]:
    """Find what limited the run, and the figures that show it.

    A steady goodput (from 10 s on, in shorter runs that of the second half) within 2 % of a limit of the plan is bound
    by that limit (the nearest). Otherwise the state in which the streams were most of that time; if that is a full
    line, and goodput is below what the line allows, what is missing has a cause of its own. Without samples, TCP's
    account of the whole run decides. Where nothing shows a cause, it is unknown.

    Args:
        plan: of the path.
        record: what was measured.
        samples: of the transfer.
        attribution: of these samples, if somebody has made it.
    """
    curves = samples.curves if samples else None
    goodput, from_s, span = _settled(record, curves)
    if not goodput:
        return None, None
    limit = min(plan.physics.limits, key=lambda each: abs(goodput / each.goodput_bps - 1))
    if abs(goodput / limit.goodput_bps - 1) <= LIMIT_NEARNESS + 1e-9:
        allowed = f"the {rate_text(limit.goodput_bps)} that the {limit.name} allows{limit.after_headers}"
        return word_of(limit), f"goodput {span} was {rate_text(goodput)}, {apart(goodput, limit.goodput_bps)} {allowed}"
    if record.retransmits and (overtaken := _above_the_line(plan, goodput)):
        allowed = f"the {rate_text(overtaken.goodput_bps)} that the {overtaken.name} allows{overtaken.after_headers}"
        told = f"goodput {span} was {rate_text(goodput)}, {apart(goodput, overtaken.goodput_bps)} {allowed}"
        return word_of(overtaken), f"{told}: some of it had come before, and was delivered then"
    made = attribution or Attribution.of_flow(plan, record.world, samples) if samples else None
    judged = Judged(plan, record, samples, made, goodput, from_s)
    unknown = limits.UNKNOWN, f"{rate_text(goodput)} is near no limit of the plan, and {_what_is_missing(judged)}"
    return _shared_window(judged) or _paced(judged) or _attributed(judged) or unknown


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


def _attributed(judged: Judged) -> Cause | None:
    """The state that held most of the judged time; of a full line that carried too little, what is missing."""
    attribution = judged.attribution
    if attribution is None or not attribution.spans:
        return _from_totals(judged)
    shares = attribution.shares(judged.from_s, attribution.end_s)
    state: RunLimit = next(iter(shares)) if shares else limits.UNKNOWN
    if state in LINES or state == limits.UNKNOWN:
        told = beside_goodput(judged) or (missing_of_line(judged, LINES) if state in LINES else None)
        if told:
            return told
    return _from_totals(judged) if state == limits.UNKNOWN else words(judged, state, shares[state])


def _from_totals(judged: Judged) -> Cause | None:
    """The kernel's account of the whole run, where no samples tell more."""
    shares = _shares(judged.record)
    if shares.rwnd is not None and shares.rwnd > LARGE_SHARE:
        return words(judged, limits.WINDOW, shares.rwnd)
    if shares.sndbuf is not None and shares.sndbuf > LARGE_SHARE:
        return limits.SEND_BUFFER, sndbuf_words(shares.sndbuf)
    if shares.busy is not None and shares.busy < LARGE_SHARE:
        return limits.APPLICATION, busy_words(shares.busy)
    return None


def _what_is_missing(judged: Judged) -> str:
    """Evidence that would be needed to tell a cause, as the end of a sentence."""
    made, sent_again = judged.attribution, judged.record.retransmits
    if made is None or not made.spans:
        of_losses = f"no samples tell what {sent_again} retransmissions did to the window"
        return of_losses if sent_again else "TCP names no reason: no samples of its sender tell more"
    if made.path.uncounted:
        why = "a full line, others' traffic and TCP's own answer to them look alike"
        return f"nobody counted what the lines of the path carried: {why} where a queue stands"
    shares = made.shares(judged.from_s, made.end_s)
    return f"the samples show nothing that was full for long ({states_text(shares)})"


def _paced(judged: Judged) -> Cause | None:
    """A paced run not far from its pace: short runs and losses stay below, and what had waited behind a hole adds."""
    pace = next((limit.goodput_bps for limit in judged.plan.physics.limits if limit.kind == limits.PACING), None)
    if pace is None or not abs(judged.goodput_bps / pace - 1) <= limits.PACING_NEARNESS:
        return None
    far = apart(judged.goodput_bps, pace)
    return limits.PACING, f"{rate_text(judged.goodput_bps)} is {far} the {rate_text(pace)} to which it was paced"


def _shared_window(judged: Judged) -> Cause | None:
    """MPTCP whose congestion windows had room: then its one window had none, of which TCP keeps no account.

    It is seldom quite full: Linux fills it again in bursts, now on this route and now on that.
    """
    plan, samples, goodput = judged.plan, judged.samples, judged.goodput_bps
    most = plan.physics.window_limit_bps
    if not plan.transfer.mptcp or not most or judged.record.retransmits or samples is None:
        return None
    share = samples.congestion_window_share()
    if share is None or share > LARGE_SHARE:
        return None
    told = f"the congestion windows had room {100 - share * 100:.0f} % of the time, and nothing was lost"
    allowed = f"{apart(goodput, most)} the {rate_text(most)} that one window for both routes allows"
    near = goodput >= most * (1 - limits.SHARED_WINDOW_NEARNESS)
    return limits.WINDOW if near else limits.RECEIVER, f"{rate_text(goodput)} is {allowed}; {told}"


def _shares(record: RunRecord) -> _Shares:
    def share(name: str) -> float | None:
        known = [
            getattr(stream, name) / 1e6 / duration
            for stream in record.streams
            if getattr(stream, name) is not None and (duration := stream.duration_s or record.duration_s)
        ]
        return sum(known) / len(known) if known else None

    return _Shares(busy=share("busy_us"), rwnd=share("rwnd_limited_us"), sndbuf=share("sndbuf_limited_us"))
