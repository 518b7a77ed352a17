"""Recorded or expected results of a plan, and facts for a contest's rules. Not part of the work (plan.py)."""

# The guest imports this: dataclasses and typing are guest/stdlib_stand_ins there.
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from landspeed.base.limits import NOT_STATED, RecordedLimit


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedHop:
    """A line of a recorded traceroute."""

    label: str
    rtt_ms: list[float]
    below: bool = False  # recorded as "<1 ms": rtt_ms are upper bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect:
    """The recorded or wanted result, and where the figures come from."""

    goodput_bps: int | None = None
    goodput_tolerance: float | None = None  # 0…1
    goodput_from_s: float = 0.0  # 0: whole run; 10: from the tenth second on
    bytes: int | None = None
    duration_ns: int | None = None
    rtt_ns: int | None = None
    retransmits: int | None = None
    streams_goodput_bps: list[int] | None = None
    distance_m: int | None = None
    score_bit_m_per_s: int | None = None
    source: str
    measured: bool = False  # on a path that is there; not a record's
    host_limits_fitted: bool = False  # a host's bus was fitted to this very result
    forward_traceroute: list[RecordedHop] = field(default_factory=list[RecordedHop])
    reverse_traceroute: list[RecordedHop] = field(default_factory=list[RecordedHop])


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousRecord:
    """The record of the same class that was beaten; one of score and improvement is known."""

    score_bit_m_per_s: int | None = None
    improvement: float | None = None  # 0.12: by 12 %
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """Facts of a record's documents for the contest's rules."""

    date: str  # ISO 8601, a day or a month
    basis: Literal["documents", "public", "what if"] = "documents"
    networks: str | None = None
    payload: str | None = None
    bound_by: RecordedLimit = NOT_STATED
    bound_why: str | None = None
    previous: PreviousRecord | None = None
