"""Limit of one direction between two nodes, of TCP or of datagrams: the one door to the judge of sockets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from landspeed.judge.sockets.datagrams import bound_by_datagrams
from landspeed.judge.sockets.socket_limits import Bound, bound_by_tcp

if TYPE_CHECKING:
    from landspeed.judge.sockets.series import SocketSamples
    from landspeed.scenario.plan.plan import Plan


def bound_by(samples: SocketSamples, plan: Plan, source: str, target: str) -> Bound:
    """Find what limited what one node's programs sent to another's.

    Args:
        samples: of the run.
        plan: of the network; its events count from the first sample.
        source, target: nodes.

    Raises:
        SamplesError: the samples cannot be read.
    """
    return bound_by_datagrams(samples, plan, source, target) or bound_by_tcp(samples, plan, source, target)
