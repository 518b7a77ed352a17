"""Sweep against sweep: what differs beyond its uncertainty is named, and nothing else."""

import json
import math
import random
from pathlib import Path

import pytest

from landspeed.judge.certainty import beyond_chance, certain, difference, enough
from tests.bench.intervals import inside
from tests.support.command_process import COMMAND, run
from tests.support.runs_sweep import Sweeps
from tests.support.toy_world import environment, make_site


def test_the_difference_is_welch_s() -> None:
    """With equal spreads Welch's t is Student's with four degrees of freedom, whose law has a closed form."""
    known = difference([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    assert known.share == pytest.approx(1.5)
    error = (2 / 3) ** 0.5
    assert known.half == pytest.approx(2.776445 * error / 2, rel=1e-6)  # t(0.975, 4) of a table; a share of the mean 2
    angle = math.atan(3 / error / 2)
    assert known.p == pytest.approx(1 - math.sin(angle) * (1 + math.cos(angle) ** 2 / 2), rel=1e-9)
    # Unequal ones: 2 and 6 values whose variances are 2 and 0: only the first side's single degree of freedom counts.
    unequal = difference([1.0, 3.0], [2.5] * 6)
    assert unequal.half == pytest.approx(12.7062 * 1.0 / 2, rel=1e-5)  # t(0.975, 1)
    assert difference([5.0, 5.0], [5.1, 5.1]).p == 0  # nothing varies: exact
    assert difference([5.0, 5.0], [5.0, 5.0]).p == 1
    assert difference([5.0], [5.1, 5.1]).p is None
    assert difference([], [5.1]).share is None


@pytest.mark.slow
def test_many_figures_are_not_named_by_chance() -> None:
    """Holm's steps: 0.05/4, 0.05/3, … and nothing after the first that fails."""
    assert beyond_chance([0.01, 0.04, 0.016, 0.03, None]) == [True, False, True, False, False]
    assert beyond_chance([0.02, 0.02, 0.02]) == [False] * 3
    chance = random.Random(5)
    wrong = 0
    for _ in range(200):
        draws = [
            ([chance.gauss(1, 0.1) for _ in range(5)], [chance.gauss(1, 0.1) for _ in range(5)]) for _ in range(10)
        ]
        wrong += any(beyond_chance([difference(*each).p for each in draws]))
    assert wrong <= 20  # 5 % of 200, and three standard deviations


@pytest.mark.slow
def test_the_true_mean_is_inside_the_intervals() -> None:
    """As bench_sweep.py measures it of a simulated path; here noise: symmetric, and skewed as losses make it."""
    chance = random.Random(3)
    for values in (
        [chance.gauss(1e9, 3e7) for _ in range(400)],
        [1e9 * chance.lognormvariate(0, 0.08) for _ in range(400)],
    ):
        hits, draws = inside(values, 0.02, 100)
        assert hits >= 90
        assert 10 <= draws <= 100
    assert not enough([1.0] * 9, 0.02)  # without a least number of seeds, lucky ones would stop it: the test fails
    assert certain([1.0, 1.0]).half == 0


class Pair:
    """Two sweeps of the toy world."""

    def __init__(self, folder: Path) -> None:
        self.sweeps = Sweeps(folder, make_site(folder))
        self.folder = folder

    def make(self, name: str, vary: str, *words: object, **variables: str) -> Path:
        out = self.folder / name
        line = self.sweeps.words(vary, "--out", out, "--no-bundles", *words)
        run(line, check=True, capture_output=True, env=environment(self.sweeps.site, **variables), timeout=120)
        return out

    def compare(self, *words: object, status: int = 0) -> str:
        line = [str(COMMAND), "compare", *map(str, words)]
        env = environment(self.sweeps.site)
        done = run(line, capture_output=True, text=True, env=env, timeout=120)
        assert done.returncode == status, done.stderr
        return done.stdout or done.stderr


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


def window(size: str) -> tuple[str, ...]:
    """To the byte: what Linux makes of a window has steps."""
    return ("--set", f"transfer.window={size}", "--set", "transfer.window_exact=true")


@pytest.mark.slow
def test_what_differs_is_named_cell_by_cell(pair: Pair) -> None:
    """A window of 1 MB bounds a stream; two windows of another sweep are 20 % larger, which 8 seeds of 3 % can tell."""
    vary = "{zip: {case: [1, 2]}, seeds: 8}".replace("case", "transfer.streams")
    first = pair.make("a", vary, *window("1 MB"), "--seed", 1)
    second = pair.make("b", vary.replace("seeds: 8", "seeds: {from: 101, to: 108, by: 1}"), *window("1200 kB"),
                       TOY_BUILD="brush")  # fmt: skip
    told = json.loads(pair.compare(first, second, "--json"))
    goodputs = [each for each in told["cells"] if each["figure"] == "goodput_bps"]
    assert [each["values"] for each in goodputs] == [{"transfer.streams": "1"}, {"transfer.streams": "2"}]
    for each in goodputs:
        assert each["differs"]
        assert abs(each["difference"] - 0.2) <= each["half"] * 2
        assert each["seeds"] == [8, 8]
    said = pair.compare(first, second)
    assert "pencil" in said
    assert "brush" in said
    assert "transfer.streams 2: goodput +" in said
    page = (second / "against-a.html").read_text()
    assert page.count("<strong>differs</strong>") == 2

    third = pair.make("c", vary.replace("seeds: 8", "seeds: {from: 201, to: 208, by: 1}"), *window("1 MB"))
    assert "No figure of 2 combinations differs by more than 2" in pair.compare(first, third)


@pytest.mark.slow
def test_what_cannot_be_compared_is_said(pair: Pair, tmp_path: Path) -> None:
    first = pair.make("a", "{transfer.streams: [1, 2]}")
    second = pair.make("b", "{transfer.window: [1 MB]}")
    third = pair.make("c", "{transfer.streams: [2, 4]}")
    fourth = pair.make("d", "{transfer.streams: [8]}")
    assert "compare sweeps that vary the same keys" in pair.compare(first, second, status=2)
    assert "no combination in common" in pair.compare(first, fourth, status=2)
    assert "name the folders of two" in pair.compare(first, status=2)
    said = pair.compare(first, third)
    assert said.count("1 combinations are only in") == 2
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "table.parquet").write_bytes((first / "table.parquet").read_bytes()[:100])
    assert "table.parquet" in pair.compare(first, broken, status=2)


@pytest.mark.slow
def test_the_kernel_of_a_file_is_part_of_what_a_cell_is(pair: Pair) -> None:
    """`kernel:` as an axis, and as a change of the file: its cells have builds of their own, and none is reused."""
    told, _ = pair.sweeps.run('{kernel: ["6.12", "7.3"]}', "--no-bundles")
    assert told["done"] == 2
    rows = pair.sweeps.rows()
    assert [row["build"] for row in rows] == ["pencil of 6.12", "pencil of 7.3"]
    assert len({row["cell"] for row in rows}) == 2
    file = pair.sweeps.file("{seeds: 1}")
    line = [str(COMMAND), "sweep", str(file), "--world", "toy", "--out", str(pair.sweeps.out), "--json", "--no-bundles"]
    for extra, done_now in (([], 1), (["--set", 'kernel="6.12"'], 0), (["--set", 'kernel="6.1"'], 1)):
        env = environment(pair.sweeps.site)
        done = run([*line, *extra], capture_output=True, text=True, check=True, env=env, timeout=120)
        assert json.loads(done.stdout)["done"] == done_now, extra
