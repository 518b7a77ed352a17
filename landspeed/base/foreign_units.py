"""Units of another kind that people write for a rate or a size, and what they are worth: `1 GB/s` is 8 Gbit/s."""

from __future__ import annotations

from contextvars import ContextVar
from fractions import Fraction
from typing import TypeAlias

Converted: TypeAlias = dict[str, tuple[Fraction | int | None, str]]
"""Unit → how many base units one is, and why; None: a packet of MTU_BYTES."""

MTU_BYTES: ContextVar[int] = ContextVar("MTU_BYTES", default=1500)
"""A size in packets is of these: Ethernet's MTU, or that of the file that is being read."""
DECIMAL = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_EIGHT = "a byte has 8 bits"

BYTE_RATES: Converted = {
    f"{prefix}{unit}": (8 * factor, _EIGHT)
    for prefix, factor in (DECIMAL | BINARY | {"K": 1000}).items()
    for unit in ("B/s", "Bps", "byte/s", "bytes/s", "B")
}
PACKETS_AND_BITS: Converted = {
    **dict.fromkeys(("packet", "packets", "pkt", "pkts", "p"), (None, "")),
    **{
        f"{prefix}{unit}": (Fraction(factor, 8), _EIGHT)
        for prefix, factor in DECIMAL.items()
        for unit in ("bit", "bits")
    },
}
