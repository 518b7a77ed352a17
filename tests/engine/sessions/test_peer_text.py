"""What a peer says does nothing to a terminal, a log or a reader of JSON."""

import contextlib
import json
import re
import socket
from pathlib import Path

import pytest

from tests.support.engine.auth import Client
from tests.support.engine.fake_server import frame
from tests.support.engine.files_fixtures import BLOCK, write_file
from tests.support.engine.fixtures import MAGIC, Bench, Program, control_connection
from tests.support.engine.hostile import ABANDON, LIST, LIST_END, entry, record, visit
from tests.support.engine.stall import idle
from tests.support.engine.third_party import Three

# A window's title, red, CSI as one character of UTF-8 and as one byte, a turn of the direction, no UTF-8 at all.
EVIL = "\x1b]0;owned\x07\x1b[31mred\x9b2J\u202egpj\x7f\r\n"
TAMED = "?]0;owned??[31mred"
# In JSON they stand as escapes: the text is looked at as its reader has it.
HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufffe]")
HOST = {
    "elapsed_ns": 1,
    "cpu_busy_ns": 0,
    "cpu_total_ns": 0,
    "interrupts": 0,
    "cycles": 0,
    "cycles_source": "unknown",
}
STREAM = {"bytes": 0, "first_ns": 0, "last_ns": 0, "calls": 0, "cpu_ns": 0, "tcp_info": {EVIL: 1, "state": EVIL}}
RESULT = {
    "type": "result",
    "complete": False,
    "error": EVIL,
    "affinity": EVIL,
    "start_unix_us": 0,
    "duration_ns": 1,
    "bytes": 0,
    "rcvbuf_bytes": 1,
    "packets_received": 0,
    "cpu_user_ns": 0,
    "cpu_system_ns": 0,
    "host": HOST,
    "streams": [STREAM],
    "files": {"outcomes": [{"path": EVIL, "outcome": EVIL, "bytes": 1, "error": EVIL}], EVIL: EVIL},
}


def texts(value: object) -> list[str]:
    """All texts of a JSON value, names of members too."""
    if isinstance(value, dict):
        return [text for name, item in value.items() for text in (name, *texts(item))]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


def assert_harmless(program: Program, *files: Path) -> None:
    """Nothing in its outputs that a terminal obeys; UTF-8 all of it."""
    for path in (program.error_file, program.output_file):
        assert not HARMFUL.search(path.read_bytes().decode()), path.read_bytes()
    for path in files:
        for text in texts(json.loads(path.read_bytes().decode())):
            assert not HARMFUL.search(text.replace("\n", "\x1b")), text


@pytest.mark.parametrize("kind", ["memory", "files"])
def test_a_receivers_result(bench: Bench, tmp_path: Path, kind: str) -> None:
    write_file(tmp_path / "file", 3)
    what = ["--bytes", "1000"] if kind == "memory" else ["--files", str(tmp_path / "file")]
    with idle(bench.port, lambda control: control.sendall(frame(RESULT))):
        sender = bench.send(*what)
        assert sender.wait(20) == 1
    assert bench.result()["error"].startswith(TAMED)
    assert f"Error: {TAMED}" in sender.errors
    assert_harmless(sender, bench.folder / "send.json")


@pytest.mark.parametrize("log", ["text", "json"])
def test_a_receivers_refusal(bench: Bench, log: str) -> None:
    """The sender's word to a receiver, and the receiver's to the sender."""
    receiver = bench.receive("--log", log)
    with control_connection(bench.port) as control:
        control.sendall(frame({"type": "error", "text": EVIL}) + frame({"type": EVIL}))
        with contextlib.suppress(ConnectionResetError):  # it may close without reading the rest
            while control.recv(4096):
                pass
    receiver.wait_for("Error: session")
    for line in receiver.errors.splitlines():
        assert not HARMFUL.search(json.loads(line)["message"] if log == "json" else line)


def test_a_server_that_refuses(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", bench.port)) as listener:
        sender = bench.send("--bytes", "1000")
        control, _ = listener.accept()
        control.sendall(frame({"type": "error", "text": EVIL}))
        assert sender.wait(20) == 1
        control.close()
    assert TAMED in sender.errors
    assert_harmless(sender, bench.folder / "send.json")


MAGIC_OF_OLD = b"lspdata\x02"


@pytest.mark.parametrize(
    ("said", "closes", "told"),
    [
        (
            b"SSH-2.0-OpenSSH_9.2\r\n",
            False,
            "the peer speaks another protocol than this engine's: it begins with 'SSH-'",
        ),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", True, "it begins with 'HTTP'"),
        (b"\x16\x03\x01\x02\0", False, "or speaks another protocol than this engine's"),
        (MAGIC_OF_OLD + bytes(32), False, "the peer is of another version: use the same build on both ends"),
        (b"", True, "the peer closes where a receiver of this engine would answer"),
        (MAGIC + bytes(32), True, "the peer closes where a receiver of this engine would answer"),
        (b"", "once it is greeted", "the peer closes where a receiver of this engine would answer"),
    ],
    ids=["ssh", "http", "tls", "old", "closes", "challenge", "greeted"],
)
def test_what_is_no_receiver_is_told(bench: Bench, said: bytes, closes: bool | str, told: str) -> None:
    """At once, and what to do about it: not a "Broken pipe", and no waiting for what will not come."""
    with socket.create_server(("127.0.0.1", bench.port)) as listener:
        sender = bench.send("--bytes", "1000")
        peer, _ = listener.accept()
        with peer:
            peer.sendall(said)
            if closes == "once it is greeted":
                assert peer.recv(1 << 16)
            if closes:
                peer.shutdown(socket.SHUT_RDWR)
                peer.close()
            assert sender.wait(20) == 1
    assert told in bench.result()["error"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "another protocol than this engine's: it begins with 'GET '"),
        (b"SSH-2.0-x\r\n", "it begins with 'SSH-'"),
        (b"\x16\x03\x01\x02\0" + bytes(512), "or speaks another protocol than this engine's"),
    ],
    ids=["http", "ssh", "tls"],
)
def test_what_is_no_sender_is_told(bench: Bench, said: bytes, told: str) -> None:
    receiver = bench.receive()
    with control_connection(bench.port) as stranger:
        stranger.sendall(said)
        receiver.wait_for(f"Error: session .*{re.escape(told)}")


def test_names_and_reasons_of_a_sender_of_files(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    receiver = bench.receive("--anonymous", "--directory", str(tmp_path / "target"))
    raw = EVIL.encode() + b"\xff"
    files = [entry(b"a" + raw, BLOCK), entry(b"b" + raw)]
    told = visit(
        bench,
        record(LIST, 0, b"".join(files)) + record(LIST_END, 2, offset=BLOCK),
        record(ABANDON, 0, raw),
    )
    receiver.wait_for("Error: session")
    assert "1 of 2 entries failed" in receiver.errors
    assert_harmless(receiver, bench.folder / "receive.json")
    for text in texts(told):
        assert not HARMFUL.search(text), text


def test_the_host_of_a_third_party(three: Three) -> None:
    client = Client(three.bench, three.key)
    client.greet()
    client.prove()
    client.tagged({"type": "request", "kind": "third-party", "host": "h" + EVIL, "port": 9, "options": {}})
    client.get(tagged=True)
    three.a.wait_for("sends to")
    assert_harmless(three.a)
