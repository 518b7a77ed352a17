"""The same grades and the same pages wherever they are made: other folders, another number of cores.

`make course-twice` does this with two clones, twenty students and all lessons.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from landspeed.course.new_lesson import new_lesson
from tests.support.command import landspeed

pytestmark = [pytest.mark.guest, pytest.mark.slow]
CORES = sorted(os.sched_getaffinity(0))
PLACES = {"a": CORES[:1], "another-one, é": CORES}


def on_cores(cores: list[int], *words: object) -> subprocess.CompletedProcess[str]:
    """The command, on these cores only."""
    return landspeed(*words, under=("taskset", "-c", ",".join(map(str, cores))), timeout=900)


def content(folder: Path) -> dict[str, bytes]:
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def test_an_exercise_has_the_same_files_and_grades(tmp_path: Path) -> None:
    """One that hands out the samples of a run, from its start to its grades, which are not all points."""
    found = []
    for name, cores in PLACES.items():
        folder = tmp_path / name / "hers"
        started = on_cores(cores, "lesson", "start", "fairness", "--student", "阿達 7", "--out", folder)
        assert started.returncode == 0, started.stderr
        assert (folder / "streams.csv").stat().st_size > 10_000
        (folder / "answers.yaml").write_text("bbr: 1\njain: 50 %\n")
        more = ("--junit", folder / "grades.xml", "--gradescope", folder / "results.json")
        checked = on_cores(cores, "lesson", "check", folder, "--quiet", *more)
        assert checked.returncode == 1, checked.stderr
        found.append((content(folder), checked.stdout))
    assert found[0] == found[1]


def test_a_page_has_the_same_bytes(tmp_path: Path) -> None:
    """Its runs are made one by one and two at once, and kept in other folders: page, figures, notebook are the same.

    Two lessons that are small: ten runs of a program (`delay`), and two transfers (a lesson as `lesson new` makes it).
    """
    mine = new_lesson("mine", tmp_path / "mine")
    found = []
    for name, cores in PLACES.items():
        place = tmp_path / name
        more = ("--runs", place / "runs", "--out", place / "site", "--jobs", len(cores), "--quiet")
        made = on_cores(cores, "lesson", "delay", mine, *more)
        assert made.returncode == 0, made.stderr
        shutil.rmtree(place / "runs")
        found.append(content(place / "site"))
    wanted = {f"{name}.html" for name in ("delay", "mine", "index")} | {"notebooks/delay.ipynb", "notebooks/mine.ipynb"}
    assert wanted <= found[0].keys()
    assert found[0] == found[1]
