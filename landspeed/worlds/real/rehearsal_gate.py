"""The gate: what goes to real servers was rehearsed, with this plan and this engine, and passed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from landspeed.results.bundle import list_bundles, load_record
from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.real.errors import RealError
from landspeed.worlds.real.inventory import engine_identity
from landspeed.worlds.real.variables import write_variables


@dataclass(frozen=True)
class Passage:
    """Permission for an attempt.

    Attributes:
        rehearsal: the bundle, or None.
        unrehearsed: the operator's reason to go without.
    """

    rehearsal: Path | None
    unrehearsed: str | None


def rehearsal_of(plan: Plan, build: str, runs_dir: Path) -> tuple[Path | None, str]:
    """The newest bundle that lets this plan and engine pass, and else why none does."""
    why = f"there is no rehearsal of it in {runs_dir}"
    rank = 0
    best: Path | None = None
    for folder in list_bundles(runs_dir):
        try:
            record = load_record(folder)
            if record.world != "emu" or record.tool != "engine" or record.plan is None:
                continue
            same_plan = record.plan.sha256 == plan.sha256
        except ValueError:
            continue
        if not same_plan:
            if record.scenario == plan.scenario and rank < 1:
                rank, why = (
                    1,
                    f"{folder.name} rehearsed another plan of {plan.scenario} (the scenario or the seed has changed)",
                )
        elif not record.complete or not record.passed:
            rank, why = max((rank, why), (2, f"{folder.name} did not pass"))
        elif record.tool_result.build != build:
            rank, why = max((rank, why), (3, f"{folder.name} was rehearsed with another build of the engine"))
        else:
            best = folder
    return best, why


def pass_gate(inventory: Path, plan: Plan, runs_dir: Path, unrehearsed: str | None) -> Passage:
    """Let an attempt through, and write so into the inventory for the plays, which check it again.

    Raises:
        RealError: it was not rehearsed; the message says what to run.
    """
    build, _ = engine_identity()
    found, why = rehearsal_of(plan, build, runs_dir)
    if found is None and not unrehearsed:
        raise RealError(
            f"{plan.scenario} (plan {plan.sha256[:12]}, engine {build}) was not rehearsed: {why}. "
            f'Run: landspeed run {plan.scenario_file} --seed {plan.seed}   (or give --unrehearsed "reason")'
        )
    write_variables(
        inventory / "group_vars" / "all" / "rehearsal.yml",
        "Written by the gate of `landspeed real`; the roles deploy and attempt check it.",
        {
            "landspeed_rehearsal": found.name if found else "",
            "landspeed_rehearsed_engine_build": build if found else "",
            "landspeed_unrehearsed": "" if found else unrehearsed,
        },
    )
    return Passage(found, None if found else unrehearsed)
