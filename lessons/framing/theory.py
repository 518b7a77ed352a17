"""What a line leaves for payload: rate × MSS / (MTU + framing)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from landspeed.course.comparison import FigureAxis, FigureLine, FigurePoint, LessonFigure
from landspeed.course.lesson_run import LessonRun
from landspeed.course.stated_figures import computed
from landspeed.scenario.theory.physics import FRAMING_BYTES, line_rate_limit_bps, mss_bytes

FROM_S = 1.0
KINDS = {"IPv4, Ethernet": (4, "ethernet"), "IPv6, Ethernet": (6, "ethernet"), "IPv4, SONET": (4, "pos")}


def points(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """One for each packet size."""
    for run in runs:
        link = run.plan.links[-1]
        predicted = line_rate_limit_bps(
            link.forward.rate_bps, link.mtu_bytes, link.framing_bytes, run.plan.ip_version
        )  # IEEE 802.3, RFC 2615, RFC 9293
        series = run.name.rpartition(", ")[0]
        yield FigurePoint(run.name, run.goodput_bps(FROM_S), predicted, x=link.mtu_bytes, series=series)


def lines(runs: Sequence[LessonRun]) -> Iterator[FigureLine]:
    """The formula for every size."""
    rate_bps = runs[0].plan.links[-1].forward.rate_bps
    for name, (version, framing) in KINDS.items():
        sizes = [1280 * 1.02**n for n in range(100)] if version == 6 else [576 * 1.02**n for n in range(140)]
        curve = [
            (size, line_rate_limit_bps(rate_bps, round(size), FRAMING_BYTES[framing], version))
            for size in sizes
            if size <= 9000
        ]
        yield FigureLine(f"{name}, theory", curve, "theory")


STATED = (
    computed("payload in a full packet, MTU − {}", 1500 - mss_bytes(1500, 4)),
    computed("1448 / 1538 = {:.1f} %; with 9000 it is 8948 / 9038 = {:.1f} %", 100 * 1448 / 1538, 100 * 8948 / 9038),
    computed("1460 / 1538 = {:.1f} % instead of {:.1f} %", 100 * 1460 / 1538, 100 * 1448 / 1538),
    computed("they wrap every {:.1f} s", 2**32 * 8 / 10e9),
)
COMPARISONS = {
    "goodput": LessonFigure(
        title="Goodput over the size of packets, on a line of 100 Mbit/s",
        scenarios=("packets.yaml",),
        points=points,
        lines=lines,
        x=FigureAxis("MTU", "B", log=True, least=500, most=10_000),
        y=FigureAxis("goodput", "Mbit/s", 1e6, least=80e6, most=100e6),
        source="rate × MSS / (MTU + framing)",
        within=0.002,
    )
}
