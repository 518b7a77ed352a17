"""The first sentence of a page: what was found, in goodput and in delay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from landspeed.base.text import NARROW, percent_of, rate_text
from landspeed.report.differences import DELAY
from landspeed.report.sweep_figures import MEASURES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from landspeed.report.comparison_sides import Side
    from landspeed.report.differences import Difference
    from landspeed.report.sweep_figures import Mean
    from landspeed.results.record import RunRecord


def finding(sides: Sequence[Side], differences: Sequence[tuple[str, Difference]], tolerance: float) -> str:
    """Difference of the sides, in a sentence for each that differs from the first; delay before goodput.

    Args:
        sides: the first one, and others.
        differences: of the others against the first, each with the label of its side.
        tolerance: of rates and volumes, 0…1.
    """
    first, *others = sides
    found = [_sentence(first, other, [each for label, each in differences if label == other.label]) for other in others]
    told = [each for each in found if each]
    if told:
        return " ".join(told)
    return (
        f"Goodput differs by no more than {tolerance * 100:g} %; the round-trip time under load, the "
        "time to full rate, the end of slow start and the responses to events are within their tolerances. The "
        "other rows are shown, not compared."
    )


def _sentence(first: Side, other: Side, apart: list[Difference]) -> str:
    """Tell what changes from the first side to the other; nothing where nothing does."""
    if not apart:
        return ""
    names = {each.what for each in apart}
    one, two = first.record.rtt_loaded_median_ms, other.record.rtt_loaded_median_ms
    known = one is not None and two is not None
    parts: list[str] = []
    if DELAY in names and one is not None and two is not None:
        parts.append(f"the round trip under load {_moves(one, two)} from {one:.4g} ms to {two:.4g} ms (median)")
    one_bps, two_bps = first.record.goodput_bps, other.record.goodput_bps
    if "Goodput" in names and one_bps and two_bps is not None:
        share = f"{abs(two_bps / one_bps - 1) * 100:.3g}{NARROW}%"
        parts.append(
            f"goodput {_moves(one_bps, two_bps)} by {share}, from {rate_text(one_bps)} to {rate_text(two_bps)}"
        )
    if not parts:
        rest = " and ".join(dict.fromkeys(each.what[:1].lower() + each.what[1:] for each in apart))
        parts.append(f"{rest} differ{'s' if len(names) == 1 else ''}; goodput as a whole is the same")
    elif "Goodput" not in names:
        parts[-1] += "; goodput is the same"
    elif DELAY not in names and known:
        parts[-1] += "; the round trip under load is the same"
    return f"From {first.label} to {other.label}, {', and '.join(parts)}."


def _moves(one: float, two: float) -> str:
    return "falls" if two < one else "rises"


def sweep_finding(keys: Sequence[str], found: Sequence[Mean]) -> str:
    """Places in a sweep where goodput and the round trip under load are greatest and least."""
    failed = sum(mean.failed for mean in found)
    parts: list[str] = []
    for measure, name, least, most in (
        (MEASURES[0], "goodput", "lowest", "highest"),
        (MEASURES[2], "the round trip under load", "shortest", "longest"),
    ):
        known = [mean for mean in found if measure.of(mean).mean is not None]
        if not known:
            continue
        ends = [choose(known, key=lambda mean: measure.of(mean).mean or 0.0) for choose in (max, min)]
        told = [f"{_where(keys, mean, found)} ({measure.text(mean)})" for mean in ends]
        if measure.of(ends[0]).mean == measure.of(ends[1]).mean:
            parts.append(f"{name} is {measure.text(ends[0])} everywhere")
        else:
            parts.append(f"{name} is {most} with {told[0]} and {least} with {told[1]}")
    parts += [f"{failed} runs failed" if failed > 1 else "one run failed"] if failed else []
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}." if text else "No run came to its end."


def network_finding(record: RunRecord) -> str:
    """Flows of a network that got most and least, and that waited longest in queues."""
    known = sorted(
        (flow for flow in record.flows if flow.goodput_bps is not None), key=lambda flow: flow.goodput_bps or 0
    )
    if not known:
        return "No flow came to its end"
    whole = sum(flow.goodput_bps or 0.0 for flow in known)
    ends = [f"{percent_of(flow.goodput_bps, whole)} ({flow.name})" for flow in (known[-1], known[0])]
    together = record.goodput_bps or whole
    apart = ", each flow's in its own time," if abs(whole - together) > 0.01 * together else ","
    text = f"Of {rate_text(whole)} of goodput{apart} {ends[0]} is the largest share and {ends[1]} the smallest"
    waits = [
        (flow.rtt_loaded_median_ms - flow.rtt_ms, flow) for flow in known if flow.rtt_loaded_median_ms and flow.rtt_ms
    ]
    if waits:
        _, longest = max(waits, key=lambda each: each[0])
        text += (
            f"; {longest.name} waits longest: its round trip takes {longest.rtt_loaded_median_ms:.4g} ms under load, "
            f"{longest.rtt_ms:.4g} ms idle"
        )
    return text


def _where(keys: Sequence[str], mean: Mean, found: Sequence[Mean]) -> str:
    """The values of a combination, of the keys that vary."""
    varied = [key for key in keys if len({each.values[key] for each in found}) > 1]
    return ", ".join(f"{key} {mean.values[key]}" for key in varied)
