"""A class that hands in everything: what each lesson's grade costs, and what two hundred students take on two cores.

`bench_class.py [--students N] [--jobs N] [NAME…]` starts the exercises of N students, answers them with their keys,
and grades each twice, as `landspeed class grade` does: with a run of its own, and with a run that is known already. A
class shares its variants, so most right answers are known. Promised: 200 × 17 in 15 minutes on two cores, if one
hand-in of four has an answer that nobody else gave.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import resource
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from landspeed.course.answer_key import answer_key
from landspeed.course.class_grades import graded_folder
from landspeed.course.class_register import VARIANTS, ClassRegister
from landspeed.course.exercise import ANSWERS, SCENARIO, start
from landspeed.course.laboratory import Laboratory
from landspeed.course.lesson import all_lessons
from landspeed.runs.scenario import Scenario

STUDENTS, CORES, PROMISED_S = 200, 2, 900.0
OWN = 0.25  # share of hand-ins with an answer of its own
REPAIRED = """import socket, sys, time
with socket.create_connection((sys.argv[2], 5000)) as connection:
    end, sent, stored = time.monotonic() + float(sys.argv[3]), 0, 0
    while time.monotonic() < end or stored < sent:
        if time.monotonic() < end and sent - stored < WINDOW:
            connection.sendall(bytes(BLOCK))
            sent += 1
        else:
            stored += len(connection.recv(1024))
"""


def hand_in(place: Path, lesson: str, student: str, register: ClassRegister) -> Path:
    """A folder with the key's answers."""
    laboratory = Laboratory(place / "runs", jobs=1)
    folder = start(lesson, student, place / f"{lesson}-{student}", laboratory, register)
    for program in folder.glob("store.py"):
        bdp = Scenario.load(folder / SCENARIO).plan().physics.bdp_bytes
        (block,) = re.findall(r"BLOCK = \d+", program.read_text(encoding="utf-8"))
        program.write_text(f"{block}\nWINDOW = {2 * bdp} // BLOCK\n{REPAIRED}", encoding="utf-8")
    key = answer_key(folder, laboratory, register)
    (folder / ANSWERS).write_text("".join(f"{name}: {value}\n" for name, value in key.items()), encoding="utf-8")
    return folder


def cpu_s() -> float:
    """Processor time of this process and of the guests that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def cost(place: Path, lesson: str, student: str, register: ClassRegister) -> tuple[float, float, bool]:
    """Processor time of a grade with its own run, of one with a known run, and whether both have all points."""
    folder = hand_in(place, lesson, student, register)
    spent: list[float] = []
    right = True
    for _ in range(2):
        began = cpu_s()
        one = graded_folder(register, folder, folder.with_suffix(".runs"))
        spent.append(cpu_s() - began)
        right = right and not one.error and one.got == one.points
    return spent[0], spent[1], right


def main() -> int:
    """Measure and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=CORES)
    parser.add_argument("names", nargs="*", default=[lesson.name for lesson in all_lessons()])
    parsed = parser.parse_args()
    students = tuple(f"student {number}" for number in range(parsed.students))
    register = ClassRegister("bench", "a secret of the bench", students)
    whole_s, wrong, began = 0.0, 0, time.monotonic()
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="bench-class-") as name, ProcessPoolExecutor(parsed.jobs, spawn) as pool:
        print("| lesson | grades | all points | processor time with a run | known |\n|---|---:|---:|---:|---:|")
        for lesson in parsed.names:
            going = [pool.submit(cost, Path(name), lesson, each, register) for each in students]
            costs = [each.result() for each in going]
            run_s, known_s = (sum(each[which] for each in costs) / len(costs) for which in (0, 1))
            whole_s += (VARIANTS + OWN * STUDENTS) * run_s + (1 - OWN) * STUDENTS * known_s
            right = sum(each[2] for each in costs)
            print(f"| {lesson} | {len(costs)} | {right} | {run_s:.2f} s | {known_s:.2f} s |", flush=True)
            wrong += len(costs) - right
    class_s = whole_s / CORES
    print(f"\n{time.monotonic() - began:.0f} s for the keys and the grades of {len(students)} students")
    what = f"{STUDENTS} × {len(parsed.names)} on {CORES} cores, {OWN:.0%} of them with a run of their own"
    print(f"{what}: {class_s / 60:.1f} min (promised {PROMISED_S / 60:.0f} min)")
    return 0 if class_s <= PROMISED_S and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
