"""What a queue does to delay and to goodput."""

from collections.abc import Iterator, Sequence

from landspeed.course.comparison import TIME, FigureAxis, FigureLine, FigurePoint, LessonFigure, unpromised
from landspeed.course.lesson_run import LessonRun, between, percentile
from landspeed.course.stated_figures import computed, thousands

FROM_S = 10.0
QUEUED_FRAME = 14  # bytes of Ethernet that the queue counts beside each packet
TARGETS_S = {"codel": 0.005, "fq_codel": 0.005, "pie": 0.015, "cake": 0.005}  # RFC 8289, 8290, 8033; tc-cake(8)


def full_delay_s(run: LessonRun) -> float:
    """How long the last packet of a full queue waits: what it holds, on the line."""
    link = run.plan.links[1]
    packets = link.forward.queue_bytes // (link.mtu_bytes + QUEUED_FRAME)
    return packets * (link.mtu_bytes + link.framing_bytes) * 8 / link.forward.rate_bps


def utilization(buffer_bdp: float) -> float:
    """Share of the line that one Reno stream fills with a buffer of b BDP: ¾ (1 + b)² / (1 + b + b²) for b ≤ 1, else 1.

    From the sawtooth between (1 + b)/2 and 1 + b BDP (Villamizar and Song 1994 have b = 1 as what is needed).
    """
    b = min(buffer_bdp, 1.0)
    return 0.75 * (1 + b) ** 2 / (1 + b + b * b)


def rtts(run: LessonRun) -> list[tuple[float, float]]:
    """The sender's smoothed round trip over time, in s."""
    return [(time_s, value / 1e6) for time_s, value in between(run.series("srtt_us"), FROM_S)]


def buffer_bdp(run: LessonRun) -> float:
    """The queue in BDP, as it is counted in packets."""
    return full_delay_s(run) / run.rtt_s


def delay(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """The longest round trip: that of the path, and a full queue."""
    for run in runs:
        measured = max(value for _, value in rtts(run))
        yield FigurePoint(run.name, measured, run.rtt_s + full_delay_s(run), x=buffer_bdp(run))


def goodput(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """What one Reno stream makes of the line."""
    for run in runs:
        limit = run.plan.physics.line_rate_limit_bps
        yield FigurePoint(run.name, run.goodput_bps(FROM_S), limit * utilization(buffer_bdp(run)), x=buffer_bdp(run))


def goodput_lines(runs: Sequence[LessonRun]) -> Iterator[FigureLine]:
    """The formula between the points."""
    limit = runs[0].plan.physics.line_rate_limit_bps
    yield FigureLine(
        "theory", [(b, limit * utilization(b)) for b in [0.05 * 1.05**n for n in range(95)] if b < 4.3], "theory"
    )


def disciplines(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """The delay in the queue that 95 % of the time is not exceeded, beside the target."""
    for run in runs:
        waits = [(time_s, max(value - run.rtt_s, 0.0)) for time_s, value in rtts(run)]
        share = run.goodput_bps(FROM_S) / run.plan.physics.line_rate_limit_bps
        target = TARGETS_S.get(run.name, full_delay_s(run))
        note = f"{100 * share:.1f} % of the line, {run.record.retransmits} sent again"
        yield FigurePoint(run.name, percentile(waits, 0.95), target, note=note)


def rtt_lines(runs: Sequence[LessonRun]) -> Iterator[FigureLine]:
    """Round trips over time."""
    for run in runs:
        if run.name in ("fifo", "red", "codel", "pie"):
            yield FigureLine(run.name, [(time_s, value / 1e6) for time_s, value in run.series("srtt_us")])
    yield FigureLine("path alone", [(0, runs[0].rtt_s), (30, runs[0].rtt_s)], "limit")


STATED = (
    computed(
        "longer than {:.0f} ms for a whole {} ms, and PIE aims at {:.0f} ms",
        1e3 * TARGETS_S["codel"],
        100,
        1e3 * TARGETS_S["pie"],
    ),
    computed("A modem has a queue of {} kB and sends at {} Mbit/s", 256, 1),
    computed("{} × {} / {} = {:.0f} s", thousands(256_000), 8, "10⁶", 256_000 * 8 / 1e6),
    computed("The same queue at {} Mbit/s is {:.0f} ms", 100, 256_000 * 8 / 100e6 * 1e3),
    computed("{} Reno streams that do not lose", thousands(100**2)),
    computed("with a round trip of {} ms. The interval", 264),
)
COMPARISONS = {
    "delay": LessonFigure(
        title="The longest round trip over the size of the queue",
        scenarios=("sizes.yaml",),
        points=delay,
        x=FigureAxis("queue", "BDP", log=True),
        y=FigureAxis("round trip", "ms", 1e-3),
        source="RTT of the path + queue / rate",
        within=0.03,
    ),
    "goodput": LessonFigure(
        title="Goodput of one Reno stream over the size of the queue",
        scenarios=("sizes.yaml",),
        points=goodput,
        lines=goodput_lines,
        x=FigureAxis("queue", "BDP", log=True),
        y=FigureAxis("goodput", "Mbit/s", 1e6, least=30e6, most=50e6),
        source="¾ (1 + b)² / (1 + b + b²) of the line for a queue of b ≤ 1 BDP, from the sawtooth",
        within=0.03,
    ),
    "disciplines": unpromised(
        title="Round trip behind a queue of 4 BDP, managed in several ways",
        scenarios=("disciplines.yaml",),
        points=disciplines,
        lines=rtt_lines,
        x=TIME,
        y=FigureAxis("round trip, or delay in the queue", "ms", 1e-3),
        source="targets: RFC 8289 (CoDel), RFC 8290 (FQ-CoDel), RFC 8033 (PIE), tc-cake(8)",
        beside="target or full queue",
        why="a target is steered to, it is no law; the table has the delay that is kept for 95 % of the time",
    ),
}
