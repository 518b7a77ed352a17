"""Whatever stands in a scenario file, an override or a sweep: a scenario comes of it, or an error with its place."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landspeed.base.errors import ScenarioError, Source
from landspeed.report.plan_view import render_plan
from landspeed.scenario.file.document import YamlNode, parse_yaml
from landspeed.scenario.file.load import LoadedScenario, build_scenario, change_scenario, load_scenario
from landspeed.scenario.file.vary import load_variants
from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.registry import plan_for
from tests.support.emu_fixtures import FIRST
from tests.support.fuzzing import JSON, TEXTS, damaged, examples, places

RICH = """\
format: 1
name: rich
title: "everything at once"
description: a path with all there is
seed: 3
ip: 4
mtu: 9000 B
line_rate: 10 Gbit/s
queue: 0.5 BDP
hosts:
  a: {role: sender, nic: 10 Gbit/s, place: Geneva, position: "46.2 N, 6.1 E", bus: {rate: 6 Gbit/s, fitted: true}}
  b: {role: receiver, nic: 10 Gbit/s}
routers:
  r: {place: Chicago, label: r.example}
path:
  - &link {from: a, to: r, one_way_delay: 10 ms, distance: 7067 km, jitter: 1 us, loss: 0.01 %, discipline: red}
  - {from: r, to: q, rtt: 9 ms, line_rate: 1 Gbit/s, packet_limit: 100000, framing: pos}
  - {<<: *link, from: q, to: b, reverse: {loss: 1 ppm, line_rate: 2 Gbit/s}}
transfer: {streams: 2, window: 1 MB, duration: 10 s, congestion_control: cubic, pacing: 500 Mbit/s}
events:
  - {at: 1 s, loss: 3 packets, from: r, to: q}
  - {at: 2 s, down: 1 s, between: [r, q]}
expect: {source: nobody, goodput: 900 Mbit/s, tolerance: 2 %}
"""
WORDS = re.findall(r"[A-Za-z_0-9.]+|[^A-Za-z_0-9.\s]|\s+", RICH)
TOKENS = st.one_of(
    st.sampled_from(sorted(set(WORDS))),
    st.sampled_from(
        [*"&*!|>%@`?-,:#'[]{}~\"\t\r\x07", "!!int", "--", "---", "...", "<<:", ".inf", ".nan", "0x1F", "1e400"]
    ),
    TEXTS,
)
KEYS = [".".join(map(str, path)) for path in places(parse_yaml(RICH, Source("rich")).plain())]  # type: ignore[union-attr]


def check_problems(error: ScenarioError, names: tuple[str, ...]) -> None:
    """Each has a place in one of the texts, says what is wrong and what would be right, and can be shown."""
    assert error.problems
    for problem in error.problems:
        assert problem.what and problem.right
        assert any(name in problem.place for name in names), (problem.place, problem.what)
        if problem.mark is not None and problem.mark.source.lines:
            assert 0 <= problem.mark.line <= len(problem.mark.source.lines)
    assert all(letter.isprintable() or letter == "\n" for letter in str(error))


def read(file: Path, *overrides: str) -> LoadedScenario | None:
    """The scenario; None for a file that is refused as it should be."""
    try:
        return load_scenario(file, overrides)
    except ScenarioError as error:
        check_problems(error, (str(file), "--set"))
        return None


def planned(loaded: LoadedScenario | None, *names: str) -> None:
    """What was loaded makes a plan for every world, which is written, read and shown; or is refused with a place."""
    if loaded is None:
        return
    for world in ("emu", "sim", "real"):
        try:
            plan = plan_for(loaded, world)
        except ScenarioError as error:
            check_problems(error, (str(loaded.path), "--set", *names))
        else:
            assert Plan.from_json(plan.to_json()) == plan
            render_plan(plan)
            assert plan.sha256 == Plan.from_json(plan.to_json()).sha256


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "s.yaml"


def test_the_rich_one_is_right(file: Path) -> None:
    file.write_text(RICH)
    assert load_scenario(file).scenario.name == "rich"
    planned(load_scenario(file))


@examples(60)
@given(content=st.one_of(st.binary(max_size=300), st.text(max_size=300).map(str.encode)))
def test_any_bytes(content: bytes, file: Path) -> None:
    file.write_bytes(content)
    read(file)


@examples(120)
@given(data=st.data())
def test_a_scenario_with_other_words_in_it(data: st.DataObject, file: Path) -> None:
    words = list(WORDS)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(words) - 1))
        act = data.draw(st.sampled_from(["replace", "insert", "remove", "cut"]))
        if act == "cut" and len(words) > 40:
            del words[max(place, 40) :]
        elif act == "remove" and len(words) > 1:
            del words[place]
        else:
            words[place : place + (act == "replace")] = [data.draw(TOKENS)]
    file.write_bytes("".join(words).encode("utf-8", "surrogatepass"))
    planned(read(file))


@examples(120)
@given(tree=damaged(parse_yaml(RICH, Source("rich")).plain()))  # type: ignore[union-attr]
def test_a_scenario_with_other_values_in_it(tree: Any, file: Path) -> None:
    """JSON is YAML. From a file and from Python the same comes of it: a scenario, or as many problems."""
    file.write_text(json.dumps(tree))
    from_file = read(file)
    planned(from_file)
    if isinstance(tree, dict) and "extends" not in tree:
        try:
            built = build_scenario(tree)
        except ScenarioError as error:
            check_problems(error, ("(built in Python)",))
        else:
            planned(built, "(built in Python)")


@examples(80)
@given(
    key=st.one_of(st.sampled_from(KEYS), st.lists(st.one_of(st.sampled_from(KEYS), TEXTS), max_size=3).map(".".join)),
    value=st.one_of(JSON.map(json.dumps), TOKENS, st.sampled_from(WORDS)),
)
def test_any_override(key: str, value: str, file: Path) -> None:
    file.write_text(RICH)
    planned(read(file, f"{key}={value}"))


@examples(60)
@given(key=st.one_of(st.sampled_from(KEYS), TEXTS), value=JSON)
def test_any_value_laid_over_a_key_in_python(key: str, value: Any, file: Path) -> None:
    """And what is accepted is repeated by the override that is written into the bundle."""
    file.write_text(RICH)
    loaded = load_scenario(file)
    try:
        changed = change_scenario(loaded, {key: value})
    except ScenarioError as error:
        check_problems(error, ("with_", str(file), "--set"))
        return
    again = load_scenario(file, changed.overrides)
    assert again.scenario == changed.scenario


@examples(25)
@given(
    vary=st.one_of(
        JSON,
        st.dictionaries(st.sampled_from(KEYS), st.lists(JSON, max_size=3), max_size=3),
        st.dictionaries(st.sampled_from(["transfer.streams", "seed"]), st.lists(st.integers(1, 40), min_size=1)),
    ),
    overrides=st.lists(st.sampled_from(["transfer.streams=3", "vary=null", "vary.seed=[1, 2]", "seed=9"]), max_size=2),
)
def test_any_sweep(vary: Any, overrides: list[str], file: Path) -> None:
    file.write_text(RICH + f"vary: {json.dumps(vary)}\n")
    try:
        variants = load_variants(file, overrides)
    except ScenarioError as error:
        check_problems(error, (str(file), "--set"))
        return
    assert len({tuple(values.items()) for values, _ in variants}) <= len(variants)
    for values, loaded in variants:
        again = load_scenario(file, loaded.overrides)  # the words of the bundle make the same one
        assert again.scenario == loaded.scenario
        assert all(isinstance(value, str) for value in values.values())


@examples(40)
@given(name=st.one_of(TEXTS, st.sampled_from(["a" * 300, "/", "..", ".", "/dev/null", "s.yaml", "a\0b", "~", "a/b/c"])))
def test_any_name_of_a_file_that_is_extended(name: str, file: Path) -> None:
    file.write_text(f"extends: {json.dumps(name)}\nname: x\n")
    read(file)


@examples(40)
@given(text=st.lists(TOKENS, max_size=12).map("".join))
def test_any_yaml_is_a_tree_or_an_error_with_its_place(text: str) -> None:
    try:
        tree = parse_yaml(text, Source("text", text.split("\n")))
    except ScenarioError as error:
        check_problems(error, ("text",))
    else:
        assert tree is None or isinstance(tree, YamlNode)


def test_first_is_still_what_the_documents_use() -> None:
    planned(load_scenario(FIRST))
