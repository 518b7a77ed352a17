"""What a window needs when the line becomes faster, and what it costs when the line becomes slower."""

import math
from collections.abc import Iterator, Sequence

from landspeed.course.comparison import GOODPUT, TIME, FigureAxis, FigureLine, FigurePoint, LessonFigure, unpromised
from landspeed.course.lesson_run import LessonRun, first_at
from landspeed.course.stated_figures import computed, measured, thousands
from landspeed.scenario.theory.physics import FRAMING_BYTES, cubic_k_s

FRAME_BYTES, MSS_BYTES = 1500 + FRAMING_BYTES["ethernet"], 1448
KEPT = 0.7  # by CUBIC at a loss (RFC 9438 section 4.6)
USED = 0.95  # of what the new line leaves: it is found


def path_packets(rate_bps: float, rtt_s: float) -> float:
    """Full packets that a path holds."""
    return rate_bps * rtt_s / 8 / FRAME_BYTES


def reno_s(window: float, needed: float, rtt_s: float) -> float:
    """A packet more in each round trip (RFC 5681 section 3.1)."""
    return (needed - window) * rtt_s


def cubic_s(largest: float, needed: float, since_s: float) -> float:
    """The cubic curve of the last loss, as far as it is not passed yet (RFC 9438 section 4.2)."""
    return cubic_k_s(largest, KEPT * largest) + math.cbrt((needed - largest) / 0.4) - since_s


def round_trip_s(window_bytes: float, rate_bps: float) -> float:
    """All of a window is on the way, and the line passes its packets one by one."""
    return window_bytes / MSS_BYTES * FRAME_BYTES * 8 / rate_bps


def change_s(run: LessonRun) -> float:
    """When the line changes."""
    return run.plan.events[0].at_ns / 1e9


def new_rate_bps(run: LessonRun) -> float:
    """The line's rate from then on."""
    return run.number("events.0.line_rate")


def predicted_s(run: LessonRun) -> float:
    """Time until the window holds the faster path, from the window, or the last loss, before the change."""
    before = [pair for pair in run.series("cwnd_packets") if pair[0] <= change_s(run)]
    needed = path_packets(new_rate_bps(run), run.rtt_s)
    if run.values["transfer.congestion_control"] == "reno":
        return reno_s(before[-1][1], needed, run.rtt_s)
    counts = [pair for pair in run.series("retransmits") if pair[0] <= change_s(run)]
    lost_s = next(time_s for time_s, count in counts if count == counts[-1][1])
    largest = max(window for time_s, window in before if lost_s - 1 <= time_s <= lost_s)
    return cubic_s(largest, needed, change_s(run) - lost_s)


def rise(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Time until the window holds the faster path."""
    for run in runs:
        control, rate = run.values["transfer.congestion_control"], run.values["events.0.line_rate"]
        if control != "bbr":
            needed = path_packets(new_rate_bps(run), run.rtt_s)
            after = [pair for pair in run.series("cwnd_packets") if pair[0] >= change_s(run)]
            took_s = first_at(after, needed) - change_s(run)
            name = {"reno": "Reno", "cubic": "CUBIC"}[control]
            yield FigurePoint(f"{name}, {rate}", took_s, predicted_s(run), new_rate_bps(run), name)


def found_s(run: LessonRun) -> float:
    """Time until 95 % of the new line are used, in means of a fifth of a second."""
    wanted_bps = USED * new_rate_bps(run) * MSS_BYTES / FRAME_BYTES
    found = (
        time_s for time_s, rate_bps in run.goodput_series(0.2) if time_s > change_s(run) and rate_bps >= wanted_bps
    )
    return next(found, math.inf) - change_s(run)


def bbr(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """BBR's time until the new line is used, beside Reno's."""
    reno = {
        run.values["events.0.line_rate"]: run for run in runs if run.values["transfer.congestion_control"] == "reno"
    }
    for run in runs:
        if run.values["transfer.congestion_control"] == "bbr":
            rate = run.values["events.0.line_rate"]
            note = f"{run.record.retransmits} packets sent again in all, Reno {reno[rate].record.retransmits}"
            yield FigurePoint(rate, found_s(run), found_s(reno[rate]), note=note)


def no_points(_: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """The tables of the other figures have them."""
    return iter(())


def over(runs: Sequence[LessonRun]) -> Iterator[FigureLine]:
    """Goodput over time for one of the new rates."""
    names = {"reno": "Reno", "cubic": "CUBIC", "bbr": "BBR"}
    for run in runs:
        if run.values["events.0.line_rate"] == "80 Mbit/s":
            yield FigureLine(names[run.values["transfer.congestion_control"]], run.goodput_series(0.4))
    line = [(time_s, rate * MSS_BYTES / FRAME_BYTES) for time_s, rate in ((0, 20e6), (8, 20e6), (8, 80e6), (22, 80e6))]
    yield FigureLine("the line", line, "limit")


def fall(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """The round trip after the change, by TCP's own measure."""
    for run in runs:
        late = [us / 1e6 for time_s, us in run.series("srtt_us") if time_s > change_s(run) + 2]
        deepest = max(count for _, count in run.queue_series(1))
        window = run.plan.transfer.window_bytes or 0
        predicted = round_trip_s(window, new_rate_bps(run))
        note = f"{deepest / 1e3:.0f} kB in the queue"
        yield FigurePoint(
            run.values["events.0.line_rate"], sum(late) / len(late), predicted, new_rate_bps(run), note=note
        )


LONG = path_packets(10e9, 0.1) - path_packets(1e9, 0.1)
RADIO_PATH = path_packets(5e6, 0.04)
STATED = (
    computed(
        "{} round trips, and so {:.1f} s",
        round(path_packets(80e6, 0.04) - 121),
        reno_s(121, path_packets(80e6, 0.04), 0.04),
    ),
    computed("a window of {} packets to", 121),
    computed("to the {:.0f} that {} Mbit/s over {} ms hold", path_packets(80e6, 0.04), 80, 40),
    computed("after a loss at {} packets it is back there after {:.1f} s", 133, cubic_k_s(133, KEPT * 133)),
    computed("sends {} % more than it has measured", 25),
    computed("a line of {} Gbit/s, and is moved to one of {} Gbit/s, over {} ms", 1, 10, 100),
    computed("{} packets more, so {} round trips: {:.1f} hours", thousands(LONG), thousands(LONG), LONG * 0.1 / 3600),
    computed("The path holds {:.0f} packets, and the queue {}", RADIO_PATH, 100),
    computed("of the {:.0f} of the window {:.0f} are lost", 400e3 / MSS_BYTES, 400e3 / MSS_BYTES - RADIO_PATH - 100),
    computed("falls to {} Mbit/s, and its queue holds {} packets", 5, 100),
    computed("longer by a factor of {}", 2),
    computed("{} kB at {} Mbit/s: {:.0f} ms", 400, 5, 1e3 * round_trip_s(400e3, 5e6)),
    measured(
        "CUBIC takes {:.1f} s, Reno {:.1f} s",
        "rise",
        lambda p: (p["CUBIC, 80 Mbit/s"].measured, p["Reno, 80 Mbit/s"].measured),
    ),
    measured(
        "Reno has a window of {:.0f} packets when",
        "rise",
        lambda p: (path_packets(80e6, 0.04) - p["Reno, 80 Mbit/s"].predicted / 0.04,),
    ),
    measured("It takes BBR {:.1f} s", "bbr", lambda p: (p["80 Mbit/s"].measured,)),
)
COMPARISONS = {
    "rise": LessonFigure(
        title="From 20 Mbit/s to a faster line at 8 s: time until the window holds the new path",
        scenarios=("rise.yaml",),
        points=rise,
        x=FigureAxis("new rate", "Mbit/s", 1e6),
        y=FigureAxis("time", "s", least=0),
        source="a packet a round trip (RFC 5681); the cubic curve of the last loss (RFC 9438)",
        within=0.04,
        why="the round trip of theory is that of the empty path, and bursts wait for themselves",
    ),
    "bbr": unpromised(
        title="BBR beside Reno: time until the new line is used",
        scenarios=("rise.yaml",),
        points=bbr,
        y=TIME,
        beside="Reno",
        source="both measured: 95 % of what the new line leaves, in a mean of 0.2 s",
        why="when BBR probes next is chance",
    ),
    "over": unpromised(
        title="From 20 Mbit/s to 80 Mbit/s at 8 s",
        scenarios=("rise.yaml",),
        points=no_points,
        lines=over,
        x=TIME,
        y=GOODPUT,
        beside="the line",
        source="the line after headers",
        why="the tables have the laws",
    ),
    "fall": LessonFigure(
        title="From 80 Mbit/s to a slower line: the round trip with a window of 400 kB",
        scenarios=("fall.yaml",),
        points=fall,
        x=FigureAxis("new rate", "Mbit/s", 1e6, log=True),
        y=FigureAxis("round trip", "ms", 1e-3, log=True),
        source="window / rate, with the headers of its packets",
        within=0.02,
    ),
}
