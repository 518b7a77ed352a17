"""How long a plan's transfer should take."""

from __future__ import annotations

from .plan import Plan


def expected_duration_s(plan: Plan) -> float:
    """The time that was asked for, or that the bytes take at the expected goodput, in s."""
    if plan.transfer.duration_ns:
        return plan.transfer.duration_ns / 1e9
    return 8 * (plan.transfer.bytes or 0) / plan.physics.expected_goodput_bps
