"""What is suggested for a mistake is right: applied, it is accepted, and it means what was meant."""

import itertools
import re
import typing
from pathlib import Path
from typing import Any

import pytest

from landspeed.base import units as u
from landspeed.base.errors import ScenarioError
from landspeed.cli import main as cli
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


@pytest.mark.parametrize("kind", u.KINDS, ids=lambda kind: kind.name)
def test_a_unit_of_another_kind_is_no_typing_error(kind: u.Kind) -> None:
    """Its number is not repeated with a unit of this kind: 50 ms are not 50 MB."""
    own = {each.lower() for each in (*kind.factors, *kind.foreign, *(kind.converted or {}))}
    for other in u.KINDS:
        for unit in [each for each in other.factors if each.lower() not in own]:
            with pytest.raises(u.UnitError, match=f"but of {other.name}|write for example {kind.example}") as caught:
                u.parse_exact(kind, f"50 {unit}")
            assert caught.value.right.startswith(f"write for example {kind.example} (")
    u.parse_exact(kind, kind.example)


@pytest.mark.parametrize(
    ("wrong", "advice", "right"),
    [
        ("path.1.queue=50 ms", "write 6.25 MB (50 ms at 1 Gbit/s), or", "path.1.queue=6.25 MB"),
        ("queue=50ms", "write 6.25 MB (50ms at 1 Gbit/s), or", "queue=6.25 MB"),
        ("path.0.queue=50 ms", "write 62.5 MB (50 ms at 10 Gbit/s), or", "path.0.queue=62.5 MB"),
        ("transfer.duration=20 GB", "write bytes: 20 GB", "transfer={bytes: 20 GB, duration: null}"),
        ("transfer={bytes: 20 s, duration: null}", "write duration: 20 s", "transfer.duration=20 s"),
        (
            "path.1.line_rate={down: 1 Gbit/s, up: 10 Mbit/s}",
            "write line_rate: 1 Gbit/s and, for the other direction, reverse: {line_rate: 10 Mbit/s}",
            "path.1.reverse={line_rate: 10 Mbit/s}",
        ),
        ("path.1.line_rate=1 GB", "write 8 Gbit/s (a byte has 8 bits)", "path.1.line_rate=8 Gbit/s"),
    ],
)
def test_a_quantity_of_another_kind_is_converted_or_has_its_own_key(wrong: str, advice: str, right: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_scenario(FIRST, [wrong])
    assert caught.value.problems[0].right.startswith(advice)
    load_scenario(FIRST, [right])


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


NEWCOMER = [  # what a newcomer wrote, in order; what was meant; overrides that make the advice an accepted value
    ("path.1.queue=1000 packets", "write 9 MB (packets of 9000 B)", "path.1.queue=9 MB"),
    ("path.1.queue=1000", "write 9 MB (1000 packets of 9000 B)", "path.1.queue=9 MB"),
    ("path.1.line_rate=1 GB/s", "write 8 Gbit/s", "path.1.line_rate=8 Gbit/s"),
    ("path.1.loss=0.01", "write 1 %", "path.1.loss=1 %"),
    ("path.1.loss=0.01", "0.01 % if you meant per cent", "path.1.loss=0.01 %"),
    ("path.1.discipline=fq-codel", "did you mean fq_codel?", "path.1.discipline=fq_codel"),
    ("path.1.delay=10 ms", "did you mean 'one_way_delay' or 'rtt'?", "path.1.one_way_delay=10 ms"),
]


@pytest.mark.parametrize(("wrong", "advice", "right"), NEWCOMER)
def test_what_a_newcomer_wrote(wrong: str, advice: str, right: str) -> None:
    """first.yaml has packets of 9000 B."""
    with pytest.raises(ScenarioError) as caught:
        load_scenario(FIRST, [wrong])
    assert advice in caught.value.problems[0].right
    load_scenario(FIRST, [right])


def test_a_size_in_packets_is_of_ethernet_s_where_no_mtu_is_given() -> None:
    with pytest.raises(ScenarioError, match=r"write 1\.5 MB \(packets of 1500 B\)"):
        load_scenario(FIRST, ["mtu=null", "path.1.queue=1000 packets"])


def test_a_delay_of_seconds_is_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", "first", "--set", "path.1.one_way_delay=10 s"]) == 0
    said = capsys.readouterr().err
    assert said.count("frankfurt – milan: a one-way delay of 10.000 s is longer than any on Earth; was ms meant?") == 1
    assert said.count("\n") == 1
    one_way = ["--set", "path.1.reverse.one_way_delay=10 s"]
    assert cli.main(["check", "first", *one_way]) == 0
    assert "milan → frankfurt: a one-way delay of 10.000 s" in capsys.readouterr().err
    assert cli.main(["check", "first"]) == 0
    assert capsys.readouterr().err == ""


NETWORK = """format: 1
name: net
title: Two pairs of hosts
line_rate: 1 Gbit/s
links:
  - {from: a1, to: leaf-a, one_way_delay: 1 ms}
  - {from: a2, to: leaf-a, one_way_delay: 1 ms}
  - {from: leaf-a, to: leaf-b, one_way_delay: 1 ms}
  - {from: leaf-b, to: b1, one_way_delay: 1 ms}
  - {from: leaf-b, to: b2, one_way_delay: 1 ms}
transfer: {duration: 2 s}
flows:
  - {name: one, from: a1, to: b1}
  - {name: two, from: a2, to: b2}
  - {name: backup, from: a1, to: b2}
"""


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        (
            "{name: backup, from: a1,",
            "{name: backup, from: leaf-a,",
            "flow backup begins at leaf-a, which one, two cross",
        ),
        ("to: b2}\n", "to: leaf-b}\n", "flow backup ends at leaf-b, which one, two cross"),
        ("{name: backup, from: a1, to: b2}", "{name: backup, from: a1, to: b11}", "did you mean b1?"),
    ],
)
def test_a_wrong_end_is_told_at_its_flow(right: str, wrong: str, told: str, tmp_path: Path) -> None:
    """Not at the flows that cannot pass it."""
    file = tmp_path / "net.yaml"
    file.write_text(NETWORK)
    load_scenario(file)
    head, _, tail = NETWORK.rpartition(right)
    file.write_text(head + wrong + tail)
    with pytest.raises(ScenarioError) as caught:
        load_scenario(file)
    (problem,) = caught.value.problems
    assert told in f"{problem.what}; {problem.right}"
    assert ":15:" in str(caught.value)


def test_links_without_flows_are_given_one_between_their_ends(tmp_path: Path) -> None:
    """What is suggested, added, is accepted."""
    file = tmp_path / "net.yaml"
    links, _, _ = NETWORK.partition("flows:")
    file.write_text(links)
    with pytest.raises(ScenarioError) as caught:
        load_scenario(file)
    (problem,) = caught.value.problems
    assert problem.right.startswith("add flows: [{name: first, from: a1, to: b2, ")
    file.write_text(links + problem.right.removeprefix("add ").partition(";")[0] + "\n")
    load_scenario(file)


def test_a_link_that_stands_twice_is_one_error() -> None:
    with pytest.raises(ScenarioError, match="the link bari – athens stands twice") as caught:
        load_scenario(FIRST, ["path.2.to=athens", "path.2.from=bari"])
    assert len(caught.value.problems) == 1


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
        ("path.1.between=[frankfurt, milan]", "did you mean 'from' or 'to'"),
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
