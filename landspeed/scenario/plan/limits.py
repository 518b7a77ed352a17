"""Limits of a flow, and other figures that follow from a plan and are shown beside the work."""

# The guest imports this: dataclasses and typing are guest/stdlib_stand_ins there.
from __future__ import annotations

from dataclasses import dataclass

from landspeed.base.limits import LINE_RATE, LOSS, TOKEN_BUCKET, PlanLimit


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One thing that bounds the goodput of the whole transfer.

    Attributes:
        kind: what it is; "loss" is the square-root law of Reno.
        place: the host of a bus, the links of a line rate, the line of an ACK path, in words; None where it has none.
        fitted: it was computed from the recorded result.
    """

    kind: PlanLimit
    place: str | None = None
    fitted: bool = False
    goodput_bps: int

    @property
    def name(self) -> str:
        """Name for people; programs ask for `kind`, `place` and `fitted`."""
        what = "loss (square-root law)" if self.kind == LOSS else self.kind
        return what + (f" of {self.place}" if self.place else "") + (" (fitted)" if self.fitted else "")

    @property
    def after_headers(self) -> str:
        """Words to add where the rate that people know of it counts headers and gaps, too; else empty."""
        return " after headers" if self.kind in (LINE_RATE, TOKEN_BUCKET) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Physics:
    """Predictions of theory for the plan. Formulae and sources are in physics.py."""

    rtt_ns: int
    distance_m: int | None
    bdp_bytes: int  # of the slowest link's line rate
    mss_bytes: int
    line_rate_limit_bps: int
    window_limit_bps: int | None  # None: autotuning, and the largest window of TCP would not bind
    bus_limit_bps: int | None  # None: no host has a bus limit
    expected_goodput_bps: int  # least of `limits`
    limits: list[Limit]

    @property
    def expected_bottleneck(self) -> Limit:
        """The least of `limits`, the first of those that are equal."""
        return min(self.limits, key=lambda limit: limit.goodput_bps)
