"""Exercises graded by runs: what theory, or a look at the samples, gives passes; a usual mistake does not."""

import csv
import re
from itertools import pairwise
from pathlib import Path

import pytest

from landspeed.course.exercise import ANSWERS, SCENARIO, start
from landspeed.course.grading import ExerciseGrade, check
from landspeed.course.laboratory import Laboratory
from landspeed.runs.scenario import Scenario

pytestmark = [pytest.mark.guest, pytest.mark.slow]
ADA = "Ada 1815"


@pytest.fixture
def laboratory(tmp_path: Path) -> Laboratory:
    return Laboratory(tmp_path / "runs", jobs=1)


def answered(folder: Path, **answers: object) -> Path:
    (folder / ANSWERS).write_text("".join(f"{key}: {value}\n" for key, value in answers.items()), encoding="utf-8")
    return folder


def got(graded: ExerciseGrade) -> list[float]:
    return [mark.got for mark in graded.marks]


def falling(rows: list[dict[str, str]]) -> list[bool]:
    """Whether the window fell by a fifth or more, sample by sample."""
    windows = [float(row["cwnd_packets"]) for row in rows]
    return [later < 0.8 * former for former, later in pairwise(windows)]


def test_queues(tmp_path: Path, laboratory: Laboratory) -> None:
    """A short plain queue is enough for one stream; a deep one waits too long, a very short one starves the line."""
    folder = start("queues", ADA, tmp_path / "hers", laboratory)
    lane = Scenario.load(folder / SCENARIO).plan().links[1].forward
    wait_ms = lane.queue_bytes * 8e3 / lane.rate_bps
    short = round(lane.rate_bps * 0.017 / 8)
    graded = check(answered(folder, wait=f"{wait_ms:.1f} ms", discipline="fifo", queue=f"{short} B"), laboratory)
    assert graded.passed, str(graded)
    deep = check(answered(folder, wait=f"{8 * wait_ms:.0f} ms", discipline="fifo", queue="4 MB"), laboratory)
    assert got(deep) == [0, 0, 2], str(deep)
    tiny = check(answered(folder, wait=f"{wait_ms:.0f} ms", discipline="fifo", queue="15 kB"), laboratory)
    assert got(tiny) == [1, 2, 0], str(tiny)


def test_fairness(tmp_path: Path, laboratory: Laboratory) -> None:
    """CUBIC's windows fall by 30 % at a loss, BBR's does not; Jain's index is that of the bytes read."""
    folder = start("fairness", ADA, tmp_path / "hers", laboratory)
    rows = list(csv.DictReader((folder / "streams.csv").read_text().splitlines()))
    late = {n: [row for row in rows if row["stream"] == str(n) and float(row["time_s"]) >= 10] for n in range(4)}
    resent = {n: int(each[-1]["retransmits"]) - int(each[0]["retransmits"]) for n, each in late.items()}
    falls = {n: sum(falling(each)) / max(1, resent[n]) for n, each in late.items()}
    place = min(falls, key=lambda n: falls[n])
    rates = [int(each[-1]["bytes_read"]) - int(each[0]["bytes_read"]) for each in late.values()]
    jain = sum(rates) ** 2 / (4 * sum(rate * rate for rate in rates))
    assert 0.25 < jain < 0.999
    right = check(answered(folder, bbr=place, jain=f"{100 * jain:.2f} %"), laboratory)
    assert right.passed, str(right)
    wrong = check(answered(folder, bbr=(place + 1) % 4, jain="100 %"), laboratory)
    assert got(wrong) == [0, 0], str(wrong)


def test_own_window(tmp_path: Path, laboratory: Laboratory) -> None:
    """More blocks in each round repair it; the program as it was, and one that says more than the line, do not pass."""
    folder = start("own-window", ADA, tmp_path / "hers", laboratory)
    program = (folder / "store.py").read_text()
    block, blocks = (int(re.findall(each, program)[0]) for each in (r"BLOCK = (\d+)", r"range\((\d+)\)"))
    physics = Scenario.load(folder / SCENARIO).plan().physics
    rounds = round(20 * physics.bdp_bytes / block)
    slow = check(answered(folder, own_window=f"{blocks} B"), laboratory)
    assert got(slow) == [0, 0], str(slow)
    assert "it reaches" in slow.marks[1].why
    repaired = program.replace(f"range({blocks})", f"range({rounds})").replace(f"< {blocks}:", f"< {rounds}:")
    (folder / "store.py").write_text(repaired)
    graded = check(answered(folder, own_window=f"{block * blocks} B"), laboratory)
    assert graded.passed, str(graded)
    (folder / "store.py").write_text("print(10**12)\n")
    assert "our server stored nothing" in check(folder, laboratory).marks[1].why
