"""What a program's own window lets through, whatever TCP could do."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from landspeed.course.comparison import GOODPUT_LOG, RTT, FigurePoint, LessonFigure, LessonProgram
from landspeed.course.lesson_run import LessonRun
from landspeed.course.stated_figures import computed, thousands

BLOCK_BYTES = 65_536  # as in blocks.py


def goodput_bps(run: LessonRun, blocks: int) -> float:
    """Blocks in each round trip: the path's, and the time that a block needs on the line; at most the line.

    The answer to a block is sent when its last byte is there, and the next block starts when the answer is back. The
    router sends a packet on when it has all of it, so the second line is a packet behind the first.
    """
    rate_bps = run.plan.physics.line_rate_limit_bps
    block_s = (BLOCK_BYTES + run.mss_bytes) * 8 / rate_bps
    return min(blocks * BLOCK_BYTES * 8 / (run.rtt_s + block_s), rate_bps)


def points(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Over the round trip, one series for each number of blocks."""
    for run in runs:
        for line in run.output.splitlines():
            blocks, rate_bps = map(int, line.split())
            series = f"{blocks} block{'s' if blocks > 1 else ''}"
            name = f"{series}, {run.rtt_s * 1e3:.0f} ms"
            yield FigurePoint(name, rate_bps, goodput_bps(run, blocks), x=run.rtt_s, series=series)


STATED = (
    computed("blocks of {} KiB, and waits", BLOCK_BYTES // 1024),
    computed("with its {} requests of {} KiB", 64, 32),
    computed("flow-control window of {} B", thousands(2**16 - 1)),
    computed(r"\text{{blocks}} \times {}\ \text{{KiB}}", BLOCK_BYTES // 1024),
    computed("{} B is a famous one", thousands(2**16)),
    computed("A copy by SFTP reaches {} Mbit/s over 264 ms and {} Mbit/s over", 6.4, 168),
    computed(
        "{} Mbit/s × {} s / {} = {:.0f} kB; {} Mbit/s × {:.3f} s / {} = {:.0f} kB",
        6.4,
        0.264,
        8,
        6.4e3 * 0.264 / 8,
        168,
        0.01,
        8,
        168e3 * 0.01 / 8,
    ),
    computed("And if it were {} Mbit/s at both distances?", 20),
    computed("a program of {} lines", round(len((Path(__file__).parent / "blocks.py").read_text().splitlines()), -1)),
    computed("One block of {} KiB at a time", BLOCK_BYTES // 1024),
)
COMPARISONS = {
    "goodput": LessonFigure(
        title="Goodput of a program that waits for answers",
        scenarios=("path.yaml",),
        points=points,
        x=RTT,
        y=GOODPUT_LOG,
        source="blocks × 64 KiB / (RTT + time of a block on the line); RFC 7323 section 1.1",
        within=0.02,
        program=LessonProgram("client", ("sh", "LESSON/measure.sh", "LESSON/blocks.py"), ("measure.sh", "blocks.py")),
    )
}
