"""Causes known by construction, in both worlds: what a run is told held it, and that no false cause is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import landspeed as ls
from tests.support.command import landspeed
from tests.support.emu_fixtures import FIRST

BBR = {"congestion_control": "bbr", "duration": "60 s"}
SMALL = {"window": "500 kB"}
LOSING = {"loss": "1 %"}
SLOWER = [{"at": "12 s", "line_rate": "50 Mbit/s", "for": "28 s", "between": ["r", "b"]}]
LONGER = [{"at": "10 s", "one_way_delay": "120 ms", "for": "30 s", "between": ["r", "b"]}]

CAUSES: dict[str, tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]], str]] = {
    "bbr": ({}, BBR, [], "RTT probing"),  # every retransmission came in its start
    "bbr and a few losses": ({"loss": "0.01 %"}, BBR, [], "RTT probing"),
    "duplicates": ({"duplicate": "5 %"}, {}, [], "duplicates"),
    "reordering": ({"reorder": "1 %"}, {}, [], "reordering"),
    "losses": (LOSING, {}, [], "loss"),
    "window, longer": ({}, SMALL, LONGER, "window"),
    "window, slower line": ({}, SMALL, SLOWER, "line rate"),  # the window waits in the slow line's queue
    "slower line": ({}, {}, SLOWER, "line rate"),
}


def scenario(folder: Path, content: dict[str, Any]) -> Path:
    file = folder / "scenario.yaml"
    whole = {"format": 1, "name": "cause", "title": "A cause known by construction", "mtu": "1500 B"}
    file.write_text(json.dumps(whole | content))
    return file


@pytest.mark.guest
@pytest.mark.slow
@pytest.mark.parametrize("world", ["sim", "emu"])
@pytest.mark.parametrize("name", CAUSES)
def test_the_cause_that_was_built_in_is_told(name: str, world: str, tmp_path: Path) -> None:
    """100 Mbit/s over 50 ms, 40 s."""
    link, transfer, events, cause = CAUSES[name]
    path = [
        {"from": "a", "to": "r", "one_way_delay": "5 ms", "line_rate": "1 Gbit/s"},
        {"from": "r", "to": "b", "one_way_delay": "20 ms", "line_rate": "100 Mbit/s", "queue": "1 BDP", **link},
    ]
    asked = {"congestion_control": "cubic", "duration": "40 s", "window": "16 MB"} | transfer
    hosts = {"a": {"role": "sender", "nic": "1 Gbit/s"}, "b": {"role": "receiver", "nic": "1 Gbit/s"}}
    content = {"hosts": hosts, "path": path, "transfer": asked} | ({"events": events} if events else {})
    run = ls.run(scenario(tmp_path, content), world=world, runs_dir=tmp_path, report=False)
    assert run.record.limited_by == cause, run.record.limited_by_why


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


@pytest.mark.guest
@pytest.mark.slow
@pytest.mark.parametrize("world", ["sim", "emu"])
def test_a_small_window_beside_a_bulk_flow_is_no_slow_reader(world: str, tmp_path: Path) -> None:
    """100 kB of window, in a queue of 2 MB that the bulk flow fills: the RTT is four times that of the path."""
    links = [
        {"from": "near", "to": "r", "one_way_delay": "5 ms", "line_rate": "1 Gbit/s"},
        {"from": "far", "to": "r", "one_way_delay": "5 ms", "line_rate": "1 Gbit/s"},
        {"from": "r", "to": "s", "one_way_delay": "20 ms", "line_rate": "100 Mbit/s", "queue": "2 MB"},
        {"from": "s", "to": "near-sink", "one_way_delay": "1 ms", "line_rate": "1 Gbit/s"},
        {"from": "s", "to": "far-sink", "one_way_delay": "1 ms", "line_rate": "1 Gbit/s"},
    ]
    flows = [
        {"name": "small", "from": "near", "to": "near-sink", "window": "100 kB"},
        {"name": "bulk", "from": "far", "to": "far-sink"},
    ]
    asked = {"congestion_control": "cubic", "duration": "30 s", "window": "16 MB"}
    content = {"links": links, "flows": flows, "transfer": asked}
    run = ls.run(scenario(tmp_path, content), world=world, runs_dir=tmp_path, report=False)
    small = next(flow for flow in run.record.flows if flow.name == "small")
    assert small.limited_by == "window", small.limited_by_why
