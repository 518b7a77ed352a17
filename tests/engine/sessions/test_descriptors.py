"""Few descriptors: files wait for the disk with theirs closed soon, and the server lives."""

import contextlib
import os
import resource
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.engine.files_fixtures import describe, leftovers, slow_disk
from tests.support.engine.fixtures import Bench, Program, control_connection, wait_until

FILES = 5000
FEW = 64


def try_connect(port: int) -> bool | None:
    """True once somebody listens there."""
    with contextlib.suppress(OSError), control_connection(port):
        return True
    return None


def limited(bench: Bench, soft: int, hard: int, *words: str) -> Program:
    """A server with those limits of descriptors, that listens already."""
    engine = [str(bench.binary), "receive", "--port", str(bench.port), "--quiet", *words]
    program = Program(["prlimit", f"--nofile={soft}:{hard}", *engine], bench.folder, "limited")
    bench.programs.append(program)
    program.wait_for("listening")
    return program


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 100], ids=["empty", "small"])
def test_many_small_files_at_a_slow_disk_need_few_descriptors(
    bench: Bench, tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list or the streams wait for the disk: what is whole does not pile up with its descriptors."""
    source, target = tmp_path / "tree", tmp_path / "target"
    source.mkdir()
    target.mkdir()
    for number in range(FILES):
        (source / f"{number}").write_bytes(b"x" * size)
    with monkeypatch.context() as patch:
        slow_disk(tmp_path, patch, sync_ms=4)
        limited(bench, FEW, FEW, "--directory", str(target), "--anonymous")
    sender = bench.send("--quiet", "--streams", "4", "--files", str(source))
    assert sender.wait(120) == 0, sender.errors
    files = bench.result()["files"]["receiver"]
    assert (files["files_done"], files["failed"], files["unfinished"]) == (FILES, 0, 0)
    assert describe(target / "tree") == describe(source)
    assert leftovers(target) == []


def start_closed(bench: Bench, closed: tuple[int, ...], *words: str) -> subprocess.Popen[bytes]:
    """The engine with these of its standard descriptors closed, as some supervisors start programs."""
    script = "".join(f"exec {descriptor}>&-; " for descriptor in closed) + 'exec "$@"'
    return subprocess.Popen(["sh", "-c", script, "sh", str(bench.binary), *words])


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)], ids=str)
def test_closed_standard_descriptors_become_no_socket(bench: Bench, closed: tuple[int, ...]) -> None:
    """Else lines for people would go to whoever has that number."""
    address = ["--bind", "127.0.0.1", "--port", str(bench.port)]
    with start_closed(bench, closed, "receive", *address) as server:
        try:
            wait_until(lambda: try_connect(bench.port), 20, server)
            places = {n: str(Path(f"/proc/{server.pid}/fd/{n}").readlink()) for n in (0, 1, 2)}
            assert {n: places[n] for n in closed} == dict.fromkeys(closed, "/dev/null")
            words = ["send", "127.0.0.1", "--port", str(bench.port), "--bytes", "50M", "--receive", "verify"]
            with start_closed(bench, closed, *words) as sender:
                assert sender.wait(20) == 0
            assert server.poll() is None
        finally:
            server.kill()


def processor_s(program: Program) -> float:
    """Time that it has used."""
    words = Path(f"/proc/{program.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def test_a_server_without_descriptors_rests_and_goes_on_when_there_are_some(bench: Bench) -> None:
    """Who waits to be taken does not wake it without end."""
    server = bench.start("receive", "--quiet")
    server.wait_for("listening")
    soft, hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    held = len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (held + 3, hard))
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(control_connection(bench.port))
        sender = bench.send("--quiet", "--bytes", "1M")
        server.wait_for("no connection can be taken: Too many open files")
        before = processor_s(server)
        time.sleep(2)  # what it uses in that time is the figure
        assert processor_s(server) - before <= 0.1
        assert server.process.poll() is None
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (soft, hard))
        assert sender.wait() == 0, sender.errors
    assert server.errors.count("no connection can be taken") == 1


@pytest.mark.parametrize("limit", [64, 128, 256])
def test_strangers_do_not_end_a_server_with_few_descriptors(bench: Bench, limit: int) -> None:
    server = limited(bench, limit, limit)
    with contextlib.ExitStack() as stack:
        for number in range(limit):
            stack.enter_context(control_connection(bench.port, f"127.0.0.{2 + number % 20}"))
        sender = bench.send("--quiet", "--bytes", "1M")
        assert sender.wait() == 0, sender.errors
        assert server.process.poll() is None


@pytest.mark.parametrize(("limit", "most"), [(64, 10), (100, 22), (1000, 128)])
def test_a_session_has_no_more_streams_than_descriptors(bench: Bench, limit: int, most: int) -> None:
    """More are refused before any comes, with the number; so many all come, in any direction."""
    limited(bench, limit, limit, "--may-send", "--per-address", "1000")
    for words in (["--streams", str(most)], ["--reverse", "--send", "splice", "--streams", str(most)]):
        sender = bench.send("--quiet", "--bytes", "10M", *words)
        assert sender.wait() == 0, sender.errors
    if most < 128:
        sender = bench.send("--quiet", "--bytes", "10M", "--streams", str(most + 1))
        assert sender.wait() == 1
        assert f"this receiver allows {most} streams, not {most + 1}" in sender.errors
