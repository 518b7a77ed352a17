"""A class that hands in everything: what each lesson's grade costs, and what two hundred students take on two cores.

`bench_class.py [--students N] [--jobs N] [NAME…]` starts the exercises of N students, answers them with their keys,
and grades each three times, as `landspeed class grade` does: as the first one of its variant, when its runs are known
already, and with an answer that nobody else gave, for which only what depends on the answer is run. A class shares its
variants, so most right answers are known. Promised: 200 × 17 in 15 minutes on two cores, if one
hand-in of four has an answer that nobody else gave.
"""

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


def nobodys(answers: str) -> str:
    """The answers with figures a little beside the right ones, whole numbers and words as they are."""
    return re.sub(r"(?<=: )([\d.]+)(?= \S)", lambda found: f"{0.987 * float(found[1]):.6g}", answers)


def cost(place: Path, lesson: str, student: str, register: ClassRegister) -> tuple[list[float], bool]:
    """Processor time of a variant's first grade, of a known one and of one of its own; did both right ones pass?"""
    folder = hand_in(place, lesson, student, register)
    spent: list[float] = []
    right = True
    for which in ("first", "known", "own"):
        if which == "own":
            (folder / ANSWERS).write_text(nobodys((folder / ANSWERS).read_text(encoding="utf-8")), encoding="utf-8")
            for program in folder.glob("store.py"):
                program.write_text(f"{program.read_text(encoding='utf-8')}# of {student}\n", encoding="utf-8")
        began = cpu_s()
        one = graded_folder(register, folder, folder.with_suffix(".runs"))
        spent.append(cpu_s() - began)
        right = right and not one.error and (which == "own" or one.got == one.points)
    return spent, right


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
        print(
            "| lesson | grades | all points | first of a variant | known | own answer |\n|---|---:|---:|---:|---:|---:|"
        )
        for lesson in parsed.names:
            going = [pool.submit(cost, Path(name), lesson, each, register) for each in students]
            costs = [each.result() for each in going]
            first_s, known_s, own_s = (sum(spent[which] for spent, _ in costs) / len(costs) for which in range(3))
            own = OWN * STUDENTS
            whole_s += VARIANTS * first_s + (STUDENTS - VARIANTS - own) * known_s + own * own_s
            right = sum(passed for _, passed in costs)
            print(
                f"| {lesson} | {len(costs)} | {right} | {first_s:.2f} s | {known_s:.2f} s | {own_s:.2f} s |", flush=True
            )
            wrong += len(costs) - right
    class_s = whole_s / CORES
    print(f"\n{time.monotonic() - began:.0f} s for the keys and the grades of {len(students)} students")
    what = f"{STUDENTS} × {len(parsed.names)} on {CORES} cores, {OWN:.0%} of them with an answer of their own"
    print(f"{what}: {class_s / 60:.1f} min (promised {PROMISED_S / 60:.0f} min)")
    return 0 if class_s <= PROMISED_S and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
