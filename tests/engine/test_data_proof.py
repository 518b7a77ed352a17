"""Data connections: each proves the session's secret, comes from the sender's host, and strangers keep nobody out."""

import contextlib
import hashlib
import hmac
import json
import select
import socket
import struct
from collections.abc import Iterator

import pytest

from tests.support.engine.auth import REQUEST, Client, corpus, make_key
from tests.support.engine.faults import GREETING, frame
from tests.support.engine.faults import REQUEST as PLAIN
from tests.support.engine.fixtures import MAGIC, PROTOCOL, Bench, challenged, control_connection, hello, say_hello

TOTAL = 1000


class Session:
    """A session with a key up to its grant, by a client with nothing of the engine's code."""

    def __init__(self, bench: Bench, streams: int = 1) -> None:
        self.client = Client(bench, bench.folder / "key")
        self.client.greet()
        self.client.prove()
        self.client.tagged(REQUEST | {"streams": streams, "bytes": TOTAL})
        self.grant = self.client.get(tagged=True)
        assert self.grant["type"] == "grant", self.grant
        self.secret, self.number = self.client.mac("secret of the data connections"), self.grant["session"]
        self.port = bench.port

    def connect(self) -> socket.socket:
        """A data connection that has said nothing."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def finish(self) -> None:
        """The transfer that the client asked for."""
        with self.connect() as data:
            say_hello(data, 0, self.secret, self.number)
            assert self.client.get(tagged=True)["type"] == "ready"
            self.client.tagged({"type": "go"})
            data.sendall(b"x" * TOTAL)
            result = self.client.get(tagged=True)
        assert (result["type"], result["complete"], result["bytes"]) == ("result", True, TOTAL)


@pytest.fixture(name="keyed")
def keyed_fixture(bench: Bench) -> Bench:
    """A receiver with a key."""
    bench.start("receive", "--key", str(make_key(bench)), "--clients", "4").wait_for("listening")
    return bench


def closed(data: socket.socket) -> bool:
    """The receiver hung up without a word."""
    try:
        return data.recv(1) == b""
    except ConnectionResetError:
        return True


def test_with_a_key_nothing_in_the_grant_opens_a_data_connection(keyed: Bench) -> None:
    """What an observer of the control connection learns is no secret: there is no token in it."""
    session = Session(keyed)
    assert set(session.grant) <= {
        "protocol", "type", "session", "rcvbuf_bytes", "pacing_bps", "rcvbuf_ceiling_bytes", "warning",
    }  # fmt: skip
    session.finish()


def test_what_an_injector_can_make_without_the_key_is_refused(keyed: Bench) -> None:
    """Nonces, frames' tags and other labels are all seen or guessed; none of them is the secret."""
    session = Session(keyed)
    guesses = [bytes(32), session.client.ours, session.client.theirs, hashlib.sha512(b"").digest()[:32]]
    guesses += [hmac.digest(bytes(32), session.client.ours + session.client.theirs, "sha512")[:32]]
    guesses += [session.client.keys.derive("secret of the data connections"), session.client.keys.master]
    guesses += [session.client.mac(label) for label in ("client to server", "server to client", "proof of the client")]
    for secret in guesses:
        with session.connect() as data:
            say_hello(data, 0, secret, session.number)
            assert closed(data)
    session.finish()


def test_each_session_has_the_connections_that_name_it(keyed: Bench) -> None:
    """Of the next number, of the other session's, and of none that there is."""
    first, second = Session(keyed), Session(keyed)
    assert first.number != second.number
    for number in (second.number, second.number + 1, 1 << 31):
        with first.connect() as data:
            say_hello(data, 0, first.secret, number)
            assert closed(data)
    second.finish()
    first.finish()


def test_a_hello_that_comes_in_pieces(keyed: Bench) -> None:
    session = Session(keyed)
    with session.connect() as data:
        words = hello(0, session.secret, challenged(data), session.number)
        data.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for place in range(len(words)):
            data.sendall(words[place : place + 1])
        assert session.client.get(tagged=True)["type"] == "ready"


def test_what_begins_as_a_hello_and_is_none_is_dropped_without_a_word(keyed: Bench) -> None:
    session = Session(keyed)
    for words in (MAGIC[:7] + b"\x09" + bytes(40), b"l" * 48):
        with session.connect() as data:
            challenged(data)
            data.sendall(words)
            assert closed(data)
    session.finish()


def test_a_hello_is_good_for_one_connection_only(keyed: Bench) -> None:
    """Neither on another connection of its session, nor in another one, nor for another stream, nor twice."""
    other, session = Session(keyed), Session(keyed, streams=2)
    with other.connect() as first, session.connect() as second, session.connect() as third:
        nonces = [challenged(data) for data in (first, second, third)]
        assert len(set(nonces)) == 3
        third.sendall(hello(0, session.secret, nonces[1], session.number))  # of the other connection
        assert closed(third)
        first.sendall(hello(0, session.secret, nonces[0], other.number))  # of the other session
        assert closed(first)
        right = hello(0, session.secret, nonces[1], session.number)
        second.sendall(right[:8] + struct.pack(">I", 1) + right[12:])  # for the other stream
        assert closed(second)
    with session.connect() as first, session.connect() as second:
        say_hello(first, 0, session.secret, session.number)
        say_hello(second, 0, session.secret, session.number)
        (late,), _, _ = select.select([first, second], [], [], 20)
        assert closed(late)  # the stream was there already


def test_without_a_key_the_token_is_needed(bench: Bench) -> None:
    bench.receive()
    with open_session(bench) as (control, grant):
        with socket.create_connection(("127.0.0.1", bench.port), timeout=20) as data:
            say_hello(data, 0, bytes(32), grant["session"])
            assert closed(data)
        with socket.create_connection(("127.0.0.1", bench.port), timeout=20) as data:
            say_hello(data, 0, bytes.fromhex(grant["token"]), grant["session"])
            assert message(control)["type"] == "ready"


def message(control: socket.socket) -> dict:
    """One message without a tag."""
    length = struct.unpack(">I", control.recv(4, socket.MSG_WAITALL))[0]
    return json.loads(control.recv(length, socket.MSG_WAITALL))


@contextlib.contextmanager
def open_session(bench: Bench, host: str = "127.0.0.1") -> Iterator[tuple[socket.socket, dict]]:
    """A session without a key, up to its grant, from that address."""
    with control_connection(bench.port, host) as control:
        control.sendall(GREETING + frame(PLAIN))
        yield control, message(control)


def test_a_sender_ignores_a_token_when_it_has_a_key(bench: Bench) -> None:
    """A receiver that has the key, and puts a token into its grant, hears a proof by the key."""
    key = make_key(bench)
    with socket.create_server(("127.0.0.1", bench.port)) as listener, socket.create_server(("127.0.0.1", 0)) as data:
        sender = bench.send("--bytes", "1000", "--key", str(key))
        client = Answering(listener.accept()[0], bytes.fromhex(key.read_text()))
        grant = {
            "data_port": data.getsockname()[1],
            "session": 0,
            "token": "00" * 32,
            "rcvbuf_bytes": 1 << 20,
            "pacing_bps": 0,
        }
        client.grant(grant)
        stream, _ = data.accept()
        stream.sendall(MAGIC + bytes(32))
        said = stream.recv(48, socket.MSG_WAITALL)
        assert said == hello(0, client.mac("secret of the data connections"), bytes(32))
        stream.close()
        client.socket.close()
        assert sender.wait(20) == 1


class Answering(Client):
    """A receiver, from the same description."""

    def __init__(self, connection: socket.socket, key: bytes) -> None:
        self.socket, self.key = connection, key
        greeting = self.get()
        nonces = bytes.fromhex(greeting["nonce"]) + b"\x22" * 32
        theirs, share = bytes.fromhex(greeting["share"]), corpus.x25519(b"\x44" * 32)
        self.keys = corpus.Keys(self.key, nonces, theirs + share, corpus.x25519(b"\x44" * 32, theirs))
        self.put({"type": "challenge", "nonce": nonces[32:].hex(), "share": share.hex()})
        assert self.get()["proof"] == self.mac("proof of the client").hex()
        self.put({"type": "welcome", "proof": self.mac("proof of the server").hex()})
        assert self.get(tagged=True)["type"] == "request"

    def grant(self, grant: dict) -> None:
        """The grant, tagged."""
        text = json.dumps({"protocol": PROTOCOL, "type": "grant"} | grant).encode()
        down = self.mac("server to client")
        tag = hmac.digest(down, struct.pack(">Q", 0) + text, "sha512")[:32]
        self.socket.sendall(struct.pack(">I", len(text) + 32) + text + tag)


def test_data_come_from_the_senders_host_only(bench: Bench) -> None:
    """A connection of another address is hung up, whatever it knows."""
    bench.receive("--bind", "127.0.0.1")
    with open_session(bench, "127.0.0.5") as (control, grant):
        place = ("127.0.0.1", bench.port)
        with socket.create_connection(place, timeout=20, source_address=("127.0.0.6", 0)) as data:
            say_hello(data, 0, bytes.fromhex(grant["token"]), grant["session"])
            assert closed(data)
        with socket.create_connection(place, timeout=20, source_address=("127.0.0.5", 0)) as data:
            say_hello(data, 0, bytes.fromhex(grant["token"]), grant["session"])
            assert message(control)["type"] == "ready"


def test_silent_data_connections_keep_no_stream_out(bench: Bench) -> None:
    """More of them than there are places; then the stream comes."""
    bench.receive()
    with contextlib.ExitStack() as stack:
        control, grant = stack.enter_context(open_session(bench))
        place = ("127.0.0.1", bench.port)
        silent = [stack.enter_context(socket.create_connection(place, timeout=20)) for _ in range(200)]
        data = stack.enter_context(socket.create_connection(place, timeout=20))
        say_hello(data, 0, bytes.fromhex(grant["token"]), grant["session"])
        assert message(control)["type"] == "ready"
        challenged(silent[0])
        assert b"too many connections from this address" in silent[0].recv(4096)  # the oldest went first


@pytest.mark.slow
def test_silent_strangers_from_many_addresses_keep_no_client_out(bench: Bench) -> None:
    """All places of the server are taken by connections that say nothing, from 64 addresses."""
    bench.receive("--idle-timeout", "60s")
    with contextlib.ExitStack() as stack:
        for number in range(128):
            source = (f"127.0.1.{number % 64 + 1}", 0)
            address = ("127.0.0.1", bench.port)
            stack.enter_context(socket.create_connection(address, timeout=20, source_address=source))
        for _ in range(3):
            sender = bench.send("--bytes", "1M")
            assert sender.wait(20) == 0, sender.errors
            assert bench.result()["complete"] is True


def test_strangers_without_a_key_keep_no_client_with_one_out(keyed: Bench) -> None:
    """They greet and are challenged, and stay."""
    nonce = frame({"protocol": PROTOCOL, "type": "greeting", "nonce": "5a" * 32, "share": "5a" * 32, "key": True})
    with contextlib.ExitStack() as stack:
        for number in range(100):
            source = (f"127.0.1.{number % 64 + 1}", 0)
            address = ("127.0.0.1", keyed.port)
            stranger = stack.enter_context(socket.create_connection(address, timeout=20, source_address=source))
            stranger.sendall(nonce)
        sender = keyed.send("--bytes", "1M", "--key", str(keyed.folder / "key"))
        assert sender.wait(20) == 0, sender.errors
