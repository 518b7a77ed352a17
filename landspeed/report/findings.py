"""The first sentence of a comparison: what was gained and what was lost, in goodput and in delay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from landspeed.base.text import NARROW, rate_text
from landspeed.report.differences import DELAY

if TYPE_CHECKING:
    from landspeed.report.comparison import Comparison
    from landspeed.report.comparison_sides import Side
    from landspeed.report.differences import Difference


def finding(comparison: Comparison) -> str:
    """What the sides differ in, in a sentence for each that differs from the first; delay before goodput."""
    first, *others = comparison.sides
    found = [
        _sentence(first, other, [each for label, each in comparison.differences if label == other.label])
        for other in others
    ]
    told = [each for each in found if each]
    if told:
        return " ".join(told)
    return (
        f"Goodput differs by no more than {comparison.tolerance * 100:g} %; the round-trip time under load, the "
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
