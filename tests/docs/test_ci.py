"""The workflows: ours runs what exists; those for users lie in docs/how-to/ci, and their last steps are run here."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from landspeed.worlds.emu import kernel_build

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "how-to"
OURS = ROOT / ".github" / "workflows" / "ci.yml"
TEST = PAGES / "ci" / "test_long_paths.py"
CLONE, WHEEL = PAGES / "ci" / "long-paths-clone.yml", PAGES / "ci" / "long-paths.yml"


def jobs_of(file: Path) -> dict[str, Any]:
    workflow: Any = YAML(typ="safe").load(file)
    return workflow["jobs"]


def runs_of(file: Path) -> list[str]:
    """The `run` steps of all jobs."""
    return [step["run"] for job in jobs_of(file).values() for step in job["steps"] if "run" in step]


def targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize("file", [OURS, *sorted((PAGES / "ci").glob("*.yml"))], ids=lambda file: file.name)
def test_each_step_is_an_action_or_commands_of_a_job_with_a_runner(file: Path) -> None:
    for job in jobs_of(file).values():
        assert "runs-on" in job
        assert all(("uses" in step) != ("run" in step) for step in job["steps"])
    for step in runs_of(file):
        subprocess.run(["bash", "-n", "-c", step], check=True)


def test_our_workflow_runs_what_a_clone_has() -> None:
    said = runs_of(OURS)
    assert ".ci/run" in said
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert {word for step in said for word in re.findall(r"^make ([a-z-]+)", step)} == {"rehearse"} <= targets()


def test_the_pages_show_each_file() -> None:
    text = "".join((PAGES / name).read_text() for name in ("ci.md", "teach.md"))
    for file in (PAGES / "ci").iterdir():
        if file.is_file():
            assert f"\n{file.read_text()}```\n" in text, file.name


@pytest.mark.parametrize("file", [CLONE, WHEEL], ids=lambda file: file.name)
def test_a_workflow_looks_at_the_runner_and_runs_the_marked_tests(file: Path) -> None:
    *_, look, test = runs_of(file)
    assert look.endswith("landspeed doctor")
    assert "pytest -n auto -m landspeed" in test


def test_the_cache_is_where_the_kernel_is_and_its_key_has_all_that_the_kernel_is_made_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (job,) = jobs_of(CLONE).values()
    (cache,) = [step["with"] for step in job["steps"] if "cache" in step.get("uses", "")]
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert Path(cache["path"]).expanduser() == kernel_build.kernels_folder()
    (pattern,) = re.findall(r"hashFiles\('landspeed/([^']+)'\)", cache["key"])
    named = {file for file in ROOT.glob(pattern.replace("**", "**/*")) if file.is_file()}
    assert named == {file for file in kernel_build.RECIPE.rglob("*") if file.is_file()}
    assert "steps.linux.outputs.source" in cache["key"]  # `linux-source`, whose version is in the kernel's hash


def test_make_has_the_targets() -> None:
    said = [target for step in runs_of(CLONE) for target in re.findall(r"make -C landspeed ([a-z-]+)", step)]
    assert said == ["setup-run"]
    assert set(said) <= targets()


@pytest.mark.guest
def test_the_last_steps_pass_here(tmp_path: Path) -> None:
    """`make workflow` runs all of them on a new system; `landspeed doctor` and pytest can be run on this one."""
    shutil.copy(TEST, tmp_path)
    shutil.copy(ROOT / "README.md", tmp_path)
    *_, look, test = runs_of(WHEEL)
    script = f"{look}\n{test.replace('-n auto', '-n 0')} -v -p no:cacheprovider --rootdir ."
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTEST_ADDOPTS": "", "PATH": f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout
    assert (tmp_path / "long-paths.xml").read_text().count('property name="landspeed_seed"') == 4
