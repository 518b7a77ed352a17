"""Units of another kind that people write for a rate or a size, and what they are worth: `1 GB/s` is 8 Gbit/s."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

Converted: TypeAlias = dict[str, tuple[Fraction | int, str]]
"""Unit → how many base units one is, and why."""

PACKET_BYTES = 1500  # a size in packets is of these where nobody says more: Ethernet's MTU
DECIMAL = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
_EIGHT = "a byte has 8 bits"

BYTE_RATES: Converted = {
    f"{prefix}{unit}": (8 * factor, _EIGHT)
    for prefix, factor in (DECIMAL | BINARY | {"K": 1000}).items()
    for unit in ("B/s", "Bps", "byte/s", "bytes/s")
}
PACKETS_AND_BITS: Converted = {
    **dict.fromkeys(("packet", "packets", "pkt", "pkts", "p"), (PACKET_BYTES, f"packets of {PACKET_BYTES} B")),
    **{
        f"{prefix}{unit}": (Fraction(factor, 8), _EIGHT)
        for prefix, factor in DECIMAL.items()
        for unit in ("bit", "bits")
    },
}
