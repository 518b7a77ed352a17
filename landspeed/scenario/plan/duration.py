"""Expected duration of a plan's transfer."""

from __future__ import annotations

from landspeed.scenario.plan.plan import Flow, Plan


def expected_duration_s(plan: Plan) -> float:
    """The time that was asked for, or that the bytes take at the expected goodput, in s; of all flows, to the last."""
    return max(flow.start_ns / 1e9 + _flow_s(flow) for flow in plan.flows)


def asked_duration_s(plan: Plan) -> float | None:
    """The time that was asked for, to the end of the last flow, in s; None where bytes decide."""
    ends = [(flow.start_ns, flow.transfer.duration_ns) for flow in plan.flows]
    known = [start_ns + duration_ns for start_ns, duration_ns in ends if duration_ns]
    return max(known) / 1e9 if len(known) == len(ends) else None


def asked_bytes(plan: Plan) -> int | None:
    """The bytes that were asked for, of all flows; None where time decides."""
    amounts = [flow.transfer.bytes for flow in plan.flows]
    return None if None in amounts else sum(amount or 0 for amount in amounts)


def _flow_s(flow: Flow) -> float:
    if flow.transfer.duration_ns:
        return flow.transfer.duration_ns / 1e9
    return 8 * (flow.transfer.bytes or 0) / flow.physics.expected_goodput_bps
