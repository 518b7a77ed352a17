"""Unequal flows behind one queue: the times at which hosts send vary, so that seeds mean something in both worlds."""

import json
from pathlib import Path

import pytest

from landspeed.results.bundle import load_record
from landspeed.results.samples_reader import Samples
from tests.bench.unequal import CASES, WORLDS, Mean, share
from tests.support.command import landspeed
from tests.support.emu_fixtures import write_scenario

CASE = "reno 40 and 160 ms"


def test_means_agree_by_their_distance_or_their_error_bars() -> None:
    """Student's quantile of 8 samples is 2.365, of 20 it is 2.093."""
    values = [0.5 + 0.01 * number for number in range(8)]
    assert Mean.of(values).error == pytest.approx(2.365 * 0.024495 / 8**0.5, rel=5e-3)
    assert Mean.of([*values, *values, *values[:4]]).error == pytest.approx(2.093 * 0.023144 / 20**0.5, rel=5e-3)
    assert Mean(0.50, 0.0).agrees(Mean(0.549, 0.0)) and not Mean(0.50, 0.0).agrees(Mean(0.551, 0.0))
    assert Mean(0.50, 0.04).agrees(Mean(0.60, 0.06)) and not Mean(0.50, 0.04).agrees(Mean(0.60, 0.05))


@pytest.mark.slow
def test_another_seed_is_another_run_where_sending_times_vary_or_a_queue_draws(tmp_path: Path) -> None:
    """Two Reno flows, simulated: a drop-tail queue has the same losses for each seed without noise; RED has not."""
    words = ("--world", "sim", "--json", "--quiet", "--set", "transfer.duration=10 s")
    delivered: list[int] = []
    for case, jitter in ((CASE, "0 s"), (CASE, None), (f"{CASE}, red", "0 s")):
        content = CASES[case].content(0)
        found: set[tuple[int, ...]] = set()
        for seed in (1, 2, 3):
            file = write_scenario(tmp_path, content | {"send_jitter": jitter or content["send_jitter"], "seed": seed})
            told = json.loads(landspeed("run", file, *words, "--out", tmp_path / "runs").stdout)
            found.add(tuple(flow.bytes or 0 for flow in load_record(Path(told["bundle"])).flows))
        delivered.append(len(found))
    assert delivered == [1, 3, 3]


@pytest.mark.guest
def test_slow_start_ends_at_the_same_window(tmp_path: Path) -> None:
    """HyStart hears acknowledgments that come one by one at first: where it ends decides the next minute's shares.

    Over 10 Mbit/s two segments take 2.46 ms, and a train has no gap above 2 ms (docs/ns3/18-quick-acknowledgments.md).
    """
    content = CASES[CASE].content(0)
    flow = content["flows"][0] | {"congestion_control": "cubic"}
    content.update(send_jitter="0 s", links=content["links"][:3], flows=[flow])
    left: dict[str, int] = {}
    for world in WORLDS:
        file = write_scenario(tmp_path, content)
        words = ("run", file, "--world", world, "--json", "--quiet", "--set", "transfer.duration=1 s")
        bundle = Path(json.loads(landspeed(*words, "--out", tmp_path / world).stdout)["bundle"])
        left[world] = min(threshold for (threshold,) in Samples(bundle).rows("sender", "ssthresh_packets"))
    assert left["sim"] == pytest.approx(left["emu"], abs=2), left  # the last acknowledgment's two segments
    assert left["emu"] < 100


@pytest.mark.guest
@pytest.mark.parametrize("case", [CASE, "reno 40 and 160 ms, codel"])
def test_both_worlds_give_unequal_flows_the_same_shares(case: str) -> None:
    """Over three seeds; `python -m tests.bench.unequal` has the other cases, and more seeds."""
    emulated, simulated = (Mean.of([share((case, world, seed)) for seed in range(3)]) for world in WORLDS)
    assert emulated.agrees(simulated), (emulated, simulated)
    assert min(emulated.value, simulated.value) > 0.5  # the near flow has more
