"""Programs whose window, or round trips, are known, and what `landspeed probe` finds of them.

    python tests/bench/probe_cases.py [NAME…]

runs all cases or some, prints a table with what was known beside what was found, and exits with 1 if one of them is
wrong: a window by more than 2 %, a number of round trips by more than a tenth of one, or another word.
"""

import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from landspeed.judge.sockets.answer import Answer
from landspeed.programs.conditions import Condition, ListeningCondition
from landspeed.programs.probe.probe import ProbeResult, probe
from landspeed.programs.probe.spec import USUAL_RTTS, Server
from landspeed.worlds.engine.command import ENGINE_BINARY
from tests.support.places import PROGRAMS

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = [sys.executable, str(PROGRAMS / "probe_program.py")]
WINDOW_TOLERANCE = 0.02
TURNS_TOLERANCE = 0.1
LISTENS = ListeningCondition(9000, "tcp")
LONG = ("50 ms", "100 ms", "264 ms")
KB, MB = 1000, 1_000_000


@dataclass(frozen=True)
class Case:
    """A client and a server, and what is known of them.

    Attributes:
        way: the direction that is asked about.
        words: that are right.
        window: in bytes; None where there is none.
        source: where the window is stated.
    """

    name: str
    server: list[str]
    client: list[str]
    way: tuple[str, str]
    words: tuple[str, ...]
    window: int | None = None
    turns: float | None = None
    source: str = ""
    until: Condition = LISTENS
    rtts: tuple[str, ...] = USUAL_RTTS

    def run(self, folder: Path, rtts: Sequence[str] | None = None) -> ProbeResult:
        """Probe it."""
        servers = [Server("b", self.server, self.until)]
        return probe(self.client, servers, at="a", rtts=rtts or self.rtts, folder=folder)

    def wrong(self, found: ProbeResult) -> list[str]:
        """What differs from what is known."""
        answer = found.direction(*self.way)
        said = [] if found.complete else [f"not complete: {[each.error for each in found.variants[0].cases]}"]
        if answer.bound_by not in self.words:
            said.append(f"bound by {answer.bound_by}, not {' or '.join(self.words)}: {answer.explanation}")
        if self.window is not None:
            known = answer.window_bytes or 0.0
            if not abs(known / self.window - 1) <= WINDOW_TOLERANCE:
                said.append(f"window {known:.0f} B, not {self.window}")
        elif answer.bound_by == "application window":
            said.append("a window where there is none")
        if self.turns is not None and not abs((answer.round_trips or 0.0) - self.turns) <= TURNS_TOLERANCE:
            said.append(f"{answer.round_trips} round trips, not {self.turns}")
        return said


def windowed(window: int, at: str, *, down: bool = False) -> Case:
    """Our own program with a window."""
    count = max(40 * window, 2 * MB) if window <= 4 * MB else 12 * window
    words = ["call", "b", "9000", "--window", str(window), "--bytes", str(count), "--at", at]
    name = f"{window // KB} kB at the {at}" + (", down" if down else "")
    return Case(
        name,
        [*PROGRAM, "serve", "9000"],
        [*PROGRAM, *words, *(["--down"] if down else [])],
        ("b", "a") if down else ("a", "b"),
        ("application window",),
        window,
        source="tests/support/programs/probe_program.py",
        rtts=LONG if window > 4 * MB else USUAL_RTTS,
    )


def chatty(turns: int) -> Case:
    """Our own program that asks again and again."""
    client = [*PROGRAM, "call", "b", "9000", "--turns", str(turns)]
    name = f"{turns} round trips"
    return Case(name, [*PROGRAM, "serve", "9000"], client, ("b", "a"), ("round trips",), turns=turns)


def http_server(file: Path) -> Case:
    """Plain HTTP/1.1: nothing but TCP."""
    server = [sys.executable, "-m", "http.server", "9000", "--directory", str(file.parent)]
    client = ["curl", "-sSo", "/dev/null", f"http://b:9000/{file.name}"]
    return Case("HTTP/1.1, curl", server, client, ("b", "a"), ("line rate", "slow start", "window", "send buffer"))


IPERF3 = Case(
    "iperf3",
    ["iperf3", "-s", "-p", "9000"],
    ["iperf3", "-c", "b", "-p", "9000", "-n", "300M"],
    ("a", "b"),
    ("line rate", "slow start", "window", "send buffer"),
    rtts=("0.5 ms", "10 ms", "50 ms"),
)
ENGINE = Case(
    "the engine",
    [str(ENGINE_BINARY), "receive", "--port", "9000", "--quiet"],
    [str(ENGINE_BINARY), "send", "b", "--port", "9000", "--bytes", "3G", "--quiet"],
    ("a", "b"),
    ("line rate", "slow start", "window", "send buffer"),
)
WINDOWS = (16_384, 65_536, 262_144, 1_000_000, 4_194_304, 16_777_216, 64_000_000)


def cases(folder: Path) -> list[Case]:
    """All of them; files that they need are made in the folder."""
    from tests.bench.probe_programs import more_cases

    file = folder / "data"
    with file.open("wb") as handle:
        handle.truncate(100 * MB)
    return [
        *(windowed(window, at) for at in ("sender", "receiver") for window in WINDOWS),
        windowed(1_000_000, "sender", down=True),
        windowed(1_000_000, "receiver", down=True),
        *(chatty(turns) for turns in (1, 5, 20, 50)),
        http_server(file),
        IPERF3,
        ENGINE,
        *more_cases(folder),
    ]


def main(names: Sequence[str]) -> int:
    """Run them."""
    failed = count = 0
    home = ROOT / "build" / "probe-cases"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    for case in cases(home):
        if names and not any(name in case.name for name in names):
            continue
        began = time.monotonic()
        with tempfile.TemporaryDirectory(dir=home) as scratch:
            found = case.run(Path(scratch))
        wrong = case.wrong(found)
        failed, count = failed + bool(wrong), count + 1
        print(f"{'WRONG' if wrong else 'ok':5}  {_line(case, found.direction(*case.way))}  "
              f"{time.monotonic() - began:5.1f} s", *wrong, sep="\n       ", flush=True)  # fmt: skip
    print(f"{count - failed} of {count} cases as they are known")
    return 1 if failed else 0


def _line(case: Case, answer: Answer) -> str:
    known = f"{case.window} B" if case.window is not None else f"{case.turns:g}" if case.turns is not None else "–"
    found = f"{answer.window_bytes:.0f} B" if answer.window_bytes else "–"
    found = f"{answer.round_trips:.2f}" if answer.round_trips is not None else found
    return f"{case.name:34} {answer.bound_by:15} known {known:>12}  found {found:>12}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
