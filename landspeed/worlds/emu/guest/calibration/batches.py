"""Many packets by one system call (sendmmsg(2), recvmmsg(2)): in a guest each call costs more than its packet does.

What is done for each packet is done in C: each flow of a network has trains of hundreds before its transfer.
"""

from __future__ import annotations

import ctypes
import functools
import os
import socket
import struct
from array import array
from itertools import repeat
from operator import add, mul

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
    places = _places(count, each, payload_bytes - SEQUENCE.size)
    struct.pack_into(f"!{count}I", places.numbers, 0, *range(first, first + count))
    places.controls.raw = SENT_CONTROL.pack(each, socket.SOL_SOCKET, SCM_TXTIME, 0) * count
    memoryview(places.controls).cast("B").cast("Q")[2::3] = memoryview(array("Q", due_ns))
    headers = places.headers()
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
    places = _places(count, CONTROL_BYTES, 0)
    try:
        got = _checked(_libc.recvmmsg(sock.fileno(), places.headers(), count, socket.MSG_DONTWAIT, None), "recvmmsg")
    except BlockingIOError:
        return []
    words = memoryview(places.controls).cast("B").cast("q")
    seconds, nanoseconds = (words[at :: CONTROL_BYTES // 8].tolist()[:got] for at in (2, 3))  # behind the cmsghdr
    times_ns = map(add, map(mul, seconds, repeat(1_000_000_000)), nanoseconds)
    return list(zip(struct.unpack_from(f"!{got}I", places.numbers), times_ns, strict=True))


class _Places:
    """Memory of so many packets: the number of each, its control data, and what follows each number."""

    def __init__(self, count: int, control_bytes: int, filling_bytes: int) -> None:
        self.numbers = ctypes.create_string_buffer(count * SEQUENCE.size)
        self.controls = ctypes.create_string_buffer(count * control_bytes)
        self._filling = ctypes.create_string_buffer(filling_bytes)
        number_at, control_at = ctypes.addressof(self.numbers), ctypes.addressof(self.controls)
        filling = VECTOR.pack(ctypes.addressof(self._filling), filling_bytes)
        size = SEQUENCE.size
        packed = b"".join(VECTOR.pack(number_at + each * size, size) + filling for each in range(count))
        self._vectors = ctypes.create_string_buffer(packed, len(packed))
        vector_at, both = ctypes.addressof(self._vectors), 2 * VECTOR.size
        self._headers = b"".join(
            HEADER.pack(0, 0, vector_at + each * both, 2, control_at + each * control_bytes, control_bytes, 0, 0)
            for each in range(count)
        )

    def headers(self) -> ctypes.Array[ctypes.c_char]:
        """Descriptions of the packets, which the kernel reads and writes into."""
        return ctypes.create_string_buffer(self._headers, len(self._headers))


_places = functools.cache(_Places)  # flows of one path have trains of one length


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result
