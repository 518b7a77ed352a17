"""`bench_engine.py strangers`: 10 000 sessions of strangers, beside clients that mean it.

With a key: strangers of a thousand networks of IPv4, then (as root) of a thousand /48s of IPv6, who fill all places and
go on coming. They are silent, half a frame, garbage, a greeting that stays, a recorded proof; half a hello of a data
connection, one of the sessions that run, one of none, the server's own challenge sent back, a frame that says it has
1 MiB, and words byte by byte. Without a key: sessions that ask for windows of 1 GiB, or a thousand times for the same
folder, and some that send a byte per stall.

What they cost a right client is a ratio within one turn: of a transfer beside them and of one beside none, each with
the same other clients. ENGINE_BENCH_STRANGERS changes their number, ENGINE_BENCH_FAR that of the clients at 264 ms.
"""

import contextlib
import json
import os
import resource
import socket
import statistics
import struct
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.bench.bench import Row
from tests.bench.engine.bench_engine_path import ENGINE
from tests.support.engine.crowd import Place, Strangers, all_of_a_network, far
from tests.support.engine.fake_server import take
from tests.support.engine.fixtures import CHALLENGE, MAGIC, PROTOCOL, control_connection, free_port, hello, wait_until
from tests.support.engine.limits_hostile import REQUEST, Client

STRANGERS = int(os.environ.get("ENGINE_BENCH_STRANGERS", "10000"))
FAR = int(os.environ.get("ENGINE_BENCH_FAR", "100"))
TURNS = max(
    2, STRANGERS // 900
)  # of two transfers, in either order; each has a crowd of its own, which fills all places
LONG = ("--time", "2", "--pacing", "1G", "--receive", "memory")
NETWORKS = [f"127.{1 + number // 250}.{number % 250}.2" for number in range(1000)]
NETWORKS_6 = [f"2001:db8:{number:x}::7" for number in range(1000)]
SLOW_S = 0.1  # between two bytes of those that come byte by byte
STALL_S = 1
FLAT_KB = 256
ASK_S = 0.1  # between two sessions of one that asks for too much


def frame(message: dict) -> bytes:
    """Of the control connection."""
    text = json.dumps({"protocol": PROTOCOL} | message).encode()
    return struct.pack(">I", len(text)) + text


GREETING = frame({"type": "greeting", "nonce": "5a" * 32, "share": "09" + "00" * 31, "key": True})
PLAIN = frame({"type": "greeting", "nonce": "5a" * 32, "key": False})
WORDS = (
    b"",
    GREETING[:20],
    os.urandom(300),
    GREETING,
    GREETING + frame({"type": "proof", "proof": "a5" * 32}),
    b"\xff" * 8,
    MAGIC,
    hello(0, bytes(32), bytes(32), 0),
    hello(0, bytes(32), bytes(32), 1 << 31),
    struct.pack(">I", 1 << 20) + bytes(8000),
)


class Bed:
    """A server, where it is, and clients of it."""

    def __init__(self, place: Place, folder: Path, *limits: str, keyed: bool) -> None:
        self.place, self.port = place, free_port()
        self.trust = ["--key", str(folder / "key")] if keyed else []
        if keyed:
            subprocess.run([str(ENGINE), "key", self.trust[1]], check=True)
        words = [str(ENGINE), "receive", "--port", str(self.port), "--clients", "16", "--quiet", *limits]
        self.server = subprocess.Popen(
            [*place.under(), *words, *(self.trust or ["--anonymous"])], stderr=subprocess.PIPE, text=True
        )
        assert self.server.stderr is not None
        while "listening" not in (said := self.server.stderr.readline()):
            assert said, "the server does not listen"
        threading.Thread(target=self.server.stderr.read, daemon=True).start()  # so that it never waits for us

    def transfer(self, *options: str, port: int = 0) -> tuple[float, float]:
        """Goodput in bit/s, and seconds of the whole program beyond the transfer."""
        begun = time.monotonic()
        words = [str(ENGINE), "send", self.place.server, "--port", str(port or self.port), "--quiet", "--json", "-"]
        command = [*self.place.under(), *words, *self.trust, *options]
        result = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        return result["goodput_bps"], time.monotonic() - begun - result["duration_s"]

    def held(self) -> tuple[int, int]:
        """Kilobytes of memory, and descriptors."""
        status = Path(f"/proc/{self.server.pid}/status").read_text()
        memory = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
        return memory, len(list(Path(f"/proc/{self.server.pid}/fd").iterdir()))

    def both(self) -> tuple[float, list[float]]:
        """The goodput of a long transfer, and what short ones meanwhile had to wait."""
        goodputs, waits = list[float](), list[float]()
        runner = threading.Thread(target=lambda: goodputs.append(self.transfer(*LONG)[0]))
        runner.start()
        while runner.is_alive():
            waits.append(self.transfer("--bytes", "1M")[1])
        runner.join()
        return goodputs[0], waits


class Motley(Strangers):
    """Of every kind in turn."""

    def __init__(self, bed: Bed, addresses: list[str]) -> None:
        super().__init__(bed.port, addresses, b"", bed.place)
        self.slow = deque[tuple[socket.socket, int]]()
        self.due = 0.0

    def run(self) -> None:
        """Their own work is another host's: it gives way to the server's and to the right clients'."""
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), min(os.nice(0) + 10, 19))
        super().run()

    def say(self, each: socket.socket) -> None:
        kind = self.count % (len(WORDS) + 2)
        if kind < len(WORDS):
            each.sendall(WORDS[kind])
        elif kind == len(WORDS):
            each.sendall(each.recv(CHALLENGE))
        else:
            self.slow.append((each, 0))
        if time.monotonic() >= self.due:
            self.due = time.monotonic() + SLOW_S
            self._say_on()

    def _say_on(self) -> None:
        """The next byte of each that is slow."""
        for _ in range(len(self.slow)):
            each, said = self.slow.popleft()
            with contextlib.suppress(OSError):
                each.send(GREETING[said : said + 1])
                self.slow.append((each, (said + 1) % len(GREETING)))


def big_windows(port: int) -> None:
    """Each of 64 streams to have 1 GiB."""
    with control_connection(port, "127.8.1.1") as control:
        control.sendall(PLAIN + frame(REQUEST | {"streams": 64, "window_bytes": 1 << 30, "bytes": 1 << 40}))
        assert take(control)["type"] == "error"


def thousand_gets(port: int) -> None:
    """The same folder, again and again."""
    with control_connection(port, "127.8.2.1") as control:
        asked = {"kind": "files", "direction": "reverse", "paths": ["."] * 1000}
        control.sendall(PLAIN + frame(REQUEST | asked))
        take(control)


def byte_per_stall(port: int) -> None:
    """Hold a place by next to nothing, until the server ends it."""
    client = Client(port, source="127.8.3.1", duration_ns=3600 * 10**9)
    try:
        data = client.connect()
        assert take(client.control)["type"] == "ready"
        client.say("go")
        client.control.settimeout(0.9 * STALL_S)
        with contextlib.suppress(OSError):
            while True:
                data.sendall(b"x")
                with contextlib.suppress(TimeoutError):
                    take(client.control)
                    return
    finally:
        client.close()


class Greedy:
    """Sessions that ask for too much, one after the other."""

    def __init__(self, bed: Bed) -> None:
        self.count, self.stop = 0, threading.Event()
        acts = [big_windows, thousand_gets, *[byte_per_stall] * 3]
        self.threads = [threading.Thread(target=self._act, args=(act, bed.port)) for act in acts]

    def _act(self, act: Callable[[int], None], port: int) -> None:
        while not self.stop.wait(ASK_S):
            act(port)
            self.count += 1

    def start(self) -> None:
        """All of them."""
        for each in self.threads:
            each.start()

    def join(self) -> None:
        """Until the last session is over."""
        for each in self.threads:
            each.join()


@contextlib.contextmanager
def around(crowd: Motley | Greedy) -> Iterator[None]:
    """As long as it lasts."""
    crowd.start()
    try:
        yield
    finally:
        crowd.stop.set()
        crowd.join()


def beside(bed: Bed, who: str, make: Callable[[], Motley | Greedy]) -> list[Row]:
    """Turns of transfers, with and without them."""
    held, count = [bed.held()], 0
    shares, waits = list[float](), list[float]()
    for turn in range(TURNS):
        goodput = dict[bool, float]()
        for crowded in (turn % 2 == 0, turn % 2 != 0):
            crowd = make()
            with around(crowd) if crowded else contextlib.nullcontext():
                goodput[crowded], waited = bed.both()
            waits += waited if crowded else []
            count += crowd.count
        shares.append(goodput[True] / goodput[False])
        wait_until(lambda: True if bed.held()[1] <= held[0][1] else None, 20)
        held.append(bed.held())
    share = statistics.median(shares)
    spread = f"{share:.3f} × ({min(shares):.3f} to {max(shares):.3f})"
    return [
        Row(f"{count} {who}: a transfer beside them against one beside none", spread, "≥ 0.95 ×", share >= 0.95),
        Row(f"{len(waits)} right clients meanwhile: the longest wait", f"{max(waits):.2f} s", "≤ 2 s", max(waits) <= 2),
        Row(
            "memory of the server after the first of them, and after the last; descriptors before, and after",
            f"{held[1][0]} → {held[-1][0]} kB; {held[0][1]} → {held[-1][1]}",
            f"flat: ± {FLAT_KB} kB",
            held[-1][0] - held[1][0] <= FLAT_KB and held[-1][1] <= held[0][1],
        ),
    ]


def from_afar(bed: Bed, crowd: Motley) -> Row:
    """Clients at 264 ms, one after the other, while all places are taken and strangers go on coming."""
    with around(crowd), far(bed.port, bed.place) as port:
        assert crowd.full.wait(60)
        waits = [bed.transfer("--bytes", "1M", port=port)[1] for _ in range(FAR)]
    good = sum(wait <= 3 for wait in waits)
    return Row(
        f"clients at 264 ms beside {crowd.count} more, each at the first try: in within 3 s; the longest wait",
        f"{good} of {FAR}; {max(waits):.2f} s",
        f"{FAR} of {FAR}",
        good == FAR,
    )


@contextlib.contextmanager
def bed_of(place: Place, *limits: str, keyed: bool) -> Iterator[Bed]:
    """A server for a while."""
    with tempfile.TemporaryDirectory() as folder:
        bed = Bed(place, Path(folder), *limits, keyed=keyed)
        try:
            yield bed
        finally:
            bed.server.terminate()
            bed.server.wait()


def crowded(place: Place, who: str, addresses: list[str]) -> list[Row]:
    """A server with a key, and strangers of these addresses."""
    with bed_of(place, keyed=True) as bed:
        rows = beside(bed, f"strangers of {who}", lambda: Motley(bed, addresses))
        return [*rows, from_afar(bed, Motley(bed, addresses))]


def greedy() -> list[Row]:
    """A server without a key, and sessions that ask for too much."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(2000):
            Path(folder, f"file-{number}").touch()
        limits = ["--serve-directory", folder, "--max-window", "64M", "--stall", f"{STALL_S}s"]
        with bed_of(Place(), *limits, keyed=False) as bed:
            who = "sessions of windows of 1 GiB, of a thousand gets, of a byte per stall"
            return beside(bed, who, lambda: Greedy(bed))


def strangers() -> list[Row]:
    """All of them."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    rows = crowded(Place(), "1000 networks", NETWORKS)
    if os.geteuid() == 0:
        with all_of_a_network() as place:
            rows += crowded(place, "1000 /48s", NETWORKS_6)
    return rows + greedy()
