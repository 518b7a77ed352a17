"""The course from nothing: how near each lesson comes to theory, what it costs, and what a finished course costs again.

`bench_course.py [--jobs N]` runs all lessons in a folder of its own and prints tables. Promised: what each lesson
promises; on two cores 12 minutes from nothing and 5 s again; 30 MB, and 2 MB a page. Exit status 1 if one is not kept.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from landspeed.base.places import ROOT
from landspeed.course.laboratory import Laboratory
from landspeed.course.lesson import Lesson, all_lessons
from landspeed.course.worksheet import Worksheet
from tests.support.command import COMMAND

FROM_NOTHING_S, AGAIN_S, MOST_BYTES, PAGE_BYTES = 720.0, 5.0, 30_000_000, 2_000_000


def make(place: Path, jobs: int) -> tuple[float, float, int]:
    """Make the course, with whatever is not run yet.

    Returns:
        Wall and processor time in s, and the exit status.
    """
    words = [
        COMMAND,
        "lesson",
        "--all",
        "--quiet",
        "--jobs",
        str(jobs),
        "--runs",
        place / "runs",
        "--out",
        place / "site",
    ]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    status = subprocess.run(words, stdout=subprocess.DEVNULL, check=False).returncode
    wall_s, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, status


def rows(lesson: Lesson, laboratory: Laboratory) -> Iterator[str]:
    """A row for each comparison that promises something: its worst point, and what its runs took."""
    sheet = Worksheet(lesson, laboratory)
    for key, one in lesson.comparisons.items():
        points = sheet.points(key)
        if one.within is None or not points:
            continue
        worst = max(points, key=lambda point: abs(point.residual))
        kept = "NO" if one.failures(points) else "yes"
        runs = sheet.runs(key)
        took = f"{sum(run.record.wall_s or 0.0 for run in runs):.0f} s" if one.program is None else "–"
        yield (
            f"| {lesson.name} | {one.title} | {len(points)} of {len(runs)} | ± {100 * one.within:.3g} % "
            f"| {100 * worst.residual:+.3f} % ({worst.name}) | {kept} | {took} |"
        )


def main() -> int:
    """Measure and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parsed = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-course-", dir=ROOT / "build") as folder:
        place = Path(folder)
        wall_s, cpu_s, status = make(place, parsed.jobs)
        again_s, _, again = make(place, parsed.jobs)
        size = sum(file.stat().st_size for file in (place / "site").rglob("*") if file.is_file())
        page = max(file.stat().st_size for file in (place / "site").glob("*.html"))
        laboratory = Laboratory(place / "runs", jobs=parsed.jobs)
        print("| lesson | what | points of runs | promised | greatest residual | kept | its runs took |")
        print("|---|---|---:|---|---|---|---:|")
        for lesson in all_lessons():
            print("\n".join(rows(lesson, laboratory)), flush=True)
    print("\n| the whole course | measured | promised | kept |\n|---|---|---|---|")
    told = [
        ("from nothing", f"{wall_s:.0f} s ({cpu_s:.0f} s of processors)", f"≤ {FROM_NOTHING_S:.0f} s on two cores"),
        ("again, finished", f"{again_s:.1f} s", f"≤ {AGAIN_S:.0f} s"),
        ("its size", f"{size / 1e6:.1f} MB", f"≤ {MOST_BYTES / 1e6:.0f} MB"),
        ("its largest page", f"{page / 1e6:.2f} MB", f"≤ {PAGE_BYTES / 1e6:.0f} MB"),
    ]
    kept = [wall_s <= FROM_NOTHING_S, again_s <= AGAIN_S, size <= MOST_BYTES, page <= PAGE_BYTES]
    for (what, measured, promised), fine in zip(told, kept, strict=True):
        print(f"| {what} | {measured} | {promised} | {'yes' if fine else 'NO'} |")
    return 0 if all(kept) and status == again == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
