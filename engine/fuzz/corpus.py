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
# What fuzz_auth.c gives to auth_start(): a C string in 32 bytes, and a nonce that begins with 9.
KEY = b"0123456789abcdefghijklmnopqrstu\0"
OWN_NONCE = bytes([9]).ljust(32, b"\0")


def protocol_version() -> int:
    """That of message.h."""
    text = (FUZZ.parent / "include" / "message.h").read_text()
    return int(re.findall(r"#define PROTOCOL_VERSION (\d+)", text)[0])


def versioned(content: bytes) -> bytes:
    """All messages in it say the present version. It stays as long as it is: lengths stand before the messages."""
    version = str(protocol_version()).encode()
    if len(version) != 1:
        raise NotImplementedError("a version of two digits makes the frames longer: their lengths must be written anew")
    return re.sub(rb'("protocol": ?)\d\b', rb"\g<1>" + version, content)


def frames(content: bytes) -> Iterator[bytes]:
    """What stands in the frames, one after the other."""
    while content:
        (length,) = struct.unpack(">I", content[:4])
        yield content[4 : 4 + length]
        content = content[4 + length :]


def tagged(content: bytes, right: bool) -> bytes:
    """A handshake: the tag of each message after the proof, right or with its first bit turned (auth.h)."""
    server = content[0] & 1 == 0
    texts = list(frames(content[1:]))
    peers_nonce = bytes.fromhex(json.loads(texts[0])["nonce"])
    nonces = peers_nonce + OWN_NONCE if server else OWN_NONCE + peers_nonce
    label = b"client to server" if server else b"server to client"
    channel = hmac.digest(KEY, b"landspeed-engine/2 " + label + b"\0" + nonces, hashlib.sha512)[:TAG_BYTES]
    for number, text in enumerate(texts[2:]):
        message = text[:-TAG_BYTES]
        tag = hmac.digest(channel, struct.pack(">Q", number) + message, hashlib.sha512)[:TAG_BYTES]
        texts[2 + number] = message + (tag if right else bytes([tag[0] ^ 1]) + tag[1:])
    return content[:1] + b"".join(struct.pack(">I", len(text)) + text for text in texts)


def present(path: Path) -> bytes:
    """What that input should be."""
    content = versioned(path.read_bytes())
    if path.parent.name == "corpus-auth" and path.name in ("client-open", "server-open", "server-wrong-tag"):
        content = tagged(content, right=path.name != "server-wrong-tag")
    return content


def inputs() -> list[Path]:
    """All that hold messages."""
    return sorted(path for name in ("corpus", "corpus-auth") for path in (FUZZ / name).iterdir())


if __name__ == "__main__":
    for each in inputs():
        each.write_bytes(present(each))
