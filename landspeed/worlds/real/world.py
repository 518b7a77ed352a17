"""The real world: what real servers honour, and why a run there is a rollout and not a command."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from landspeed.base.failures import NotPossible
from landspeed.base.finding import Finding
from landspeed.base.places import is_clone
from landspeed.base.progress import Progress
from landspeed.results.bundle import BundleWriter
from landspeed.results.record import RunRecord
from landspeed.scenario.file.capabilities import Capabilities
from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.distribution import how_to_install
from landspeed.worlds.world import World

HOW = (
    "real servers are named in an inventory: landspeed real inventory FILE --sender user@HOST --receiver user@HOST, "
    "then landspeed real site inventories/NAME (docs: Roll out to real servers)"
)


class RealWorld(World):
    """Real servers, carried out by Ansible plays. `check` and `show` tell what they honour; plays make the run."""

    name = "real"
    summary = "real servers (for check and show; `landspeed real` makes the run)"
    runs = False
    # Nobody makes events happen on a real path. Queues and delays are those of the path, or of the lab's shaping box.
    capabilities = Capabilities(disciplines=("fifo", "red", "fq_codel"), special_keys=("congestion_controls", "send"))

    @property
    def clock(self) -> str:
        """Clock of this world: the real one."""
        return "real"

    @classmethod
    def doctor(cls) -> list[Finding]:
        """Check whether plays can be carried out from here."""
        missing = [
            name
            for name in ("ansible-playbook", "ssh")
            if not (Path(sys.executable).parent / name).exists() and not shutil.which(name)
        ]
        if missing:
            text = f"{', '.join(missing)} not found: needed for `landspeed real`"
            ansible = "make setup" if is_clone() else "pip install 'landspeed[real]'"
            remedies = {"ansible-playbook": ansible, "ssh": how_to_install("ssh")}
            return [Finding("rollout", "warn", text, "; ".join(remedies[name] for name in missing))]
        return [Finding("rollout", "ok", "ansible-playbook and ssh are here")]

    def check(self, plan: Plan) -> None:  # noqa: ARG002 (of every world)
        """A plan alone names no servers.

        Raises:
            NotPossible: always, with what to do.
        """
        raise NotPossible(HOW)

    def run(self, plan: Plan, bundle: BundleWriter, report: Callable[[Progress], None]) -> RunRecord:  # noqa: ARG002
        """Refuse: `landspeed real` makes such runs.

        Raises:
            NotPossible: always, with what to do.
        """
        raise NotPossible(HOW)
