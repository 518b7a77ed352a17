"""What a server gives up once it listens: root, the kernel's calls that it does not need, and the sight of its keys."""

import contextlib
import os
import pwd
import re
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import builds
from tests.support.engine.files_fixtures import write_file
from tests.support.engine.fixtures import Bench, Program, only_child, wait_until

NOBODY = pwd.getpwnam("nobody")


def status_of(pid: int) -> dict[str, list[str]]:
    """What the kernel says of the process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: words.split() for name, _, words in (line.partition(":") for line in lines)}


def served(bench: Bench, *options: str) -> Program:
    """A server that listens."""
    server = bench.start("receive", "--quiet", "--may-send", *options)
    server.wait_for("listening")
    return server


@contextlib.contextmanager
def session(bench: Bench, server: Program, *options: str) -> Iterator[int]:
    """The process of a session that goes on."""
    sender = bench.send("--quiet", "--time", "20", "--pacing", "10M", *options)
    try:
        wait_until(
            lambda: Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text() or None, 20
        )
        yield only_child(server)
    finally:
        sender.process.terminate()
        sender.wait()


@pytest.mark.skipif(builds.sanitized(), reason="sanitizers have calls of their own")
def test_server_and_sessions_are_confined(bench: Bench) -> None:
    server = served(bench)
    with session(bench, server) as child:
        for pid in (server.process.pid, child):
            status = status_of(pid)
            assert status["Seccomp"] == ["2"]
            assert status["NoNewPrivs"] == ["1"]


@pytest.fixture(name="key")
def key_fixture(bench: Bench) -> Path:
    """A key in a file."""
    key = bench.folder / "key"
    subprocess.run([str(bench.binary), "key", str(key)], check=True)
    return key


def places_of(pid: int, secret: bytes) -> list[str]:
    """The flags of each mapping of the process that has these bytes."""
    found = list[str]()
    maps = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", Path(f"/proc/{pid}/smaps").read_text(), flags=re.M)[1:]
    with Path(f"/proc/{pid}/mem").open("rb") as memory:
        for text in maps:
            begin, end = (int(word, 16) for word in text.split()[0].split("-"))
            flags = re.findall(r"VmFlags: (.*)", text)[0]
            if "[v" in text or not flags.startswith("rd"):
                continue
            memory.seek(begin)
            with contextlib.suppress(OSError):
                if secret in memory.read(end - begin):
                    found.append(flags)
    return found


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="nobody else may look")
@pytest.mark.skipif(builds.sanitized(), reason="sanitizers keep what was freed")
def test_keys_lie_in_locked_memory_once_and_in_no_core(bench: Bench, key: Path) -> None:
    """The pre-shared key in the server's own loop, and there alone: its session has wiped it."""
    server = served(bench, "--key", str(key))
    secret = bytes.fromhex(key.read_text())
    with session(bench, server, "--key", str(key)) as child:
        (flags,) = places_of(server.process.pid, secret)
        assert {"lo", "dd"} <= set(flags.split())  # locked, and in no core dump
        assert places_of(child, secret) == []
        assert places_of(server.process.pid, key.read_bytes().strip()) == []
        assert status_of(child)["VmLck"] != ["0", "kB"]  # the session's own keys
    assert resource.prlimit(server.process.pid, resource.RLIMIT_CORE) == (0, 0)


@pytest.mark.skipif(builds.sanitized(), reason="a sanitizer looks into its own process")
def test_no_other_program_of_the_user_sees_into_who_has_a_key(bench: Bench, key: Path) -> None:
    """What is not dumpable is root's in /proc (proc(5))."""
    open_server = served(bench)
    assert Path(f"/proc/{open_server.process.pid}/mem").stat().st_uid == os.geteuid()
    open_server.process.terminate()
    open_server.wait()
    server = served(bench, "--key", str(key))
    with session(bench, server, "--key", str(key)) as child:
        for pid in (server.process.pid, child):
            assert Path(f"/proc/{pid}/mem").stat().st_uid == 0


@pytest.fixture(name="folder")
def folder_fixture() -> Iterator[Path]:
    """One that the other user can reach: pytest's own are not for everybody."""
    path = Path(subprocess.run(["mktemp", "-d"], check=True, capture_output=True, text=True).stdout.strip())
    path.chmod(0o755)
    yield path
    subprocess.run(["rm", "-r", str(path)], check=True)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_root_is_given_up_once_the_port_is_open(bench: Bench, key: Path, folder: Path, tmp_path: Path) -> None:
    """--user: a port below 1024, a key that root alone reads; then there is no way back, and files are that user's."""
    taken = folder / "taken"
    taken.mkdir()
    os.chown(taken, NOBODY.pw_uid, NOBODY.pw_gid)
    write_file(tmp_path / "file", 3_000_000)
    bench.port = 823
    server = served(bench, "--user", "nobody", "--key", str(key), "--directory", str(taken))
    with session(bench, server, "--key", str(key)) as child:
        for pid in (server.process.pid, child):
            status = status_of(pid)
            assert status["Uid"] == [str(NOBODY.pw_uid)] * 4
            assert status["Gid"] == [str(NOBODY.pw_gid)] * 4
            assert set(status["Groups"]) <= {str(NOBODY.pw_gid)}
            assert status["CapEff"] == status["CapPrm"] == ["0" * 16]
    sender = bench.send("--quiet", "--key", str(key), "--files", str(tmp_path / "file"))
    assert sender.wait() == 0, sender.errors
    assert (taken / "file").stat().st_uid == NOBODY.pw_uid


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--user", "nobody-of-this-name"], "--user 'nobody-of-this-name': no such user"),
        (["--user", "root"], "--user 'root': that is root"),
    ],
)
def test_who_cannot_be_is_told(bench: Bench, options: list[str], said: str) -> None:
    server = bench.start("receive", *options)
    assert server.wait() == 2
    assert said in server.errors


@pytest.mark.skipif(os.geteuid() == 0, reason="root may")
def test_only_root_becomes_another(bench: Bench) -> None:
    server = bench.start("receive", "--user", "nobody")
    assert server.wait() == 2
    assert "--user 'nobody': only root may become another user" in server.errors


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_whoever_sends_for_others_must_read_the_key_again(bench: Bench, key: Path) -> None:
    server = bench.start("receive", "--user", "nobody", "--third-party", "--key", str(key))
    assert server.wait() == 1
    assert f"--third-party: key file '{key}': Permission denied" in server.errors
