"""Predictions: start and steady part of a curve, the end that follows, the choices, and what is said of them."""

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from landspeed.base.failures import NotPossible
from landspeed.base.text import long_duration_text
from landspeed.judge.steady import carried_on, half_interval, steady, time_of, truncation
from landspeed.results.series import ByteCurves
from landspeed.runs.sweeps.predict import parse_choices, percentile
from tests.support.command_process import COMMAND, run
from tests.support.emu_fixtures import FIRST
from tests.support.runs_sweep_find import toy_goodput_bps
from tests.support.toy_world import environment, make_site

SECONDS = 60


def curve(rate_bps: Callable[[float], float], seconds: float = SECONDS, step_s: float = 0.05) -> ByteCurves:
    """A transfer of one stream, its rate given."""
    made, count = ByteCurves(), 0.0
    for number in range(1, round(seconds / step_s) + 1):
        count += rate_bps((number - 0.5) * step_s) * step_s / 8
        made.add(0, number * step_s, int(count))
    return made


def test_the_end_of_a_transfer_follows_from_its_beginning() -> None:
    """Slow start doubles for five seconds, then 1 Gbit/s: 125 GB take 1000 s and what the start lost."""
    lost_s = 5 - (1 - 2**-10) / math.log(2) * 0.5  # ∫ 1 − 2^(−(5 − t)/0.5)
    made = steady(curve(lambda t: 1e9 * min(1.0, 2 ** ((t - 5) / 0.5))), 0.05)
    assert made.is_steady
    assert made.start_s == pytest.approx(5, abs=0.6)
    assert made.rate_bps == pytest.approx(1e9, rel=1e-4)
    assert made.duration_s(125e9) == pytest.approx(1000 + lost_s, abs=0.1)
    half = made.curves.bytes_at(30.0)
    assert made.duration_s(half) == pytest.approx(30, abs=1e-4)  # read off, not extrapolated
    assert time_of(made.curves, half) == pytest.approx(30, abs=1e-4)


def test_a_transfer_that_ended_in_its_start_is_carried_on_by_theory() -> None:
    """Slow start doubles each 0.25 s up to 1 Gbit/s at 5 s. What is seen of it ends at 4 s, or just after its end."""

    def rate_bps(time_s: float) -> float:
        return 1e9 * min(1.0, 2.0 ** math.ceil((time_s - 5) / 0.25))

    whole = curve(rate_bps, 120, 0.025)
    for seen_s in (4.0, 5.4):
        made = steady(whole.until(seen_s), 0.25)
        assert not made.is_steady
        carried = carried_on(made, 0.25, 1e9)
        assert carried.by_theory
        assert not carried.is_steady
        amount = whole.bytes_at(100.0)
        assert carried.duration_s(amount) == pytest.approx(100, abs=0.3)
    lost = curve(lambda t: 4e8 if t < 3 else 2e8 + 1e6 * t, 5)  # a loss ended it, and it grows slowly: nobody knows
    assert carried_on(steady(lost, 0.25), 0.25, 1e9).by_theory is False


def test_noise_gives_an_interval_that_holds_the_rate() -> None:
    chance = random.Random(11)
    inside = 0
    for _ in range(60):
        made = steady(curve(lambda t: 1e9 * min(1.0, t / 3) * chance.gauss(1, 0.05), 40))
        assert made.found
        inside += abs(made.rate_bps - 1e9) <= made.half_bps
        assert made.half_bps < 0.01e9
    assert inside >= 51  # 95 % of 60 is 57; three standard deviations are 5


@pytest.mark.parametrize(
    "rate_bps",
    [
        lambda t: 1e9 * t / SECONDS,
        lambda t: 1e9 * (0.5 if t < 40 else 1.0),
        lambda t: 1e9 * (1 + 0.5 * math.sin(t / 6)),
    ],
    ids=["grows on", "steps late", "swings"],
)
def test_what_is_not_steady_is_not_taken_as_that(rate_bps: Callable[[float], float]) -> None:
    assert not steady(curve(rate_bps)).is_steady


def test_pieces() -> None:
    assert truncation([0.0] * 3 + [1.0] * 17) == 3
    assert truncation([1.0] * 10) == 0
    assert half_interval([1.0] * 20) == 0
    assert half_interval([1.0, 2.0]) == math.inf
    assert [percentile([3.0, 1.0, 2.0], share) for share in (0, 5, 50, 95, 100)] == [1, 1.1, 2, 2.9, 3]
    with pytest.raises(ValueError, match="moved nothing"):
        steady(ByteCurves())
    cut = curve(lambda _: 1e9).until(10.02)
    assert cut.end_s == pytest.approx(10.02)
    assert cut.bytes_at(99) == pytest.approx(10.02e9 / 8, rel=1e-3)


def test_long_times_are_told_in_units_that_matter() -> None:
    told = [long_duration_text(seconds) for seconds in (42.06, 1037.2, 3599.6, 3900, 888_897.8)]
    assert told == ["42.1 s", "17 min 17 s", "1 h 0 min", "1 h 5 min", "10 d 6 h 55 min"]


def test_choices() -> None:
    assert parse_choices(["a.b=1,2 MB", "c=[1, 2],{x: 1, y: 2}"]) == {
        "a.b": ["1", "2 MB"],
        "c": ["[1, 2]", "{x: 1, y: 2}"],
    }
    for bad in (["a"], ["=1"], ["a="], ["a=1,,2"], ["a=1,1"], ["a=1", "a=2"]):
        with pytest.raises(NotPossible, match="write KEY=VALUE"):
            parse_choices(bad)


class Predicting:
    """The command in the toy world, whose curves are `(t − 0.5 s) × goodput` from the first second on."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.site = folder, make_site(folder)
        self.log = folder / "log"
        self.log.touch()

    def run(self, *words: object, status: int = 0, file: Path = FIRST, shape: str = "even") -> tuple[Any, str]:
        line = [COMMAND, "predict", file, "--worlds", "toy", "--curve", shape, "--log", self.log, *words]
        line += ["--out", self.folder / "out", "--json"]
        env = environment(self.site)
        done = run(line, capture_output=True, text=True, env=env, timeout=300)
        assert done.returncode == status, done.stderr
        return json.loads(done.stdout or "{}"), done.stderr

    @property
    def runs(self) -> int:
        return len(self.log.read_text().splitlines())


@pytest.fixture
def predicting(tmp_path: Path) -> Predicting:
    return Predicting(tmp_path)


@pytest.mark.slow
def test_completion_times_are_those_of_the_world_s_law(predicting: Predicting) -> None:
    words = ("--bytes", "1TB", "--choose", "transfer.window=1 MB,16 MB", "--seeds", "3")
    told, _ = predicting.run(*words)
    assert told["bytes"] == 10**12
    assert told["unknown"].startswith("Not known here: what the hosts' CPUs")
    assert [each["choice"] for each in told["predictions"]] == [
        {"transfer.window": "1 MB"},
        {"transfer.window": "16 MB"},
    ]
    for each, window in zip(told["predictions"], ("1 MB", "16 MB"), strict=True):
        truth = [8e12 / (goodput(seed, f"transfer.window={window}")) + 0.5 for seed in (1, 2, 3)]
        assert list(each["durations_s"].values()) == pytest.approx(truth, rel=1e-4)
        assert each["p50_s"] == pytest.approx(sorted(truth)[1], rel=1e-4)
        low, middle, high = sorted(truth)
        assert each["p5_s"] == pytest.approx(low + 0.1 * (middle - low), rel=1e-4)
        assert each["p95_s"] == pytest.approx(high - 0.1 * (high - middle), rel=1e-4)
        assert each["steady"]
        assert each["extrapolated"] > 0.99
        assert each["start_s"] <= 1.1
    assert predicting.runs == 6
    predicting.run(*words)
    assert predicting.runs == 6  # known
    told, _ = predicting.run("--bytes", "10MB", "--seeds", "1")  # less than was sent: nothing is extrapolated
    (each,) = told["predictions"]
    assert each["extrapolated"] == 0
    # In the first second (t²/2) × goodput has arrived.
    assert each["p50_s"] == pytest.approx((2 * 8e7 / goodput(1)) ** 0.5, rel=0.05)


def goodput(seed: int, *overrides: str) -> float:
    """As tests of `find` compute it; those fix a window of 1 MB, which is set anew here."""
    return toy_goodput_bps(seed, "transfer.window=16 MB", *overrides)


@pytest.mark.slow
def test_what_grows_on_is_run_longer_and_said(predicting: Predicting) -> None:
    told, _ = predicting.run("--bytes", "1TB", "--seeds", "1", "--at-most", "30", shape="growing")
    (each,) = told["predictions"]
    assert not each["steady"]
    assert each["measured_s"] == pytest.approx(30, abs=0.2)
    assert predicting.runs == 3  # 10, 20 and 30 s
    words = [COMMAND, "predict", FIRST, "--worlds", "toy", "--curve", "growing", "--bytes", "1TB", "--seeds", "1",
             "--at-most", "30", "--out", predicting.folder / "out"]  # fmt: skip
    env = environment(predicting.site)
    said = run(words, capture_output=True, text=True, check=True, env=env, timeout=300).stdout
    assert "NOT steady yet" in said
    assert said.startswith("Not known here")


@pytest.mark.slow
def test_a_host_s_limit_is_a_limit(predicting: Predicting) -> None:
    told, _ = predicting.run("--bytes", "1TB", "--host-limit", "500Mbit/s", "--seeds", "1")
    chance = random.Random(1).gauss(1, 0.03)
    assert told["predictions"][0]["p50_s"] == pytest.approx(8e12 / 500e6 / chance, rel=1e-3)
    assert "500.00 Mbit/s, as given" in told["unknown"]
    fast, _ = predicting.run("--bytes", "1TB", "--host-limit", "38Gbit/s", "--seeds", "1")
    assert fast["predictions"][0]["p50_s"] == pytest.approx(8e12 / goodput(1), rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--bytes", "100"), "needs a unit"),
        (("--bytes", "0 TB"), "more than zero"),
        (("--bytes", "1TB", "--host-limit", "38"), "needs a unit"),
        (("--bytes", "1TB", "--choose", "transfer.window"), "write KEY=VALUE,VALUE"),
        (("--bytes", "1TB", "--choose", "transfer.colour=red"), "unknown key"),
        (("--bytes", "1TB", "--choose", "transfer.congestion_control=cubic,cubics"), "cubics"),
        (("--bytes", "1TB", "--worlds", "toy,toy"), "each world once"),
        (("--bytes", "1TB", "--worlds", "moon"), "no world 'moon'"),
        (("--bytes", "1TB", "--set", "vary={transfer.streams: [1, 2]}"), "the file varies transfer.streams"),
        (("--bytes", "1TB", "--set", "events=[{at: 1 s, from: milan, to: bari, down: 1 s}]"), "events"),
    ],
)
def test_bad_input_is_said_before_anything_runs(predicting: Predicting, words: tuple[str, ...], said: str) -> None:
    _, told = predicting.run(*words, status=2)
    assert said in told
    assert predicting.runs == 0
