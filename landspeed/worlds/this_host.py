"""Facts of the machine that runs the command, for the records of runs."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path

from landspeed.results.facts import HostFacts


def cpu_model() -> str:
    """Name of this host's processor. (`platform.processor()` starts a program, which knows none on Debian.)"""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def host_facts(allowed_cores: Sequence[int] = ()) -> HostFacts:
    """Facts of this host; `allowed_cores` are those that the command may use, where that is known."""
    return HostFacts(
        kernel=platform.release(), cores=os.cpu_count(), allowed_cores=list(allowed_cores), cpu=cpu_model()
    )
