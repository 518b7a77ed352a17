"""Files that a client has sent to it (`get`, `receive --serve-directory`): no path leads out, at either end."""

import json
import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.engine.auth import make_key
from tests.support.engine.fake_server import asked, frame, take
from tests.support.engine.files_fixtures import BLOCK, JOURNAL, describe, leftovers, make_tree, write_file
from tests.support.engine.fixtures import Bench, Program, children, only_child, wait_until
from tests.support.engine.hostile import DATA, DIRECTORY, LINK, LIST, LIST_END, entry, record
from tests.support.engine.result import EngineResult, read_result
from tests.support.programs.fake_sender import liar


@pytest.fixture(name="served")
def served_fixture(bench: Bench, tmp_path: Path) -> Iterator[Path]:
    """The directory that a server hands files out of, with something beside it that nobody must get."""
    (tmp_path / "served").mkdir()
    (tmp_path / "here").mkdir()
    (tmp_path / "secret").write_text("secret")
    receiver = bench.receive("--serve-directory", str(tmp_path / "served"), "--anonymous")
    yield tmp_path / "served"
    assert receiver.process.poll() is None, receiver.errors  # it serves on


def get(bench: Bench, *words: str, status: int = 0) -> EngineResult:
    """One run with that exit status, and its result."""
    files = ["--json", str(bench.folder / "get.json"), "--samples", str(bench.folder / "get.csv")]
    program = bench.start("get", *files, "--directory", str(bench.folder / "here"), *words, host="127.0.0.1")
    assert program.wait() == status, program.errors
    return read_result(bench.folder / "get.json")


def outcomes(result: EngineResult) -> dict[str, str]:
    """What became of each path."""
    assert result.files is not None
    return {item["path"]: item["outcome"] for item in result.files["outcomes"]}


@pytest.mark.parametrize("streams", [1, 4])
def test_a_tree_comes_as_it_is(bench: Bench, served: Path, streams: int) -> None:
    make_tree(served / "tree")
    result = get(bench, "--streams", str(streams), "tree")
    assert describe(bench.folder / "here" / "tree") == describe(served / "tree")
    assert (result.direction, result.receive_mode, result.complete) == ("reverse", "file", True)
    assert set(outcomes(result).values()) == {"done"}
    assert leftovers(bench.folder / "here") == []
    # Once more: all is there.
    again = get(bench, "--streams", str(streams), "tree")
    assert again.files is not None
    assert again.files["blocks_sent"] == 0
    assert describe(bench.folder / "here" / "tree") == describe(served / "tree")


@pytest.mark.slow
def test_what_a_path_stands_for(bench: Bench, served: Path) -> None:
    (served / "a" / "b").mkdir(parents=True)
    write_file(served / "a" / "b" / "one", 10)
    write_file(served / "two", 10)
    get(bench, "a/b/one")
    assert sorted(path.name for path in (bench.folder / "here").iterdir()) == ["one"]
    get(bench, "a/", "two")
    assert sorted(path.name for path in (bench.folder / "here").iterdir()) == ["b", "one", "two"]
    get(bench, ".")
    assert sorted(path.name for path in (bench.folder / "here").iterdir()) == ["a", "b", "one", "two"]


@pytest.mark.slow
@pytest.mark.parametrize("path", ["./a/b/one", "a//b/one", "a/./b/./one", "././/a/b/one"])
@pytest.mark.parametrize("ending", ["", "/", "/."])
def test_names_that_change_nothing_may_stand_in_a_path(bench: Bench, served: Path, path: str, ending: str) -> None:
    """ "./a" is "a"; what ends in "/" or "." is a directory's contents, which a file has not."""
    (served / "a" / "b" / "one").mkdir(parents=True)
    write_file(served / "a" / "b" / "one" / "file", 10)
    get(bench, path + ending)
    assert [entry.name for entry in (bench.folder / "here").iterdir()] == ["file" if ending else "one"]


@pytest.mark.slow
@pytest.mark.parametrize("protect", ["none", "mac", "aead", None])
def test_with_a_key_it_is_encrypted_unless_said_otherwise(bench: Bench, tmp_path: Path, protect: str | None) -> None:
    (tmp_path / "served").mkdir()
    (tmp_path / "here").mkdir()
    write_file(tmp_path / "served" / "file", 3 * BLOCK + 5)
    key = str(make_key(bench))
    bench.receive("--serve-directory", str(tmp_path / "served"), "--key", key)
    result = get(bench, "--key", key, *(["--protect", protect] if protect else []), "file")
    assert result.protect == (protect or "aead")  # type: ignore[attr-defined]
    assert (tmp_path / "here" / "file").read_bytes() == (tmp_path / "served" / "file").read_bytes()
    get(bench, "file", status=1)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("nosuch", "cannot send 'nosuch': No such file or directory"),
        ("../secret", "cannot send '../secret': has '.' or '..' in it"),
        ("a/../../secret", "has '.' or '..' in it"),
        ("/etc/passwd", "cannot send '/etc/passwd': is absolute"),
        ("out/secret", "cannot send 'out/secret': a link is on the way there, and none is followed"),
        ("out/", "cannot send 'out': a link is on the way there, and none is followed"),
        ("file-out", "cannot send 'file-out': neither a file nor a directory"),
        ("pipe", "cannot send 'pipe': neither a file nor a directory"),
        ("x" * 300, "above 255 bytes"),
    ],
)
def test_what_is_not_there_or_not_inside(bench: Bench, served: Path, path: str, said: str) -> None:
    (served / "a").mkdir()
    (served / "out").symlink_to("..")
    (served / "file-out").symlink_to("../secret")
    os.mkfifo(served / "pipe")
    result = get(bench, path, status=1)
    assert said in (result.error or "")
    assert list((bench.folder / "here").iterdir()) == []


def test_links_below_are_sent_as_links_and_lead_nowhere_else(bench: Bench, served: Path) -> None:
    (served / "a").mkdir()
    (served / "a" / "out").symlink_to("../../secret")
    (served / "a" / "in").symlink_to("file")
    write_file(served / "a" / "file", 10)
    result = get(bench, "a", status=1)
    assert outcomes(result) == {"a": "done", "a/file": "done", "a/in": "done", "a/out": "failed"}
    assert str((bench.folder / "here" / "a" / "in").readlink()) == "file"
    assert not (bench.folder / "here" / "a" / "out").is_symlink()


def test_a_file_that_cannot_be_read(bench: Bench, served: Path) -> None:
    """It fails by its name, and the others come."""
    (served / "d").mkdir()
    write_file(served / "d" / "good", 10)
    write_file(served / "d" / "bad", 10)
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    (served / "d" / "bad").chmod(0)
    result = get(bench, "d", status=1)
    assert outcomes(result) == {"d": "done", "d/good": "done", "d/bad": "failed"}


@pytest.mark.slow
def test_a_file_that_vanishes_after_it_was_listed(bench: Bench, served: Path) -> None:
    """Most of the list is large; the last one goes while the first ones come."""
    (served / "d").mkdir()
    for number in range(4):
        write_file(served / "d" / f"large-{number}", 4 * BLOCK)
    write_file(served / "d" / "z-last", 4 * BLOCK)
    words = ["--directory", str(bench.folder / "here"), "--pacing", "50M", "--json", str(bench.folder / "get.json")]
    program = bench.start("get", *words, "d", host="127.0.0.1")
    wait_until(lambda: list((bench.folder / "here").glob("d/.large-0*")) or None, 20, program.process)
    (served / "d" / "z-last").unlink()
    assert program.wait() == 1
    result = read_result(bench.folder / "get.json")
    assert outcomes(result)["d/z-last"] == "failed"
    assert outcomes(result)["d/large-3"] == "done"


def test_a_server_says_what_it_hands_out(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    bench.receive("--directory", str(tmp_path / "here"), "--anonymous", "--may-send")
    result = get(bench, "file", status=1)
    assert result.error == ("the peer refused: this server hands out no files: start it with --serve-directory DIR")


def test_a_server_that_hands_out_takes_nothing(bench: Bench, served: Path) -> None:
    sender = bench.send("--files", str(served))
    assert sender.wait() == 1
    assert "this receiver takes no files" in sender.errors


@pytest.mark.slow
@pytest.mark.parametrize("who", ["server", "client"])
def test_an_interrupted_one_is_resumed(bench: Bench, served: Path, who: str) -> None:
    write_file(served / "file", 32 * BLOCK)
    words = ["--directory", str(bench.folder / "here"), "--pacing", "100M", "--json", str(bench.folder / "get.json")]
    program = bench.start("get", *words, "file", host="127.0.0.1")
    journal = bench.folder / "here" / f".file{JOURNAL}"
    wait_until(lambda: (journal.exists() and journal.stat().st_size > 200) or None, 20, program.process)
    if who == "client":
        program.process.kill()
        program.process.wait()
        server = bench.programs[0]
        wait_until(lambda: None if children(server) else True, 20, server.process)  # until it has noticed
    else:
        os.kill(only_child(bench.programs[0]), signal.SIGKILL)
        assert program.wait() == 1
        assert read_result(bench.folder / "get.json").complete is False
    result = get(bench, "file")
    assert (bench.folder / "here" / "file").read_bytes() == (served / "file").read_bytes()
    assert result.files is not None
    assert result.files["receiver"]["blocks_resumed"] > 0
    assert result.files["blocks_sent"] < 32


def test_more_than_the_client_wants(bench: Bench, served: Path) -> None:
    write_file(served / "file", 2000)
    result = get(bench, "--max-bytes", "1k", "file", status=1)
    assert "'file' is beyond the 1000 bytes" in (result.error or "")
    (served / "many").mkdir()
    for number in range(5):
        (served / "many" / f"{number}").touch()
    result = get(bench, "--max-files", "5", "many", status=1)
    assert "'many/4' is beyond the 5 files" in (result.error or "")
    get(bench, "--max-files", "6", "many")


@pytest.mark.parametrize(
    ("wanted", "entries", "said"),
    [
        (["file"], [entry(b"other", 5)], "the server sends 'other', which was not asked for"),
        (["d/file"], [entry(b"d", kind=DIRECTORY)], "the server sends 'd', which was not asked for"),
        (["file"], [entry(b"file", 5), entry(b".bashrc", 5)], "the server sends '.bashrc', which was not asked for"),
        (["d"], [entry(b"d/../../secret", 5)], "'.' or '..'"),
        (["."], [entry(b"../secret", 5)], "'.' or '..'"),
        (["."], [entry(b"/tmp/landspeed-hostile", 5)], "is absolute"),
    ],
)
def test_a_server_that_sends_something_else(bench: Bench, wanted: list[str], entries: list[bytes], said: str) -> None:
    (bench.folder / "here").mkdir()

    def act(control: socket.socket, data: socket.socket) -> None:
        data.sendall(record(LIST, 0, b"".join(entries)) + record(LIST_END, len(entries)))
        while take(control)["type"] != "result":
            pass
        control.sendall(frame({"type": "account", "account": {"complete": True}}))

    with liar(bench, act):
        result = get(bench, *wanted, status=1)
    assert said in (result.error or "")
    assert [path.name for path in (bench.folder / "here").iterdir()] in ([], ["file"], [".file.landspeed-partial"])


@pytest.mark.slow
def test_a_server_whose_link_leads_out(bench: Bench) -> None:
    """A link, and a file through it: neither writes anywhere else."""
    (bench.folder / "here").mkdir()
    (bench.folder / "outside").mkdir()
    entries = [entry(b"d", kind=LINK, target=b"../outside"), entry(b"d/file", 5)]

    def act(control: socket.socket, data: socket.socket) -> None:
        data.sendall(record(LIST, 0, b"".join(entries)) + record(LIST_END, 2) + record(DATA, 1, b"12345"))
        while take(control)["type"] != "result":
            pass

    with liar(bench, act):
        result = get(bench, "d", status=1)
    assert result.complete is False
    assert list((bench.folder / "outside").iterdir()) == []
    assert not (bench.folder / "here" / "d").is_symlink()


def test_wrong_words_of_a_client(bench: Bench, served: Path) -> None:
    request = {"type": "request", "kind": "files", "direction": "reverse", "streams": 1, "window_bytes": 0}
    request |= {"bytes": 0, "duration_ns": 0, "receive": "discard"}
    wrong: list[tuple[object, str]] = [(None, "paths must be"), ([], "paths must be"), (["a"] * 1001, "paths must be")]
    wrong += [([7], "a path must be"), ([""], "a path must be"), (["a/" * 2500], "a path must be")]
    for paths, said in wrong:
        with asked(bench.port, request | ({} if paths is None else {"paths": paths})) as control:
            answer = take(control)
        assert answer["type"] == "error", paths
        assert said in answer["text"], answer


@pytest.mark.slow
def test_a_directory_that_becomes_a_link_meanwhile(bench: Bench, served: Path, tmp_path: Path) -> None:
    """Somebody at the server swaps a directory for a link while it is walked and read: nothing outside is sent."""
    (tmp_path / "elsewhere").mkdir()
    for number in range(50):
        (tmp_path / "elsewhere" / f"secret-{number}").write_text("secret")
    (served / "d").mkdir()
    (served / "d" / "swap").mkdir()
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            (served / "d" / "swap").rmdir()
            (served / "d" / "swap").symlink_to(tmp_path / "elsewhere")
            (served / "d" / "swap").unlink()
            (served / "d" / "swap").mkdir()

    thread = threading.Thread(target=swap, daemon=True)
    thread.start()
    try:
        for _ in range(20):
            program = bench.start("get", "--quiet", "--directory", str(bench.folder / "here"), "d", host="127.0.0.1")
            assert program.wait() in (0, 1)
            assert [path for path in (bench.folder / "here").rglob("secret*") if not path.is_symlink()] == []
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["127.0.0.1"], "get needs a PATH after HOST"),
        ([], "get needs the HOST"),
        (["127.0.0.1", "a", "--time", "3"], "--bytes, --time, --omit and --receive do not go with it"),
        (["127.0.0.1", "a", "--bidir"], "without --reverse and --bidir"),
        (["127.0.0.1", "a", "--directory", "/nonexistent"], "--directory '/nonexistent': No such file"),
        (["127.0.0.1", ""], "a PATH is empty"),
        (
            ["127.0.0.1", *(f"{number:0100}" for number in range(150))],
            "without a key the PATHs may have some 14336 bytes",
        ),
    ],
)
def test_wrong_usage(bench: Bench, words: list[str], said: str) -> None:
    program = Program([str(bench.binary), "get", *words], bench.folder, "usage")
    assert program.wait() == 2
    assert said in program.errors


def test_whoever_reaches_the_port_reads_nothing_unless_told(bench: Bench, tmp_path: Path) -> None:
    program = bench.start("receive", "--serve-directory", str(tmp_path))
    assert program.wait() == 2
    assert "--serve-directory: whoever reaches the port could read there" in program.errors
    assert json.dumps(program.output) == '""'
