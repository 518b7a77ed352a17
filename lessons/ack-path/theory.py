"""What a slow way back costs: acknowledgments that stand for more, and where that ends."""

from collections.abc import Callable, Iterator, Sequence

from landspeed.course.comparison import GOODPUT, FigureAxis, FigureLine, FigurePoint, LessonFigure, unpromised
from landspeed.course.lesson_run import LessonRun, between, mean
from landspeed.course.stated_figures import Points, computed, measured, thousands
from landspeed.scenario.theory.physics import ack_bytes

FROM_S = 6.0
SETTLED_S = 20.0  # of windows.yaml: the slowest has repaired its losses by then
QUEUE_BYTES = 20_000  # of the line back


def acks_per_s(run: LessonRun) -> float:
    """Bare acknowledgments that fill the line back: rate / (52 + 38) B (RFC 9293, RFC 7323, IEEE 802.3)."""
    link = run.plan.links[1]
    return link.reverse.rate_bps / 8 / (ack_bytes(run.plan.ip_version) + link.framing_bytes)


def two_packets_bps(run: LessonRun) -> float:
    """Goodput if each acknowledgment stood for two packets and none were dropped (RFC 9293 section 3.8.6.3)."""
    return acks_per_s(run) * 2 * run.mss_bytes * 8


def queued_acks() -> int:
    """Acknowledgments that the queue of the line back holds: it counts 14 B of Ethernet beside the packet."""
    return QUEUE_BYTES // (ack_bytes(4) + 14)


def sent_bytes(run: LessonRun) -> float:
    """What the sender may have in flight: its own window or the receiver's, whichever is less."""
    own = mean(between(run.series("cwnd_packets"), SETTLED_S)) * run.mss_bytes
    return min(own, run.window_bytes)


def round_trip_s(run: LessonRun) -> float:
    """The round trip that the sender measures, with what waits on the way."""
    return mean(between(run.series("srtt_us"), SETTLED_S)) / 1e6


def windows(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Goodput beside the sender's window over its round trip."""
    for run in runs:
        own = sent_bytes(run) < run.window_bytes
        note = f"{'its own' if own else 'the receiver’s'} window of {sent_bytes(run) / 1e6:.1f} MB, "
        note += f"round trip {round_trip_s(run) * 1e3:.0f} ms, {run.record.retransmits} sent again"
        yield FigurePoint(run.name, run.goodput_bps(SETTLED_S), sent_bytes(run) * 8 / round_trip_s(run), note=note)


def carried(run: LessonRun) -> float:
    """Acknowledgments that the line back carried in each second."""
    rows = [row for row in run.samples.links.to_pylist() if row["link"] == 1 and row["direction"] == "reverse"]
    late = [row for row in rows if row["time_ns"] / 1e9 >= FROM_S]
    return (late[-1]["packets"] - late[0]["packets"]) / (late[-1]["time_ns"] - late[0]["time_ns"]) * 1e9


def rate(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """As long as the line back is the limit, it carries just as many as fit."""
    for run in runs:
        packets = run.goodput_bps(FROM_S) / 8 / run.mss_bytes
        each = packets / carried(run)
        if each > 2.5:  # else the line back is not what acknowledgments wait for
            yield FigurePoint(
                run.name,
                carried(run),
                acks_per_s(run),
                x=run.plan.links[1].reverse.rate_bps,
                note=f"{each:.1f} packets each",
            )


def goodput(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Goodput beside the line ahead."""
    for run in runs:
        packets = run.goodput_bps(FROM_S) / 8 / run.mss_bytes
        note = f"each acknowledgment for {packets / carried(run):.1f} packets"
        yield FigurePoint(
            run.name, run.goodput_bps(FROM_S), run.plan.physics.line_rate_limit_bps,
            x=run.plan.links[1].reverse.rate_bps, note=note,
        )  # fmt: skip


def lines(runs: Sequence[LessonRun]) -> Iterator[FigureLine]:
    """What two packets for each acknowledgment would allow, and the line ahead."""
    found = [(run.plan.links[1].reverse.rate_bps, two_packets_bps(run)) for run in runs]
    yield FigureLine("two packets an acknowledgment", found, "limit")
    limit = runs[0].plan.physics.line_rate_limit_bps
    yield FigureLine("the line ahead", [(found[0][0], limit), (found[-1][0], limit)], "theory")


BACK = FigureAxis("rate of the line back", "Mbit/s", 1e6, log=True)


def _mbps(*names: str) -> Callable[[Points], list[float]]:
    """What these runs gave."""
    return lambda points: [points[name].measured / 1e6 for name in names]


ACK_ON_WIRE = ack_bytes(4) + 38
STATED = (
    computed("which holds {} acknowledgments", queued_acks()),
    computed(
        "they wait {:.2f} s at 250 kbit/s and {:.2f} s at 500",
        *(queued_acks() * 90 * 8 / rate for rate in (250e3, 500e3)),
    ),
    measured(
        "At 250 kbit/s the goodput is {:.0f} Mbit/s, at 500 only {:.0f}", "goodput", _mbps("250 kbit/s", "500 kbit/s")
    ),
    measured("With a window of 64 MB, 250 kbit/s gives {:.0f} Mbit/s", "windows", _mbps("250 kbit/s, 64 MB")),
    measured("with one of 8 MB, 500 kbit/s gives {:.0f}", "windows", _mbps("500 kbit/s, 8 MB")),
    computed("{} bytes of headers, {} on an Ethernet line", ack_bytes(4), ACK_ON_WIRE),
    computed("Two packets of {} B for {} B in return is {:.0f} to 1", 1448, ACK_ON_WIRE, 2 * 1448 / ACK_ON_WIRE),
    computed("the acknowledgments need {:.0f} Mbit/s", 200 / 1538 / 2 * ACK_ON_WIRE),
    measured(
        "that the receiver's window of {} MB", "windows", lambda points: points["250 kbit/s, 16 MB"].note.split()[4:5]
    ),
    computed("A line of 1 Gbit/s down and {} Mbit/s up", 10),
    computed(
        "packets of {} B on the wire is {} a second: {} acknowledgments of {} B, {:.0f} Mbit/s",
        1538,
        thousands(round(1e9 / 8 / 1538, -3)),
        thousands(round(1e9 / 16 / 1538, -2)),
        ACK_ON_WIRE,
        1e3 / 16 / 1538 * ACK_ON_WIRE * 8,
    ),
    computed("With packets of {} B, a sixth of them", 9000),
)
COMPARISONS = {
    "rate": LessonFigure(
        title="Acknowledgments a second on the line back",
        scenarios=("asymmetric.yaml",),
        points=rate,
        x=BACK,
        y=FigureAxis("acknowledgments a second", "", log=True),
        source="rate / 90 B on the wire",
        within=0.02,
    ),
    "windows": LessonFigure(
        title="Goodput beside the sender's window over its round trip",
        scenarios=("windows.yaml",),
        points=windows,
        y=GOODPUT,
        source="min(cwnd, receiver's window) / RTT as the sender measures them",
        within=0.02,
    ),
    "goodput": unpromised(
        title="Goodput of 200 Mbit/s over the rate of the line back",
        scenarios=("asymmetric.yaml",),
        points=goodput,
        lines=lines,
        x=BACK,
        y=GOODPUT,
        source="the line ahead; RFC 3449 on the line back",
        beside="line ahead",
        why="how many packets an acknowledgment stands for follows from what was dropped before it",
    ),
}
