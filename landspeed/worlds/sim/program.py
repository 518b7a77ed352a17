"""The program that simulates: where it is, which build of it, and what to do where there is none."""

from __future__ import annotations

import hashlib
import os
from importlib.util import find_spec
from pathlib import Path

from landspeed.base.places import ROOT, is_clone


def _simulator() -> Path:
    if not is_clone() and (found := find_spec("landspeed_sim")) and found.origin:
        return Path(found.origin).parent / "landspeed-sim"
    return ROOT / "sim" / "build" / "landspeed-sim"


SIMULATOR = _simulator()
"""Where `meson setup sim/build sim && ninja -C sim/build` puts the program; or where its wheel did (setup/wheel.sh)."""

PACKAGES = "libns3-dev nlohmann-json3-dev"
INSTALL = "pip install landspeed_sim-….whl, which `make wheel` makes beside this one"
MISSING = (
    f"{SIMULATOR} is not built; apt-get install {PACKAGES}, then run `make setup`"
    if is_clone()
    else f"the simulated world is not installed; {INSTALL}"
)


def simulator_key(program: Path = SIMULATOR) -> str | None:
    """Identify the build of the simulator: 12 digits of its SHA-256. None: it is not built."""
    return hashlib.sha256(program.read_bytes()).hexdigest()[:12] if os.access(program, os.X_OK) else None
