"""The version: written once, in landspeed/base/version.py, and told alike by everything that has one."""

import importlib.metadata
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import landspeed
from landspeed.base.version import __version__
from landspeed.worlds.engine.command import ENGINE_BINARY
from landspeed.worlds.sim.world import SIMULATOR

ROOT = Path(__file__).resolve().parents[2]


def first_line(*words: str | Path) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT).stdout.splitlines()[0]


def test_the_command_and_the_package_tell_it() -> None:
    assert first_line(sys.executable, "-m", "landspeed", "--version") == f"landspeed {__version__}"
    assert (landspeed.__version__, importlib.metadata.version("landspeed")) == (__version__, __version__)


def test_the_engine_tells_it() -> None:
    assert first_line(ENGINE_BINARY, "--version").startswith(f"landspeed-engine {__version__} (build ")


def test_the_simulator_tells_it() -> None:
    if not os.access(SIMULATOR, os.X_OK):
        pytest.skip("the simulator is not built")
    assert first_line(SIMULATOR, "--version").startswith(f"landspeed-sim {__version__} (ns-3 ")


@pytest.mark.guest
def test_the_bundle_tells_it(tmp_path: Path) -> None:
    words = ["run", "first", "--set", "transfer.duration=1 s", "--set", "expect=null", "--out", str(tmp_path)]
    subprocess.run([sys.executable, "-m", "landspeed.cli.main", *words], check=True, capture_output=True)
    (result,) = tmp_path.glob("*/result.json")
    told = json.loads(result.read_text())
    assert told["versions"]["landspeed"] == __version__
    assert told["flows"][0]["tool_result"]["version"] == __version__  # the engine's


def test_it_is_written_once() -> None:
    """The builds read it: the wheel by setuptools, the C and C++ programs by meson."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "landspeed.base.version.__version__"}
    places = [*ROOT.glob("*/meson.build"), ROOT / "pyproject.toml", ROOT / "engine" / "landspeed-engine.1"]
    places += [ROOT / "CITATION.cff", ROOT / "setup" / "wheel" / "sim.toml", *(ROOT / "landspeed").rglob("*.py")]
    assert [str(file.relative_to(ROOT)) for file in places if __version__ in file.read_text()] == [
        "landspeed/base/version.py"
    ]
