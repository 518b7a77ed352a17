"""When TCP sends again: a probe, timeouts that double, and what SACK and RACK make of losses in the middle."""

import itertools
import math
from collections.abc import Iterator, Sequence

from landspeed.course.comparison import FigureAxis, FigureLine, FigurePoint, LessonFigure, unpromised
from landspeed.course.lesson_run import LessonRun
from landspeed.course.stated_figures import computed, measured
from landspeed.scenario.plan.plan import Plan

LEAST_VARIANCE_S = 0.2  # of Linux: so much a timeout is above the round trip at least
PROBE_ROUND_TRIPS = 2  # RFC 8985 section 7.2
RETRIES = 15  # of Linux: tcp_retries2


def timeout_s(rtt_s: float) -> float:
    """The first retransmission timeout, where the round trip varies little (RFC 6298, with Linux's floor)."""
    return rtt_s + LEAST_VARIANCE_S


def sends_s(rtt_s: float, last_heard_s: float = 0.0) -> Iterator[float]:
    """When the sender tries, by what it heard last: a probe after two round trips, then timeouts that double."""
    at_s = last_heard_s + PROBE_ROUND_TRIPS * rtt_s
    for doublings in itertools.count():
        at_s += timeout_s(rtt_s) * 2**doublings
        yield at_s


def after_outage_s(outage_s: float, rtt_s: float, last_heard_s: float) -> float:
    """The first try after the line's return, since the outage began."""
    return next(at_s for at_s in sends_s(rtt_s, last_heard_s) if at_s > outage_s)


def last_heard_s(plan: Plan) -> float:
    """The last acknowledgment entered the line just before it failed, and has the way back before it."""
    return sum(link.reverse.delay_ns for link in plan.links) / 1e9


def sent_again_s(run: LessonRun) -> float:
    """First packet sent again after the line's return, since the outage began."""
    (event,) = run.plan.events
    begins_s, ends_s = event.at_ns / 1e9, (event.at_ns + (event.duration_ns or 0)) / 1e9
    series = run.series("retransmits")
    grown = (
        time_s for (_, before), (time_s, count) in itertools.pairwise(series) if time_s > ends_s and count > before
    )
    return next(grown, math.inf) - begins_s


def outages(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """The first try after the return, over the outage."""
    for run in runs:
        outage_s = (run.plan.events[0].duration_ns or 0) / 1e9
        predicted = after_outage_s(outage_s, run.rtt_s, last_heard_s(run.plan))
        took_s = sent_again_s(run)
        note = f"{took_s - outage_s:.2f} s after the return"
        yield FigurePoint(run.name, took_s, predicted, x=outage_s, note=note)


def stairs(runs: Sequence[LessonRun]) -> Iterator[FigureLine]:
    """The theory of every outage, and the outage itself."""
    rtt_s, heard_s = runs[0].rtt_s, last_heard_s(runs[0].plan)
    grid = [0.4 * 1.02**step for step in range(156)]
    yield FigureLine("theory", [(each, after_outage_s(each, rtt_s, heard_s)) for each in grid], "theory")
    yield FigureLine("the outage", [(grid[0], grid[0]), (grid[-1], grid[-1])], "limit")


def losses(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """From the loss until the last of the lost packets is sent again."""
    for run in runs:
        at_s = run.plan.events[0].at_ns / 1e9
        series = [pair for pair in run.series("retransmits") if pair[0] >= at_s]
        last_s = next(time_s for time_s, count in series if count == series[-1][1])
        waiting = 100 * run.samples.waiting()
        note = f"{series[-1][1]} packets sent again, {waiting:.0f} % of the time in a timeout"
        yield FigurePoint(run.name, last_s - at_s, run.rtt_s, note=note)


RTT = 0.04
TRIES = list(itertools.islice(sends_s(RTT, 0.0), 4))
STATED = (
    computed("After {} round trips, {} ms", PROBE_ROUND_TRIPS, 80),
    computed("{} ms and {} ms: {} ms", 40, 200, round(1e3 * timeout_s(RTT))),
    computed("after {}, {}, {} and {:.1f} s", *(f"{each:.1f}" for each in TRIES[:3]), TRIES[3]),
    measured(
        "an outage of {} s costs {:.1f} s, one of {} s {:.1f} s",
        "outage",
        lambda p: (4, p["4 s"].measured, 8, p["8 s"].measured),
    ),
    computed("A line of {} ms is down for {} s", 100, 10),
    computed(
        "{:.1f} s after the last acknowledgment, and the try before was at {:.1f} s",
        after_outage_s(10, 0.1, 0),
        max(each for each in itertools.islice(sends_s(0.1), 8) if each < 10),
    ),
    computed("After {} tries", RETRIES),
    computed("lost in a row, {} to {} of them", 1, 48),
    computed("There were {} packets lost in a row", 48),
    computed("Linux takes at least {} ms", 200),
    computed("Twelve small replies of {} packet", 1),
    computed("a quarter of the {} ms", 40),
)
COMPARISONS = {
    "outage": LessonFigure(
        title="The line is down: when the first packet is sent again after its return",
        scenarios=("outage.yaml",),
        points=outages,
        lines=stairs,
        x=FigureAxis("outage", "s", log=True),
        y=FigureAxis("sent again, since it began", "s", log=True),
        source="a probe after two round trips (RFC 8985), then timeouts that double (RFC 6298)",
        within=0.06,
        why="Linux rounds its timers up, and it is sampled each 10 ms",
    ),
    "losses": unpromised(
        title="Packets lost in a row within a window: time until all are sent again",
        scenarios=("losses.yaml",),
        points=losses,
        y=FigureAxis("time", "ms", 1e-3),
        beside="a round trip",
        source="the plan's round trip",
        why="the congestion window decides how fast they leave",
    ),
}
