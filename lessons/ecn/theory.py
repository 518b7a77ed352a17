"""Marks instead of drops: nothing is sent again, and with marks at a threshold the queue stays at it."""

from collections.abc import Iterator, Sequence

from landspeed.course.comparison import (
    TIME,
    FigureAxis,
    FigureLine,
    FigurePoint,
    LessonFigure,
    LessonProgram,
    unpromised,
)
from landspeed.course.lesson_run import LessonRun, between, percentile
from landspeed.course.stated_figures import computed
from landspeed.scenario.theory.physics import CUBIC_BETA, FRAMING_BYTES

FROM_S = 8.0
ETHERNET_COUNTED = 14  # bytes of framing that Linux counts


def waits(run: LessonRun) -> list[tuple[float, float]]:
    """Time in the queue over time, as the sender's round trip tells it, in s."""
    return [(time_s, max(value / 1e6 - run.rtt_s, 0.0)) for time_s, value in between(run.series("srtt_us"), FROM_S)]


def filled(run: LessonRun) -> float:
    """Share of the line that packets filled, framing included.

    The receiver's reading tells more than a whole line at times: what came behind a gap is read when that is filled.
    """
    line, link = run.samples.link(1, "forward"), run.plan.links[1].forward
    rows = list(zip(*(line[name].to_pylist() for name in ("time_ns", "bytes", "packets")), strict=True))
    until_s = run.record.duration_s or 0.0
    (began_ns, *first), *_, (ended_ns, *last) = [row for row in rows if FROM_S <= row[0] / 1e9 <= until_s]
    sent, packets = (after - before for before, after in zip(first, last, strict=True))
    whole = sent + packets * (FRAMING_BYTES["ethernet"] - ETHERNET_COUNTED)
    return 8e9 * whole / (ended_ns - began_ns) / link.rate_bps


def resent(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Packets sent again after the start: a mark costs none (RFC 3168)."""
    for run in runs:
        if run.plan.transfer.ecn:
            series = run.series("retransmits")
            early = max((value for time_s, value in series if time_s < FROM_S), default=0)
            marks = run.samples.passed_by_link("marks").get((1, "forward"), 0)
            yield FigurePoint(run.name, series[-1][1] - early, 0, note=f"{marks} marks")


def delay(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Delay that is not exceeded for 95 % of the time; beside it CoDel's 5 ms and the threshold of 1 ms."""
    for run in runs:
        link = run.plan.links[1].forward
        target_s = 0.005 if "CoDel" in run.name else link.queue_bytes * 8 / link.rate_bps
        note = f"{100 * filled(run):.1f} % of the line, {run.record.retransmits} sent again"
        yield FigurePoint(run.name, percentile(waits(run), 0.95), target_s, note=note)


def threshold(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """The wait that 95 % of the pings do not exceed beside DCTCP, which steers to the threshold (RFC 8257)."""
    for run in runs:
        rate, *pings = map(float, run.output.split())
        parameters = run.plan.links[1].forward.parameters
        assert parameters is not None
        waits_s = sorted(ping / 1e3 - run.rtt_s for ping in pings)
        wanted_s = (parameters.ce_threshold_ns or 0) / 1e9
        yield FigurePoint(
            f"marks from {run.name}", waits_s[int(0.95 * len(waits_s))], wanted_s, note=f"{rate:.1f} Mbit/s"
        )


def lines(runs: Sequence[LessonRun]) -> Iterator[FigureLine]:
    """Time in the queue over time."""
    for run in runs:
        if run.name != "fifo, drops":
            yield FigureLine(run.name, waits(run))


STATED = (
    computed("CUBIC reduces its window by {:.0f} % at a mark", 100 * (1 - CUBIC_BETA)),
    computed("here {:.1f} ms. With", 40 / 7),
    computed("for a round trip of {} ms, the delay", 7),
    computed("What is the {}th percentile", 95),
)
COMPARISONS = {
    "resent": LessonFigure(
        title="Packets sent again from 8 s on, where routers mark",
        scenarios=("marks.yaml",),
        points=resent,
        y=FigureAxis("packets", ""),
        source="a marked packet arrives, RFC 3168",
        within=0.0,
    ),
    "delay": unpromised(
        title="Time in the queue",
        scenarios=("marks.yaml",),
        points=delay,
        lines=lines,
        x=TIME,
        y=FigureAxis("time in the queue", "ms", 1e-3),
        source="target: RFC 8289; of the plain queue, its size over the rate",
        beside="target or full queue",
        why="a target is what is steered to",
    ),
    "threshold": LessonFigure(
        title="Time in the queue beside DCTCP, marked from a threshold on",
        scenarios=("threshold.yaml",),
        points=threshold,
        y=FigureAxis("time in the queue", "ms", 1e-3),
        source="RFC 8257; a threshold of 1 ms as L4S has it, RFC 9331 and 9332",
        beside="threshold",
        within=None,
        why="a threshold is what is steered to; it is CoDel's ce_threshold, since Linux has DualPI2 only from 6.17 on",
        program=LessonProgram("a", ("sh", "LESSON/dctcp.sh"), ("dctcp.sh",)),
    ),
}
