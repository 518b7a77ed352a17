"""The page for CI: its test passes, and its workflows name what is there."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from docs.blocks import read_blocks
from landspeed.worlds.emu import kernel_build

ROOT = Path(__file__).resolve().parents[2]
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


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_step_can_be_run_here(name: str, tmp_path: Path) -> None:
    """`make workflow` does; here: the script has each `run` word for word and in order, and every action is known."""
    words = [sys.executable, str(ROOT / "setup" / "ci_steps.py"), name, str(tmp_path)]
    assert subprocess.run(words, capture_output=True, text=True, check=False).returncode == 0
    script = (tmp_path / "steps.sh").read_text()
    shells = [line_words for line_words in _commands(script) if line_words[:2] == ["bash", "-e"]]
    assert [each[5] for each in shells] == [step["run"] for step in steps_of(name) if "run" in step]
    subprocess.run(["sh", "-n", str(tmp_path / "steps.sh")], check=True)
    assert (tmp_path / "work" / "test_long_paths.py").read_text() == FILES["test_long_paths.py"]


def _commands(script: str) -> Iterator[list[str]]:
    """The words of each command; a quoted one may have several lines."""
    lexer = shlex.shlex(script, posix=True, punctuation_chars="\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, ""
    words: list[str] = []
    for token in lexer:
        if token.strip("\n"):
            words.append(token)
        else:
            yield words
            words = []


def test_a_workflow_that_is_not_on_the_page_is_an_error(tmp_path: Path) -> None:
    words = [sys.executable, str(ROOT / "setup" / "ci_steps.py"), "no.yml", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, "there are test_long_paths.py" in done.stderr) == (2, True)


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
