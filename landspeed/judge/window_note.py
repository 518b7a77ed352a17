"""Notes on the window beside the one cause of a run: the part that was not granted, and what would allow more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from landspeed.base.limits import SEND_BUFFER, WINDOW
from landspeed.base.text import grouped

if TYPE_CHECKING:
    from landspeed.results.record import RunRecord
    from landspeed.scenario.plan.plan import Plan

LARGEST_BYTES = 65_535 << 14  # RFC 7323: 16 bits, shifted by 14 at most


def window_note(plan: Plan, record: RunRecord) -> str | None:
    """The note; None where everything was granted, and no window of TCP bound the run.

    The engine's own warning knows one stream's account only, and speaks of the engine's options: it is not repeated.
    """
    window = record.window
    notes: list[str] = []
    if window.warning and window.asked_bytes:
        for end, sysctl, granted in (
            ("sender", "wmem_max", window.sender_granted_bytes),
            ("receiver", "rmem_max", window.receiver_granted_bytes),
        ):
            if granted is not None and granted + 1 < window.asked_bytes:  # 1 GiB loses its last byte in an int
                asked = window.asked_bytes
                notes.append(
                    f"the {end} was granted {grouped(granted)} of the {grouped(asked)} B asked for: "
                    f"sysctl -w net.core.{sysctl}={asked} there"
                )
    if record.limited_by in {WINDOW, SEND_BUFFER}:
        notes.append(_remedy(plan, record))
    return "; ".join(notes) or None


def _remedy(plan: Plan, record: RunRecord) -> str:
    asked = plan.transfer.window_bytes
    if max(asked or 0, record.window.advertised_bytes or 0) >= LARGEST_BYTES:
        return "it is the largest that TCP can have: more transfer.streams allow more"
    if asked is None:
        return "it is what autotuning makes: a transfer.window of its own, or more transfer.streams, allow more"
    return "a larger transfer.window, or more transfer.streams, allow more"
