"""Many packets by one system call (sendmmsg(2), recvmmsg(2)): in a guest each call costs more than its packet does."""

from __future__ import annotations

import ctypes
import os
import socket
import struct

MOST = 1024  # that the kernel takes at once (UIO_MAXIOV)
SO_TXTIME = SCM_TXTIME = 61
SEQUENCE = struct.Struct("!I")
CONTROL_BYTES = 64
# struct mmsghdr of x86-64: name, its length, vectors, how many, control, its length, flags; and what was done
HEADER = struct.Struct("=QI4xQQQQi4xI4x")
VECTOR = struct.Struct("=QQ")
SENT_CONTROL = struct.Struct("=QiiQ")  # struct cmsghdr, and a time
_libc = ctypes.CDLL(None, use_errno=True)


def send_at(sock: socket.socket, first: int, due_ns: list[int], payload_bytes: int) -> None:
    """Send packets that leave at these times (SO_TXTIME), and begin with their numbers, counted from the first's.

    Raises:
        OSError: the kernel refused one of them.
    """
    for begin in range(0, len(due_ns), MOST):
        _send(sock, first + begin, due_ns[begin : begin + MOST], payload_bytes)


def _send(sock: socket.socket, first: int, due_ns: list[int], payload_bytes: int) -> None:
    count, each = len(due_ns), SENT_CONTROL.size
    controls = ctypes.create_string_buffer(
        b"".join(SENT_CONTROL.pack(each, socket.SOL_SOCKET, SCM_TXTIME, at_ns) for at_ns in due_ns), count * each
    )
    numbers = ctypes.create_string_buffer(
        b"".join(SEQUENCE.pack(first + number) for number in range(count)), count * SEQUENCE.size
    )
    filling = ctypes.create_string_buffer(payload_bytes - SEQUENCE.size)
    at, rest = ctypes.addressof(numbers), VECTOR.pack(ctypes.addressof(filling), len(filling))
    vectors = ctypes.create_string_buffer(
        b"".join(VECTOR.pack(at + number * SEQUENCE.size, SEQUENCE.size) + rest for number in range(count)),
        2 * count * VECTOR.size,
    )
    headers = _headers(count, vectors, 2, controls, each)
    done = 0
    while done < count:
        offset = ctypes.byref(headers, done * HEADER.size)
        done += _checked(_libc.sendmmsg(sock.fileno(), offset, count - done, 0), "sendmmsg")


def receive(sock: socket.socket, most: int) -> list[tuple[int, int]]:
    """Take the packets that are there: number and time of arrival (SO_TIMESTAMPNS) of each."""
    found: list[tuple[int, int]] = []
    while len(found) < most and (came := _receive(sock, min(most - len(found), MOST))):
        found += came
    return found


def _receive(sock: socket.socket, count: int) -> list[tuple[int, int]]:
    each = SEQUENCE.size
    controls = ctypes.create_string_buffer(count * CONTROL_BYTES)
    numbers = ctypes.create_string_buffer(count * each)
    at = ctypes.addressof(numbers)
    vectors = ctypes.create_string_buffer(
        b"".join(VECTOR.pack(at + number * each, each) for number in range(count)), count * VECTOR.size
    )
    headers = _headers(count, vectors, 1, controls, CONTROL_BYTES)
    try:
        got = _checked(_libc.recvmmsg(sock.fileno(), headers, count, socket.MSG_DONTWAIT, None), "recvmmsg")
    except BlockingIOError:
        return []
    found: list[tuple[int, int]] = []
    for number in range(got):
        seconds, nanoseconds = struct.unpack_from("=qq", controls, number * CONTROL_BYTES + 16)
        (sequence,) = SEQUENCE.unpack_from(numbers, number * each)
        found.append((sequence, seconds * 1_000_000_000 + nanoseconds))
    return found


def _headers(
    count: int, vectors: ctypes.Array[ctypes.c_char], parts: int, controls: ctypes.Array[ctypes.c_char], each: int
) -> ctypes.Array[ctypes.c_char]:
    vector, control = ctypes.addressof(vectors), ctypes.addressof(controls)
    packed = b"".join(
        HEADER.pack(0, 0, vector + number * parts * VECTOR.size, parts, control + number * each, each, 0, 0)
        for number in range(count)
    )
    return ctypes.create_string_buffer(packed, len(packed))


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result
