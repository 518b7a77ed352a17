"""Virtual time that spinning programs take (patch 0018), as an option: `--spin-cost 1us`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from landspeed.base.failures import NotPossible
from landspeed.base.units import TIME, UnitError, format_exact, parse
from landspeed.worlds.emu.kernel_source import KernelError

if TYPE_CHECKING:
    from landspeed.worlds.emu.kernel_build import Kernel

LEAST_NS, MOST_NS = 100, 10**9


def parse_cost(text: str) -> int:
    """Nanoseconds of a text such as `1us`. Raises ValueError."""
    try:
        cost_ns = parse(TIME, text)
    except UnitError as error:
        raise ValueError(str(error)) from error
    if not LEAST_NS <= cost_ns <= MOST_NS:
        raise ValueError(f"'{text.strip()}' is not a time of 100 ns to 1 s for a system call; write for example 1us")
    return cost_ns


def cost_text(cost_ns: int) -> str:
    """1000 as `1us`, which a shell takes for one word."""
    return format_exact(TIME, cost_ns).replace(" ", "").replace("µ", "u")


def check_cost(cost_ns: int | None, clock: str, kernel: Kernel) -> None:
    """Check that `--spin-cost` is possible.

    Raises:
        NotPossible: the clock is real, and moves on by itself.
        KernelError: the kernel was built without it.
    """
    if cost_ns is None:
        return
    if clock == "real":
        raise NotPossible("--spin-cost needs virtual time, and this clock is real; leave out one of them")
    if not kernel.can_spin:
        raise KernelError(
            f"Linux {kernel.version} ({kernel.key}) was built before --spin-cost was known; "
            f"`landspeed kernel build {kernel.series}` builds it anew"
        )
