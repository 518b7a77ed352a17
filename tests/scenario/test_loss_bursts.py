"""Bursts of losses against Gilbert's chain, packet by packet, in both worlds; and what is refused of them."""

import itertools
import math
from pathlib import Path
from typing import Any

import pytest

from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.plan.direction import IMPAIRMENTS
from landspeed.worlds.emu.guest.shaping.encode_netem import impairments, words
from landspeed.worlds.registry import plan_for
from tests.support.emu_fixtures import measure, plan_of, request, scenario, transfer
from tests.support.scenario_errors import GOOD, refused, write
from tests.support.scenario_plan import shown
from tests.support.sim_fixtures import MS, S, direction, path_plan, simulate

SIGMAS = 5
CHAINS = [(0.01, 3.0), (0.05, 12.5), (0.2, 1.0)]  # share lost, packets in a row


def check_chain(lost: list[bool], loss: float, burst: float) -> None:
    """Number and length of the bursts within five standard deviations of the chain's.

    A burst and the gap after it are a renewal of mean burst + gap packets, and both are geometric, of variance
    m (m − 1) for a mean of m; a count of renewals has variance n σ² / μ³ (Feller, An Introduction to Probability
    Theory, volume 1, XIII.6).
    """
    lengths = [len(list(run)) for taken, run in itertools.groupby(lost) if taken]
    gap = burst * (1 - loss) / loss
    mean, variance = burst + gap, burst * (burst - 1) + gap * (gap - 1)
    wanted = len(lost) / mean
    assert abs(len(lengths) - wanted) <= SIGMAS * math.sqrt(len(lost) * variance / mean**3) + 1, (len(lengths), wanted)
    found = sum(lengths) / len(lengths)
    assert abs(found - burst) <= SIGMAS * math.sqrt(burst * (burst - 1) / len(lengths)) + 1e-9, (found, burst)
    alone = sum(length == 1 for length in lengths)
    sigma = math.sqrt(len(lengths) / burst * (1 - 1 / burst))
    assert abs(alone - len(lengths) / burst) <= SIGMAS * sigma + 1e-9, (alone, len(lengths))


# --- The emulated world ----------------------------------------------------------------------------------------------

COUNT = 12_000


def _emulated(folder: Path, seed: int) -> list[list[int]]:
    """Which packets of a train arrive on a link of each chain."""
    folder.mkdir()
    plain: dict[str, Any] = {"one_way_delay": "1 ms", "line_rate": "10 Gbit/s"}
    lossy = [{**plain, "loss": f"{loss * 100:g} %", "loss_burst": burst} for loss, burst in CHAINS]
    plan = plan_of(folder, scenario([plain, *lossy, plain]), seed=seed)
    requests = [request(plan, place, place + 1, 100, COUNT, together=100) for place in range(1, len(CHAINS) + 1)]
    return [[each.sequence for each in train.arrived] for train in measure(plan, folder, requests)]


@pytest.mark.guest
def test_netem_loses_in_bursts_and_the_same_seed_loses_the_same(tmp_path: Path) -> None:
    first, again, other = (_emulated(tmp_path / name, seed) for name, seed in (("a", 7), ("b", 7), ("c", 8)))
    for trains in (first, other):
        for (loss, burst), arrived in zip(CHAINS, trains, strict=True):
            there = set(arrived)
            check_chain([number not in there for number in range(COUNT)], loss, burst)
    assert first == again
    assert all(one != two for one, two in zip(first, other, strict=True))


@pytest.mark.guest
def test_a_transfer_over_bursts_repeats_to_the_byte(tmp_path: Path) -> None:
    """The gate measures round bursts longer than all its probes; two runs are the same."""
    lossy = {"one_way_delay": "5 ms", "loss": "1 %", "loss_burst": 60, "reverse": {"loss": "0 %"}}
    file = scenario([{"one_way_delay": "5 ms"}, lossy], transfer={"duration": "3 s"})
    made: list[tuple[bytes, bytes]] = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        record, bundle = transfer(plan_of(tmp_path / name, file, seed=5), tmp_path / name)
        assert record.calibration is not None and record.calibration.passed
        assert record.retransmits and record.retransmits > 10
        made.append(((bundle / "samples.parquet").read_bytes(), (bundle / "links.parquet").read_bytes()))
    assert made[0] == made[1]


@pytest.mark.guest
def test_the_gate_waits_out_a_burst_and_no_longer(tmp_path: Path) -> None:
    """Half of all is lost, in bursts of 40: nine probes are too few to see what comes between."""
    lossy = {"one_way_delay": "1 ms", "loss": "50 %", "loss_burst": 40, "reverse": {"loss": "0 %"}}
    plan = plan_of(tmp_path, scenario([{"one_way_delay": "1 ms"}, lossy], transfer={"bytes": "1 kB"}))
    record, _ = transfer(plan, tmp_path)
    assert record.calibration is not None and record.calibration.passed


# --- The simulated world ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "burst"), CHAINS)
def test_the_simulator_loses_in_bursts(tmp_path: Path, loss: float, burst: float) -> None:
    """Background packets, one in each half millisecond; each sample of the link tells what became of its one packet.

    The transfer's own come later: they are 15 s on their way to that link. But the handshake's answer goes out again
    after 1, 3 and 7 s of those, and is acknowledged each time: what is looked at begins behind the last of these.
    """
    lossy = direction(10**9, MS, loss=loss, loss_burst=burst, seed=9)
    event = {"kind": "background", "at_ns": MS // 4, "duration_ns": 14 * S, "rate_bps": 1500 * 8 * 2000}
    event |= {"link": 1, "direction": "forward"}
    asked = {"duration_ns": 14 * S, "stall_ns": 100 * S, "window_bytes": 3000, "sample_interval_ns": MS // 2}
    plan = path_plan([direction(10**9, 15 * S), lossy, direction(10**9, MS)], mtu=1500, **asked)
    run = simulate(plan | {"events": [event]}, tmp_path / "run")
    assert run.status == 0, run.error
    drops = [row["drops"] or 0 for row in run.rows("links") if (row["link"], row["direction"]) == (1, 0)]
    lost = [later - before for before, later in itertools.pairwise(drops)][8 * 2000 : 14 * 2000]
    assert run.result["event_packets"] == [14 * 2000] and set(lost) == {0, 1}
    check_chain([each == 1 for each in lost], loss, burst)


# --- The plan, and what is refused -----------------------------------------------------------------------------------


def test_the_plan_has_the_chain_where_something_is_lost(tmp_path: Path) -> None:
    content = scenario([{"one_way_delay": "5 ms", "loss": "2 %", "loss_burst": 4, "reverse": {"loss": "0 %"}}])
    plan = plan_of(tmp_path, content)
    ahead, back = plan.links[0].forward, plan.links[0].reverse
    assert ahead.impairments == {"loss": 0.02, "loss_burst": 4}
    assert back.impairments == {}
    assert (ahead.loss_events, ahead.losses_in_a_row) == (pytest.approx(0.005), 4)
    assert words(impairments(ahead)) == ["delay 5000us", "loss gemodel 0.510204071% 25%"]
    assert "loss burst 4 packets" in shown(plan, 80)
    # To Reno a burst is one loss: its square-root law counts bursts.
    reno = {"duration": "1 s", "congestion_control": "reno"}
    plans = [
        plan_of(tmp_path, scenario([{"one_way_delay": "5 ms", **lossy}], transfer=reno))
        for lossy in ({"loss": "2 %", "loss_burst": 4}, {"loss": "0.5 %"})
    ]
    limits = [[limit for limit in each.physics.limits if limit.kind == "loss"] for each in plans]
    assert limits[0] and limits[0] == limits[1]
    assert set(IMPAIRMENTS) >= {"loss", "loss_burst"}


BAD = {
    "a word": ("loss: 1 %, loss_burst: many", "many", "is a number, not 'many'", "without a unit"),
    "a unit": ("loss: 1 %, loss_burst: 3 packets", "3 packets", "is a number", "without a unit"),
    "too small": ("loss: 1 %, loss_burst: 0.5", "0.5", "too small", "at least 1"),
    "too large": ("loss: 1 %, loss_burst: 1e9", "1e9", "too large", "at most 1000"),
    "no number": ("loss: 1 %, loss_burst: .nan", ".nan", "too large", "at most 1000"),
    "no loss": ("loss_burst: 3", "loss_burst", "bursts of losses, and no loss", "add loss: 0.1 %"),
    "nothing else": ("loss: 100 %, loss_burst: 3", "loss_burst", "every packet is lost", "remove it"),
    "nothing between": ("loss: 80 %, loss_burst: 2", "2}", "bursts of 2 packets cannot lose 80 %", "at least 4,"),
    "in reverse": ("reverse: {loss_burst: 3}", "loss_burst", "bursts of losses, and no loss", "add loss"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_bursts_are_refused_where_they_stand(tmp_path: Path, case: str) -> None:
    keys, at, what, right = BAD[case]
    text = GOOD.replace("one_way_delay: 5 ms, line_rate: 1 Gbit/s", f"one_way_delay: 5 ms, line_rate: 1 Gbit/s, {keys}")
    path = write(tmp_path, text)
    message = refused(path)
    column = text.split("\n")[8].index(at) + 1
    assert f"{path}:9:{column}: " in message, message
    assert what in message and right in message, message


def test_bursts_of_one_direction_are_no_error_of_the_other(tmp_path: Path) -> None:
    for keys in ("loss: 1 %, loss_burst: 3, reverse: {loss: 0 %}", "loss_burst: 3, reverse: {loss: 1 %}"):
        text = GOOD.replace("one_way_delay: 5 ms", f"one_way_delay: 5 ms, {keys}")
        for world in ("emu", "sim", "real"):
            plan_for(load_scenario(write(tmp_path, text)), world)
