"""Inputs of a guest: its job and the plan, as files of the run's folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from landspeed.base.json_form import to_plain
from landspeed.scenario.plan.duration import expected_duration_s
from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.emu import machine
from landspeed.worlds.emu.flows import flow_jobs
from landspeed.worlds.emu.guest.job import Job
from landspeed.worlds.emu.options import EmuOptions
from landspeed.worlds.emu.sampling import LINKWATCH
from landspeed.worlds.registry import tool

GUEST_OUT = "/run/landspeed"  # the bundle's folder as the guest sees it (guest/files.py)


def transfer_job(plan: Plan, options: EmuOptions) -> Job:
    """Work of a guest that makes the plan's transfers."""
    # A thousand points of each link are enough for any picture; each costs a dump of every namespace.
    sampled_ns = min(flow.transfer.sample_interval_ns for flow in plan.flows)
    interval_ns = max(sampled_ns, round(expected_duration_s(plan) / 1000 * 1e9 / 1e8) * 10**8)
    return Job(
        mode="transfer",
        calibrate=True,
        with_queues=options.queues,
        flows=flow_jobs(plan, options.tool, GUEST_OUT),
        starter_command=[] if plan.is_path else tool(options.tool).starter_command(),
        watch_command=[str(LINKWATCH), str(interval_ns), f"{GUEST_OUT}/links.csv"],
        evidence=options.gathers,
        whole_captures=options.captures_whole,
        moderate=options.clock == "virtual" and not options.exact_timers,
    )


def write_inputs(plan: Plan, folder: Path, job: Job, options: EmuOptions, visible: Sequence[Path] = ()) -> None:
    """Write the plan and the job into the run's folder, with the folders that its flows write into.

    Args:
        plan: the network.
        folder: of the run.
        job: what the guest is to do.
        options: of the world.
        visible: more folders of the host that the guest sees.
    """
    for flow in job.flows or [None]:
        (folder / (flow.folder if flow else "") / "log").mkdir(parents=True, exist_ok=True)
    (folder / "plan.json").write_text(plan.to_json(indent=1), encoding="utf-8")
    clock = "virtual" if options.clock == "virtual" else "real"
    seen = sorted({*machine.visible_folders(), *job.visible, *map(str, visible)})
    spin_cost_ns = plan.spin_cost_ns or 0
    whole = replace(
        job,
        clock=clock,
        spin_cost_ns=spin_cost_ns,
        every_hop=options.every_hop or options.captures_whole,
        visible=seen,
    )
    text = json.dumps(to_plain(whole), indent=1, ensure_ascii=False)
    (folder / "job.json").write_text(text, encoding="utf-8")
