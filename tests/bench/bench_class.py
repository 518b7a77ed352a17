"""A class that hands in everything: what each lesson's grade costs, and what two hundred students take on two cores.

`bench_class.py [--students N] [--jobs N] [NAME…]` starts the exercises of N students, answers them with their keys,
grades them as `landspeed class grade` does, and prints a table. Promised: 200 × 17 in 15 minutes on two cores.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from landspeed.course.answer_key import answer_key
from landspeed.course.class_grades import graded_folder
from landspeed.course.class_register import ClassRegister
from landspeed.course.exercise import ANSWERS, start
from landspeed.course.laboratory import Laboratory
from landspeed.course.lesson import all_lessons

STUDENTS, CORES, PROMISED_S = 200, 2, 900.0


def hand_in(place: Path, lesson: str, student: str, register: ClassRegister) -> Path:
    """A folder with the key's answers."""
    laboratory = Laboratory(place / "runs", jobs=1)
    folder = start(lesson, student, place / f"{lesson}-{student}", laboratory, register)
    key = answer_key(folder, laboratory, register)
    (folder / ANSWERS).write_text("".join(f"{name}: {value}\n" for name, value in key.items()), encoding="utf-8")
    return folder


def cpu_s() -> float:
    """Processor time of this process and of the guests that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def cost(place: Path, lesson: str, student: str, register: ClassRegister) -> tuple[float, bool]:
    """Processor time of a grade, and whether it has all points."""
    folder = hand_in(place, lesson, student, register)
    began = cpu_s()
    one = graded_folder(register, folder)
    return cpu_s() - began, not one.error and one.got == one.points


def main() -> int:
    """Measure and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=CORES)
    parser.add_argument("names", nargs="*", default=[lesson.name for lesson in all_lessons()])
    parsed = parser.parse_args()
    students = tuple(f"student {number}" for number in range(parsed.students))
    register = ClassRegister("bench", "a secret of the bench", students)
    whole_s, began = 0.0, time.monotonic()
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="bench-class-") as name, ProcessPoolExecutor(parsed.jobs, spawn) as pool:
        print("| lesson | grades | all points | processor time of one |\n|---|---:|---:|---:|")
        for lesson in parsed.names:
            going = [pool.submit(cost, Path(name), lesson, each, register) for each in students]
            costs = [each.result() for each in going]
            mean_s = sum(each for each, _ in costs) / len(costs)
            whole_s += mean_s
            print(f"| {lesson} | {len(costs)} | {sum(right for _, right in costs)} | {mean_s:.2f} s |", flush=True)
    class_s = whole_s * STUDENTS / CORES
    print(f"\n{time.monotonic() - began:.0f} s for the keys and the grades of {len(students)} students")
    print(f"{STUDENTS} students on {CORES} cores: {class_s / 60:.1f} min (promised {PROMISED_S / 60:.0f} min)")
    return 0 if class_s <= PROMISED_S else 1


if __name__ == "__main__":
    sys.exit(main())
