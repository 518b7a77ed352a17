"""Brings the kept inputs of the handshake and of the control messages to the protocol's present version.

`python engine/fuzz/corpus.py` after a change of PROTOCOL_VERSION. Both ends refuse another version at once, and with a
wrong tag nothing behind the handshake is reached: inputs of before would test very little, and no test would fail.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path

FUZZ = Path(__file__).resolve().parent
TAG_BYTES = 32
LABEL = b"landspeed-engine/3 "
# What fuzz_auth.c gives to auth_start(): a C string in 32 bytes, and a nonce that begins with 9.
KEY = b"0123456789abcdefghijklmnopqrstu\0"
OWN_NONCE = bytes([9]).ljust(32, b"\0")  # and scalar
# Inputs in which both ends have the key.
WITH_KEY = ("client-open", "client-reflected", "server-open", "server-wrong-proof", "server-wrong-tag")
PEERS_SCALAR = bytes([7]).ljust(32, b"\0")


def protocol_version() -> int:
    """That of message.h."""
    text = (FUZZ.parent / "src" / "control" / "message.h").read_text()
    return int(re.findall(r"#define PROTOCOL_VERSION (\d+)", text)[0])


def versioned(content: bytes) -> bytes:
    """All messages in it say the present version. It stays as long as it is: lengths stand before the messages."""
    version = str(protocol_version()).encode()
    if len(version) != 1:
        raise NotImplementedError("a version of two digits makes the frames longer: their lengths must be written anew")
    return re.sub(rb'("protocol": ?)\d\b', rb"\g<1>" + version, content)


def x25519(scalar: bytes, share: bytes = (9).to_bytes(32, "little")) -> bytes:
    """RFC 7748, section 5: the scalar times the share, or times the base point."""
    prime, a24 = 2**255 - 19, 121665
    k = int.from_bytes(scalar, "little") & ~7 & ~(1 << 255) | 1 << 254
    k &= (1 << 255) - 1
    u = int.from_bytes(share, "little") & ((1 << 255) - 1)
    x2, z2, x3, z3, swap = 1, 0, u, 1, 0
    for t in reversed(range(255)):
        bit = k >> t & 1
        if swap ^ bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
        swap = bit
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        aa, bb, da, cb = a * a % prime, b * b % prime, d * a % prime, c * b % prime
        x3, z3 = (da + cb) ** 2 % prime, u * (da - cb) ** 2 % prime
        x2, z2 = aa * bb % prime, (aa - bb) * (aa + a24 * (aa - bb)) % prime
    if swap:
        x2, z2 = x3, z3
    return (x2 * pow(z2, prime - 2, prime) % prime).to_bytes(32, "little")


def mac(key: bytes, text: bytes) -> bytes:
    """HMAC-SHA-512-256 as libsodium cuts it."""
    return hmac.digest(key, text, hashlib.sha512)[:TAG_BYTES]


class Keys:
    """What both ends make of the key, the nonces and the shares (auth.h)."""

    def __init__(self, key: bytes, nonces: bytes, shares: bytes, both: bytes) -> None:
        self.key, self.seen = key, nonces + shares
        self.master = self.derive("session", both)

    def derive(self, label: str, more: bytes = b"") -> bytes:
        """Under the pre-shared key."""
        return mac(self.key, LABEL + label.encode() + b"\0" + self.seen + more)

    def expand(self, label: str) -> bytes:
        """A key of the session."""
        return mac(self.master, LABEL + label.encode() + b"\0")


def frames(content: bytes) -> Iterator[bytes]:
    """What stands in the frames, one after the other."""
    while content:
        (length,) = struct.unpack(">I", content[:4])
        yield content[4 : 4 + length]
        content = content[4 + length :]


def handshake(content: bytes, name: str) -> bytes:
    """A handshake with its share, and the proof and the tags that the input's name says."""
    server = content[0] & 1 == 0
    texts = list(frames(content[1:]))
    first = json.loads(texts[0]) | {"share": x25519(PEERS_SCALAR).hex()}
    texts[0] = json.dumps(first).encode()
    peers_nonce, own_share = bytes.fromhex(first["nonce"]), x25519(OWN_NONCE)
    pairs = [(peers_nonce, OWN_NONCE), (bytes.fromhex(first["share"]), own_share)]
    nonces, shares = (b"".join(pair if server else reversed(pair)) for pair in pairs)
    keys = Keys(KEY, nonces, shares, x25519(OWN_NONCE, bytes.fromhex(first["share"])))
    proof = json.loads(texts[1])
    wanted = "proof of the client" if server or name == "client-reflected" else "proof of the server"
    proof["proof"] = bytes(TAG_BYTES).hex() if name == "server-wrong-proof" else keys.derive(wanted).hex()
    texts[1] = json.dumps(proof).encode()
    channel = keys.expand("client to server" if server else "server to client")
    for number, text in enumerate(texts[2:]):
        message = text[:-TAG_BYTES]
        tag = mac(channel, struct.pack(">Q", number) + message)
        texts[2 + number] = message + (bytes([tag[0] ^ 1]) + tag[1:] if name == "server-wrong-tag" else tag)
    return content[:1] + b"".join(struct.pack(">I", len(text)) + text for text in texts)


def present(path: Path) -> bytes:
    """What that input should be."""
    content = versioned(path.read_bytes())
    if path.parent.name == "corpus-auth" and path.name in WITH_KEY:
        content = handshake(content, path.name)
    return content


def inputs() -> list[Path]:
    """All that hold messages."""
    return sorted(path for name in ("corpus-control", "corpus-auth") for path in (FUZZ / name).iterdir())


if __name__ == "__main__":
    for each in inputs():
        each.write_bytes(present(each))
