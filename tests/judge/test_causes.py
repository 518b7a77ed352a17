"""Causes known by construction, in both worlds: what a run is told held it, and that no false cause is told."""

from __future__ import annotations

from pathlib import Path

import pytest

import landspeed as ls
from tests.support.causes import CASES, Case, write
from tests.support.command import landspeed
from tests.support.emu_fixtures import FIRST

RUNS = [pytest.param(case, world, id=f"{world} {case.name}") for case in CASES for world in case.worlds]


@pytest.mark.guest
@pytest.mark.slow
@pytest.mark.parametrize(("case", "world"), RUNS)
def test_the_cause_that_was_built_in_is_told(case: Case, world: str, tmp_path: Path) -> None:
    """Each run of the labelled corpus (tests/support/causes.py); `python -m tests.bench.causes` has its proofs, too."""
    record = ls.run(write(tmp_path, case), world=world, runs_dir=tmp_path, report=False).record
    found = next(flow for flow in record.flows if flow.name == case.flow) if case.flow else record
    assert found.limited_by == case.cause, found.limited_by_why
    assert 0.99 < sum(found.limit_shares.values()) < 1.01, found.limit_shares


@pytest.mark.guest
@pytest.mark.parametrize("world", ["sim", "emu"])
def test_more_streams_than_an_engine_takes_are_refused_in_both_worlds(world: str) -> None:
    found = landspeed("check", FIRST, "--world", world, "--set", "transfer.streams=129")
    assert found.returncode == 2 and "128" in found.stderr, found.stderr


@pytest.mark.guest
@pytest.mark.parametrize("world", ["sim", "emu"])
def test_a_queue_of_the_receivers_own_line_is_refused(world: str) -> None:
    """No world has one: a host's sockets wait. On a router's line it is honoured."""
    kept, refused = (
        landspeed("check", FIRST, "--world", world, "--set", f"path.{link}.reverse.queue=10 kB") for link in (2, 3)
    )
    assert kept.returncode == 0, kept.stderr
    assert refused.returncode == 2 and "athens is a host: its own line has no queue" in refused.stderr, refused.stderr


@pytest.mark.guest
def test_what_reordering_does_in_the_simulated_world_is_told_before_the_run() -> None:
    shown = {
        world: landspeed("show", FIRST, "--world", world, "--set", "path.1.reorder=1 %").stdout
        for world in ("sim", "emu")
    }
    assert "no reordering timer" in shown["sim"] and "no reordering timer" not in shown["emu"]
