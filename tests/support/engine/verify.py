"""Shared by tests: what test_verify and others use."""

import random
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass

from tests.support.engine.fixtures import Bench

CHALLENGE, HELLO = 40, 48  # bytes (control/hello.h)


HEADER = 48


BLOCK = 256 << 10


PAYLOAD = BLOCK - HEADER


PROXY, RECEIVER = "127.0.0.2", "127.0.0.1"


@dataclass
class Fault:
    """What the receiver must say about one injected fault."""

    kind: str
    stream: int
    block: int
    offset: int


def read_exactly(source: socket.socket, count: int) -> bytes:
    """`count` bytes, fewer at the end of the stream."""
    parts = bytearray()
    while len(parts) < count:
        part = source.recv(count - len(parts))
        if not part:
            break
        parts += part
    return bytes(parts)


def pass_hello(near: socket.socket, far: socket.socket) -> int:
    """The receiver's challenge, and the sender's answer; the stream that it is of."""
    near.sendall(read_exactly(far, CHALLENGE))
    hello = read_exactly(near, HELLO)
    far.sendall(hello)
    return int.from_bytes(hello[8:12], "big")


class Proxy:
    """Passes the control connection on unchanged, and data connections through `harm(stream, number, block)`."""

    def __init__(self, port: int, data_port: int, harm: Callable[[int, int, bytes], list[bytes]]) -> None:
        self.harm = harm
        self.listeners = [self._listen(port, self._pass_both), self._listen(data_port, self._pass_data)]

    def _listen(self, port: int, serve: Callable[[socket.socket, socket.socket], None]) -> socket.socket:
        listener = socket.create_server((PROXY, port), backlog=64)

        def accept() -> None:
            while True:
                try:
                    near, _ = listener.accept()
                except OSError:
                    return  # closed: the test is over
                far = socket.create_connection((RECEIVER, port))
                threading.Thread(target=serve, args=(near, far), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        return listener

    @staticmethod
    def _copy(source: socket.socket, sink: socket.socket) -> None:
        try:
            while part := source.recv(1 << 16):
                sink.sendall(part)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            source.close()
            sink.close()

    def _pass_both(self, near: socket.socket, far: socket.socket) -> None:
        threading.Thread(target=self._copy, args=(far, near), daemon=True).start()
        self._copy(near, far)

    def _pass_data(self, near: socket.socket, far: socket.socket) -> None:
        try:
            stream = pass_hello(near, far)
            number = 0
            while block := read_exactly(near, BLOCK):
                for part in self.harm(stream, number, block):
                    far.sendall(part)
                number += 1
            far.shutdown(socket.SHUT_WR)
        except OSError:
            near.close()
            far.close()

    def close(self) -> None:
        """No further connections."""
        for listener in self.listeners:
            listener.close()


class Harm:
    """Injects what `plan[stream][block]` names, and knows what the receiver must report."""

    def __init__(self, plan: dict[int, dict[int, str]], seed: int) -> None:
        self.plan = plan
        self.random = random.Random(seed)
        self.expected: list[Fault] = []
        self.lock = threading.Lock()
        self.held: dict[int, bytes] = {}

    def _expect(self, kind: str, stream: int, block: int, within: int = 0) -> None:
        self.expected.append(Fault(kind, stream, block, block * PAYLOAD + within))

    def __call__(self, stream: int, number: int, block: bytes) -> list[bytes]:
        with self.lock:
            if stream in self.held:  # the other half of a swap
                return [block, self.held.pop(stream)]
            what = self.plan[stream].get(number)
            return [block] if what is None else getattr(self, what)(stream, number, block)

    def flip(self, stream: int, number: int, block: bytes) -> list[bytes]:
        """One bit of the payload."""
        bit = self.random.randrange(8 * HEADER, 8 * len(block))
        self._expect("damaged", stream, number, bit // 8 - HEADER)
        return [block[: bit // 8], bytes([block[bit // 8] ^ 1 << bit % 8]), block[bit // 8 + 1 :]]

    def flip_header(self, stream: int, number: int, block: bytes) -> list[bytes]:
        """One bit of the header: the block is not known as one."""
        bit = self.random.randrange(8 * HEADER)
        self._expect("unreadable", stream, number)
        self._expect("missing", stream, number)
        return [block[: bit // 8], bytes([block[bit // 8] ^ 1 << bit % 8]), block[bit // 8 + 1 :]]

    def swap(self, stream: int, number: int, block: bytes) -> list[bytes]:
        """This block after the next one."""
        self.held[stream] = block
        self._expect("misplaced", stream, number)
        return []

    def repeat(self, stream: int, number: int, block: bytes) -> list[bytes]:
        """Twice."""
        self._expect("repeated", stream, number)
        return [block, block]

    def drop(self, stream: int, number: int, _block: bytes) -> list[bytes]:
        """Not at all."""
        self._expect("missing", stream, number)
        return []

    def cut(self, stream: int, number: int, block: bytes) -> list[bytes]:
        """A segment's worth is lost inside it."""
        at = self.random.randrange(HEADER, len(block) - 2 * 1448)
        # One byte of 256 is by chance what was there before: the first wrong one comes later then.
        wrong = next(place for place in range(at, len(block)) if block[place] != block[place + 1448])
        self._expect("cut", stream, number, wrong - HEADER)
        return [block[:at], block[at + 1448 :]]


def found(bench: Bench) -> list[Fault]:
    """What the receiver reported, of all streams."""
    result = bench.result()
    assert result["bytes_source"] == "receiver"
    return [
        Fault(fault["kind"], fault["stream"], fault["block"], fault["offset"])
        for stream in result["streams"]
        for fault in stream["verified"]["first"]
    ]


def key(fault: Fault) -> tuple[str, int, int, int]:
    """For comparison as sets."""
    return (fault.kind, fault.stream, fault.block, fault.offset)
