"""What a line leaves for payload: rate × MSS / (MTU + framing)."""

from collections.abc import Iterator, Sequence

from landspeed.course.comparison import FigureAxis, FigureLine, FigurePoint, LessonFigure
from landspeed.course.lesson_run import LessonRun
from landspeed.course.stated_figures import computed
from landspeed.scenario.theory.physics import FRAMING_BYTES, IP_HEADER, line_rate_limit_bps, mss_bytes

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
    computed("{} / {} = {:.1f} %; with {}", 1448, 1538, 100 * 1448 / 1538, 9000),
    computed("it is {} / {} = {:.1f} %. The gain", 8948, 9038, 100 * 8948 / 9038),
    computed("{} / {} = {:.1f} % instead of {:.1f} %", 1460, 1538, 100 * 1460 / 1538, 100 * 1448 / 1538),
    computed("they wrap every {:.1f} s", 2**32 * 8 / 10e9),
    computed("says MTU − {}, {} with MTU {}: it does not", IP_HEADER[4] + 20, 1460, 1500),
    computed("timestamps take {} of these bytes", 1460 - mss_bytes(1500, 4)),
    computed("| IP header | {} (IPv6: {}) | | TCP header | {} |", IP_HEADER[4], IP_HEADER[6], 20),
    computed("| TCP timestamps (RFC 7323) | {} |", 1460 - mss_bytes(1500, 4)),
    computed("MTU − {} (IPv6: MTU − {})", 1500 - mss_bytes(1500, 4), 1500 - mss_bytes(1500, 6)),
    computed("preamble {}, header {}, checksum {}, gap {} | {} |", 8, 14, 4, 12, FRAMING_BYTES["ethernet"]),
    computed("SONET/SDH (RFC 2615) | {} |", FRAMING_BYTES["pos"]),
    computed("shows {} Mbit/s on this line", 98.6),
    computed("shows {:.1f}. Who is wrong?", 100 * 1448 / 1538),
    computed("{} B of each {} on the line: {:.1f} %", 1514, 1538, 100 * 1514 / 1538),
    computed("counts payload: {:.1f} %", 100 * 1448 / 1538),
    computed("there are {} more bytes of payload", 1460 - mss_bytes(1500, 4)),
    computed("at {} Gbit/s they wrap every", 10),
    computed("on a path of {}: which goodput do you expect?", 9000),
    computed("{} B of payload, {} of ICMP and {} of IP make {}", 1472, 8, IP_HEADER[4], 1472 + 8 + IP_HEADER[4]),
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
