"""Do two machines give the same grades and the same figures? Two clones of what is committed, set up each for itself.

The folders have names of different length; the first clone may use one core only, the second all of them. Both grade
the exercises of twenty students, and make the pages of the lessons (all of them, or those that are named). What they
wrote is compared byte for byte: exit status 1 if anything differs. Usage: course_twice.py [LESSON …]
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from landspeed.base.places import ROOT
from landspeed.course.lesson import all_lessons
from landspeed.runs.scenario import Scenario

STUDENTS = ("ada", "Grace Hopper", "阿達", "Zoë 7", "../../etc")
GRADES = ("grades.xml", "results.json", "grades.txt")


def answers(lesson: str, number: int, folder: Path) -> dict[str, object]:
    """Some that are right, and some that are wrong."""
    physics = Scenario.load(folder / "scenario.yaml").plan().physics
    return {
        "window": {"bdp": f"{physics.bdp_bytes} B", "window": f"{round(physics.bdp_bytes * (0.9 + 0.05 * number))} B"},
        "queues": {"wait": f"{100 + 20 * number} ms", "discipline": "codel", "queue": f"{100 + 50 * number} kB"},
        "fairness": {"bbr": number % 4, "jain": f"{60 + 5 * number} %"},
        "own-window": {"own_window": f"{100 * (number + 1)} kB"},
    }[lesson]


class Machine:
    """A clone that was set up, and where it writes."""

    def __init__(self, place: Path, cores: str) -> None:
        """In a folder, on these cores, as taskset(1) has them."""
        self.clone, self.out, self._cores = place / "landspeed", place / "out", cores
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, self.clone], check=True)
        subprocess.run(["make", "--silent", "-C", self.clone, "setup"], check=True)

    def landspeed(self, *words: object, statuses: tuple[int, ...] = (0,)) -> str:
        """What the command prints.

        Raises:
            SystemExit: it ended with another status.
        """
        command = ["taskset", "-c", self._cores, self.clone / ".venv/bin/landspeed", *map(str, words)]
        done = subprocess.run(command, cwd=self.clone, capture_output=True, text=True, check=False)
        if done.returncode not in statuses:
            raise SystemExit(f"{' '.join(map(str, command))}: status {done.returncode}: {done.stderr}")
        return done.stdout

    def grade(self, lesson: str, number: int) -> None:
        """A student's exercise, from its start to its grades."""
        folder = self.out / "exercises" / f"{lesson}-{number}"
        self.landspeed("lesson", "start", lesson, "--student", STUDENTS[number], "--out", folder)
        written = answers(lesson, number, folder)
        (folder / "answers.yaml").write_text("".join(f"{key}: {value}\n" for key, value in written.items()))
        xml, results, text = (folder / name for name in GRADES)
        said = self.landspeed(
            "lesson", "check", folder, "--junit", xml, "--gradescope", results, "--quiet", statuses=(0, 1)
        )
        text.write_text(said)

    def course(self, lessons: list[str]) -> None:
        """Pages, figures and notebooks."""
        self.landspeed("lesson", *(lessons or ["--all"]), "--quiet", "--out", self.out / "course")


def files(folder: Path) -> Iterator[Path]:
    """All below a folder, from there."""
    return (file.relative_to(folder) for file in sorted(folder.rglob("*")) if file.is_file())


def main() -> int:
    """Make both, and compare."""
    exercises = [lesson.name for lesson in all_lessons() if lesson.has_exercise]
    every = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="course-twice-", dir=ROOT / "build") as place:
        machines = [Machine(Path(place) / name, cores) for name, cores in (("a", every[0]), ("another-one", every))]
        for machine in machines:
            for lesson in exercises:
                for number in range(len(STUDENTS)):
                    machine.grade(lesson, number)
            machine.course(sys.argv[1:])
        one, other = (machine.out for machine in machines)
        names = sorted({*files(one), *files(other)})
        differ = [
            name
            for name in names
            if not ((one / name).is_file() and (other / name).is_file())
            or (one / name).read_bytes() != (other / name).read_bytes()
        ]
        graded = [name for name in names if name.name == GRADES[0]]
        same = sum(not any(each.parent == name.parent for each in differ) for name in graded)
        print(f"{same} of {len(graded)} students: the same folder and the same grades, byte for byte")
        print(f"{len(names) - len(differ)} of {len(names)} files are the same, byte for byte")
        for name in differ:
            print(f"DIFFERS: {name}")
    return 1 if differ or len(graded) != len(exercises) * len(STUDENTS) else 0


if __name__ == "__main__":
    sys.exit(main())
