"""The pre-shared key: both ends prove it, strangers get nothing, messages on the way cannot be changed."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.engine import fake_server
from tests.support.engine.auth import (
    REQUEST,
    Client,
    corpus,
    make_key,
)
from tests.support.engine.fixtures import PROTOCOL, Bench

FRAME_REQUEST = 16 << 10  # control/frame.h


def transfer(bench: Bench, key: Path) -> None:
    """One transfer with that key."""
    sender = bench.send("--bytes", "1000000", "--key", str(key))
    assert sender.wait() == 0, sender.errors
    assert bench.result()["bytes"] == 1_000_000


def refused(bench: Bench, *options: str) -> str:
    """Why a sender is turned away."""
    sender = bench.send("--bytes", "1000000", *options)
    assert sender.wait() == 1
    assert bench.result()["complete"] is False
    assert bench.result()["streams"] == []
    return bench.result()["error"]


@pytest.fixture(name="key")
def key_fixture(bench: Bench) -> Path:
    return make_key(bench)


@pytest.fixture(name="client")
def client_fixture(bench: Bench, key: Path) -> Client:
    """Of a receiver that has the key; it has said nothing."""
    bench.receive("--key", str(key))
    return Client(bench, key)


def test_both_ends_have_the_key(bench: Bench, key: Path) -> None:
    receiver = bench.receive("--one-off", "--key", str(key))
    transfer(bench, key)
    assert receiver.wait() == 0
    assert bench.result("receive")["bytes"] == 1_000_000


def test_strangers_are_turned_away_and_the_receiver_serves_on(bench: Bench) -> None:
    key, other = make_key(bench), make_key(bench, "other")
    bench.receive("--key", str(key))
    assert refused(bench, "--key", str(other)) == "the peer refused: the sender's key is not the receiver's"
    assert refused(bench) == "the peer refused: the receiver wants a key: --key"
    transfer(bench, key)


def test_a_sender_with_a_key_wants_one_of_the_receiver(bench: Bench, key: Path) -> None:
    bench.receive()
    assert "the receiver none: --key at both or at neither" in refused(bench, "--key", str(key))


@pytest.mark.parametrize("command", ["send", "receive"])
@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        (lambda path: path.unlink(), "No such file or directory"),
        (lambda path: path.chmod(0o644), "mode 0644 lets others at it: chmod 600"),
        (lambda path: path.write_text("secret\n"), "not 64 lower-case hexadecimal digits"),
        (lambda path: (path.unlink(), path.mkdir()), "not a regular file"),
        (lambda path: (path.unlink(), os.mkfifo(path, 0o600)), "not a regular file"),
    ],
)
def test_a_key_file_that_will_not_do(bench: Bench, command: str, prepare, said: str, key: Path) -> None:
    prepare(key)
    options = ["--key", str(key), "--json", str(bench.folder / f"{command}.json")]
    program = bench.start(command, *options, host="127.0.0.1" if command == "send" else None)
    assert program.wait(20) == 2
    assert f"key file '{key}': " in program.errors
    assert said in program.errors
    if command == "send":
        assert said in bench.result()["error"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_key_of_somebody_else(bench: Bench, key: Path) -> None:
    os.chown(key, 65534, 65534)
    program = bench.start("send", "--key", str(key), host="127.0.0.1")
    assert program.wait(20) == 2
    assert "its owner is user 65534" in program.errors


def test_a_key_file_is_never_overwritten(bench: Bench, key: Path) -> None:
    before = key.read_text()
    assert key.stat().st_mode & 0o7777 == 0o600
    run = subprocess.run([str(bench.binary), "key", str(key)], capture_output=True, text=True, check=False, timeout=20)
    assert run.returncode == 1
    assert "File exists" in run.stderr
    assert key.read_text() == before


def test_the_protocol_is_what_its_description_says(client: Client) -> None:
    client.greet()
    client.prove()
    client.tagged(REQUEST)
    assert client.get(tagged=True)["type"] == "grant"


def test_x25519_is_as_the_rfc_has_it() -> None:
    """RFC 7748, section 5.2, the first vector."""
    scalar = bytes.fromhex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4")
    share = bytes.fromhex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c")
    assert corpus.x25519(scalar, share).hex() == "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"


@pytest.mark.parametrize("share", ["00" * 32, "01" + "00" * 31])
def test_a_share_of_small_order_opens_nothing(share: str, client: Client, key: Path) -> None:
    """What it gives with any other share is known to everybody."""
    client.put({"type": "greeting", "nonce": client.ours.hex(), "share": share, "key": True})
    challenge = client.get()
    seen = bytes.fromhex(share) + bytes.fromhex(challenge["share"])
    client.keys = corpus.Keys(client.key, client.ours + bytes.fromhex(challenge["nonce"]), seen, bytes(32))
    client.put({"type": "proof", "proof": client.mac("proof of the client").hex()})
    assert client.get()["text"] == "the peer's share is none of X25519"


@pytest.mark.parametrize("share", [None, "", "zz" * 32, "00" * 31, 7])
def test_a_share_that_is_none(share: object, client: Client) -> None:
    client.put({"type": "greeting", "nonce": client.ours.hex(), "share": share, "key": True})
    assert client.get()["text"] == "greeting: share must be 64 hexadecimal digits"


@pytest.mark.parametrize(
    "fresh", [lambda client: client.keys.seen[96:], lambda client: client.theirs], ids=["share", "nonce"]
)
def test_shares_and_nonces_are_never_the_same(bench: Bench, key: Path, fresh: Callable[[Client], bytes]) -> None:
    bench.receive("--key", str(key))
    seen = set()
    for _ in range(5):
        client = Client(bench, key)
        client.greet()
        seen.add(fresh(client))
        client.socket.close()
    assert len(seen) == 5


def test_a_recorded_proof_is_of_no_use_later(bench: Bench, key: Path) -> None:
    bench.receive("--key", str(key))
    first = Client(bench, key)
    first.greet()
    recorded = first.mac("proof of the client").hex()
    first.socket.close()
    second = Client(bench, key)
    second.greet()
    second.put({"type": "proof", "proof": recorded})
    assert second.get()["text"] == "the sender's key is not the receiver's"


@pytest.mark.parametrize("proof", ["", "00" * 32, "zz" * 32, "00" * 31, "00" * 33, None, 7])
def test_a_proof_that_is_none(bench: Bench, proof: object, client: Client, key: Path) -> None:
    client.greet()
    client.put({"type": "proof", "proof": proof})
    assert client.get()["text"] == "the sender's key is not the receiver's"
    transfer(bench, key)


@pytest.mark.parametrize("skip", ["greeting", "proof"])
def test_no_step_can_be_left_out(skip: str, client: Client) -> None:
    if skip == "proof":
        client.greet()
    client.put(REQUEST)
    assert client.get()["text"] == f"the peer sent 'request' where '{skip}' belongs"


def test_a_message_that_was_changed_on_the_way(bench: Bench, key: Path) -> None:
    receiver = bench.receive("--key", str(key))
    client = Client(bench, key)
    client.greet()
    client.prove()
    client.tagged(REQUEST, json.dumps({"protocol": PROTOCOL} | REQUEST | {"bytes": 1001}).encode())
    assert "wrong tag" in client.get(tagged=True)["text"]
    receiver.wait_for("it was changed on the way")
    transfer(bench, key)


def test_large_messages_are_for_known_peers_only(bench: Bench, client: Client, key: Path) -> None:
    client.greet()
    client.put({"type": "proof", "proof": "00" * 2100})
    assert "above 4096 bytes" in client.get()["text"]

    client = Client(bench, key)
    client.greet()
    client.prove()
    client.tagged(REQUEST | {"note": "x" * 100_000})
    assert client.get(tagged=True)["type"] == "grant"


@pytest.mark.parametrize("keyed", [False, True], ids=["anybody", "with the key"])
def test_who_has_a_key_may_ask_at_length(bench: Bench, keyed: bool, key: Path) -> None:
    """One loop reads the requests of all, so strangers' are short; a session, in a process of its own, reads any."""
    words = ["--key", str(key)] if keyed else []
    server = bench.start("receive", "--quiet", "--clients", "2", *words)  # the first may still be on its way out
    server.wait_for("listening")
    padded = REQUEST | {"kind": "memory", "padding": "x" * (FRAME_REQUEST - 300)}
    for more in ("", "x" * 400):
        if keyed:
            client = Client(bench, key)
            client.greet()
            client.prove()
            client.tagged(padded | {"more": more})
            assert client.get(tagged=True)["type"] == "grant"
            client.socket.close()
            continue
        with fake_server.asked(bench.port, padded | {"more": more}) as control:
            answer = fake_server.take(control)
        assert f"above {FRAME_REQUEST} bytes" in answer["text"] if more else answer["type"] == "grant"
