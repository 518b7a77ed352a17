"""A full line that carried less goodput than it allows: what else it carried, or when it was not full.

Beside goodput it carries what is sent again and duplicates; BBR leaves it empty to see the round trip; and in other
states than "the line is full" something is missing, which the attribution counts.
"""

from __future__ import annotations

from collections.abc import Set

from landspeed.base import limits
from landspeed.base.limits import LARGE_MISSING, LIMIT_NEARNESS, RunLimit
from landspeed.base.text import rate_text
from landspeed.judge.ack_path import fullest_line
from landspeed.judge.bbr_probing import PROBE_PACKETS, probing
from landspeed.judge.cause_words import WHY, Cause, Judged, apart, is_blind, where_dropped, word_of
from landspeed.judge.sample_evidence import SampleEvidence


def beside_goodput(judged: Judged) -> Cause | None:
    """A run at a limit but for one thing: BBR's looks at the round trip, what was sent again, or duplicates.

    The largest of the three, where all of them together are what is missing: they are half of it at least, and what
    they leave is within the nearness of a limit, or a quarter of it (what they take from one another is not counted).
    """
    plan, record, samples, goodput, from_s = (
        judged.plan,
        judged.record,
        judged.samples,
        judged.goodput_bps,
        judged.from_s,
    )
    if samples is None:
        return None
    parts = dict[RunLimit, tuple[float, str]]()
    if is_blind(plan):
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
            parts[limits.LOSS] = resent.share, why + where_dropped(judged, from_s)
    line = fullest_line(plan, record.world, samples, from_s, "forward") if _alone(judged) else None
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
    missing, left = 1 - goodput / limit.goodput_bps, 1 - without / limit.goodput_bps
    if missing < 0 or left < -LIMIT_NEARNESS or left > min(max(LIMIT_NEARNESS, missing / 4), missing / 2):
        return None
    return most, (
        f"{rate_text(goodput)} is {apart(goodput, limit.goodput_bps)} the {rate_text(limit.goodput_bps)} that the "
        f"{limit.name} allows{limit.after_headers}: {parts[most][1]}"
    )


def missing_of_line(judged: Judged, lines: Set[RunLimit]) -> Cause | None:
    """The state that has half of what is missing, of a line that was full most of the time and carried too little."""
    attribution = judged.attribution
    allowed = [limit for limit in judged.plan.physics.limits if word_of(limit) in lines]
    if attribution is None or not allowed:
        return None
    limit = min(allowed, key=lambda each: each.goodput_bps)
    missing = 1 - judged.goodput_bps / limit.goodput_bps
    for state, part in attribution.missing(judged.from_s, limit.goodput_bps).items():
        if state in lines or state == limits.UNKNOWN:
            continue
        if missing < LARGE_MISSING or part < missing / 2:
            return None
        held = attribution.shares(judged.from_s, attribution.end_s).get(state, 0.0)
        far = apart(judged.goodput_bps, limit.goodput_bps)
        below = f"{rate_text(judged.goodput_bps)} is {far} the {rate_text(limit.goodput_bps)}"
        why = f"{WHY.get(state, f'it was held by the {state}')} {judged.of_time(held)}"
        return state, f"{below} that the {limit.name} allows{limit.after_headers}: {why}"
    return None


def _alone(judged: Judged) -> bool:
    """Return whether only this transfer's packets wait at the lines."""
    samples = judged.samples
    return (
        samples is not None and not samples.of_network and not any(e.kind == "background" for e in judged.plan.events)
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
