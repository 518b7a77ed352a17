"""Where an ordinary user's limits end: memory that cannot be pinned, pipes that cannot be large. All goes on."""

import fcntl
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.engine.fixtures import Bench

F_SETPIPE_SZ, F_GETPIPE_SZ = 1031, 1032


def pinning_at_most(limit: int) -> list[str]:
    """Before a command: what it may pin, without the capability to pin more."""
    drop = ["setpriv", "--bounding-set", "-ipc_lock"] if os.geteuid() == 0 else []
    return ["prlimit", f"--memlock={limit}", *drop]


def send(bench: Bench, under: list[str], *options: str, status: int = 0) -> dict:
    """A sender under these limits; its result."""
    words = [str(bench.binary), "send", "127.0.0.1", "--port", str(bench.port), "--json", "-", "--quiet"]
    run = subprocess.run([*under, *words, *options], capture_output=True, check=False, timeout=60, cwd="/")
    assert run.returncode == status, run.stderr
    return json.loads(run.stdout)


@pytest.mark.alone  # the kernel counts what one user has pinned in all programs together
@pytest.mark.parametrize("streams", [1, 4])
@pytest.mark.parametrize(
    ("way", "limit"),
    [("zerocopy", 0), ("zerocopy", 64 << 10), ("zerocopy", 1 << 20), ("io_uring", 64 << 10), ("io_uring", 1 << 20)],
)
def test_memory_that_may_not_be_pinned_is_copied(bench: Bench, way: str, limit: int, streams: int) -> None:
    bench.receive()
    total = 40_000_000
    options = ["--send", way, "--receive", "verify", "--streams", str(streams), "--bytes", str(total)]
    result = send(bench, pinning_at_most(limit), *options)
    assert result["complete"] is True
    assert result["bytes"] == total
    assert result["verification"]["faults"] == 0
    assert result["sending"]["way"] == way
    calls = result["sending"]["zerocopy"]
    if limit < 1 << 20:  # less than one call needs; 1 MiB is enough where the receiver keeps pace
        assert calls["refused"] > 0
    if limit == 0:
        assert calls["calls"] == 0
    said = f"{calls['refused']} calls copied: the kernel would hold no more of this user's memory"
    assert (said in (result["sending"]["reason"] or "")) == (calls["refused"] > 0)


def test_a_ring_that_cannot_be_made_is_told(bench: Bench) -> None:
    bench.receive()
    options = ["--send", "io_uring", "--receive", "verify", "--bytes", "40M"]
    told = send(bench, pinning_at_most(0), *options, status=1)
    assert told["error"] == "--send io_uring: this user may not lock enough memory for a ring (ulimit -l)"


@pytest.mark.alone  # an ordinary user's programs share what one may pin
def test_nothing_is_said_where_memory_may_be_pinned(bench: Bench) -> None:
    bench.receive()
    result = send(bench, [], "--send", "zerocopy", "--receive", "verify", "--bytes", "2000000")
    assert result["sending"]["zerocopy"]["refused"] == 0
    assert result["sending"]["reason"] == "asked for"


# An ordinary user's command.
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if os.geteuid() == 0 else []

HOLD = """
import fcntl, os, sys
held = []
while True:
    ends = os.pipe()
    held.append(ends)
    if fcntl.fcntl(ends[1], 1032) < 65536:
        break
    try:
        fcntl.fcntl(ends[1], 1031, 1 << 20)
    except PermissionError:
        pass
print(len(held), flush=True)
sys.stdin.read()
"""


@pytest.fixture(name="no_pipes")
def no_pipes_fixture() -> Iterator[None]:
    """The user has as many pages in pipes as it may have."""
    words = [*NOBODY, "/usr/bin/python3", "-S", "-c", HOLD]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/") as holder:
        assert holder.stdout is not None
        assert int(holder.stdout.readline()) > 1
        yield
        assert holder.stdin is not None
        holder.stdin.close()
        holder.wait(20)


@pytest.mark.alone  # the kernel counts the pages that one user's pipes have in all programs together
@pytest.mark.usefixtures("no_pipes")
def test_a_stream_without_a_large_pipe_goes_without(bench: Bench) -> None:
    if not os.access("/proc/sys/fs/pipe-user-pages-soft", os.R_OK) or not reachable(bench.binary):
        pytest.skip("no limit here, or the binary is not for everybody")
    bench.receive()
    result = send(bench, NOBODY, "--send", "splice", "--streams", "4", "--bytes", "400M", "--receive", "memory")
    assert result["complete"] is True
    assert result["bytes"] == 400_000_000
    assert "4 of 4 streams went without: this user's pipes have too many pages" in result["sending"]["reason"]


@pytest.mark.alone  # as above
def test_64_pipes_and_no_more(bench: Bench) -> None:
    """What an ordinary user has: 128 streams ask, and those that get none send all the same."""
    if not reachable(bench.binary):
        pytest.skip("the binary is not for everybody")
    bench.receive()
    result = send(bench, NOBODY, "--send", "splice", "--streams", "128", "--bytes", "256M")
    assert result["complete"] is True
    assert result["bytes"] == 256_000_000


def test_pipes_are_large_where_they_may_be(bench: Bench) -> None:
    bench.receive()
    result = send(bench, [], "--send", "splice", "--streams", "2", "--bytes", "20M")
    assert result["sending"]["reason"] == "asked for"


def reachable(binary: Path) -> bool:
    """Can everybody run it?"""
    return os.geteuid() != 0 or all(path.stat().st_mode & 1 for path in (binary.resolve(), *binary.resolve().parents))


def test_the_limit_is_as_the_kernel_has_it() -> None:
    """What the tests above rest on: an ordinary user's pipes shrink beyond the soft limit."""
    ends = os.pipe()
    assert fcntl.fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) == 1 << 20
    assert fcntl.fcntl(ends[1], F_GETPIPE_SZ) == 1 << 20
    for end in ends:
        os.close(end)
