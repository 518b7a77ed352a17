"""A walk through many files can be ended, costs what there is once, and keeps nobody from his answer."""

import signal
import time
from pathlib import Path

import pytest

from tests.support.engine.fake_server import frame, take
from tests.support.engine.files_fixtures import slow_disk
from tests.support.engine.fixtures import Bench, Program, children, control_connection, wait_until

FILES = 3000
LONG_S = FILES * 0.01  # of the walk at 10 ms a name: none below waits for its end
GREETING = {"type": "greeting", "nonce": "00" * 32, "key": False}
REQUEST = {"type": "request", "kind": "files", "direction": "reverse", "streams": 1, "window_bytes": 0, "bytes": 0}
REQUEST |= {"duration_ns": 0, "receive": "discard"}


@pytest.fixture(name="tree")
def tree_fixture(tmp_path: Path) -> Path:
    """Many names that are looked at one after the other."""
    (tmp_path / "served" / "many").mkdir(parents=True)
    for number in range(FILES):
        (tmp_path / "served" / "many" / f"{number}").touch()
    return tmp_path / "served"


def serve(bench: Bench, tree: Path, monkeypatch: pytest.MonkeyPatch, *options: str, walk_ms: int = 10) -> Program:
    """A server whose disk takes that long for each name."""
    with monkeypatch.context() as patch:
        slow_disk(bench.folder, patch, walk_ms=walk_ms)
        server = bench.start("receive", "--serve-directory", str(tree), "--anonymous", "--quiet", *options)
        server.wait_for("listening")
    return server


def walking(server: Program) -> None:
    """Until it has a session, which walks."""
    wait_until(lambda: children(server) or None, 20, server.process)


def gone(server: Program) -> None:
    """Until it has none; long before the walk would be over."""
    begun = time.monotonic()
    wait_until(lambda: None if children(server) else True, 20, server.process)
    assert time.monotonic() - begun < LONG_S / 4


@pytest.mark.parametrize(
    "paths", [["many", "many"], ["."] * 1000, ["many/", "./many/."], ["many", "many//", ".//many"]], ids=len
)
def test_no_path_is_walked_twice(bench: Bench, tree: Path, paths: list[str]) -> None:
    bench.receive("--serve-directory", str(tree), "--anonymous")
    with control_connection(bench.port) as control:
        control.sendall(frame(GREETING) + frame(REQUEST | {"paths": paths}))
        assert "is asked for twice" in take(control)["text"]


@pytest.mark.slow
def test_a_client_that_goes_ends_its_walk(bench: Bench, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(bench, tree, monkeypatch)
    with control_connection(bench.port) as control:
        control.sendall(frame(GREETING) + frame(REQUEST | {"paths": ["many"]}))
        walking(server)
    gone(server)


@pytest.mark.slow
def test_a_signal_ends_a_servers_walk(bench: Bench, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(bench, tree, monkeypatch)
    client = bench.start("get", "many", host="127.0.0.1")
    walking(server)
    begun = time.monotonic()
    server.process.terminate()
    server.wait(20)
    assert client.wait() == 1
    assert time.monotonic() - begun < LONG_S / 4
    assert "interrupted by SIGTERM" in client.errors


@pytest.mark.slow
def test_the_time_that_a_server_allows_ends_a_walk(bench: Bench, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(bench, tree, monkeypatch, "--max-time", "100ms")
    begun = time.monotonic()
    client = bench.start("get", "many", host="127.0.0.1")
    assert client.wait() == 1
    assert "within the 0.100 s that it may have" in client.errors
    assert 5 < time.monotonic() - begun < 8  # ADMISSION_GRACE_NS


@pytest.mark.slow
def test_a_walk_may_take_longer_than_an_answer(bench: Bench, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client hears within a second that it takes long, and waits on."""
    serve(bench, tree, monkeypatch, walk_ms=1)
    client = bench.start(
        "get", "--answer-timeout", "2s", "--directory", str(bench.folder / "here"), "many", host="127.0.0.1"
    )
    (bench.folder / "here").mkdir()
    assert client.wait() == 0, client.errors
    assert "the server looks through its files" in client.errors
    assert len(list((bench.folder / "here" / "many").iterdir())) == FILES


@pytest.mark.slow
def test_a_signal_ends_a_senders_walk(bench: Bench, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        slow_disk(bench.folder, patch, walk_ms=10)
        sender = bench.send("--files", str(tree))
    wait_until(lambda: signals_come_as_events(sender.process.pid), 20, sender.process)
    begun = time.monotonic()
    sender.process.send_signal(signal.SIGINT)
    assert sender.wait() == 1
    assert time.monotonic() - begun < LONG_S / 4
    assert bench.result()["signal"] == "SIGINT"


def signals_come_as_events(pid: int) -> bool | None:
    """True once it has blocked SIGINT, to hear of it where it waits."""
    status = Path(f"/proc/{pid}/status").read_text()
    blocked = int(status.partition("SigBlk:")[2].split()[0], 16)
    return bool(blocked & 1 << signal.SIGINT - 1) or None
