"""Losses by count: each N-th packet, in both worlds; and what is refused."""

import itertools
import pickle
from pathlib import Path

import pytest

from landspeed.base.loss_units import BitErrors, PeriodicLoss
from landspeed.results.samples_reader import Samples
from landspeed.scenario.file.load import load_scenario
from landspeed.worlds.emu.guest.shaping.encode_netem import impairments, words
from landspeed.worlds.emu.guest.shaping.lose_next import draws, nth
from landspeed.worlds.registry import plan_for
from tests.support.emu_fixtures import plan_of, scenario, transfer
from tests.support.scenario_errors import GOOD, check_link_refused, refused, write
from tests.support.scenario_plan import shown
from tests.support.sim_fixtures import MS, S, direction, path_plan, simulate

EVERY = 100
LOSSY = {"one_way_delay": "0 ms", "line_rate": "20 Mbit/s", "loss": {"every": EVERY}, "reverse": {"loss": "0 %"}}


def check_period(passed: list[tuple[int, int]]) -> None:
    """Samples (packets given to the link, of which lost) all agree on the one packet from which each hundredth is lost.

    That is one of the first few: those before it are of the handshakes.
    """
    assert passed[-1][1] >= 20
    first = max(entered - (lost + 1) * EVERY + 1 for entered, lost in passed)
    last = min(entered - lost * EVERY for entered, lost in passed if lost)
    assert first <= last and 0 <= last - passed[0][0] <= 20, (first, last, passed[0])


@pytest.mark.guest
def test_linux_loses_each_hundredth_packet(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        scenario(
            [{"one_way_delay": "10 ms", "line_rate": "20 Mbit/s"}, LOSSY],
            transfer={"duration": "5 s", "sample_interval": "10 ms"},
        ),
    )
    _, bundle = transfer(plan, tmp_path)
    table = Samples(bundle).link(1, "forward")
    columns = (table[name].to_pylist() for name in ("packets", "backlog_packets", "drops"))
    check_period([(sent + waiting + lost, lost) for sent, waiting, lost in zip(*columns, strict=True)])


@pytest.mark.slow
def test_the_simulator_loses_each_hundredth_packet(tmp_path: Path) -> None:
    lossy = direction(20_000_000, 0, loss=1 / EVERY, loss_every=EVERY)
    run = simulate(
        path_plan([direction(20_000_000, 10 * MS), lossy], mtu=1500, sample_interval_ns=10 * MS, duration_ns=5 * S),
        tmp_path / "run",
    )
    assert run.status == 0, run.error
    rows = [row for row in run.rows("links") if (row["link"], row["direction"]) == (1, 0)]
    columns = ([row[name] or 0 for row in rows] for name in ("packets", "backlog_packets", "drops"))
    check_period([(sent + waiting + lost, lost) for sent, waiting, lost in zip(*columns, strict=True)])


@pytest.mark.parametrize("packet", [1, 2, 64, 99, 1000, 1999])
def test_the_seed_of_one_packet_loses_no_other(packet: int) -> None:
    seed, model = nth(packet)
    found = itertools.islice(draws(seed), 5000)
    assert [number for number, draw in enumerate(found, 1) if draw < model.fields["p14"]] == [packet]


def test_a_seed_for_a_far_packet_is_computed_not_searched() -> None:
    seed, model = nth(200_000)
    assert next(itertools.islice(draws(seed), 199_999, None)) < model.fields["p14"]
    nth(10**8)


def test_the_plan_counts_and_netem_waits_for_the_transfer(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, scenario([LOSSY]))
    ahead = plan.links[0].forward
    assert ahead.impairments == {"loss": 0.01, "loss_every": EVERY}
    assert words(impairments(ahead)) == ["delay 0us"]
    assert "loss every 100 packets" in shown(plan, 80)


BAD = {
    "another key": ("loss: {each: 3}", "{each", "has the one key 'every' or", "loss: {every: 1000} or"),
    "a unit": ("loss: {every: 3 packets}", "{every", "is not a period", "a whole number"),
    "every packet": ("loss: {every: 1}", "{every", "'1' is not a period", "from 2 to"),
    "bursts": ("loss: {every: 9}, loss_burst: 3", "{every", "loss_burst leaves packets to chance", "link of its own"),
    "jitter": ("loss: {every: 9}, jitter: 1 ms", "{every", "jitter leaves packets to chance", "link of its own"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_count_is_refused_where_it_stands(tmp_path: Path, case: str) -> None:
    check_link_refused(tmp_path, *BAD[case])


def test_another_process_has_the_same_loss() -> None:
    """A sweep's cells run in others: as a float alone, the share of a period would be taken for a period there."""
    loss, errors = pickle.loads(pickle.dumps((PeriodicLoss(EVERY), BitErrors(1e-9))))
    assert (float(loss), loss.every, float(errors), errors.rate) == (0.01, EVERY, 1, 1e-9)


def test_super_packets_cannot_be_counted(tmp_path: Path) -> None:
    text = GOOD.replace("one_way_delay: 5 ms", "one_way_delay: 5 ms, loss: {every: 100}", 1)
    message = refused(write(tmp_path, text + "fidelity: super-packets\n"))
    assert "one by one" in message and "fidelity: packets" in message, message


def test_both_worlds_take_it(tmp_path: Path) -> None:
    text = GOOD.replace("one_way_delay: 5 ms", "one_way_delay: 5 ms, loss: {every: 100}", 1)
    for world in ("emu", "sim"):
        plan_for(load_scenario(write(tmp_path, text)), world)
