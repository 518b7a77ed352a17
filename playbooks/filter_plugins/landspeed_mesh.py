"""Jinja filter of the play mesh: a matrix of pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

NOTHING = "no answer"


class Pair(TypedDict):
    """The way from a sender to a receiver, as landspeed_mesh measured it."""

    loss: float
    rtt_ms: float | None
    mtu: bool


def pair_text(pair: Pair) -> str:
    """A pair in a cell: its RTT, and what is wrong."""
    if pair["rtt_ms"] is None:
        return NOTHING
    words = [f"{pair['rtt_ms']:.3f} ms"]
    words += [f"{pair['loss']:.0%} lost"] if pair["loss"] else []
    words += [] if pair["mtu"] else ["small MTU"]
    return ", ".join(words)


def landspeed_matrix(found: Mapping[str, Mapping[str, Pair]]) -> list[str]:
    """Lines of a matrix: a row a sender, a column a receiver.

    Args:
        found: sender → receiver → their pair.
    """
    receivers = list(dict.fromkeys(name for row in found.values() for name in row))
    rows = [["from \\ to", *receivers]]
    rows += [
        [sender, *(pair_text(row[name]) if name in row else "" for name in receivers)] for sender, row in found.items()
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


class FilterModule:
    """Entry point of the plug-in for Ansible."""

    def filters(self) -> dict[str, object]:
        """Names and functions."""
        return {"landspeed_matrix": landspeed_matrix}
