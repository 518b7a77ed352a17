"""A check: one figure against what was planned or wanted, judged once. Light, since the guest makes some too."""

# The guest imports this: dataclasses and typing are guest/stdlib_stand_ins there.
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One measured figure against what was planned or wanted, judged by whoever measured it.

    Attributes:
        name: "rtt", "mtu", "rate", "queue", "hop" of a calibration; "goodput", "delivery", … of a run's verdicts.
        ok: None when there was nothing to compare.
        text: the whole in a sentence.
        expected: in `unit`, as is `measured`; None where nothing was asked or seen.
        allowed: how far the two may be apart, absolute, in `unit`; None where that is no question.
        what: the figure in words.
        place: a direction, a link, or from where to where; empty: the whole path.
    """

    name: str
    ok: bool | None
    text: str
    expected: float | None = None
    measured: float | None = None
    allowed: float | None = None
    unit: str = ""
    what: str = ""
    place: str = ""
