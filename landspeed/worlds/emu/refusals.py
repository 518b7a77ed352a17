"""Refusals of scenarios that Linux's queue disciplines cannot do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from landspeed.base.errors import Problem
from landspeed.scenario.file.events import place_of
from landspeed.scenario.file.load import LoadedScenario
from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.emu.kernel_source import KernelError

if TYPE_CHECKING:
    from landspeed.worlds.emu.kernel_build import Kernel

RED_BYTES = (1 << 31) - 1  # net/sched/sch_red.c keeps the average in 32 bits


def too_large_averages(plan: Plan) -> str | None:
    """The first link whose RED Linux cannot have, and what would be right."""
    for link in plan.links:
        for direction in (link.forward, link.reverse):
            asked = direction.parameters.max_bytes or 0 if direction.parameters and direction.discipline == "red" else 0
            if asked > RED_BYTES:
                what = f"link {link.index + 1} ({link.a} – {link.b}): RED with a threshold of {asked} B"
                return f"{what}; Linux has {RED_BYTES} B at most: write a smaller queue, or another discipline"
    return None


def check_kernel(plan: Plan, kernel: Kernel) -> None:
    """Check that the kernel has the newer features that the plan asks for.

    Raises:
        KernelError: it has not; the message names the place, and the release from which on Linux has it.
    """
    here = f"Linux {kernel.version} ({kernel.key}) lacks it"
    right = "`landspeed kernel build 7.3` makes one that has it, for --kernel 7.3"
    for link in plan.links:
        directions = [direction for direction in (link.forward, link.reverse) if direction.discipline == "dualpi2"]
        if directions and not kernel.can_dualpi2:
            what = f"link {link.index + 1} ({link.a} – {link.b}): dualpi2 is in Linux from 6.17 on"
            raise KernelError(f"{what}, and {here}; {right}")
    if any(flow.transfer.accurate_ecn for flow in plan.flows) and not kernel.can_accurate_ecn:
        raise KernelError(f"accurate_ecn is in Linux from 7.0 on, and {here}; {right}")
    if any(flow.transfer.protect == "ktls" for flow in plan.flows) and not kernel.can_tls:
        raise KernelError(
            f"protect: ktls: {here}: it was built without CONFIG_TLS; `make setup` builds one that has it"
        )
    if any(flow.transfer.mptcp for flow in plan.flows) and not kernel.can_mptcp:
        raise KernelError(f"mptcp: {here}: it was built without CONFIG_MPTCP; `make setup` builds one that has it")


def uncountable_losses(loaded: LoadedScenario) -> list[Problem]:
    """netem draws the loss of a packet and of its copy from one generator: with copies, a number cannot be kept to."""
    scenario, problems = loaded.scenario, list[Problem]()
    for number, event in enumerate(scenario.events):
        if event.loss is None or event.loss.packets is None or (place := place_of(scenario, event)) is None:
            continue
        link, (index, direction) = scenario.all_links[place[0]], place
        back = link.reverse.duplicate if link.reverse and link.reverse.duplicate is not None else link.duplicate
        copies = {"forward": link.duplicate, "reverse": back, "both": link.duplicate or back}[direction]
        if copies:
            what = f"a number of packets cannot be lost where link {index + 1} duplicates, in the world 'emu'"
            right = "the world sim can (--world sim); here write a share for a time: loss: 100 %, for: 1 ms"
            problems.append(loaded.problem(("events", number, "loss"), what, right))
    return problems
