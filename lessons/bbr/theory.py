"""What BBR keeps on the way in each of its phases, by Linux's BBR of 2016 (net/ipv4/tcp_bbr.c)."""

import math
import statistics
from collections.abc import Iterator, Sequence

from landspeed.course.comparison import TIME, FigureAxis, FigureLine, FigurePoint, LessonFigure, unpromised
from landspeed.course.lesson_run import LessonRun
from landspeed.course.stated_figures import computed, measured
from landspeed.scenario.theory.physics import FRAMING_BYTES

FRAME_BYTES, MSS_BYTES = 1500 + FRAMING_BYTES["ethernet"], 1448
STARTUP_GAIN = 2 / math.log(2)  # of rate and window: both double in a round trip
PROBE_GAIN, CRUISE_WINDOWS = 1.25, 2
PHASES = 8  # of ProbeBW, each a round trip
PROBE_RTT_PACKETS, PROBE_RTT_S, PROBE_RTT_EVERY_S = 4, 0.2, 10.0
STARTS_S = 1.5  # until then Startup, Drain and the first phases of ProbeBW are over
EIGHT = "8 BDP"


def held_packets(rate_bps: float, rtt_s: float) -> float:
    """Full packets that a path holds: the BDP."""
    return rate_bps * rtt_s / 8 / FRAME_BYTES


def window_packets(gain: float, pacing_gain: float, rate_bps: float, rtt_s: float) -> float:
    """Gain × BDP, and three bursts of what is paced out in 2^-10 s, which wait in hosts."""
    burst = max(2, int(pacing_gain * rate_bps / 8 * MSS_BYTES / FRAME_BYTES / 1024 / MSS_BYTES))
    return gain * held_packets(rate_bps, rtt_s) + 3 * burst


def startup_packets(rate_bps: float, rtt_s: float) -> float:
    """The largest window, at the end of Startup."""
    return window_packets(STARTUP_GAIN, STARTUP_GAIN, rate_bps, rtt_s)


def cruise_packets(rate_bps: float, rtt_s: float) -> float:
    """The window in six of eight phases of ProbeBW."""
    return window_packets(CRUISE_WINDOWS, 1, rate_bps, rtt_s)


def startup_queue_packets(rate_bps: float, rtt_s: float) -> float:
    """What of the largest window the path does not hold."""
    return startup_packets(rate_bps, rtt_s) - held_packets(rate_bps, rtt_s)


def probe_rtt_s(rtt_s: float) -> float:
    """With four packets on the way: 200 ms and a round trip."""
    return PROBE_RTT_S + rtt_s


def cruising_packets(run: LessonRun) -> float:
    """Median of the window in ProbeBW."""
    return statistics.median(each for time_s, each in run.series("cwnd_packets") if time_s >= STARTS_S and each > 10)


def windows(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """The window in three phases."""
    (run,) = (run for run in runs if run.name == "bbr")
    path, series = (run.line_rate_bps, run.rtt_s), run.series("cwnd_packets")
    early = max(each for time_s, each in series if time_s < STARTS_S)
    yield FigurePoint("Startup, the largest", early, startup_packets(*path))
    yield FigurePoint("ProbeBW, the median", cruising_packets(run), cruise_packets(*path))
    yield FigurePoint("ProbeRTT", min(each for _, each in series), PROBE_RTT_PACKETS)


def probe_rtts(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """How long ProbeRTT lasts, and from one to the next."""
    (run,) = (run for run in runs if run.name == "bbr")
    small = [time_s for time_s, each in run.series("cwnd_packets") if each <= PROBE_RTT_PACKETS]
    (first, *_), (second, *_) = ([each for each in small if (each > 15) == late] for late in (False, True))
    last = max(each for each in small if each <= 15)
    step_s = run.plan.transfer.sample_interval_ns / 1e9
    yield FigurePoint("ProbeRTT", last - first + step_s, probe_rtt_s(run.rtt_s))
    yield FigurePoint("from one to the next", second - first, PROBE_RTT_EVERY_S + probe_rtt_s(run.rtt_s))


def no_points(_: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """The tables of the other figures have them."""
    return iter(())


def beginning(runs: Sequence[LessonRun]) -> Iterator[FigureLine]:
    """Packets in flight in the first second and a half."""
    for run, name in zip(runs, ("BBR", "CUBIC"), strict=True):
        series = [pair for pair in run.series("in_flight_packets") if pair[0] <= STARTS_S]
        yield FigureLine(name, series)
    held = held_packets(runs[0].line_rate_bps, runs[0].rtt_s)
    yield FigureLine("the path holds", [(0, held), (STARTS_S, held)], "limit")


def delays(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """The round trip under load, beside the empty path's."""
    for run, name in zip(runs, ("BBR", "CUBIC"), strict=True):
        note = f"{run.goodput_bps(STARTS_S) / 1e6:.1f} Mbit/s, {run.record.retransmits} packets sent again"
        yield FigurePoint(name, (run.record.rtt_loaded_median_ms or math.inf) / 1e3, run.rtt_s, note=note)


def shares(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """BBR's share of what both get, from the tenth second on."""
    for run in runs:
        cubic, bbr = (run.flow(name).goodput_bps(10.0) for name in ("cubic", "bbr"))
        told = next(each for each in run.record.flows if each.name == "cubic")
        note = f"CUBIC sent {told.retransmits} packets again; round trip {told.rtt_loaded_median_ms:.0f} ms"
        yield FigurePoint(run.name, bbr / (bbr + cubic), 0.5, x=queue(run), note=note)


def queue(run: LessonRun) -> float:
    """The queue in BDP."""
    return float(run.values["links.2.queue"].split()[0])


PROBE_RTT = probe_rtt_s(0.04)
STATED = (
    computed("{:.2f} times what it measured", STARTUP_GAIN),
    computed("a quarter more in one of {} phases, a quarter less in the next", PHASES),
    computed("{} ms and a round trip with {} packets", 200, PROBE_RTT_PACKETS),
    computed("each {} s", 10),
    computed("holds {:.0f} packets", held_packets(50e6, 0.04)),
    computed("{:.2f} s of {:.2f} s: {:.1f} %", PROBE_RTT, 10 + PROBE_RTT, 100 * PROBE_RTT / (10 + PROBE_RTT)),
    computed("On a path of {} Gbit/s and {} ms", 10, 100),
    computed("{:.1f} BDP, {:.0f} MB", STARTUP_GAIN - 1, (STARTUP_GAIN - 1) * 10e9 * 0.1 / 8e6),
    computed("loses {} % at random", 1),
    measured(
        "fills the queue with up to {:.0f}",
        "windows",
        lambda p: (p["Startup, the largest"].measured - held_packets(50e6, 0.04),),
    ),
    measured(
        "with a queue of half a BDP BBR takes {:.0f} % of the line, with {} BDP {:.0f} %",
        "share",
        lambda p: (100 * p["0.5 BDP"].measured, 8, 100 * p[EIGHT].measured),
    ),
    measured(
        "median {:.0f} ms with BBR and {:.0f} ms with CUBIC",
        "delay",
        lambda p: (1e3 * p["BBR"].measured, 1e3 * p["CUBIC"].measured),
    ),
)
SOURCE = "Linux's net/ipv4/tcp_bbr.c; Cardwell et al. 2016"
COMPARISONS = {
    "beginning": unpromised(
        title="In flight in the first 1.5 s, 50 Mbit/s over 40 ms",
        scenarios=("alone.yaml",),
        points=no_points,
        lines=beginning,
        x=TIME,
        y=FigureAxis("in flight", "packets"),
        beside="BDP",
        source="what the path holds",
        why="the tables have the laws",
    ),
    "windows": LessonFigure(
        title="BBR's window in three of its phases",
        scenarios=("alone.yaml",),
        points=windows,
        y=FigureAxis("window", "packets"),
        source=SOURCE,
        within=0.02,
    ),
    "probe-rtt": LessonFigure(
        title="When BBR looks for the empty path's round trip",
        scenarios=("alone.yaml",),
        points=probe_rtts,
        y=TIME,
        source=SOURCE,
        within=0.1,
        why="it is sampled each 10 ms, and the 10 s begin anew when a round trip is shorter by a microsecond only",
    ),
    "delay": unpromised(
        title="The round trip of one stream alone, behind a queue of 8 BDP",
        scenarios=("alone.yaml",),
        points=delays,
        y=FigureAxis("round trip", "ms", 1e-3),
        beside="empty path",
        source="the plan's propagation",
        why="how long a queue CUBIC keeps depends on its last loss",
    ),
    "share": unpromised(
        title="BBR's share beside one CUBIC flow, 20 Mbit/s over 40 ms",
        scenarios=("together.yaml",),
        points=shares,
        x=FigureAxis("queue", "BDP", log=True),
        y=FigureAxis("BBR's share", "%", 0.01, least=0, most=1),
        beside="equal shares",
        source="half for each",
        why="no law has both: Ware et al. 2019 have one for many flows and long times",
    ),
}
