"""The page for CI: its test passes, and its workflows name what is there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from blocks import read_blocks
from landspeed.emu import kernel_build
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "how-to" / "ci.md"
FILES = {block.text: block.body for block in read_blocks(PAGE) if block.verb == "file"}
WORKFLOWS = [name for name in FILES if name.endswith(".yml")]


def steps_of(name: str) -> list[dict[str, Any]]:
    """Of the workflow's one job."""
    workflow: Any = YAML(typ="safe").load(FILES[name])
    (job,) = workflow["jobs"].values()
    return job["steps"]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_looks_at_the_runner_and_runs_the_marked_tests(name: str) -> None:
    said = [step["run"] for step in steps_of(name) if "run" in step]
    assert said[-2].endswith("landspeed doctor")
    assert "pytest -n auto -m landspeed" in said[-1]


def test_the_cache_is_where_the_kernel_is_and_its_key_has_all_that_the_kernel_is_made_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (cache,) = [step["with"] for step in steps_of("long-paths-clone.yml") if "cache" in step.get("uses", "")]
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert Path(cache["path"]).expanduser() == kernel_build.kernels_folder()
    patterns = re.findall(r"'landspeed/([^']+)'", cache["key"])
    named = {file for pattern in patterns for file in ROOT.glob(pattern.replace("**", "**/*"))}
    made_of = {*(ROOT / "emu" / "kernel").rglob("*"), ROOT / "emu" / "kernel_build.py"}
    assert {file for file in made_of if file.is_file()} <= named
    assert "steps.linux.outputs.source" in cache["key"]  # `linux-source`, whose version is in the kernel's hash


def test_make_has_the_targets() -> None:
    targets = re.findall(r"make -C landspeed ([a-z-]+)", FILES["long-paths-clone.yml"])
    assert targets == ["setup-run"]
    assert re.search(r"^setup-run:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.guest
def test_the_pages_test_passes(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("A file to download.\n" * 1000)
    (tmp_path / "test_long_paths.py").write_text(FILES["test_long_paths.py"])
    words = ["-m", "pytest", "-v", "-n0", "-p", "no:cacheprovider", "-m", "landspeed", "--junitxml=long-paths.xml"]
    done = subprocess.run(
        [sys.executable, *words, "--rootdir", str(tmp_path)],
        cwd=tmp_path, capture_output=True, text=True, check=False, env={**os.environ, "PYTEST_ADDOPTS": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout
    assert (tmp_path / "long-paths.xml").read_text().count('property name="landspeed_seed"') == 4
