"""The engine's two state machines, of all kinds of sessions; chance drops, delays and cuts messages and bytes.

Whatever happens, no session outlives what the server allows, no byte counts twice, what has a file's name is that
file, what ends well is right, and the server goes on. In CI a batch of sessions for each kind of trust;
`make fuzz-engine` goes on for ten minutes.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support import builds
from tests.support.engine.files_fixtures import BLOCK, JOURNAL, PARTIAL, describe, write_file
from tests.support.engine.fixtures import Bench, Program, children, wait_until
from tests.support.engine.states import Wire
from tests.support.stalls import Beside
from tests.support.stopwatch import contention, one_of_few, undisturbed

GOES_ON_S = float(os.environ.get("LANDSPEED_STATES", "0"))
BATCH = 40  # sessions at once; a server has at most 64
ALLOWED_S, IDLE_S, STALL_S, GRACE_S = 1.5, 1, 1, 5
LIMIT_S = IDLE_S + ALLOWED_S + GRACE_S + 1.5 * STALL_S  # ADMISSION_GRACE_NS
FAREWELL_S = 10  # DELIVERY_NS: a process stays so long for a client that has its result and does not go
LATE_S = 2  # of a busy machine, times what it takes longer at present
LEAVES_S = 5  # after the second signal
# What the server's limits may end without the engine's fault, where the machine stood still for much of them.
LATE_WORDS = ("did not begin", "allows are over", f"{ALLOWED_S:.3f} s that it may have")
SIZE = 300_000
KINDS: dict[str, list[str]] = {
    "memory": ["send", "--streams", "2", "--bytes", str(SIZE), "--time", "1"],
    "verify": ["send", "--receive", "verify", "--bytes", str(SIZE), "--time", "1"],
    "time": ["send", "--time", "0.3", "--pacing", "100M"],
    "reverse": ["send", "--reverse", "--bytes", str(SIZE), "--time", "1"],
    "both": ["send", "--bidir", "--bytes", str(SIZE), "--time", "1"],
    "files": ["send", "--streams", "2", "--files"],
    "get": ["get", "--streams", "2", "--directory"],
    "rr": ["rr", "--time", "0.3", "--streams", "2"],
    "rr-connect": ["rr", "--time", "0.3", "--connect"],
    "udp": ["udp", "--time", "0.3", "--rate", "1M"],
}


@dataclass
class Session:
    """One client, its wire to the server, and what it was to do."""

    kind: str
    seed: int
    wire: Wire
    program: Program
    words: list[str]
    source: Path
    target: Path

    @property
    def story(self) -> str:
        """What happened, for the message of a failed assertion."""
        done = "\n".join(self.wire.faults.done)
        return f"seed {self.seed}: {' '.join(self.words)}\n{done}\nit said: {self.program.errors}"

    def result(self) -> dict[str, Any]:
        """Its JSON."""
        return json.loads(self.program.output)


class Bed:
    """A server, and sessions with it."""

    def __init__(self, bench: Bench, folder: Path, keyed: bool) -> None:
        self.bench, self.folder, self.told = bench, folder, 0
        self.taken, self.handed, self.source = folder / "taken", folder / "handed", folder / "source"
        for each in (self.taken, self.handed, self.source):
            each.mkdir()
        for root in (self.source, self.handed / "tree"):
            root.mkdir(exist_ok=True)
            write_file(root / "two", BLOCK + 1000)
            write_file(root / "small", 500)
        self.key = ["--key", str(folder / "key")] if keyed else []
        if keyed:
            subprocess.run([str(bench.binary), "key", str(folder / "key")], check=True)
        limits = ["--max-time", f"{ALLOWED_S}s", "--idle-timeout", f"{IDLE_S}s", "--stall", f"{STALL_S}s"]
        limits += ["--clients", "64", "--per-address", "1000", "--may-send"]
        files = ["--directory", str(self.taken), "--serve-directory", str(self.handed)]
        trust = self.key or ["--anonymous"]
        self.server = bench.start("receive", "--quiet", "--log", "json", *limits, *files, *trust)
        self.server.wait_for("listening")

    def words(self, kind: str, port: int, source: Path, target: Path) -> list[str]:
        """The command, to that port."""
        command, *options = KINDS[kind]
        more = {"files": [str(source)], "get": [str(target), "tree"]}.get(kind, [])
        waits = ["--connect-timeout", "2s", "--answer-timeout", "2s", "--stall", "1s"]
        quiet = [] if command in ("rr", "udp") else ["--quiet"]
        head = [str(self.bench.binary), command, "127.0.0.1", "--port", str(port), "--json", "-"]
        return [*head, *quiet, *waits, *self.key, *options, *more]

    def begin(self, kind: str, seed: int) -> Session:
        """A session of its own source and target."""
        wire = Wire(self.bench.port, seed)
        source, target = self.folder / f"source-{seed}", self.folder / f"got-{seed}"
        source.symlink_to(self.source)
        target.mkdir()
        words = self.words(kind, wire.port, source, target)
        program = Program(words, self.folder, f"client-{seed}")
        self.bench.programs.append(program)
        target = self.taken / source.name if kind == "files" else target / "tree"
        return Session(kind, seed, wire, program, words, self.source, target)

    def finish(self, sessions: list[Session]) -> None:
        """They end by themselves, or after signals; the second one is at once."""
        for patience_s in (2, LEAVES_S):
            alive = [session for session in sessions if session.program.process.poll() is None]
            for session in alive:
                session.program.process.send_signal(signal.SIGINT)
            end = time.monotonic() + patience_s * builds.patience()
            for session in alive:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    session.program.process.wait(max(end - time.monotonic(), 0.01))
        for session in sessions:
            assert session.program.process.poll() in (0, 1), session.story
            assert session.program.wait() in (0, 1)
            session.wire.close()

    def repeat(self, session: Session) -> None:
        """The same command once more, straight to the server; again where the machine gave it no turn."""
        words = self.words(session.kind, self.bench.port, self.folder / f"source-{session.seed}", session.target.parent)

        def attempt(_: int) -> None:
            with Beside() as machine:
                run = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60 * builds.patience())
            excuse(machine, run.stderr)
            assert run.returncode == 0, session.story + run.stderr

        one_of_few(attempt)
        assert _contents(session.target) == _contents(session.source), session.story

    def send(self, _number: int) -> None:
        """An undisturbed transfer."""
        with Beside() as machine:
            sender = self.bench.send("--quiet", "--bytes", "1M", "--time", "1", *self.key)
            status = sender.wait()
        excuse(machine, sender.errors)
        assert status == 0, sender.errors + self.server.errors[-3000:]

    def descriptors(self) -> int:
        """How many the server has open."""
        return len(list(Path(f"/proc/{self.server.process.pid}/fd").iterdir()))

    def still_there(self, sessions: list[Session]) -> str:
        """The sessions whose processes should have gone, what their threads wait in, and what was to happen."""
        ends = self.ends()
        open_ = [each.story for each in sessions if len(ends.get(each.wire.source, [])) == 1]
        threads = [
            f"{task.parent.parent.name}/{task.name}: {(task / 'syscall').read_text().split()[0]}"
            for child in children(self.server)
            for task in Path(f"/proc/{child}/task").iterdir()
        ]
        return "\n".join([*open_, *threads, self.server.errors[-2000:]])

    def ends(self) -> dict[str, list[dict[str, Any]]]:
        """What the log has of each session of the batch, by the client's address, which is its own."""
        found: dict[str, list[dict[str, Any]]] = {}
        for line in self.server.errors[self.told :].splitlines():
            event = json.loads(line)
            if event["event"] in ("session", "end"):
                host = event["peer"].rpartition(":")[0].strip("[]")
                found.setdefault(host.removeprefix("::ffff:"), []).append(event)
        return found


def excuse(machine: Beside, errors: str) -> None:
    """Another try for what the server's limits ended while the machine stood still; without that it is a defect."""
    stood = machine.longest_s > STALL_S / 4 or machine.share > 0.5
    said = f"{errors}the machine stood still for {machine.share:.0%} of the time, {machine.longest_s:.2f} s at once"
    undisturbed(not (stood and any(word in errors for word in LATE_WORDS)), said)


def _contents(root: Path) -> dict[str, tuple[object, ...]]:
    return {name: what[3:] for name, what in describe(root).items() if what[0] == "file"}


def check_session(session: Session, events: list[dict[str, Any]], late_s: float) -> None:
    """What holds for each: its time, its bytes, its files."""
    result = session.result()
    # The server's own word of a session may be later than that session's of its end.
    events = sorted(events, key=lambda event: event["event"], reverse=True)
    kinds = [event["event"] for event in events]
    assert kinds in ([], ["session"], ["session", "end"]), session.story
    if kinds == ["session", "end"]:
        begun, ended = (datetime.fromisoformat(event["time"]).timestamp() for event in events)
        assert ended - begun <= LIMIT_S + late_s * builds.patience(), session.story
    if result["complete"] and session.kind in ("memory", "verify", "reverse", "both"):
        told = result["bytes"]
        assert told == SIZE or (told < SIZE and result["duration_s"] >= 0.99), session.story
        assert sum(stream["bytes"] for stream in result["streams"]) == told, session.story
    if result["complete"] and session.kind in ("memory", "verify", "time"):
        # A message that came twice, or too much of them, is the one end's failure alone.
        assert kinds == ["session", "end"], session.story
        assert events[1]["bytes"] == result["bytes"], session.story
    if result["complete"] and session.kind == "verify":
        assert result["verification"]["faults"] == 0, session.story
    if session.kind not in ("files", "get"):
        return
    for path in session.target.rglob("*"):
        if not path.name.endswith((PARTIAL, JOURNAL)):
            assert path.read_bytes() == (session.source / path.relative_to(session.target)).read_bytes(), session.story
    if result["complete"]:
        assert _contents(session.target) == _contents(session.source), session.story


def batch(bed: Bed, seeds: range) -> list[Session]:
    """So many sessions at once; then what holds for all of them."""
    kinds, slower = list(KINDS), contention()
    bed.told = len(bed.server.errors)
    sessions = [bed.begin(kinds[seed % len(kinds)], seed) for seed in seeds]
    begun = time.monotonic()
    end = begun + (LIMIT_S + LATE_S + 2 * IDLE_S) * builds.patience()
    while time.monotonic() < end and any(session.program.process.poll() is None for session in sessions):
        time.sleep(0.05)
    # Also where the client, or the wire, goes on.
    left_s = begun + LIMIT_S + FAREWELL_S + 2 * IDLE_S + LATE_S - time.monotonic()
    try:
        wait_until(lambda: None if children(bed.server) else True, left_s, bed.server.process)
    except AssertionError as error:
        raise AssertionError(bed.still_there(sessions)) from error
    bed.finish(sessions)
    ends, late_s = bed.ends(), LATE_S * max(slower, contention())
    for session in sessions:
        check_session(session, ends.get(session.wire.source, []), late_s)
        if session.kind in ("files", "get"):
            bed.repeat(session)
    return sessions


@pytest.fixture(name="memory")
def memory_fixture() -> Iterator[Path]:
    """A folder on no disk, which others may keep busy for longer than the server allows."""
    with tempfile.TemporaryDirectory(prefix="landspeed-", dir="/dev/shm") as name:
        yield Path(name)


@pytest.mark.slow
@pytest.mark.parametrize("keyed", [False, True], ids=["open", "keyed"])
def test_no_sequence_of_faults_confuses_either_end(bench: Bench, memory: Path, keyed: bool) -> None:
    """Batch after batch; between them an undisturbed transfer, and nothing is left of the others."""
    bed = Bed(bench, memory, keyed)
    begun, seed = time.monotonic(), 0
    first = random.SystemRandom().randrange(1 << 30) * BATCH if GOES_ON_S else 0
    readable = not keyed or os.geteuid() == 0  # who has a key shows nothing
    held = bed.descriptors() if readable else 0
    harmed = 0
    while seed == 0 or time.monotonic() - begun < GOES_ON_S:
        sessions = batch(bed, range(first + seed, first + seed + BATCH))
        harmed += sum(bool(session.wire.faults.done) for session in sessions)
        seed += BATCH
        bench.programs[1:] = []
        one_of_few(bed.send)
        wait_until(lambda: None if children(bed.server) else True, 10, bed.server.process)
        # A connection that has said nothing yet is closed with its idle timeout.
        wait_until(lambda: True if not readable or bed.descriptors() == held else None, 2 * IDLE_S, bed.server.process)
    assert harmed > seed / 4
