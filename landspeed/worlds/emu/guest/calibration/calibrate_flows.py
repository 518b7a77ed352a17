"""The calibration of a network: each route that a flow takes is measured as a path, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from landspeed.scenario.plan.flow_path import SECOND_ROUTE, lanes, subflows
from landspeed.worlds.emu.guest import clock
from landspeed.worlds.emu.guest.calibration.calibrate import calibrate
from landspeed.worlds.emu.guest.network.flow_path import FlowPath
from landspeed.worlds.emu.guest.network.network import Network

if TYPE_CHECKING:
    from collections.abc import Sequence

    from landspeed.scenario.plan.routing import Lane
    from landspeed.worlds.emu.guest.joined_links import JoinedLinks


def calibrate_flows(
    network: Network, runs: Sequence[JoinedLinks] = (), *, with_queues: bool = False, real_clock: bool = False
) -> dict[str, dict[str, Any]]:
    """Measure the path of every flow and compare it with the plan; flows that take the same way share it.

    Args:
        network: the built network.
        runs: links that are passed in one step.
        with_queues: fill every queue until it overflows, too.
        real_clock: of the guest.

    Returns:
        what each flow's path was found to be, by the flow's name; of MPTCP's second routes, by the name and
        `SECOND_ROUTE`.
    """
    plan, short = network.plan, {place for run in runs for place in run.places}
    found: dict[str, dict[str, Any]] = {}
    known: dict[tuple[str, tuple[Lane, ...], tuple[Lane, ...], int], dict[str, Any]] = {}
    for flow in plan.flows:
        for number, (path, over) in enumerate(zip(FlowPath.each(network, flow), subflows(flow), strict=True)):
            ahead, back = lanes(plan, over)
            way = flow.source, tuple(ahead), tuple(back), number
            if way not in known:
                if not real_clock:
                    clock.start_afresh()
                joined = [forward for forward, places in ((True, ahead), (False, back)) if not short.isdisjoint(places)]
                known[way] = calibrate(path, joined, with_queues=with_queues and plan.is_path, real_clock=real_clock)
            found[flow.name + SECOND_ROUTE * number] = known[way]
    return found
