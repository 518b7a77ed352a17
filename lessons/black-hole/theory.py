"""Which packets a tunnel lets through, what its ICMP message tells, and what happens where that is dropped."""

from collections.abc import Callable, Iterator, Sequence

from landspeed.course.comparison import FigureAxis, FigurePoint, LessonFigure, LessonProgram
from landspeed.course.lesson_run import LessonRun
from landspeed.course.stated_figures import computed, measured

HEADERS = {"IPv4": 20, "TCP": 20, "timestamps": 12}
LEAST_RTO_S = 0.2  # of Linux
BASE_MSS = 1024  # of Linux: tcp_base_mss
PATIENCE_S = 60
RETRIES = 3  # of Linux: tcp_retries1
OPEN, CLOSED, PROBING, CLAMPED = NETWORKS = ("open", "closed", "probing", "clamped")
NAMES = {OPEN: "ICMP passes", CLOSED: "no ICMP", PROBING: "no ICMP, probing", CLAMPED: "no ICMP, MSS 1360"}
Reply = tuple[str, int, int, float]


def payload_bytes(mtu_bytes: int) -> int:
    """Payload of a packet that just fits."""
    return mtu_bytes - sum(HEADERS.values())


def mss_option(mtu_bytes: int) -> int:
    """The MSS in a SYN: without TCP's options (RFC 9293 section 3.7.1)."""
    return mtu_bytes - HEADERS["IPv4"] - HEADERS["TCP"]


def timeout_s(rtt_s: float) -> float:
    """The first retransmission timeout (RFC 6298), whose variance has a floor in Linux."""
    return rtt_s + LEAST_RTO_S


def passes_s(rtt_s: float) -> float:
    """A round trip for the handshake, and one for request and reply."""
    return 2 * rtt_s


def told_s(rtt_s: float, to_tunnel_s: float) -> float:
    """The first packets go to the tunnel, and its message comes back."""
    return passes_s(rtt_s) + 2 * to_tunnel_s


def probed_s(rtt_s: float) -> float:
    """A probe and timeouts that double, 1 + 1 + 2 + 4 + 8: Linux tries smaller packets after tcp_retries1 doublings.

    The rest of the reply follows a round trip after the first smaller packet.
    """
    return passes_s(rtt_s) + (1 + 1 + 2 + 4 + 2**RETRIES) * timeout_s(rtt_s) + rtt_s


def mtu_of(run: LessonRun) -> int:
    """MTU of the tunnel."""
    return min(link.mtu_bytes for link in run.plan.links)


def replies(run: LessonRun) -> list[Reply]:
    """(Network, size, bytes read, seconds) of each connection."""
    lines = (line.split() for line in run.output.splitlines())
    return [(network, int(size), int(count), float(took_s)) for network, size, count, took_s in lines]


def times(
    networks: Sequence[str], predicted: Callable[[LessonRun, Reply], float]
) -> Callable[[Sequence[LessonRun]], Iterator[FigurePoint]]:
    """Time until the reply is read."""

    def points(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
        for reply in replies(runs[0]):
            network, size, _, took_s = reply
            if network in networks:
                name = NAMES[network]
                yield FigurePoint(f"{name}, {size} B", took_s, predicted(runs[0], reply), x=size, series=name)

    return points


def quick_s(run: LessonRun, reply: Reply) -> float:
    """Where the network tells the truth in time."""
    network, size, *_ = reply
    if network == OPEN and size > payload_bytes(mtu_of(run)):
        return told_s(run.rtt_s, run.plan.links[0].forward.delay_ns / 1e9)
    return passes_s(run.rtt_s)


def slow_s(run: LessonRun, reply: Reply) -> float:
    """Where the sender has to find out by itself."""
    return probed_s(run.rtt_s) if reply[1] > payload_bytes(mtu_of(run)) else passes_s(run.rtt_s)


def closed(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """What is read within a minute where nobody tells and nobody probes."""
    fits = payload_bytes(mtu_of(runs[0]))
    for network, size, count, _ in replies(runs[0]):
        if network == CLOSED:
            yield FigurePoint(f"{size} B", count, size if size <= fits else 0)


SCENARIOS = ("tunnel.yaml",)
SIZES = ("500", "1000", "1348", "1349", "1448")
PROGRAM = LessonProgram(
    "server",
    ("sh", "LESSON/replies.sh", "LESSON/fetch.py", " ".join(NETWORKS), str(mss_option(1400)), *SIZES),
    ("replies.sh", "fetch.py"),
)
REPLY = FigureAxis("size of the reply", "B")
RTO = round(1e3 * timeout_s(0.04))
STATED = (
    computed("packets of {} B carry {} B", 1400, payload_bytes(1400)),
    computed("{} B of IP, {} B of TCP and {} B of timestamps", *HEADERS.values()),
    computed("a reply of {} B fits, one of {} B does not", payload_bytes(1400), payload_bytes(1400) + 1),
    computed("two round trips, {} ms; with the message {} ms more", 80, 4),
    computed("MSS is {}: {} − {} − {}", mss_option(1400), 1400, 20, 20),
    computed("after {} ms, and then after {}, {}, {} and {} ms", RTO, RTO, 2 * RTO, 4 * RTO, 8 * RTO),
    computed("it tries packets with {} B", BASE_MSS),
    computed("together {:.2f} s", 16 * RTO / 1e3),
    measured("{:.1f} s were measured", "probing", lambda p: (p["no ICMP, probing, 1349 B"].measured,)),
    computed("within {} s", PATIENCE_S),
    computed("A reply of {} B where the tunnel", 1349),
    computed("And a reply of {} B where it may not", 1349),
    computed("with {}, {} and {} B of payload", 1448, 1448, 656),
    computed("The last one has {} B and fits", 656),
    computed("WireGuard over IPv4 and a link of {} B takes {} B", 1500, 60),
    computed("{} − {} = {}, so an MSS of {}", 1500, 60, 1440, mss_option(1440)),
    computed("PPPoE takes {} B: its MTU is {} B", 8, 1492),
    computed("least MTU of IPv6, {} B", 1280),
)
COMPARISONS = {
    "closed": LessonFigure(
        title="Bytes of a reply that are read where the tunnel sends no ICMP",
        scenarios=SCENARIOS,
        points=closed,
        y=FigureAxis("read", "B"),
        source="a packet larger than the tunnel's MTU is dropped (RFC 1191)",
        within=0.0,
        program=PROGRAM,
    ),
    "told": LessonFigure(
        title="Time of a reply where the sender is told",
        scenarios=SCENARIOS,
        points=times((OPEN, CLAMPED), quick_s),
        x=REPLY,
        y=FigureAxis("time", "ms", 1e-3, least=0.07, most=0.09),
        source="two round trips, and the way to the tunnel and back if its message is needed (RFC 1191)",
        within=0.01,
        why="theory leaves serialization out",
        program=PROGRAM,
    ),
    "probing": LessonFigure(
        title="Time of a reply where the sender probes",
        scenarios=SCENARIOS,
        points=times((PROBING,), slow_s),
        x=REPLY,
        y=FigureAxis("time", "s", log=True),
        source="timeouts that double (RFC 6298), then smaller packets (RFC 4821)",
        within=0.05,
        why="Linux rounds its timers up",
        program=PROGRAM,
    ),
}
