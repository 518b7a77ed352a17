"""Rates and times in units that fit, without the parser: for the guest too, where every import costs time."""

from __future__ import annotations

RATES = ((1e12, "Tbit/s", 3), (1e9, "Gbit/s", 3), (1e6, "Mbit/s", 2), (1e3, "kbit/s", 2))


def rate_unit(bps: float) -> tuple[float, str]:
    """The unit that suits a rate, as bits per second and by name: (1e3, "kbit/s")."""
    return next(((size, unit) for size, unit, _ in RATES if abs(bps) >= size), (1.0, "bit/s"))


def rate_text(bps: float) -> str:
    """`6.627 Gbit/s`, `983.12 Mbit/s`, `56.00 kbit/s`."""
    for size, unit, digits in RATES:
        if abs(bps) >= size:
            return f"{bps / size:.{digits}f} {unit}"
    return f"{bps:.0f} bit/s"


def time_text(ns: float) -> str:
    """`43.972 ms`, `74.12 µs`, `12.345 s`: to the microsecond below a second, below a millisecond to 10 ns."""
    if abs(ns) >= 1e9:
        return f"{ns / 1e9:.3f} s"
    return f"{ns / 1e6:.3f} ms" if abs(ns) >= 1e6 else f"{ns / 1e3:.2f} µs"
