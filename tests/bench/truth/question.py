"""Questions, what was found, and what was not asked."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Finding:
    """One figure beside theory's.

    Attributes:
        question: what it is of; the same in every rate class and world.
        seen, theory, allowed: in `unit`; how far off it may be.
        why: the reason of what is allowed, or of a difference that stays.
    """

    question: str
    seen: float
    theory: float
    allowed: float
    unit: str = ""
    why: str = ""

    @property
    def ok(self) -> bool:
        """Whether they agree."""
        return abs(self.seen - self.theory) <= self.allowed

    @property
    def off(self) -> str:
        """By how much it is off, as a share of theory where that says more."""
        difference = self.seen - self.theory
        if difference == 0:
            return "0"
        if self.unit == "" or not self.theory:
            return f"{difference:+.3g}"
        return (
            f"{difference / self.theory:+.2%}"
            if abs(difference / self.theory) > 1e-4
            else (f"{difference / self.theory * 1e6:+.2g} ppm")
        )


@dataclass(frozen=True)
class Unasked:
    """A question that this class or world cannot be asked, and why."""

    question: str
    why: str


@dataclass(frozen=True)
class Question:
    """A request to a guest, and what theory says of its answer."""

    request: dict[str, Any]
    judge: Callable[[Any], Iterable[Finding]]


@dataclass(frozen=True)
class Asked:
    """Where questions were asked."""

    world: str
    rate: str
    ip: int
    fidelity: str

    def __str__(self) -> str:
        return f"{self.world}, {self.rate}, IPv{self.ip}, {self.fidelity}"


def exactly(question: str, seen: float, theory: float) -> Finding:
    """A count that must be right."""
    return Finding(question, seen, theory, 0)


def within(question: str, seen_s: float, theory_s: float, why: str = "1 µs or 0.01 %") -> Finding:
    """A time: to a microsecond or 0.01 %, whichever is more."""
    return Finding(question, seen_s, theory_s, max(1.001e-6, 1e-4 * theory_s), "s", why)
