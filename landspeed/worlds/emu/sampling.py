"""Sampling of the guest's sockets, host side: the guest's orders, and the check of their result."""

from __future__ import annotations

from pathlib import Path

from landspeed.base.failures import RunFailed
from landspeed.base.files import last_line
from landspeed.base.places import ROOT
from landspeed.worlds.emu.guest.job import SamplerJob
from landspeed.worlds.program_world import SocketSampling

LINKWATCH = ROOT / "emu" / "linkwatch" / "build" / "landspeed-linkwatch"
SOCKWATCH = ROOT / "emu" / "linkwatch" / "build" / "landspeed-sockwatch"


def sampler_job(sampling: SocketSampling | None) -> SamplerJob:
    """Every socket of all nodes, and the counters of every link, at an interval of virtual time; None: not at all."""
    sampling = sampling or SocketSampling(interval_ns=0)
    return SamplerJob(
        program=str(SOCKWATCH),
        interval_ns=sampling.interval_ns,
        double_after=sampling.double_after,
        folder=sampling.folder,
    )


def check_sampler(folder: Path, status: int | None) -> None:
    """Check that the sampler of a run, if it had one, came to its end.

    Raises:
        RunFailed: it did not; the message has its own words.
    """
    if status:
        words = last_line(folder / "log" / "sockwatch.log", "it said nothing")
        raise RunFailed(f"the sockets could not be sampled (exit status {status}): {words}")
