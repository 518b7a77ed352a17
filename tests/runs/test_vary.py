"""A file that varies, run over the stand-in for the simulator: every combination, and what is refused."""

import json
from pathlib import Path

import pytest

from landspeed.cli import main as cli
from tests.support.emu_fixtures import FIRST
from tests.support.fake_sim import fake_sim  # noqa: F401  (fixture)

pytestmark = pytest.mark.usefixtures("fake_sim")


def sweep(folder: Path, vary: str) -> Path:
    file = folder / "sweep.yaml"
    file.write_text(f"extends: {FIRST}\nname: sweep\nexpect: null\ntransfer: {{duration: 2 s}}\nvary: {vary}\n")
    return file


@pytest.mark.slow
def test_a_sweep_runs_every_combination(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = sweep(tmp_path, '{transfer.streams: [1, 2], path.1.loss: ["0 %", "1 %"]}')
    out = tmp_path / "runs"
    assert cli.main(["check", str(file)]) == 0
    assert "4 combinations" in capsys.readouterr().out
    assert cli.main(["show", str(file), "--json"]) == 0
    plans = json.loads(capsys.readouterr().out)
    wanted = [(1, 0.0), (1, 0.01), (2, 0.0), (2, 0.01)]
    assert [(plan["flows"][0]["transfer"]["streams"], plan["links"][1]["forward"]["loss"]) for plan in plans] == wanted
    assert cli.main(["run", str(file), "--world", "sim", "--json", "--quiet", "--out", str(out)]) == 0
    results = json.loads(capsys.readouterr().out)
    assert [result["vary"] for result in results][1] == {"transfer.streams": "1", "path.1.loss": "1 %"}
    assert len(list(out.iterdir())) == 4
    assert cli.main(["run", str(file), "--world", "sim", "--set", "transfer.streams=2", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert shown.count("completed") == 2
    assert "path.1.loss" in shown


@pytest.mark.parametrize(
    ("vary", "said"),
    [
        ("[1]", "'vary' is a mapping of keys to lists"),
        ("{transfer.streams: 2}", "varies over a list"),
        ("{transfer.streams: []}", "varies over a list"),
        ("{name: [a, b]}", "cannot vary"),
        ("{transfer.streams: [1, many]}", "is a count"),
        ("{transfer.strems: [1, 2]}", "unknown key"),
        ("{path.4.loss: [0 %, 1 %]}", "sweep.yaml:5:22: '4' is not an entry of a list of 4"),
    ],
)
def test_a_wrong_sweep_is_refused_before_anything_runs(
    vary: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = sweep(tmp_path, vary)
    assert cli.main(["run", str(file), "--world", "sim", "--out", str(tmp_path / "runs")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_other_commands_want_one_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = sweep(tmp_path, "{transfer.streams: [1, 2]}")
    assert cli.main(["exec", str(file), "--at", "amsterdam", "--", "true"]) == 2
    assert "it varies transfer.streams" in capsys.readouterr().err
