"""How every socket of the guest is sampled, host side: what the guest is told, and whether it was done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from landspeed.base.failures import RunFailed
from landspeed.base.files import last_line
from landspeed.base.places import ROOT
from landspeed.worlds.emu.job import SamplerJob

SOCKWATCH = ROOT / "emu" / "linkwatch" / "build" / "landspeed-sockwatch"
INTERVAL_NS = 10_000_000
DOUBLE_AFTER = 8192  # samples: an hour at 10 ms is then 41 000 samples instead of 360 000


def sampler_job(interval_ns: int = INTERVAL_NS, double_after: int = DOUBLE_AFTER, folder: str = "") -> SamplerJob:
    """Every socket of all nodes, and the counters of every link, at an interval of virtual time.

    Args:
        interval_ns: between two samples.
        double_after: samples after which the interval doubles, again and again; 0: never.
        folder: for sockets.csv, owners.csv and links.csv, relative to the run's; it must be there.
    """
    return SamplerJob(program=str(SOCKWATCH), interval_ns=interval_ns, double_after=double_after, folder=folder)


def check_sampler(folder: Path, said: dict[str, Any]) -> None:
    """Whether the sampler of a run, if it had one, came to its end.

    Raises:
        RunFailed: it did not; the message has its own words.
    """
    if status := said.get("sampler"):
        words = last_line(folder / "log" / "sockwatch.log", "it said nothing")
        raise RunFailed(f"the sockets could not be sampled (exit status {status}): {words}")
