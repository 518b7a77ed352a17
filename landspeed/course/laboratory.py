"""The lessons' runs: a store of the runs that are known, and the queue of the rest.

A run is known by its content, as a cell of a sweep is, and kept as one. Runs of many lessons are one queue, longest
first, so that no core waits for another at the end.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from landspeed.base.failures import RunFailed, RunInterrupted
from landspeed.base.files import read_object, write_atomically
from landspeed.base.places import runs_dir
from landspeed.course.comparison import LessonFigure, LessonProgram
from landspeed.course.lesson import Lesson
from landspeed.course.lesson_run import LessonRun
from landspeed.results.bundle import OutputError
from landspeed.runs.sweeps.grid import Cell, Grid, GridPoint, plan_grid
from landspeed.runs.sweeps.store import Store
from landspeed.runs.sweeps.sweep import State, SweepOptions, run_grid
from landspeed.runs.sweeps.work import CellOutcome, do, work_of
from landspeed.runs.sweeps.workers import usual_jobs
from landspeed.scenario.plan.duration import expected_duration_s
from landspeed.worlds.make_world import make_program_world

Tell = Callable[[State], None]


def usual_folder() -> Path:
    """Folder of the lessons' runs, beside the bundles."""
    return runs_dir().parent / "lessons"


@dataclass(frozen=True)
class LessonFile:
    """A file of a lesson that is to be run, by transfers or by a program.

    Attributes:
        overrides: values laid over the file, as for `--set`.
    """

    lesson: Lesson
    file: str
    program: LessonProgram | None = None
    overrides: tuple[str, ...] = ()


class Laboratory:
    """Runs what lessons ask for, and knows what it has run."""

    def __init__(self, folder: Path | None = None, *, jobs: int | None = None, tell: Tell = lambda _: None) -> None:
        """Make a laboratory that keeps its runs in a folder.

        Args:
            folder: for cells, bundles and outputs; None: the usual one.
            jobs: runs at once; None: as many as there are cores.
            tell: told how far it is.
        """
        self.store = Store(folder or usual_folder())
        self._jobs, self._tell = jobs or usual_jobs(), tell
        self._world = make_program_world()
        self._grids: dict[tuple[Path, str, tuple[str, ...]], Grid] = {}

    def elsewhere(self, folder: Path) -> Laboratory:
        """Return a laboratory with another folder, and what is known there."""
        return Laboratory(folder, jobs=self._jobs, tell=self._tell)

    def build(self) -> str:
        """Identify the build of kernel and engine: results of two builds are never mixed."""
        return self._world.build_id()

    # --- asking ------------------------------------------------------------------------------------------------------

    def wanted(self, lesson: Lesson) -> list[LessonFile]:
        """List the runs that a lesson's comparisons need."""
        found = [
            LessonFile(lesson, file, comparison.program)
            for comparison in lesson.comparisons.values()
            for file in comparison.scenarios
        ]
        return list({(each.file, each.program): each for each in found}.values())

    def known(self, wanted: Iterable[LessonFile]) -> tuple[int, int]:
        """(How many runs are known, how many are wanted)."""
        each = [self._is_known(one, point, cell) for one in wanted for point, cell in self._cells(one)]
        return sum(each), len(each)

    def keys(self, wanted: Iterable[LessonFile]) -> list[str]:
        """The content of every run that is wanted."""
        return [self._key(one, point, cell) for one in wanted for point, cell in self._cells(one)]

    def measured(self, lesson: Lesson, comparison: LessonFigure) -> list[LessonRun]:
        """The runs of a comparison, in the order of its files; those not known are run first.

        Raises:
            RunFailed: one of them broke.
        """
        wanted = [LessonFile(lesson, file, comparison.program) for file in comparison.scenarios]
        self.run(wanted)
        return [self._load(one, point, cell) for one in wanted for point, cell in self._cells(one)]

    def one(self, wanted: LessonFile) -> list[LessonRun]:
        """The runs of one file; those not known are run first. Who asks meanwhile for the same ones waits for them.

        Raises:
            RunFailed: one of them broke.
        """
        with self._turn(self.keys([wanted])[0]):
            self.run([wanted])
            return [self._load(wanted, point, cell) for point, cell in self._cells(wanted)]

    def packets(self, wanted: LessonFile) -> float:
        """Estimate the packets that the runs of a file send: their work."""
        return sum(_work(point) for point, _ in self._cells(wanted))

    # --- running -----------------------------------------------------------------------------------------------------

    def run(self, wanted: Iterable[LessonFile]) -> None:
        """Run what is not known yet.

        Raises:
            RunInterrupted: by the user; what was done is kept.
            RunFailed: a run broke; all the others were made.
        """
        every = list(wanted)
        self.store.make()
        self._run_transfers([each for each in every if each.program is None])
        self._run_programs([each for each in every if each.program is not None])

    def _run_transfers(self, wanted: Sequence[LessonFile]) -> None:
        missing = [
            (point, cell) for one in wanted for point, cell in self._cells(one) if not self._is_known(one, point, cell)
        ]
        if not missing:
            return
        points = {(point.content, point.seeds): point for point, _ in missing}
        ordered = tuple(sorted(points.values(), key=_work, reverse=True))
        for _, cell in missing:  # a bundle that was removed, or a cell that failed
            (self.store.cells / f"{cell.key}.json").unlink(missing_ok=True)
        grid = Grid("course", "", self._world, (), ordered)
        if self._jobs == 1:  # saves 0.4 s: no cluster is begun
            done, interrupted = [(cell, self._here(cell)) for cell in grid.cells()], False
        else:
            done, interrupted = run_grid(grid, self.store, SweepOptions(self.store.folder, self._jobs), {}, self._tell)
        if interrupted:
            raise self._interrupted()
        broken = Counter(f"{cell.loaded.scenario.name}: {outcome.error}" for cell, outcome in done if not outcome.done)
        if broken:
            raise RunFailed("\n".join(why + (f" ({times} runs)" if times > 1 else "") for why, times in broken.items()))

    def _here(self, cell: Cell) -> CellOutcome:
        """Run a cell in this process, and keep it."""
        outcome = do(work_of(cell, self._world.name, {}, self.store.bundles))
        self.store.keep(outcome)
        return outcome

    @contextlib.contextmanager
    def _turn(self, key: str) -> Generator[None]:
        """Wait until no other process runs this."""
        locks = self.store.folder / "locks"
        try:
            locks.mkdir(parents=True, exist_ok=True)
            handle = (locks / key).open("wb")
        except OSError as error:
            raise OutputError(f"{locks}: {error.strerror or error}; give another folder") from error
        with handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def _run_programs(self, wanted: Sequence[LessonFile]) -> None:
        missing = {
            self._key(one, point, cell): (one, point, cell)
            for one in wanted
            for point, cell in self._cells(one)
            if not self._is_known(one, point, cell)
        }
        if not missing:
            return
        state = State(cells=len(missing))
        with ThreadPoolExecutor(self._jobs) as pool:
            going = [pool.submit(self._run_program, key, *each) for key, each in missing.items()]
            try:
                for each in as_completed(going):
                    each.result()
                    state.done += 1
                    self._tell(state)
            except KeyboardInterrupt:
                raise self._interrupted() from None
            finally:
                pool.shutdown(wait=False, cancel_futures=True)  # after an error or Ctrl-C, none is begun

    def _interrupted(self) -> RunInterrupted:
        return RunInterrupted(f"interrupted; what was run is kept in {self.store.folder}: call it again to go on")

    def _run_program(self, key: str, one: LessonFile, point: GridPoint, cell: Cell) -> None:
        assert one.program is not None
        words = [word.replace("LESSON", str(one.lesson.folder)) for word in one.program.command]
        with tempfile.TemporaryDirectory(prefix="landspeed-lesson-") as place:
            status = self._world.execute(
                replace(point.plan, seed=cell.seed), Path(place), at=one.program.at, command=words, calibrate=False
            )
            said, errors = ((Path(place) / "log" / name).read_text(errors="replace") for name in ("stdout", "stderr"))
        if status:
            raise RunFailed(f"{one.lesson.name}: {' '.join(words)} ended with status {status}: {errors.strip()[-400:]}")
        content = {"key": key, "command": words, "output": said}
        self._output(key).parent.mkdir(exist_ok=True)
        write_atomically(self._output(key), json.dumps(content, indent=1, ensure_ascii=False).encode())

    # --- what is known -----------------------------------------------------------------------------------------------

    def _cells(self, one: LessonFile) -> list[tuple[GridPoint, Cell]]:
        name = (one.lesson.folder, one.file, one.overrides)
        if name not in self._grids:
            self._grids[name] = plan_grid(one.lesson.folder / one.file, one.overrides, self._world)
        return [(point, cell) for point in self._grids[name].points for cell in point.cells()]

    def _key(self, one: LessonFile, point: GridPoint, cell: Cell) -> str:
        if one.program is None:
            return cell.key
        files = [(one.lesson.folder / name).read_bytes() for name in one.program.files]
        parts: list[Any] = [point.content, cell.seed, one.program.at, one.program.command]
        return hashlib.sha256(json.dumps(parts).encode() + b"\0".join(files)).hexdigest()[:24]

    def _output(self, key: str) -> Path:
        return self.store.folder / "outputs" / f"{key}.json"

    def _is_known(self, one: LessonFile, point: GridPoint, cell: Cell) -> bool:
        if one.program is not None:
            return bool(read_object(self._output(self._key(one, point, cell))))
        outcome = self.store.load(cell.key)
        return outcome is not None and outcome.done and outcome.bundle is not None and self._bundle(outcome.bundle)

    def _bundle(self, name: str) -> bool:
        return (self.store.bundles / Path(name).name / "result.json").is_file()

    def _load(self, one: LessonFile, point: GridPoint, cell: Cell) -> LessonRun:
        if one.program is not None:
            said = read_object(self._output(self._key(one, point, cell)))
            return LessonRun(one.file, point.values, cell.seed, point.plan, None, str(said["output"]))
        outcome = self.store.load(cell.key)
        assert outcome is not None
        assert outcome.bundle is not None
        return LessonRun(one.file, point.values, cell.seed, point.plan, self.store.bundles / Path(outcome.bundle).name)


def _work(point: GridPoint) -> float:
    """Estimate the work of a run: the packets that it sends."""
    rate_bps = max(1, *(flow.physics.expected_goodput_bps for flow in point.plan.flows))
    unit = 180_000 if point.plan.fidelity == "super-packets" else point.plan.flows[0].physics.mss_bytes
    return rate_bps / 8 / unit * expected_duration_s(point.plan)
