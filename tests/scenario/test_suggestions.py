"""What is suggested for a mistake is right: applied, it is accepted, and it means what was meant."""

from __future__ import annotations

import itertools
import re
import typing
from pathlib import Path
from typing import Any

import pytest

from landspeed.base import units as u
from landspeed.base.errors import ScenarioError
from landspeed.scenario.file.disciplines import Discipline
from landspeed.scenario.file.keys import scenario_keys
from landspeed.scenario.file.load import load_scenario
from landspeed.worlds.registry import plan_for
from tests.support.mistakes import mistyped
from tests.support.places import ROOT

FIRST = ROOT / "scenarios" / "examples" / "first.yaml"
NUMBERS = (
    "0.5",
    "1",
    "2",
    "9",
    "10",
    "64",
    "100",
    "250",
    "1000",
    "1500",
    "9000",
    "10000",
    "65536",
    "1000000",
    "4194304",
)
QUANTITIES = {
    "window": u.Window, "mtu": u.Mtu, "rate": u.Rate, "delay": u.Delay, "duration": u.Duration, "amount": u.Amount,
    "loss": u.Probability, "stagger": u.Stagger, "interval": u.Interval, "queue": u.Queue, "bucket": u.BucketSize,
    "distance": u.Distance, "goodput": u.Goodput, "event": u.EventSpan,
}  # fmt: skip
BARE = list(itertools.product(QUANTITIES, NUMBERS))


def advised(advice: str) -> str:
    """The value that the advice says to write."""
    found = re.match(r"write (?:for example |at least |at most )?([0-9.]+ [^\s,;(]+)", advice)
    assert found, advice
    return found[1]


def read(name: str, text: str) -> Any:
    """The value, as the key's annotation reads it; raises UnitError's text as advice."""
    annotation = typing.get_args(QUANTITIES[name])[1]
    try:
        return annotation.validate(text)
    except Exception as error:
        raise AssertionError(error.context["right"]) from None  # type: ignore[attr-defined]


def test_two_hundred_mistakes() -> None:
    assert len(BARE) >= 200


@pytest.mark.parametrize(("name", "number"), BARE)
def test_a_number_without_a_unit(name: str, number: str) -> None:
    with pytest.raises(AssertionError, match="write ") as caught:
        read(name, number)
    read(name, advised(str(caught.value)))


@pytest.mark.parametrize(
    ("kind", "text", "right", "value"),
    [
        (u.RATE, "1 GB/s", "8 Gbit/s", 8 * u.GIGA),
        (u.RATE, "100 MBps", "800 Mbit/s", 800 * u.MEGA),
        (u.RATE, "1 GiB/s", "8589934.592 kbit/s", 8 * u.GIB),
        (u.RATE, "100 Mb/s", "100 Mbit/s", 100 * u.MEGA),
        (u.RATE, "100 mbps", "100 Mbit/s", 100 * u.MEGA),
        (u.SIZE, "1000 packets", "1.5 MB", 1_500_000),
        (u.SIZE, "10 Mbit", "1.25 MB", 1_250_000),
        (u.PROBABILITY, "0.01", "1 %", 0.01),
    ],
)
def test_a_unit_of_elsewhere_is_converted(kind: u.Kind, text: str, right: str, value: float) -> None:
    with pytest.raises(u.UnitError) as caught:
        u.parse_exact(kind, text)
    assert advised(caught.value.right) == right
    assert float(u.parse_exact(kind, right)) == pytest.approx(value, rel=1e-12)


def test_a_probability_as_a_number_has_both_readings() -> None:
    with pytest.raises(u.UnitError, match=r"write 1 % .*; 0\.01 % if you meant per cent"):
        u.parse_exact(u.PROBABILITY, "0.01")


@pytest.mark.parametrize(
    ("text", "right"), [("1000 packets", "1.5 MB"), ("1000", "1.5 MB"), ("0.5", "0.5 BDP"), ("3000000", "3 MB")]
)
def test_a_queue_in_packets_or_without_a_unit(text: str, right: str) -> None:
    with pytest.raises(u.UnitError) as caught:
        u.parse_queue(text)
    assert advised(caught.value.right) == right
    u.parse_queue(right)


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("path.1.delay=10 ms", "did you mean 'one_way_delay' or 'rtt'"),
        ("path.1.latency=10 ms", "did you mean 'one_way_delay' or 'rtt'"),
        ("path.1.bandwidth=1 Gbit/s", "did you mean 'line_rate'"),
        ("transfer.cc=bbr", "did you mean 'congestion_control'"),
        ("transfer.time=5 s", "did you mean 'duration'"),
        ("transfer.parallel=4", "did you mean 'streams'"),
        ("path.1.buffer=1 MB", "did you mean 'queue'"),
    ],
)
def test_a_key_by_its_name_elsewhere(wrong: str, meant: str) -> None:
    with pytest.raises(ScenarioError, match=re.escape(meant)):
        load_scenario(Path(FIRST), [wrong])


NAMED = {  # key → values that it takes
    "path.1.discipline": [name for name in Discipline.model_fields if name != "tbf"],  # tbf: not by its name alone
    "transfer.congestion_control": ["cubic", "reno", "westwood", "bbr"],
    "transfer.receive": ["discard", "memory", "verify"],
    "transfer.send": ["auto", "write", "sendfile", "splice"],
    "fidelity": ["packets", "super-packets"],
}
MISTYPED_VALUES = [
    (key, wrong)
    for key, values in NAMED.items()
    for value in values
    for wrong in mistyped(value)
    if len(value) > 3 and wrong not in values
]
MISTYPED_KEYS = [
    (key.rpartition(".")[0], wrong)
    for key in scenario_keys()
    if re.fullmatch(r"(transfer\.|calibration\.)?\w{4,}", key)
    for wrong in mistyped(key.rpartition(".")[2])
    if wrong != key.rpartition(".")[2]
]


def test_hundreds_of_mistyped_words() -> None:
    assert len(MISTYPED_VALUES) + len(MISTYPED_KEYS) >= 200


@pytest.mark.parametrize(("key", "wrong"), MISTYPED_VALUES)
def test_a_mistyped_value(key: str, wrong: str) -> None:
    """A discipline, a congestion control, another word: what is suggested is accepted by the emulated world."""
    with pytest.raises(ScenarioError) as caught:
        plan_for(load_scenario(FIRST, [f"{key}={wrong}"]))
    found = re.match(r"(?:no world can; )?did you mean (\S+)\? write ", caught.value.problems[0].right)
    assert found, caught.value.problems[0].right
    assert found[1] in NAMED[key]
    load_scenario(FIRST, [f"{key}={found[1]}"])


@pytest.mark.parametrize(("section", "wrong"), MISTYPED_KEYS)
def test_a_mistyped_key(section: str, wrong: str) -> None:
    place = f"{section}." if section else ""
    with pytest.raises(ScenarioError) as caught:
        load_scenario(FIRST, [f"{place}{wrong}=1"])
    found = re.match(r"did you mean '(\w+)'(?: or '\w+')*\? ", caught.value.problems[0].right)
    assert found, caught.value.problems[0].right
    assert place + found[1] in scenario_keys()
