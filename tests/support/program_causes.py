"""Programs whose cause is known by construction: the corpus of the judge of sockets, on the paths of causes.py."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

import landspeed as ls
from landspeed.judge.sockets.socket_limits import Bound
from tests.support.causes import EDGES, FAR, LONG, NEAR, Case, Change, content, event_of, of, two_flows
from tests.support.places import PROGRAMS

BULK = [sys.executable, "-S", str(PROGRAMS / "bulk_program.py")]
OWN = [sys.executable, "-S", str(PROGRAMS / "probe_program.py")]


@dataclass(frozen=True)
class ProgramCase:
    """A client and a server, the path, and the word that is right.

    Attributes:
        change: what is different from the path of causes.py.
        client, server: more words of bulk_program.py; of another program all of them.
        way: the direction that is asked about; the client is at its first node, but for `down`.
        beside: another client and server, bulk_program.py without options, from node to node.
    """

    name: str
    cause: str
    change: Change = field(default_factory=dict[str, object])
    client: tuple[str, ...] = ()
    server: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    way: tuple[str, str] = ("a", "b")
    down: bool = False
    beside: tuple[str, str] | None = None

    def run(self, folder: Path) -> Bound:
        """Run it, and ask."""
        network = Case(self.name, self.cause, self.change, {}, flow="near" if "links" in self.change else None)
        scenario = content(network)
        at, to = self.way[::-1] if self.down else self.way
        with ls.path(scenario, folder=folder, samples="10 ms") as path:
            client = [*OWN, "call", to, "9000", *self.own] if self.own else [*BULK, "send", to, "9000", *self.client]
            server = OWN if self.own else BULK
            path.node(to).popen([*server, "serve", "9000", *self.server], until=ls.listening(9000))
            if self.beside:
                path.node(self.beside[1]).popen([*BULK, "serve", "9000"], until=ls.listening(9000))
                path.node(self.beside[0]).popen([*BULK, "send", self.beside[1], "9000"])
            path.node(at).run(client, timeout="10 min")
            path.wait_sent()
            return path.bound_by(self.way)


NET, BESIDE = ("near", "near-sink"), ("far", "far-sink")

PROGRAM_CASES = [
    ProgramCase("line", "line rate"),
    ProgramCase("line, four connections", "line rate", client=("--streams", "4")),
    ProgramCase("line, slower from 8 s on", "line rate", event_of("8 s", line_rate="40 Mbit/s")),
    ProgramCase("receive buffer of 100 kB", "window", server=("--rcvbuf", "100000")),
    ProgramCase("receive buffer of 300 kB, 200 ms", "window", LONG, server=("--rcvbuf", "300000")),
    ProgramCase("send buffer of 100 kB", "send buffer", client=("--sndbuf", "100000")),
    ProgramCase("a slow reader", "receiver", server=("--read-rate", "1000000")),
    ProgramCase("pauses", "application", client=("--pause", "0.5", "--piece", "500000")),
    ProgramCase("pauses, few losses", "application", of(loss="0.01 %"), client=("--pause", "0.4", "--piece", "300000")),
    ProgramCase("a window of 100 kB", "application window", own=("--window", "100000", "--bytes", "6000000")),
    ProgramCase(
        "a window of 200 kB, few losses",
        "application window",
        of(loss="0.005 %"),
        own=("--window", "200000", "--bytes", "20000000"),
    ),
    ProgramCase("40 round trips", "round trips", own=("--turns", "40"), way=("b", "a"), down=True),
    ProgramCase("loss 1 %", "loss", of(loss="1 %")),
    ProgramCase("loss 0.1 %", "loss", of(loss="0.1 %")),
    ProgramCase(
        "loss 0.1 %, Reno, four connections",
        "loss",
        of(loss="0.3 %", congestion_control="reno"),
        client=("--streams", "2"),
    ),
    ProgramCase("corruption 0.5 %", "loss", of(corrupt="0.5 %")),
    ProgramCase("a short queue", "loss", of(queue="20 kB")),
    ProgramCase("start, 400 kB", "slow start", LONG, client=("--bytes", "400000")),
    ProgramCase("acknowledgments", "ack path", {"back": {"line_rate": "300 kbit/s", "queue": "10 kB"}}),
    ProgramCase("a cut of 7 s", "outage", event_of("11 s", down="7 s")),
    ProgramCase(
        "a policer", "token bucket", of(discipline={"tbf": {"rate": "50 Mbit/s", "burst": "50 kB"}}, queue="15 kB")
    ),
    ProgramCase("share, two programs", "shared line", two_flows({}, {}), way=NET, beside=BESIDE),
    ProgramCase(
        "share, FQ-CoDel", "shared line", two_flows({}, {}, {2: {"discipline": "fq_codel"}}), way=NET, beside=BESIDE
    ),
    ProgramCase("loss at the edge", "loss", two_flows({}, {}, {0: {"loss": "2 %"}}), way=NET, beside=BESIDE),
    ProgramCase(  # the shared line serves by turns: in one queue, chance decides who has drops, and is slow for seconds
        "a slow edge",
        "line rate",
        two_flows({}, {}, {0: {"line_rate": "20 Mbit/s"}, 2: {"discipline": "fq_codel"}}),
        way=NET,
        beside=BESIDE,
    ),
    ProgramCase(
        "receive buffer beside a bulk program",
        "window",
        two_flows({}, {}, {2: {"queue": "2 MB"}}),
        server=("--rcvbuf", "60000"),
        way=NET,
        beside=BESIDE,
    ),
    ProgramCase(
        "a window beside a bulk program",
        "application window",
        two_flows({}, {}, {2: {"queue": "1 MB"}}),
        own=("--window", "60000", "--bytes", "3000000"),
        way=NET,
        beside=BESIDE,
    ),
    ProgramCase("alone in a network", "line rate", {"links": EDGES, "flows": [NEAR, FAR]}, way=NET),
]
