"""--protect: what travels cannot be read (aead) or changed (mac, aead) by whoever carries it."""

import random
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.engine.auth import Client, make_key
from tests.support.engine.faults import REQUEST
from tests.support.engine.files_fixtures import BLOCK, describe, write_file
from tests.support.engine.fixtures import Bench, free_port
from tests.support.engine.verify import PROXY, RECEIVER, Proxy, pass_hello

MODES = ["mac", "aead"]
HEAD, TAG, PAYLOAD = 8, 16, 1 << 16
Harm = Callable[[int, bytes], list[bytes]]  # None: there are no records


class Wire(Proxy):
    """Hands each record of a data connection to `touch(number, record)`, and keeps what the sender sent."""

    def __init__(self, control: int, data: int, touch: Harm | None) -> None:
        self.touch, self.seen = touch, bytearray()
        super().__init__(control, data, lambda _stream, _number, block: [block])

    def _pass_data(self, near: socket.socket, far: socket.socket) -> None:
        pass_hello(near, far)
        left, number = b"", 0
        try:
            while part := near.recv(1 << 20):
                self.seen += part
                if self.touch is None:
                    far.sendall(part)
                    continue
                left += part
                while len(left) >= HEAD and len(left) >= (whole := HEAD + int.from_bytes(left[4:8], "big") + TAG):
                    for piece in self.touch(number, left[:whole]):
                        far.sendall(piece)
                    left, number = left[whole:], number + 1
            far.shutdown(socket.SHUT_WR)
        except OSError:
            near.close()
            far.close()


@contextmanager
def wire(bench: Bench, touch: Harm | None) -> Iterator[tuple[Wire, list[str]]]:
    """A wire that is touched, and the options of the receiver behind it."""
    port = free_port()
    made = Wire(bench.port, port, touch)
    try:
        yield made, ["--bind", RECEIVER, "--data-port", str(port)]
    finally:
        made.close()


def as_it_is(_number: int, record: bytes) -> list[bytes]:
    """Nothing is touched."""
    return [record]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("receive", ["memory", "verify"])
@pytest.mark.parametrize("streams", [1, 3])
def test_memory_arrives_whole(bench: Bench, mode: str, receive: str, streams: int) -> None:
    key = str(make_key(bench))
    bench.receive("--key", key, "--one-off")
    total = 7_000_001
    options = ["--streams", str(streams), "--bytes", str(total), "--receive", receive]
    sender = bench.send("--key", key, "--protect", mode, *options)
    assert sender.wait() == 0, sender.errors
    result = bench.result()
    assert (result["complete"], result["bytes"], result["protect"]) == (True, total, mode)
    assert result["sending"]["way"] == "write"
    if receive == "verify":
        assert result["verification"]["faults"] == 0
    assert bench.result("receive")["protect"] == mode


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_a_time_limit_and_a_warm_up_hold(bench: Bench, mode: str) -> None:
    key = str(make_key(bench))
    bench.receive("--key", key)
    options = ["--protect", mode, "--receive", "verify", "--time", "1", "--omit", "0.2"]
    sender = bench.send("--key", key, *options)
    assert sender.wait() == 0, sender.errors
    result = bench.result()
    assert result["duration_s"] == 1.0
    assert result["bytes"] > 0
    assert result["omitted_bytes"] > 0
    assert result["verification"]["faults"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("mode", [[], ["--protect", "aead"], ["--protect", "mac"], ["--protect", "none"]])
def test_files_with_a_key_are_encrypted_unless_told_otherwise(bench: Bench, tmp_path: Path, mode: list[str]) -> None:
    key = str(make_key(bench))
    secret = random.Random(1).randbytes(64)
    source, target = tmp_path / "tree", tmp_path / "target"
    source.mkdir()
    target.mkdir()
    (source / "name-of-a-file").write_bytes(secret * 5000)
    write_file(source / "large", 3 * BLOCK + 17)
    write_file(source / "empty", 0)
    with wire(bench, as_it_is if mode[1:] != ["none"] else None) as (made, options):
        receiver = bench.receive("--key", key, "--directory", str(target), *options, "--one-off")
        sender = bench.send("--key", key, *mode, "--files", str(source), host=PROXY)
        assert sender.wait() == 0, sender.errors
        assert receiver.wait() == 0, receiver.errors
    assert describe(target / "tree") == describe(source)
    assert len(made.seen) > 5000 * len(secret)
    hidden = mode[1:] in ([], ["aead"])
    assert (secret in made.seen, b"name-of-a-file" in made.seen) == (not hidden, not hidden)
    assert bench.result()["protect"] == (mode[1:] or ["aead"])[0]


def flip(number: int, record: bytes) -> list[bytes]:
    """A bit, wherever."""
    bit = random.Random(number).randrange(HEAD * 8, len(record) * 8)
    return [record[: bit // 8], bytes([record[bit // 8] ^ 1 << bit % 8]), record[bit // 8 + 1 :]]


def once(at: int, change: Harm) -> Harm:
    """That change to the record at that place."""
    return lambda number, record: change(number, record) if number == at else [record]


class Swap:
    """The record at that place comes after the next one."""

    def __init__(self, at: int) -> None:
        self.at, self.held = at, b""

    def __call__(self, number: int, record: bytes) -> list[bytes]:
        if number == self.at:
            self.held = record
            return []
        return [record, self.held] if number == self.at + 1 else [record]


CHANGES = {
    "flipped": lambda: once(5, flip),
    "first flipped": lambda: once(0, flip),
    "moved": lambda: Swap(5),
    "repeated": lambda: once(5, lambda _, record: [record, record]),
    "left out": lambda: once(5, lambda _, _record: []),
    "longer than it is": lambda: once(5, lambda _, record: [record[:4], b"\0\0\xff\xff", record[8:]]),
    "an end that is none": lambda: once(5, lambda _, _record: [b"\1" + bytes(7 + TAG)]),
}


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("change", CHANGES)
def test_what_was_changed_on_the_way_ends_the_transfer(bench: Bench, mode: str, change: str) -> None:
    key = str(make_key(bench))
    with wire(bench, CHANGES[change]()) as (_, options):
        bench.receive("--key", key, *options)
        sender = bench.send("--key", key, "--protect", mode, "--receive", "memory", "--bytes", "5000000", host=PROXY)
        assert sender.wait() == 1
    told = bench.result()["error"]
    assert told == "stream 0: a record is not as it was sealed: it was changed, moved, repeated or left out on the way"
    assert bench.result()["bytes"] == (6 if change == "repeated" else 0 if change == "first flipped" else 5) * PAYLOAD


@pytest.mark.parametrize("mode", MODES)
def test_files_that_were_changed_on_the_way_are_not_written(bench: Bench, tmp_path: Path, mode: str) -> None:
    key = str(make_key(bench))
    write_file(tmp_path / "file", 3 * BLOCK)
    (tmp_path / "target").mkdir()
    with wire(bench, once(9, flip)) as (_, options):
        bench.receive("--key", key, "--directory", str(tmp_path / "target"), *options)
        sender = bench.send("--key", key, "--protect", mode, "--files", str(tmp_path / "file"), host=PROXY)
        assert sender.wait() == 1
    assert "a record is not as it was sealed" in bench.result()["error"]
    assert not (tmp_path / "target" / "file").exists()


def cut(number: int, record: bytes) -> list[bytes]:
    """The connection ends there, as if it were whole."""
    if number < 5:
        return [record]
    raise OSError


def test_a_connection_that_is_cut_is_not_whole(bench: Bench) -> None:
    key = str(make_key(bench))
    with wire(bench, cut) as (_, options):
        bench.receive("--key", key, *options)
        sender = bench.send("--key", key, "--protect", "mac", "--receive", "memory", "--bytes", "5000000", host=PROXY)
        assert sender.wait() == 1
    assert "stream 0" in bench.result()["error"]
    assert bench.result()["complete"] is False


@pytest.mark.parametrize(
    ("command", "words", "said"),
    [
        ("send", ["--protect", "aead", "--receive", "memory"], "--protect aead needs --key FILE"),
        (
            "send",
            ["--protect", "aead", "--key", "k"],
            "the receiver has to look at the data: --receive memory or verify",
        ),
        (
            "send",
            ["--protect", "mac", "--key", "k", "--receive", "memory", "--send", "zerocopy"],
            "--send zerocopy does not go with it",
        ),
        ("send", ["--protect", "some"], "--protect: 'some' is not 'none', 'mac', 'aead' or 'ktls'"),
        ("receive", ["--protect", "mac"], "--protect mac needs --key FILE"),
    ],
)
def test_wrong_usage(bench: Bench, command: str, words: list[str], said: str) -> None:
    program = bench.start(command, *words, host="127.0.0.1" if command == "send" else None)
    assert program.wait() == 2
    assert said in program.errors


def test_a_receiver_may_want_it(bench: Bench) -> None:
    key = str(make_key(bench))
    bench.receive("--key", key, "--protect", "mac")
    sender = bench.send("--key", key, "--bytes", "1M", "--receive", "memory")
    assert sender.wait() == 1
    assert bench.result()["error"] == "the peer refused: this receiver wants --protect mac, not none"
    for mode in MODES:
        sender = bench.send("--key", key, "--bytes", "1M", "--receive", "memory", "--protect", mode)
        assert sender.wait() == 0, sender.errors


@pytest.mark.parametrize("protect", ["some", "discarded"])
def test_a_request_that_is_none(bench: Bench, protect: str) -> None:
    bench.receive("--key", str(make_key(bench)))
    client = Client(bench, bench.folder / "key")
    client.greet()
    client.prove()
    client.tagged(REQUEST | {"protect": "aead" if protect == "discarded" else protect})
    told = client.get(tagged=True)["text"]
    assert told in (
        "request: protect must be 'none', 'mac', 'aead' or 'ktls'",
        "request: what is protected cannot be discarded unseen",
    )
