"""What random loss leaves of the rate: the square-root law."""

import math
from collections.abc import Iterator, Sequence

from landspeed.course.comparison import GOODPUT_LOG, FigureAxis, FigureLine, FigurePoint, LessonFigure
from landspeed.course.lesson_run import LessonRun, by, first_at
from landspeed.course.stated_figures import computed, thousands
from landspeed.scenario.theory.physics import square_root_law_bps

REMEMBERED = 0.01  # share of the window of slow start that may be left where counting begins


def goodput_bps(run: LessonRun, loss: float) -> float:
    """MSS / RTT × sqrt(3/2) / sqrt(p) (Mathis, Semke, Mahdavi and Ott 1997)."""
    return square_root_law_bps(run.mss_bytes, round(run.rtt_s * 1e9), loss)


def losses_to_forget(loss: float, window_packets: float) -> int:
    """After how many losses the window of slow start is forgotten to 1 %, by theory alone.

    Slow start ends at the first loss, after 1/p packets on average, so with a window of 1/p packets at most, or with
    that of the receiver. From loss to loss W² becomes W²/4 + 2/p: the window is halved, and grows by a packet a round
    trip while 1/p packets are sent. So W² comes to 8/(3p), and a loss leaves a quarter of the distance.
    """
    settled = math.sqrt(8 / (3 * loss))
    over = (min(1 / loss, window_packets) / settled) ** 2 - 1
    left = (1 + REMEMBERED) ** 2 - 1
    return 1 + max(0, math.ceil(math.log(max(over, left) / left, 4)))


def counted_bytes(run: LessonRun, loss: float) -> float:
    """Where counting begins: so much must have been read that this many losses are expected before it."""
    return losses_to_forget(loss, run.window_bytes / run.mss_bytes) / loss * run.mss_bytes


def points(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Mean over the seeds for each probability."""
    for (loss, _), group in by(runs, "path.1.loss", "transfer.bytes").items():
        share = group[0].number("path.1.loss")
        begins_bytes = counted_bytes(group[0], share)
        rates = [run.goodput_bps(first_at(run.series("bytes", end="receiver"), begins_bytes)) for run in group]
        whole = group[0].plan.transfer.bytes
        assert whole is not None
        expected = (whole - begins_bytes) / group[0].mss_bytes * share
        yield FigurePoint.mean(
            loss, rates, goodput_bps(group[0], share), share, f"{expected:.0f} losses expected in each"
        )


def lines(runs: Sequence[LessonRun]) -> Iterator[FigureLine]:
    """The law over all decades."""
    shares = [10 ** (-5 + 3 * n / 60) for n in range(61)]
    yield FigureLine("theory", [(share, goodput_bps(runs[0], share)) for share in shares], "theory")


def rarest(mss: int, rtt_s: float, rate_bps: float) -> float:
    """The loss that leaves a rate, by the same law."""
    return 1.5 * (mss * 8 / rtt_s / rate_bps) ** 2


STATED = (
    computed(r"{} instead of $\sqrt{{3/2}} = {:.2f}$", 1.31, math.sqrt(1.5)),
    computed("Reno is to reach 1 Gbit/s over {} ms with packets of {} B payload", 264, 1448),
    computed(
        r"= {} \times ({} / {:.2f} \times {}^8)^2 = {:.1f} \times {}^{{{}}}$: one in {:.0f} million packets. "
        "At {} Gbit/s it is one in {:.0f} billion",
        1.5,
        thousands(1448 * 8),
        2.64,
        10,
        1e9 * rarest(1448, 0.264, 1e9),
        10,
        -9,
        round(1e-6 / rarest(1448, 0.264, 1e9), -1),
        10,
        1e-9 / rarest(1448, 0.264, 10e9),
    ),
    computed("a bit error rate of {}. What can one Reno stream reach over {} ms at MTU {}?", "10⁻¹²", 100, 9000),
    computed(r"{} bits: $p = {:.1f} \times {}^{{{}}}$", thousands(9000 * 8), 9000 * 8e-12 * 1e8, 10, -8),
    computed(
        "{} × {} / {} × {:.2f} / √p = {:.1f} Gbit/s",
        8948,
        8,
        0.1,
        math.sqrt(1.5),
        square_root_law_bps(8948, 100_000_000, 7.2e-8) / 1e9,
    ),
    computed("Reno over {} ms gets {:.1f} Mbit/s", 100, square_root_law_bps(1448, 100_000_000, 1e-3) / 1e6),
    computed("40 ms, packets of {} B. What is", 1500),
)
COMPARISONS = {
    "square-root": LessonFigure(
        title="Goodput of Reno over the probability of loss, 40 ms, packets of 1500 B",
        scenarios=("losses.yaml",),
        points=points,
        lines=lines,
        x=FigureAxis("probability of loss", "", log=True),
        y=GOODPUT_LOG,
        source="MSS / RTT × √(3/2) / √p, Mathis et al. 1997",
        within=0.15,
        why="bars are 95 % confidence intervals of the mean over six seeds (Student's t). Losses at random give "
        "1.31 / √p, seven per cent more than even ones (the same paper); at 1 % some end in a timeout. Counting begins "
        "where theory says that slow start is forgotten to 1 %",
    )
}
