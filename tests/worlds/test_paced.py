"""Hosts whose queue discipline spaces TCP's packets, and hosts whose does not: when the second flight has arrived."""

import json
from pathlib import Path

import pytest

from landspeed.base.errors import ScenarioError
from landspeed.runs.run import Run
from landspeed.scenario.file.load import load_scenario
from landspeed.worlds.registry import plan_for
from tests.support.command import landspeed
from tests.support.emu_fixtures import scenario, write_scenario

FIRST, SECOND, SEGMENT_BYTES, RTT_S, LINKS, SERIALIZED_S = 10, 20, 1448, 0.040, 2, 1538 * 8 / 1e9


def completed_s(folder: Path, world: str, paced: bool | None) -> float:
    """Seconds for the initial window of ten packets (RFC 6928) and the flight of twenty after it, once connected."""
    made = scenario(
        [{"one_way_delay": "10 ms"}] * LINKS,
        nic="1 Gbit/s",
        transfer={"bytes": f"{(FIRST + SECOND) * SEGMENT_BYTES} B", "congestion_control": "reno"},
    )
    sender = next(host for host in made["hosts"].values() if host["role"] == "sender")
    sender |= {} if paced is None else {"paced": paced}
    done = landspeed("run", write_scenario(folder, made), "--world", world, "--json", "--quiet", "--out", folder)
    completed = Run.load(json.loads(done.stdout)["bundle"]).completion_from_start_s
    assert completed is not None
    return completed


@pytest.mark.parametrize("world", [pytest.param("emu", marks=pytest.mark.guest), "sim"])
def test_the_second_flight_comes_at_once_or_at_two_windows_a_round_trip(tmp_path: Path, world: str) -> None:
    """Unpaced: three ways and the last flight's line. Paced: 19 spaces of RTT / (2 × 20) (tcp_update_pacing_rate).

    fq counts 66 B of headers with each 1448 B, and the first space is that of a window of 12, not of 20.
    """
    at_once_s = completed_s(tmp_path, world, paced=False)
    ways_s = 1.5 * RTT_S + (SECOND + LINKS - 1) * SERIALIZED_S
    assert at_once_s == pytest.approx(ways_s + 2 * SERIALIZED_S, abs=SERIALIZED_S)  # an acknowledgment is for two
    spaces_s = (SECOND - 1) * RTT_S / (2 * SECOND)
    later_s = completed_s(tmp_path, world, paced=True) - at_once_s + (SECOND - 1) * SERIALIZED_S
    assert spaces_s < later_s < spaces_s * (1514 / 1448) + RTT_S / 2 * (1 / 12 - 1 / 20)


@pytest.mark.guest
def test_without_the_key_only_the_emulated_hosts_space(tmp_path: Path) -> None:
    """A simulated flow that has its links to itself is sent as acknowledgments come."""
    assert completed_s(tmp_path, "emu", None) == completed_s(tmp_path, "emu", paced=True)
    assert completed_s(tmp_path, "sim", None) == completed_s(tmp_path, "sim", paced=False)


def test_real_hosts_have_fq(tmp_path: Path) -> None:
    """Set-up tunes them so; a scenario that wants another discipline is refused, where it says so."""
    made = scenario([{"one_way_delay": "10 ms"}])
    name = next(iter(made["hosts"]))
    made["hosts"][name]["paced"] = False
    loaded = load_scenario(write_scenario(tmp_path, made))
    with pytest.raises(ScenarioError, match=rf"hosts.{name}.paced is not in the world 'real'(.|\n)*emu or sim"):
        plan_for(loaded, "real")
