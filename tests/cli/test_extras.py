"""What an extra lacks is told by the doctor, and before anything long begins."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from landspeed.base.extras import EXTRAS, examine_extras
from landspeed.base.failures import NotReady
from landspeed.cli.main import main
from landspeed.results.samples_reader import Samples
from tests.support.places import ROOT


def without(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if this module's package were not installed."""
    from importlib.util import find_spec

    monkeypatch.setattr("landspeed.base.extras.find_spec", lambda name: None if name == module else find_spec(name))


def test_the_extras_are_those_of_the_package() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    packages = {extra: tuple(name.replace("-", "_") for name in names) for extra, names in told.items()}
    assert {extra: modules for extra, (_, modules) in EXTRAS.items()} == {
        extra: names for extra, names in packages.items() if extra != "real"
    }


def test_the_doctor_tells_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    without("jupytext", monkeypatch)
    states = {found.name: (found.state, found.remedy) for found in examine_extras()}
    assert states["extra course"] == ("warn", "pip install 'landspeed[course]'")
    assert states["extra notebook"] == ("ok", "")


def test_samples_in_python_say_what_they_are_and_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    without("pandas", monkeypatch)
    samples = Samples(tmp_path / "first-20261127T120000Z-1a2b3c")
    assert repr(samples) == "<samples of first-20261127T120000Z-1a2b3c: .goodput(), .to_arrow(), .to_pandas()>"
    with pytest.raises(NotReady, match=r"not installed: pandas: pip install 'landspeed\[notebook\]'"):
        samples.to_pandas()


def test_a_lesson_says_so_before_its_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    without("jupytext", monkeypatch)
    assert main(["lesson", "window", "--out", str(tmp_path / "pages"), "--runs", str(tmp_path / "runs")]) == 2
    assert "not installed: jupytext: pip install 'landspeed[course]'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_command_imports_pandas_for_frames_alone() -> None:
    """Pyarrow looks for it wherever it has anything to convert; who wants a frame gets one all the same."""
    script = (
        "import sys; from landspeed.cli.main import main; sys.argv[1:] = []; main(); import pyarrow as pa; "
        "import pyarrow.acero; print('pandas' in sys.modules, list(pa.table({'x': [1]}).to_pandas()['x']) == [1])"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[-1] == "False True"
