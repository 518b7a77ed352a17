"""Shared by tests: what test_hostile and others use."""

import contextlib
import ctypes
import json
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.engine.faults import GREETING, REQUEST, frame
from tests.support.engine.fixtures import PROTOCOL, Bench, control_connection, say_hello

LIST, LIST_END, DATA, ZERO, ABANDON = range(1, 6)


FILE, DIRECTORY, LINK = range(1, 4)


XXHASH = ctypes.CDLL("libxxhash.so.0")


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


XXHASH.XXH3_128bits.restype = Hash128


XXHASH.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


XXHASH.XXH3_64bits.restype = ctypes.c_uint64


XXHASH.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


def record(kind: int, entry: int, payload: bytes = b"", offset: int = 0, length: int | None = None) -> bytes:
    """A record as the engine's sender makes it, also where the engine's never would."""
    digest = XXHASH.XXH3_128bits(payload, len(payload))
    size = len(payload) if length is None else length
    head = b"lsf\1" + struct.pack(">IIIQQQ", kind, entry, size, offset, digest.high, digest.low)
    return head + struct.pack(">Q", XXHASH.XXH3_64bits(head, len(head))) + payload


def entry(path: bytes, size: int = 0, kind: int = FILE, target: bytes = b"", mode: int = 0o644) -> bytes:
    """An entry of the list."""
    times = struct.pack(">qI", 10**9, 0) * 2
    return struct.pack(">BHQ", kind, mode, size) + times + struct.pack(">HH", len(path), len(target)) + path + target


def listed(*entries: bytes) -> bytes:
    """A list that is whole."""
    return record(LIST, 0, b"".join(entries)) + record(LIST_END, len(entries))


def visit(bench: Bench, *records: bytes) -> dict:
    """A session with these records; the result or error that the receiver sends."""
    with control_connection(bench.port) as control:
        messages = control.makefile("rb")

        def get() -> dict:
            return json.loads(messages.read(struct.unpack(">I", messages.read(4))[0]))

        control.sendall(GREETING + frame({**REQUEST, "kind": "files", "bytes": 0}))
        while (grant := get())["type"] != "grant":
            assert grant["type"] == "welcome", grant
        with socket.create_connection(("127.0.0.1", bench.port), timeout=20) as data:
            say_hello(data, 0, bytes.fromhex(grant["token"]), grant["session"])
            assert get()["type"] == "ready"
            control.sendall(frame({"protocol": PROTOCOL, "type": "go"}))
            with contextlib.suppress(OSError):  # it may have had enough
                data.sendall(b"".join(records))
                data.shutdown(socket.SHUT_WR)
            while (answer := get())["type"] not in ("result", "error"):
                pass
            return answer


@pytest.fixture(name="place")
def place_fixture(bench: Bench, tmp_path: Path) -> Iterator[Path]:
    """The directory that a receiver writes to, with something beside it that it must not touch."""
    (tmp_path / "place" / "target").mkdir(parents=True)
    (tmp_path / "place" / "outside").mkdir()
    (tmp_path / "place" / "outside" / "secret").write_text("untouched")
    receiver = bench.receive("--directory", str(tmp_path / "place" / "target"), "--anonymous")
    yield tmp_path / "place"
    assert receiver.process.poll() is None, receiver.errors  # it serves on
    outside = {path.name: path.read_text() for path in (tmp_path / "place" / "outside").iterdir()}
    assert outside == {"secret": "untouched"}
    assert {path.name for path in (tmp_path / "place").iterdir()} == {"target", "outside"}
