"""Delays and losses of netem's own kind as both worlds make them, against the arithmetic of the kernel's source.

All bounds are five standard errors of the figure, from the number of packets and the moments of the table.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from landspeed.scenario.file.load import build_scenario
from landspeed.scenario.file.netem_line import read_netem
from landspeed.scenario.plan.direction import Direction
from landspeed.scenario.resolve.resolve import make_plan
from tests.support.emu_fixtures import measure, plan_of, request, scenario, transfer
from tests.support.sim_fixtures import MS, S, direction, path_plan, simulate

SIGMAS, COUNT, SCALE = 5, 4000, 8192
SPACED_NS = 500_000
LINE_NS = (1000 + 38) * 8 / 10  # a packet of 1000 B at 10 Gbit/s
# A link's keys; whether packets overtake each other at one each half millisecond.
DELAYS: dict[str, tuple[dict[str, Any], bool]] = {
    "uniform": ({"netem": "delay 50ms 20ms"}, True),
    "normal": ({"netem": "delay 100ms 20ms distribution normal"}, True),
    "pareto": ({"netem": "delay 100ms 20ms distribution pareto"}, True),
    "paretonormal": ({"netem": "delay 100ms 20ms distribution paretonormal"}, True),
    "correlated": ({"netem": "delay 100ms 20ms 50% distribution normal"}, True),
    "in order": ({"one_way_delay": "10 ms", "jitter": "50 us", "jitter_distribution": "normal"}, False),
}


def moments(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean, standard deviation, and the fourth central moment."""
    mean = math.fsum(values) / len(values)
    second = math.fsum((each - mean) ** 2 for each in values) / len(values)
    return mean, math.sqrt(second), math.fsum((each - mean) ** 4 for each in values) / len(values)


def theory(way: Direction) -> tuple[float, float, float]:
    """The same of what netem draws: uniform from -J up to J, or of its table."""
    if way.netem is None or way.netem.table is None:
        j = way.jitter_ns
        return way.delay_ns, j / math.sqrt(3), j**4 / 5
    return moments([way.delay_ns + way.jitter_ns * entry / SCALE for entry in way.netem.table])


def check_moments(found: Sequence[float], way: Direction, *, overtakes: bool) -> None:
    """Mean, standard deviation and the correlation of neighbours are right."""
    mean, sigma, fourth = theory(way)
    count = len(found)
    measured_mean, measured_sigma, _ = moments(found)
    assert measured_mean == pytest.approx(mean, abs=SIGMAS * sigma / math.sqrt(count) + 1000)
    error = math.sqrt((fourth - sigma**4) / count) / (2 * sigma)
    assert measured_sigma == pytest.approx(sigma, abs=SIGMAS * error + 1000)
    pairs = math.fsum((a - measured_mean) * (b - measured_mean) for a, b in itertools.pairwise(found))
    # Its correlation is lost where the kernel takes the rest of a division by the table's length, or by 2 J.
    assert pairs / count / measured_sigma**2 == pytest.approx(0, abs=SIGMAS / math.sqrt(count))
    disorder = sum(b + SPACED_NS < a for a, b in itertools.pairwise(found))
    assert (disorder > count / 10) == overtakes, disorder


@pytest.mark.guest
def test_linux_delays_as_its_tables_say(tmp_path: Path) -> None:
    quick = {"one_way_delay": "1 ms", "line_rate": "10 Gbit/s"}
    links = [{"line_rate": "10 Gbit/s", **keys} for keys, _ in DELAYS.values()]
    plan = plan_of(tmp_path, scenario([quick, *links, quick], queue="1 MB"))
    asked = [request(plan, n, n + 1, 1000, COUNT, gap_ns=SPACED_NS) for n in range(1, len(links) + 1)]
    trains = measure(plan, tmp_path, asked)
    for (_, overtakes), train, link in zip(DELAYS.values(), trains, plan.links[1:], strict=False):
        arrived = sorted(train.arrived, key=lambda each: each.sequence)
        assert len(arrived) == COUNT
        check_moments([each.one_way_ns - LINE_NS for each in arrived], link.forward, overtakes=overtakes)


def _simulated(folder: Path, keys: dict[str, Any], **more: Any) -> tuple[Direction, list[float]]:
    """Round trips of echoes over a link that has the keys one way; ns, by their number."""
    plan = make_plan(build_scenario(scenario([{"one_way_delay": "1 ms"}, keys])))
    way = plan.links[1].forward
    made = direction(10**10, way.delay_ns, jitter_ns=way.jitter_ns, netem=asdict(way.netem) if way.netem else None)
    made |= {"loss": way.loss, "seed": 5, "reverse": {}} | more
    asked = {
        "duration_ns": (COUNT + 500) * SPACED_NS,
        "ping_interval_ns": SPACED_NS,
        "pacing_rate_bps": 10**5,
        "mtu": 1500,
    }
    run = simulate(path_plan([direction(10**10, MS), made], **asked), folder / "run")
    assert run.status == 0, run.error
    rows = {row["number"] or 0: float(row["rtt_ns"] or 0) for row in run.rows("pings")}
    return way, [rows.get(number, math.nan) for number in range(COUNT)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", DELAYS)
def test_the_simulator_delays_as_its_tables_say(tmp_path: Path, kind: str) -> None:
    keys, overtakes = DELAYS[kind]
    way, found = _simulated(tmp_path, keys)
    back_ns = 2 * MS + way.delay_ns + 4 * (84 + 38) * 8 / 10
    check_moments([each - back_ns for each in found], way, overtakes=overtakes)


# Line; the probabilities of one packet lost, and of two neighbours.
def _gemodel(p: float, r: float, bad: float, good: float) -> tuple[float, float]:
    """The kernel changes the state first, and loses by the state before (loss_gilb_ell)."""
    share = p / (p + r)
    one = share * bad + (1 - share) * good
    next_good, next_bad = (1 - p) * good + p * bad, (1 - r) * bad + r * good
    return one, (1 - share) * good * next_good + share * bad * next_bad


def _state(p13: float, p31: float, p32: float, p23: float, p14: float) -> tuple[float, float]:
    """By the chain's balance, turned round until it rests; lost are states 3 and 4 (loss_4state)."""
    good, between, bad, isolated = 1.0, 0.0, 0.0, 0.0
    for _ in range(5000):
        good, between, bad, isolated = (
            good * (1 - p13 - p14) + bad * p31 + isolated,
            between * (1 - p23) + bad * p32,
            good * p13 + between * p23 + bad * (1 - p31 - p32),
            good * p14,
        )
    return bad + isolated, bad * (1 - p31 - p32)


def _correlated(loss: float, rho: float) -> tuple[float, float]:
    """Draws x = (1-rho) u + rho x, of which those up to `loss` are lost (get_crandom): their density, on a grid."""
    bins = 2000
    density = [1.0] * bins
    for _ in range(60):
        sums = [0.0, *itertools.accumulate(each / bins for each in density)]

        def below(x: float, sums: list[float] = sums) -> float:
            at = min(max(x, 0.0), 1.0) * bins
            return sums[int(at)] + (at - int(at)) * (sums[min(int(at) + 1, bins)] - sums[int(at)])

        middles = ((number + 0.5) / bins for number in range(bins))
        density = [(below(y / rho) - below((y - (1 - rho)) / rho)) / (1 - rho) for y in middles]
    lost = range(round(loss * bins))
    one = sum(density[number] / bins for number in lost)
    chances = (min(max((loss - rho * (number + 0.5) / bins) / (1 - rho), 0), 1) for number in lost)
    return one, sum(density[number] / bins * chance for number, chance in zip(lost, chances, strict=True))


# What a line of netem loses: the share of packets, and of neighbours. Computed where it is asked: one takes 0.2 s.
LOSSES = {
    "loss gemodel 2% 18% 70% 1%": partial(_gemodel, 0.02, 0.18, 0.7, 0.01),
    "loss state 2% 20% 10% 40% 1%": partial(_state, 0.02, 0.2, 0.1, 0.4, 0.01),
    "loss 40% 30%": partial(_correlated, 0.4, 0.3),
}


def check_losses(lost: Sequence[bool], one: float, two: float) -> None:
    """Share of packets, and of neighbours; their errors as of losses in bursts of up to ten."""
    count = len(lost)
    assert sum(lost) / count == pytest.approx(one, abs=SIGMAS * math.sqrt(10 * one / count))
    pairs = sum(a and b for a, b in itertools.pairwise(lost)) / count
    assert pairs == pytest.approx(two, abs=SIGMAS * math.sqrt(10 * two / count))
    assert pairs > 1.2 * (sum(lost) / count) ** 2  # else none of these would be seen


@pytest.mark.guest
def test_linux_loses_as_its_chains_say(tmp_path: Path) -> None:
    many = 20_000
    quick = {"one_way_delay": "1 ms", "line_rate": "10 Gbit/s"}
    links = [{"line_rate": "10 Gbit/s", "netem": f"delay 1ms {line}"} for line in LOSSES]
    plan = plan_of(tmp_path, scenario([quick, *links, quick], queue="1 MB"))
    asked = [request(plan, n, n + 1, 1000, many, gap_ns=20_000) for n in range(1, len(links) + 1)]
    for chances, train in zip(LOSSES.values(), measure(plan, tmp_path, asked), strict=True):
        there = {each.sequence for each in train.arrived}
        check_losses([number not in there for number in range(many)], *chances())


@pytest.mark.slow
@pytest.mark.parametrize("line", LOSSES)
def test_the_simulator_loses_as_its_chains_say(tmp_path: Path, line: str) -> None:
    """Background packets, one in each half millisecond; each sample tells what became of its one packet."""
    plan = make_plan(build_scenario(scenario([{"one_way_delay": "1 ms"}, {"netem": line}])))
    netem = plan.links[1].forward.netem
    assert netem is not None
    seconds = 14
    lossy = direction(10**9, MS, loss=plan.links[1].forward.loss, seed=9, netem=asdict(netem), reverse={})
    event = {"kind": "background", "at_ns": MS // 4, "duration_ns": seconds * S, "rate_bps": 1500 * 8 * 2000}
    event |= {"link": 1, "direction": "forward"}
    asked = {"duration_ns": seconds * S, "stall_ns": 100 * S, "window_bytes": 3000, "sample_interval_ns": MS // 2}
    late = path_plan([direction(10**9, 15 * S), lossy, direction(10**9, MS)], mtu=1500, **asked)
    run = simulate(late | {"events": [event]}, tmp_path / "run")
    assert run.status == 0, run.error
    drops = [row["drops"] or 0 for row in run.rows("links") if (row["link"], row["direction"]) == (1, 0)]
    lost = [later - before for before, later in itertools.pairwise(drops)][8 * 2000 : seconds * 2000]
    assert set(lost) == {0, 1}
    check_losses([each == 1 for each in lost], *LOSSES[line]())


def test_the_losses_by_arithmetic_are_those_of_theory() -> None:
    """What theory goes by is the chains' own share, by another way."""
    for line, chances in LOSSES.items():
        if "model" in line or "state" in line:
            assert read_netem(line).loss == pytest.approx(chances()[0], rel=1e-9)


LIMIT = 50


@pytest.mark.guest
def test_linux_holds_no_more_than_the_limit(tmp_path: Path) -> None:
    """So many are under way for 100 ms: of 300, sent in 30 ms, the others find no place."""
    quick = {"one_way_delay": "1 ms", "line_rate": "10 Gbit/s"}
    full = {"line_rate": "10 Gbit/s", "netem": f"delay 100ms limit {LIMIT}"}
    plan = plan_of(tmp_path, scenario([quick, full, quick]))
    (train,) = measure(plan, tmp_path, [request(plan, 1, 2, 1000, 300, gap_ns=100_000)])
    assert sorted(each.sequence for each in train.arrived) == list(range(LIMIT))


@pytest.mark.slow
def test_the_simulator_holds_no_more_than_the_limit(tmp_path: Path) -> None:
    """Echoes that come back: of those sent in each 100 ms, the first fifty."""
    _, found = _simulated(tmp_path, {"netem": f"delay 100ms limit {LIMIT}"})
    assert sum(not math.isnan(each) for each in found) == pytest.approx(len(found) * LIMIT / 200, rel=0.03)


@pytest.mark.guest
def test_a_transfer_over_it_repeats_to_the_byte(tmp_path: Path) -> None:
    """The gate waits out bursts of ten; the kernel's correlated numbers begin with the seed's."""
    line = "delay 20ms 5ms 30% distribution pareto loss gemodel 0.1% 10% duplicate 1% 20% reorder 2% 30%"
    file = scenario([{"one_way_delay": "1 ms"}, {"netem": line, "reverse": {"netem": "delay 5ms"}}])
    made: list[tuple[bytes, bytes]] = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        record, bundle = transfer(plan_of(tmp_path / name, file, seed=5), tmp_path / name)
        assert record.calibration is not None and record.calibration.passed
        made.append(((bundle / "samples.parquet").read_bytes(), (bundle / "links.parquet").read_bytes()))
    assert made[0] == made[1]
