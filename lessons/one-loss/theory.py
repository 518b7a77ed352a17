"""How long each congestion control needs to be back at full rate after one loss."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from landspeed.course.comparison import (
    GOODPUT,
    GOODPUT_GBPS,
    FigureAxis,
    FigureLine,
    FigurePoint,
    LessonFigure,
    unpromised,
)
from landspeed.course.lesson_run import LessonRun, first_at
from landspeed.course.stated_figures import Figure, Points, computed, measured, thousands
from landspeed.scenario.theory.physics import CUBIC_BETA, cubic_k_s

BACK = 0.99  # of the window before the loss: where CUBIC's curve is not flat yet


def reno_back_s(window_packets: float, rtt_s: float, share: float = 1.0) -> float:
    """Half the window is left, and each round trip adds a packet (RFC 5681): (share − 1/2) W round trips."""
    return (share - 0.5) * window_packets * rtt_s


def cubic_back_s(window_packets: float, share: float = BACK) -> float:
    """From β W until a share of W is back (RFC 9438 section 4.2)."""
    return cubic_k_s(window_packets, CUBIC_BETA * window_packets) - cubic_k_s(window_packets, share * window_packets)


def lost_s(run: LessonRun) -> float:
    """When the packet was lost."""
    return run.plan.events[0].at_ns / 1e9


def after(run: LessonRun) -> tuple[float, float, list[tuple[float, float]]]:
    """(When growth begins again, the window before the loss in packets, the window from then on).

    The loss is noticed a round trip after it, and repaired a round trip later: there the growth begins. The window
    before is the threshold that it left, over the share that the control keeps.
    """
    begins_s = lost_s(run) + 2 * run.rtt_s
    keeps = CUBIC_BETA if run.name.startswith("CUBIC") else 0.5
    threshold = next(value for time_s, value in run.series("ssthresh_packets") if time_s > begins_s)
    return begins_s, threshold / keeps, [each for each in run.series("cwnd_packets") if each[0] > begins_s]


def recovery(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Reno whole; CUBIC until 99 % of the window are back, since the last per cent is flat."""
    for run in runs:
        control = run.name.partition(",")[0]
        if control not in ("Reno", "CUBIC"):
            continue
        begins_s, window, grown = after(run)
        share = 1.0 if control == "Reno" else BACK
        measured = first_at(grown, share * window) - begins_s
        predicted = reno_back_s(window, run.rtt_s) if control == "Reno" else cubic_back_s(window)
        note = f"from {window:,.0f} packets of {run.plan.links[0].mtu_bytes} B".replace(",", "\u202f")
        yield FigurePoint(run.name, measured, predicted, note=note)


def goodput(rate: str) -> Callable[[Sequence[LessonRun]], Iterator[FigureLine]]:
    """Lines of goodput since the loss, for one line rate."""

    def lines(runs: Sequence[LessonRun]) -> Iterator[FigureLine]:
        for run in runs:
            if not run.name.endswith(f", {rate}"):
                continue
            zero_s = lost_s(run)
            shown = [(time_s - zero_s, value) for time_s, value in run.goodput_series(1.0) if time_s - zero_s >= 1.0]
            yield FigureLine(run.name.partition(",")[0], _averaged(shown))
            if run.name.startswith("Reno"):
                yield FigureLine("Reno, theory", _reno_curve(run), "theory")

    return lines


def _reno_curve(run: LessonRun) -> list[tuple[float, float]]:
    """One packet more in each round trip, until the line is full."""
    begins_s, window, _ = after(run)
    most = run.plan.physics.line_rate_limit_bps
    curve: list[tuple[float, float]] = []
    for step in range(201):
        packets = window * (0.5 + step / 400)
        time_s = begins_s - lost_s(run) + reno_back_s(window, run.rtt_s, packets / window)
        curve.append((max(time_s, 1.0), min(packets * run.mss_bytes * 8 / run.rtt_s, most)))
    return curve


def _averaged(series: Sequence[tuple[float, float]], step: float = 1.06) -> list[tuple[float, float]]:
    """Means over spans that grow by 6 %: even steps on a logarithmic axis."""
    edges = [1.0]
    while edges[-1] < series[-1][0]:
        edges.append(max(edges[-1] * step, edges[-1] + 0.99))
    found: list[tuple[float, float]] = []
    for low, high in pairwise(edges):
        inside = [value for time_s, value in series if low <= time_s < high]
        if inside:
            found.append(((low * high) ** 0.5, sum(inside) / len(inside)))
    return found


def no_points(_: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """The table has them."""
    return iter(())


def after_loss(rate: str, packets: str, y: FigureAxis) -> LessonFigure:
    """The figure for one line rate."""
    return unpromised(
        title=f"Goodput after one loss at {rate}, packets of {packets}",
        scenarios=("one-loss.yaml",),
        points=no_points,
        lines=goodput(rate),
        x=FigureAxis("time since the loss, logarithmic", "s", log=True, least=1.0),
        y=y,
        beside="theory",
        source="RFC 5681",
        why="the table of times has the promise",
    )


HELD_BYTES, RTT_S = 10e9 * 0.264 / 8, 0.264  # question 1: 10 Gbit/s over 264 ms
HOURS_S = reno_back_s(HELD_BYTES / 1538, RTT_S)


def _reno_at_one_gigabit(points: Points) -> tuple[Figure, ...]:
    """Its window in thousands of packets, the size of these, and the minutes that theory gives."""
    point = points["Reno, 1 Gbit/s"]
    _, window, _, _, size, _ = point.note.split(" ")
    return thousands(round(int(window.replace("\u202f", "")), -3)), size, point.predicted / 60


STATED = (
    measured("$W$ is {} packets of {} B: {:.0f} minutes", "recovery", _reno_at_one_gigabit),
    computed("**CUBIC** keeps {:.0f} % of the window", 100 * CUBIC_BETA),
    computed(r"$C = {}$ and $\beta = {}$. A window ten times as large needs {:.2f}", 0.4, CUBIC_BETA, 10 ** (1 / 3)),
    computed("BBR empties the path for {} s", 0.2),
    computed(
        "$W$ is {:.0f} MB / {} B = {} packets on the line",
        round(HELD_BYTES / 1e6),
        1538,
        thousands(round(HELD_BYTES / 1538, -3)),
    ),
    computed("times {} s is {} s: nearly eight hours", RTT_S, thousands(round(HOURS_S, -2))),
    computed("one of the {:.0f} × {} packets of that time", HOURS_S * HELD_BYTES / 1538 / RTT_S / 1e10, "10¹⁰"),
    computed("in {} minutes at {} Gbit/s, {:.0f} GB", 46, 1, 46 * 60 / 4 / 8),
)
COMPARISONS = {
    "recovery": LessonFigure(
        title="Time until the window of before the loss is back",
        scenarios=("one-loss.yaml",),
        points=recovery,
        y=FigureAxis("time", "s"),
        source="W/2 round trips, RFC 5681; K = (W (1 − β) / C)^(1/3), RFC 9438 section 4.2",
        within=0.05,
        why="CUBIC until 99 % of the window are back: its curve is flat at the end",
    ),
    "one-gigabit": after_loss("1 Gbit/s", "1500 B", GOODPUT),
    "ten-gigabit": after_loss("10 Gbit/s", "9000 B", GOODPUT_GBPS),
}
