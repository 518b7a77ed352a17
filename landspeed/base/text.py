"""Quantities in words, as the summary and the report show them."""

from __future__ import annotations

from landspeed.base import units_text as words

DASH = "–"
NARROW = "\u202f"  # narrow no-break space


def rate_text(bps: float | None) -> str:
    """`6.627 Gbit/s`, `983.12 Mbit/s`, or a dash."""
    return DASH if bps is None else words.rate_text(bps)


def bytes_text(count: float | None) -> str:
    """Decimal units, as the field counts transferred data: `859.053 GB`."""
    if count is None:
        return DASH
    for size, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if abs(count) >= size:
            return f"{count / size:.3f} {unit}"
    return f"{count:.0f} B"


def duration_text(seconds: float | None) -> str:
    """`1037.2 s (17 min 17 s)`, or a dash."""
    if seconds is None:
        return DASH
    if seconds < 1:
        return f"{seconds * 1e3:.1f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{seconds:.1f} s ({minutes} min {rest} s)"


def long_duration_text(seconds: float) -> str:
    """`10 d 6 h 55 min`, `1 h 5 min`, `17 min 17 s`, `42.1 s`: the two or three units that matter."""
    if seconds < 120:
        return duration_text(seconds)
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h {minutes} min" if days else f"{hours} h {minutes} min"


def scientific(value: float | None, digits: int = 4) -> str:
    """`1.0447 × 10¹⁷`, or a dash."""
    if value is None:
        return DASH
    mantissa, exponent = f"{value:.{digits}e}".split("e")
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{mantissa} × 10{raised}"


def percent_of(value: float | None, whole: float | None) -> str:
    """`99.95 %`, or a dash."""
    return DASH if value is None or not whole else f"{value / whole * 100:.2f} %"


def signed_percent(share: float, digits: int = 3) -> str:
    """`−2.929 %` of a share such as -0.02929; the sign is a minus, not a hyphen, and zero has none."""
    text = f"{share * 100:+.{digits}f}"
    if not text.strip("+-0."):
        text = text[1:]
    return f"{text}{NARROW}%".replace("-", "−")


def tolerance_text(share: float) -> str:
    """`± 0.1 %`, or `exact`, which does not break over lines."""
    return f"±{NARROW}{share * 100:g}{NARROW}%" if share else "exact"


def grouped(number: float | None) -> str:
    """`95 910 126` with narrow no-break spaces, or a dash."""
    return DASH if number is None else f"{number:,.0f}".replace(",", NARROW)
