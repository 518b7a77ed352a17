"""Shared by tests: what test_auth and others use."""

import hashlib
import hmac
import importlib.util
import json
import socket
import struct
import subprocess
from pathlib import Path
from typing import Any

from tests.support.engine.fixtures import ENGINE_FOLDER, PROTOCOL, Bench, control_connection


def make_key(bench: Bench, name: str = "key") -> Path:
    """A key file of the engine's own making."""
    path = bench.folder / name
    subprocess.run([str(bench.binary), "key", str(path)], check=True, timeout=20)
    return path


def load_corpus() -> Any:
    """engine/fuzz/corpus.py: the handshake written from its description, with nothing of the engine's code."""
    spec = importlib.util.spec_from_file_location("corpus", ENGINE_FOLDER / "fuzz" / "corpus.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


corpus = load_corpus()


class Client:
    """A client written from the protocol's description (control/auth.h), with nothing of the engine's code."""

    def __init__(self, bench: Bench, key: Path) -> None:
        self.key = bytes.fromhex(key.read_text().strip())
        self.socket = control_connection(bench.port)
        self.ours, self.theirs, self.sent = b"\x11" * 32, b"", 0
        self.scalar = b"\x33" * 32

    def put(self, message: dict, tag: bytes = b"") -> None:
        """One frame."""
        text = json.dumps({"protocol": PROTOCOL} | message).encode() + tag
        self.socket.sendall(struct.pack(">I", len(text)) + text)

    def get(self, tagged: bool = False) -> dict:
        """One message; its tag is left out."""
        length = struct.unpack(">I", self.socket.recv(4, socket.MSG_WAITALL))[0]
        text = self.socket.recv(length, socket.MSG_WAITALL)
        return json.loads(text[:-32] if tagged else text)

    def mac(self, label: str) -> bytes:
        """What the handshake makes for that purpose: a proof under the key, or a key of the session."""
        return self.keys.derive(label) if label.startswith("proof") else self.keys.expand(label)

    def greet(self) -> None:
        """Greeting and challenge."""
        share = corpus.x25519(self.scalar)
        self.put({"type": "greeting", "nonce": self.ours.hex(), "share": share.hex(), "key": True})
        challenge = self.get()
        self.theirs, answer = bytes.fromhex(challenge["nonce"]), bytes.fromhex(challenge["share"])
        both = corpus.x25519(self.scalar, answer)
        self.keys = corpus.Keys(self.key, self.ours + self.theirs, share + answer, both)

    def prove(self) -> None:
        """Proof and welcome."""
        self.put({"type": "proof", "proof": self.mac("proof of the client").hex()})
        assert self.get() == {"protocol": PROTOCOL, "type": "welcome", "proof": self.mac("proof of the server").hex()}

    def tagged(self, message: dict, change: bytes | None = None) -> None:
        """One frame with the tag that belongs to it, or with what an attacker made of it."""
        text = json.dumps({"protocol": PROTOCOL} | message).encode()
        up = self.mac("client to server")
        tag = hmac.new(up, struct.pack(">Q", self.sent) + text, hashlib.sha512).digest()[:32]
        self.sent += 1
        text = (change if change is not None else text) + tag
        self.socket.sendall(struct.pack(">I", len(text)) + text)


REQUEST = {
    "type": "request",
    "kind": "memory",
    "streams": 1,
    "window_bytes": 0,
    "bytes": 1000,
    "duration_ns": 0,
    "receive": "discard",
}
