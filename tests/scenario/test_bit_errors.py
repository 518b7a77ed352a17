"""Losses by errors of bits: of a frame with its framing, as long as what mostly goes there; and what is refused."""

from pathlib import Path

import pytest

from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.resolve.resolve import make_plan
from tests.support.emu_fixtures import plan_of, scenario
from tests.support.scenario_errors import GOOD, check_link_refused, refused, write

RATE = 1e-8


def link(**keys: object) -> dict[str, object]:
    return {"one_way_delay": "1 ms", "line_rate": "20 Mbit/s", "loss": {"bit_error_rate": RATE}, **keys}


@pytest.mark.parametrize(
    ("keys", "forward_bytes", "reverse_bytes"),
    [
        ({}, 1500 + 38, 52 + 38),
        ({"framing": "pos"}, 1500 + 9, 52 + 9),
        ({"reverse": {"loss": "0 %"}}, 1500 + 38, 0),
    ],
)
def test_frames_there_and_acknowledgments_back(
    tmp_path: Path, keys: dict[str, object], forward_bytes: int, reverse_bytes: int
) -> None:
    """1 − (1 − rate)^bits, by another way of computing it: a product over the bits."""
    planned = plan_of(tmp_path, scenario([link(**keys)])).links[0]
    for made, length in ((planned.forward, forward_bytes), (planned.reverse, reverse_bytes)):
        intact = 1.0
        for _ in range(8 * length):
            intact *= 1 - RATE
        assert made.loss == pytest.approx(1 - intact, rel=1e-9)


def test_where_data_goes_both_ways_frames_are_full(tmp_path: Path) -> None:
    file = tmp_path / "both.yaml"
    file.write_text(f"""
format: 1
name: both
title: both ways
line_rate: 20 Mbit/s
hosts: {{a: {{}}, b: {{}}}}
links: [{{from: a, to: b, one_way_delay: 1 ms, loss: {{bit_error_rate: {RATE:.1e}}}}}]
flows: [{{name: there, from: a, to: b}}, {{name: back, from: b, to: a}}]
transfer: {{duration: 1 s}}
""")
    (made,) = make_plan(load_scenario(file)).links
    assert made.forward.loss == made.reverse.loss == pytest.approx(8 * 1538 * RATE, rel=1e-3)


BAD = {
    "no share": ("loss: {bit_error_rate: often}", "{bit", "'often' is not a share of bits", "1e-12"),
    "0": ("loss: {bit_error_rate: 0}", "{bit", "'0' is not a share of bits", "above 0"),
    "too many": ("loss: {bit_error_rate: 0.1}", "{bit", "'0.1' is not a share of bits", "up to 0.001"),
    "true": ("loss: {bit_error_rate: true}", "{bit", "'True' is not a share of bits", "above 0"),
    "bursts": ("loss: {bit_error_rate: 1e-9}, loss_burst: 3", "loss_burst", "each for itself", "remove it"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_is_refused_where_it_stands(tmp_path: Path, case: str) -> None:
    check_link_refused(tmp_path, *BAD[case])


def test_super_packets_are_refused(tmp_path: Path) -> None:
    line = "one_way_delay: 5 ms, line_rate: 1 Gbit/s"
    path = write(tmp_path, GOOD.replace(line, f"{line}, loss: {{bit_error_rate: 1e-9}}") + "fidelity: super-packets\n")
    assert "needs packets, one by one" in refused(path)
