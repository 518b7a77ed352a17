"""Round trips until a page is there, by four ways; and who waits for a message that was lost."""

import re
import sys
from collections.abc import Iterator, Sequence

from landspeed.course.comparison import FigureAxis, FigureLine, FigurePoint, LessonFigure, LessonProgram
from landspeed.course.lesson_run import LessonRun
from landspeed.course.stated_figures import computed, measured

TCP, TLS, QUIC, TICKET = "TCP", "TCP and TLS 1.3", "QUIC", "QUIC with a ticket"
ROUND_TRIPS = {TCP: 2, TLS: 3, QUIC: 2, TICKET: 1}  # RFC 9293, RFC 8446, RFC 9001 section 4
EVERY_MS, MESSAGES, RTT_MS = 25, 120, 80
FIRST_LOST = 50
THRESHOLD = {TCP: 5 / 4, QUIC: 9 / 8}  # of a round trip (RFC 8985 section 6.2, RFC 9002 section 6.1.2)
PACKETS = 3  # that came later, and the packet is lost (both)
INITIAL_BYTES = 1200  # least size of a client's first packets (RFC 9000 section 14.1)
Message = tuple[float, float]


def page_s(way: str, rtt_s: float) -> float:
    """A round trip for each handshake that is not done with another one, and one for request and page."""
    return ROUND_TRIPS[way] * rtt_s


def told_s(every_s: float, rtt_s: float, way: str) -> float:
    """From a message until its sender knows that it was lost: by the next one's acknowledgment, or later."""
    return max(every_s + rtt_s, min(THRESHOLD[way] * rtt_s, PACKETS * every_s + rtt_s))


def lost_s(every_s: float, rtt_s: float, way: str) -> float:
    """From a message that is lost once until it is read."""
    return told_s(every_s, rtt_s, way) + rtt_s / 2


def together(every_s: float, rtt_s: float, way: str) -> int:
    """Messages read when the lost one comes: with TCP all that are there already, with a stream each only itself."""
    return 1 + int(told_s(every_s, rtt_s, way) / every_s) if way == TCP else 1


def times_ms(run: LessonRun) -> dict[str, float]:
    """Way → ms until the page is read."""
    return {way: float(took) for way, took, _ in (re.split(": | ms", line) for line in run.output.splitlines())}


def messages(run: LessonRun) -> dict[str, dict[int, Message]]:
    """Way → number → (written, read) in s."""
    found: dict[str, dict[int, Message]] = {TCP: {}, QUIC: {}}
    for way, number, written, read in (line.split() for line in run.output.splitlines()):
        found[way][int(number)] = (float(written) / 1e3, float(read) / 1e3)
    return found


def read_with(way: dict[int, Message], number: int) -> int:
    """Messages read within half a millisecond of this one."""
    return sum(abs(read - way[number][1]) < 5e-4 for _, read in way.values())


def later(way: dict[int, Message], usual_s: float) -> int:
    """Messages around the first loss that came a millisecond late or more."""
    return sum(
        read - written > usual_s + 1e-3
        for number, (written, read) in way.items()
        if FIRST_LOST <= number < 2 * FIRST_LOST
    )


def pages(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Each way over each distance."""
    for way in ROUND_TRIPS:
        for run in runs:
            name = f"{way}, {1e3 * run.rtt_s:.0f} ms"
            yield FigurePoint(name, times_ms(run)[way] / 1e3, page_s(way, run.rtt_s), x=run.rtt_s, series=way)


def wait(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """The first lost message of each way."""
    for way, each in messages(runs[0]).items():
        written, read = each[FIRST_LOST]
        yield FigurePoint(way, read - written, lost_s(EVERY_MS / 1e3, runs[0].rtt_s, way))


def delays(runs: Sequence[LessonRun]) -> Iterator[FigureLine]:
    """Delay of the messages around the first lost one, over when they were written."""
    for way, each in messages(runs[0]).items():
        near = [each[number] for number in range(FIRST_LOST - 4, FIRST_LOST + 13)]
        yield FigureLine(way, [(written - each[FIRST_LOST][0], read - written) for written, read in near])


def at_once(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """How many messages are read at the instant at which the lost one comes."""
    for way, each in messages(runs[0]).items():
        usual_s = min(read - written for written, read in each.values())
        late = later(each, usual_s)
        note = f"{late} message{'s are' if late != 1 else ' is'} late"
        yield FigurePoint(way, read_with(each, FIRST_LOST), together(EVERY_MS / 1e3, runs[0].rtt_s, way), note=note)


def program(*what: str) -> LessonProgram:
    """The ways, in the Python that has aioquic: this one."""
    words = ("sh", "LESSON/ways.sh", sys.executable, "LESSON/ways.py", f"{EVERY_MS}", *what)
    return LessonProgram("server", words, ("ways.sh", "ways.py"))


MESSAGES_RUN = program("messages", f"{MESSAGES}")
DELAY = FigureAxis("until it is read", "ms", 1e-3)
STATED = (
    computed("a page of {} kB", 1),
    computed("messages of {} kB each {} ms", 1, EVERY_MS),
    computed("each fiftieth of which a router loses, over {} ms", RTT_MS),
    computed("{}, {}, {} and {} round trips", *ROUND_TRIPS.values()),
    computed("TLS {}", 1.3),
    computed("page over {} ms", RTT_MS),
    computed("{} ms by TCP and TLS, {} ms by QUIC", *(round(page_s(way, RTT_MS)) for way in (TLS, QUIC))),
    computed("of the last visit: {} ms", round(page_s(TICKET, RTT_MS))),
    computed("at least {} B", INITIAL_BYTES),
    computed(
        "next message, {} ms later, is acknowledged: after {} ms", EVERY_MS, round(1e3 * told_s(0.025, 0.08, TCP))
    ),
    computed("read {} ms after it was written", round(1e3 * lost_s(0.025, 0.08, QUIC))),
    computed("TCP reads {} messages at once", together(0.025, 0.08, TCP)),
    measured(
        "{} messages are late with TCP, and {} with QUIC",
        "together",
        lambda p: tuple(p[way].note.split()[0] for way in (TCP, QUIC)),
    ),
    computed("needs {} of them at the same time over {} ms", 6, 100),
    computed("TLS {} connections", 6),
    computed("{} ms, and a QUIC connection {} ms", *(round(page_s(way, 100)) for way in (TLS, QUIC))),
)
COMPARISONS = {
    "pages": LessonFigure(
        title="A page of 1 kB, from the first packet until it is read",
        scenarios=("path.yaml",),
        points=pages,
        x=FigureAxis("round-trip time", "ms", 1e-3),
        y=DELAY,
        source="round trips × round-trip time, RFC 9293, RFC 8446, RFC 9001",
        within=0.01,
        why="packets of the handshakes take up to 0.2 ms on two lines of 1 Gbit/s, 1 % of the shortest round trip",
        program=program("page"),
    ),
    "wait": LessonFigure(
        title="A message each 25 ms over 80 ms, one of which is lost",
        scenarios=("messages.yaml",),
        points=wait,
        lines=delays,
        x=FigureAxis("written after the lost one", "ms", 1e-3),
        y=DELAY,
        source="until the next one is acknowledged, and one way more, RFC 8985, RFC 9002",
        within=0.02,
        why="timers of the program count in milliseconds: two of them are up to 2 ms of 145 ms",
        program=MESSAGES_RUN,
    ),
    "together": LessonFigure(
        title="Messages that are read when the lost one comes",
        scenarios=("messages.yaml",),
        points=at_once,
        y=FigureAxis("messages"),
        source="TCP reads in order, QUIC each stream in order",
        within=0.001,
        program=MESSAGES_RUN,
    ),
}
