"""Checks of the simulated world. Only that world needs these parts, so no finding here stops every run."""

from __future__ import annotations

import os
from pathlib import Path

from landspeed.base.finding import Finding
from landspeed.base.places import is_clone
from landspeed.worlds.sim.program import INSTALL, PACKAGES, SIMULATOR


def examine_simulator(simulator: Path = SIMULATOR, headers: Path = Path("/usr/include")) -> Finding:
    """Check whether the simulator is built, and if not, whether its sources and tools are there."""
    name = "simulator"
    if os.access(simulator, os.X_OK):
        return Finding(name, "ok", str(simulator))
    needed = "needed for `--world sim` and `compare --worlds`"
    if not is_clone():
        return Finding(name, "warn", f"not installed: {needed}", INSTALL)
    if "NS3_HOME" in os.environ or any(headers.glob("ns3*")):
        return Finding(name, "warn", f"{simulator} is not built: {needed}", "make setup")
    return Finding(name, "warn", f"ns-3 is missing: {needed}", f"apt-get install {PACKAGES}, then make setup")
