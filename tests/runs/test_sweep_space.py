"""What a file may vary: ranges, cases, keys in step, seeds; and what is wrong with one, where."""

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landspeed.base.errors import ScenarioError, Source
from landspeed.scenario.file.document import parse_yaml
from landspeed.scenario.file.ranges import decimal, expand, magnitude
from landspeed.scenario.file.vary import load_variants, read_space
from tests.support.emu_fixtures import FIRST
from tests.support.fuzzing import examples


def values_of(text: str) -> list[object]:
    node = parse_yaml(text, Source("range", [text]))
    assert node is not None
    return [each.plain() for each in expand(node, "key")]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("{from: 64 kB, to: 1 MB, by: x2}", ["64 kB", "128 kB", "256 kB", "512 kB"]),
        ("{from: 1 ms, to: 2 ms, by: 250 us}", ["1 ms", "1.25 ms", "1.5 ms", "1.75 ms", "2 ms"]),
        ("{from: 1, to: 5, by: 2}", [1, 3, 5]),
        ("{from: 0.5 BDP, to: 2 BDP, by: 0.5 BDP}", ["0.5 BDP", "1 BDP", "1.5 BDP", "2 BDP"]),
        ("{from: 1 Gbit/s, to: 10 Gbit/s, points: 4}", ["1 Gbit/s", "4 Gbit/s", "7 Gbit/s", "10 Gbit/s"]),
        ("{from: 0.01 %, to: 1 %, points: 3, scale: logarithmic}", ["0.01 %", "0.1 %", "1 %"]),
        ("{from: 1 ns, to: 10 ns, points: 3, scale: logarithmic}", ["1 ns", "3 ns", "10 ns"]),  # whole nanoseconds
        ("{from: 1.5, to: 3, by: 0.5}", [1.5, 2, 2.5, 3]),
        ("{from: 5 s, to: 5 s, by: 1 s}", ["5 s"]),
    ],
)
def test_ranges(text: str, values: list[object]) -> None:
    assert values_of(text) == values


@pytest.mark.parametrize(
    ("text", "said", "column"),
    [
        ("{from: 1 ms, by: 1 ms}", "without 'to'", 1),
        ("{to: 1 ms, by: 1 ms}", "without 'from'", 1),
        ("{from: 1 ms, to: 2 ms}", "either 'by' or 'points'", 1),
        ("{from: 1 ms, to: 2 ms, by: 1 ms, points: 3}", "either 'by' or 'points'", 1),
        ("{from: 1 ms, to: 2 ms, by: 0 ms}", "has no end", 28),
        ("{from: 1 ms, to: 2 ms, by: x1}", "never gets", 28),
        ("{from: 0 ms, to: 2 ms, by: x2}", "never gets", 28),
        ("{from: 2 ms, to: 1 ms, by: 1 ms}", "ends before it begins", 18),
        ("{from: 1 ms, to: 2 MB, by: 1 ms}", "does not fit", 18),
        ("{from: 1 ms, to: 2, by: 1 ms}", "does not fit", 18),
        ("{from: 1 ms, to: 2 s, by: 1 us}", "has 1999001 values", 1),
        ("{from: 1 ms, to: 2 ms, points: 1}", "2 or more", 32),
        ("{from: 0 ms, to: 2 ms, points: 3, scale: logarithmic}", "cannot begin at 0", 8),
        ("{from: 1 ms, to: 2 ms, points: 3, scale: cubic}", "no scale 'cubic'", 42),
        ("{from: 1 ms, to: 2 ms, step: 3}", "no 'step'", 30),
        ("{from: fast, to: 2 ms, by: 1 ms}", "not a number with a unit", 8),
    ],
)
def test_a_wrong_range_is_located(text: str, said: str, column: int) -> None:
    with pytest.raises(ScenarioError) as error:
        values_of(text)
    (problem,) = error.value.problems
    assert said in problem.what
    assert problem.place == f"range:1:{column}"
    assert problem.right


@examples(200)
@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(2, 40), st.sampled_from(["ms", "kB", "Mbit/s"]))
def test_points_begin_and_end_where_they_should_and_only_rise(first: int, more: int, points: int, unit: str) -> None:
    for scale in ("linear", "logarithmic"):
        texts = values_of(f"{{from: {first} {unit}, to: {first + more} {unit}, points: {points}, scale: {scale}}}")
        sizes = [magnitude(str(text)) or 0.0 for text in texts]
        assert (texts[0], texts[-1]) == (f"{first} {unit}", f"{first + more} {unit}")
        assert len(texts) == points
        assert sizes == sorted(sizes)


@given(st.fractions(min_value=0, max_value=10**9, max_denominator=10**6))
def test_decimals_are_exact_where_they_end(value: Fraction) -> None:
    assert float(Fraction(decimal(value))) == pytest.approx(float(value), rel=1e-8, abs=1e-12)
    if value.denominator in (1, 2, 4, 5, 8, 10, 1000):
        assert Fraction(decimal(value)) == value


def file_that_varies(folder: Path, vary: str) -> Path:
    file = folder / "sweep.yaml"
    file.write_text(f"extends: {FIRST}\nname: sweep\nexpect: null\ntransfer: {{duration: 2 s}}\nvary: {vary}\n")
    return file


def test_axes_cases_steps_and_seeds_make_the_product_in_order(tmp_path: Path) -> None:
    vary = {
        "transfer.streams": {"from": 1, "to": 4, "by": "x2"},
        "zip": {"path.1.loss": ["0 %", "1 %"], "queue": ["1 BDP", "2 BDP"]},
        "cases": {"small": {"transfer.window": "1 MB"}, "large": {"transfer.window": "64 MB", "mtu": "1500 B"}},
        "seeds": [7, 9],
    }
    variants = load_variants(file_that_varies(tmp_path, json.dumps(vary)))
    assert len(variants) == 3 * 2 * 2 * 2 == len(read_space(tmp_path / "sweep.yaml"))
    first, second = variants[0], variants[1]
    wanted = {"transfer.streams": "1", "path.1.loss": "0 %", "queue": "1 BDP", "case": "small"}
    assert first[0] == wanted | {"seed": "7"}
    assert second[0] == wanted | {"seed": "9"}
    last = variants[-1][1].scenario
    assert (last.transfer.streams, last.mtu, last.seed) == (4, 1500, 9)
    assert last.path[1].loss == pytest.approx(0.01)


def test_an_override_pins_a_key_wherever_it_varies(tmp_path: Path) -> None:
    vary = "{zip: {transfer.streams: [1, 8], transfer.window: [64 MB, 8 MB]}, seeds: 3}"
    file = file_that_varies(tmp_path, vary)
    assert len(load_variants(file)) == 6
    pinned = load_variants(file, ["transfer.streams=2", "seed=5"])
    assert [values for values, _ in pinned] == [{"transfer.window": "64 MB"}, {"transfer.window": "8 MB"}]
    assert {(each.scenario.transfer.streams, each.scenario.seed) for _, each in pinned} == {(2, 5)}


@pytest.mark.parametrize(
    ("vary", "said"),
    [
        ("{cases: [1]}", "'cases' is a mapping"),
        ("{cases: {a: 1}}", "case a is a mapping"),
        ("{cases: {a: {name: b}}}", "name cannot vary"),
        ("{zip: {a.b: [1], c.d: [1, 2]}}", "a.b 1, c.d 2"),
        ("{zip: 3}", "'zip' is a mapping"),
        ("{seeds: 0}", "not a count"),
        ("{seeds: many}", "not a count"),
        ("{seeds: [1, 1]}", "given twice"),
        ("{seeds: [1.5]}", "whole numbers"),
        ("{transfer.streams: {from: 1}}", "without 'to'"),
        ("{seeds: 1001}", "the lists make 1001 combinations"),
        ("{transfer.streams: []}", "transfer.streams varies over a list or a range"),  # an empty product
        ("{transfer.streams: [1, 2], zip: {queue: []}}", "queue varies over a list or a range"),
        ("{}", "'vary' is a mapping of keys to lists"),
        ("{transfer.colour: [red]}", "unknown key"),
    ],
)
def test_what_cannot_vary_is_said(vary: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=said) as error:
        load_variants(file_that_varies(tmp_path, vary))
    assert all(problem.mark is not None for problem in error.value.problems)
