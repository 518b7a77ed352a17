"""Shared by tests: what test_faults and others use."""

import json
import struct

from tests.support.engine.fixtures import (
    PROTOCOL,
)


def frame(message: object) -> bytes:
    """A frame of the control connection."""
    text = json.dumps(message).encode()
    return struct.pack(">I", len(text)) + text


REQUEST = {
    "protocol": PROTOCOL,
    "type": "request",
    "kind": "memory",
    "streams": 1,
    "window_bytes": 0,
    "bytes": 1000,
    "duration_ns": 0,
    "receive": "discard",
}


GREETING = frame({"protocol": PROTOCOL, "type": "greeting", "nonce": "5a" * 32, "key": False})
