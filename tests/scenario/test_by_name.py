"""Shipped scenarios by name: wherever a file may stand, as a text, as a copy that works elsewhere."""

import dataclasses
import re
from pathlib import Path

import pytest

from landspeed.base.errors import ScenarioError
from landspeed.cli.main import main
from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.file.packaged import FOLDERS, HOME, packaged_names
from landspeed.scenario.resolve.resolve import make_plan

MINE = "format: 1\nextends: {}\nname: mine\n"


def saved(folder: Path, base: str) -> Path:
    file = folder / "mine.yaml"
    file.write_text(MINE.format(base))
    return file


def test_extends_takes_a_name(tmp_path: Path) -> None:
    own, first = (load_scenario(path).scenario for path in (saved(tmp_path, "first"), Path("first")))
    assert own.name == "mine"
    assert own.path == first.path


def test_a_file_beside_it_goes_before_a_name(tmp_path: Path) -> None:
    (tmp_path / "first").write_text(MINE.format("lan"))
    assert load_scenario(saved(tmp_path, "first")).scenario.title == load_scenario(Path("lan")).scenario.title


@pytest.mark.parametrize(
    ("base", "right"),
    [
        ("frist", "did you mean first?"),
        ("scenarios/examples/first.yaml", "did you mean first?"),
        ("first.yaml", "did you mean first?"),
        ("nothing.yaml", "write the path of a file relative to"),
        ("x" * 300, "write the path of a file relative to"),
    ],
)
def test_what_no_file_has(tmp_path: Path, base: str, right: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_scenario(saved(tmp_path, base))
    assert caught.value.problems[0].right.startswith(right)


@pytest.mark.parametrize(("wrong", "meant"), [("fisrt", "first"), ("importd", "imported.yaml"), ("im.yaml", "")])
def test_a_name_is_meant_unless_a_file_here_is_nearer(
    wrong: str, meant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("imported.yaml").write_text(MINE.format("lan"))
    assert main(["check", wrong]) == 2
    assert (f"did you mean {meant}?" if meant else "check the path") in capsys.readouterr().err


def test_the_path_in_a_clone_leads_to_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["check", "scenarios/examples/first.yaml"]) == 2
    assert "did you mean first?" in capsys.readouterr().err


def plan_without_places(path: Path) -> str:
    """The plan's text, without the folders of the scenario and of its traces."""
    plan = dataclasses.replace(make_plan(load_scenario(path)), scenario_file="")
    return re.sub(r'"[^"]*/(?=[^"/]+\.(csv|mahimahi)")', '"', plan.to_json())


@pytest.mark.parametrize("name", packaged_names())
def test_a_copy_is_the_same_scenario(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenarios", name, "--copy", str(tmp_path)]) == 0
    copy = tmp_path / f"{name}.yaml"
    assert f"Written: {copy}\n" in capsys.readouterr().out
    assert plan_without_places(copy) == plan_without_places(Path(name))
    assert main(["scenarios", name, "--yaml"]) == 0
    assert capsys.readouterr().out == copy.read_text()
    assert main(["scenarios", name, "--copy", str(tmp_path)]) == 2  # it is there already
    assert "is there already" in capsys.readouterr().err


def test_one_scenario_says_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenarios", "dsl"]) == 0
    assert f"File: {HOME / 'presets' / 'dsl.yaml'}" in capsys.readouterr().out
    assert main(["scenarios", "dls"]) == 2
    assert "did you mean dsl?" in capsys.readouterr().err
    assert main(["scenarios", "--yaml"]) == 2
    assert "landspeed scenarios first --yaml" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["dsl", "lte", "geo", "leo"])
def test_home_lines_come_in_both_directions(name: str) -> None:
    """The same line, seen from its other end; the title says which way the data goes."""
    up, down = (make_plan(load_scenario(Path(each))) for each in (name, f"{name}-down"))
    assert "upload" in up.title
    assert "download" in down.title
    assert [node.name for node in up.nodes] == [node.name for node in down.nodes][::-1]
    for there, back in zip(up.links, reversed(down.links), strict=True):
        for one, other in ((there.forward, back.reverse), (there.reverse, back.forward)):
            assert (one.rate_bps, one.delay_ns, one.jitter_ns, one.loss) == (
                other.rate_bps,
                other.delay_ns,
                other.jitter_ns,
                other.loss,
            )


def test_no_two_have_one_name() -> None:
    assert len(packaged_names()) == len(set(packaged_names())) == sum(1 for f in FOLDERS for _ in (HOME / f).iterdir())
