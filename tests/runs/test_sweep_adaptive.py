"""`sweep --adaptive`: values lie where the curve bends, and what cannot be is said. The toy world computes."""

import itertools
from pathlib import Path

import pytest

from landspeed.scenario.file.ranges import read_ends
from tests.support.runs_sweep import Sweeps
from tests.support.toy_world import make_site

EXACT = ("--set", "transfer.window_exact=true")  # what Linux makes of a window has steps, at powers of two
BEND_MB = 6.188  # 990.04 Mbit/s of framing × 50 ms: a larger window brings no more


@pytest.fixture
def sweeps(tmp_path: Path) -> Sweeps:
    return Sweeps(tmp_path, make_site(tmp_path))


def values_mb(sweeps: Sweeps, key: str = "transfer.window") -> list[float]:
    return [float(row[key].split()[0]) * {"kB": 1e-3, "MB": 1}[row[key].split()[1]] for row in sweeps.rows()]


@pytest.mark.slow
def test_most_values_lie_where_goodput_bends(sweeps: Sweeps) -> None:
    words = ("--adaptive", "transfer.window=500 kB..50000 kB", "--points", "14", "--no-bundles", *EXACT)
    told, _ = sweeps.run("{transfer.streams: [1]}", *words)
    found = values_mb(sweeps)
    assert told["cells"] == told["done"] == sweeps.runs == len(found) == len(set(found)) == 14
    assert found == sorted(found)
    assert (found[0], found[-1]) == (0.5, 50)
    # Fourteen equal steps of the logarithm would be ×1.43 apart; here the bend lies between two that are much nearer.
    low, high = next(pair for pair in itertools.pairwise(found) if pair[0] <= BEND_MB <= pair[1])
    assert high / low < 1.25
    assert sum(BEND_MB / 2 <= value <= BEND_MB * 2 for value in found) >= 6
    table = (sweeps.out / "table.parquet").read_bytes()
    told, _ = sweeps.run("{transfer.streams: [1]}", *words, "--jobs", 1)  # known, and chosen alike
    assert (told["done"], told["reused"]) == (0, 14)
    assert (sweeps.out / "table.parquet").read_bytes() == table


@pytest.mark.slow
def test_each_combination_is_a_curve_and_a_key_of_the_file_will_do(sweeps: Sweeps) -> None:
    vary = "{transfer.streams: [1, 4], transfer.window: {from: 500 kB, to: 32 MB, by: x2}, seeds: 2}"
    told, _ = sweeps.run(vary, "--adaptive", "transfer.window", "--points", "7", "--no-bundles", *EXACT)
    assert told["cells"] == 2 * 7 * 2
    rows = sweeps.rows()
    bends: dict[str, float] = {}
    for streams in ("1", "4"):
        own = sorted({float(row["transfer.window"].split()[0]) for row in rows if row["transfer.streams"] == streams})
        assert len(own) == 7
        gaps = {high / low: low for low, high in itertools.pairwise(own)}
        bends[streams] = gaps[min(gaps)]
    assert bends["4"] < bends["1"]  # four streams need a fourth of the window each


@pytest.mark.slow
def test_counts_are_whole_and_end_when_all_are_known(sweeps: Sweeps) -> None:
    told, _ = sweeps.run("{seeds: 1}", "--adaptive", "transfer.streams=1..6", "--points", "15", "--no-bundles")
    assert sorted(int(row["transfer.streams"]) for row in sweeps.rows()) == [1, 2, 3, 4, 5, 6][: told["cells"]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--adaptive", "transfer.window"), "the file does not vary it"),
        (("--adaptive", "transfer.window=1 MB"), "write KEY=FROM..TO"),
        (("--adaptive", "transfer.window=2 MB..1 MB"), "ends before it begins"),
        (("--adaptive", "transfer.window=1 MB..2 MB", "--points", "2"), "three or more"),
        (("--adaptive", "transfer.window=1 MB..2 MB", "--at-most", "9"), "allow more: --at-most 15"),
        (("--adaptive", "transfer.colour=1..2"), "unknown key"),
        (("--adaptive", "transfer.window=1 MB..2 MB", "--resume"), "no sweep was begun"),
    ],
)
def test_bad_input_is_said_before_anything_runs(sweeps: Sweeps, words: tuple[str, ...], said: str) -> None:
    _, told = sweeps.run("{seeds: 1}", *words, status=2)
    assert said in told
    assert sweeps.runs == 0


def test_places_and_values_of_a_range() -> None:
    for first, last in (("500 kB", "50 MB"), ("10 ms", "20 ms"), ("1", "6"), ("0.0001 %", "1 %")):
        ends = read_ends("key", first, last)
        assert (ends.at(0.0), ends.at(1.0)) == (ends.first, ends.last)
        assert (ends.place(ends.first), ends.place(ends.last)) == (0, 1)
        for place in (0.2, 0.5, 0.9):
            value = ends.at(place)
            assert ends.first <= value <= ends.last
            if not ends.counts:
                assert ends.place(value) == pytest.approx(place, abs=1e-4)
