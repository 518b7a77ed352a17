"""Two engines with a wire between them that does to their messages and bytes what chance says: one session each.

It knows the frames of the control connection: it drops, repeats, delays, exchanges and cuts them, and makes one of
another type of them; it delays, stops and cuts the data. What it did is in `done`, to be read when a test fails.
"""

import contextlib
import json
import random
import socket
import struct
import threading
import time

from tests.support.engine.fixtures import CHALLENGE, free_port

TYPES = ("greeting", "challenge", "proof", "welcome", "request", "queued", "grant", "ready", "go", "stop", "result")
TYPES += ("account", "error", "files-have", "files-state", "files-again", "files-progress")
LINGER_S = 120


class Faults:
    """What happens to one session: few things, so that most of it goes on as it should."""

    def __init__(self, seed: int) -> None:
        chance = self.chance = random.Random(seed)
        kinds = ["drop", "twice", "late", "swap", "cut", "half", "type", "bits"]
        self.frames = {
            (chance.choice(["there", "back"]), chance.choice([0, 1, 2, 2, 3, 3, 4])): chance.choice(kinds)
            for _ in range(chance.choice([0, 1, 1, 1, 2]))
        }
        self.data = {
            (chance.choice(["there", "back"]), chance.randrange(4)): (
                chance.choice(["late", "stop", "cut", "end"]),
                chance.choice([0, 1, 47, 48, 49, 1000, 70_000, 400_000]),
            )
            for _ in range(chance.choice([0, 0, 1, 1, 2]))
        }
        self.late_s = chance.choice([0.02, 0.2, 0.8])
        self.done = list[str]()
        self.lock = threading.Lock()
        self.connections = 0


class Wire:
    """A port of its own; what comes there goes on to the server's, if chance will have it."""

    def __init__(self, port: int, seed: int) -> None:
        self.server, self.port, self.faults = port, free_port(), Faults(seed)
        self.open = list[socket.socket]()
        self.lock = threading.Lock()
        self.source = f"127.66.{seed // 200 % 250}.{1 + seed % 200}"  # by which the server knows this session's client
        self.listener = socket.create_server(("127.0.0.1", self.port), backlog=64)
        self.datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.datagrams.bind(("127.0.0.1", self.port))
        self.onward = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.onward.bind((self.source, 0))
        self._start(self._accept)
        self._start(self._carry_datagrams)

    def _start(self, body: object, *arguments: object) -> None:
        threading.Thread(target=body, args=arguments, daemon=True).start()  # pyright: ignore[reportArgumentType]

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                to = ("127.0.0.1", self.server)
                far = socket.create_connection(to, timeout=LINGER_S, source_address=(self.source, 0))
                near.settimeout(LINGER_S)
                with self.lock:
                    self.open += [near, far]
                self._start(self._connection, near, far)

    def _carry_datagrams(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                bytes_, _ = self.datagrams.recvfrom(1 << 16)
                self.onward.sendto(bytes_, ("127.0.0.1", self.server))

    def _connection(self, near: socket.socket, far: socket.socket) -> None:
        """The server speaks first; the client's first byte tells what it is."""
        with contextlib.suppress(OSError):
            near.sendall(far.recv(CHALLENGE, socket.MSG_WAITALL))
            first = near.recv(1, socket.MSG_PEEK)
            if first == b"\0":
                self._start(self._frames, far, near, "back")
                self._frames(near, far, "there")
            elif first:
                with self.faults.lock:
                    number, self.faults.connections = self.faults.connections, self.faults.connections + 1
                self._start(self._bytes, far, near, "back", number)
                self._bytes(near, far, "there", number)

    def _cut(self, *ends: socket.socket) -> None:
        for each in ends:
            with contextlib.suppress(OSError):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                each.shutdown(socket.SHUT_RDWR)

    def _frames(self, source: socket.socket, target: socket.socket, way: str) -> None:
        held, number = b"", 0
        with contextlib.suppress(OSError, ValueError, struct.error):
            while head := source.recv(4, socket.MSG_WAITALL):
                frame = head + source.recv(struct.unpack(">I", head)[0], socket.MSG_WAITALL)
                fault = self.faults.frames.get((way, number), "")
                number += 1
                if fault:
                    self.faults.done.append(f"{way} {number - 1}: {fault} of {frame[4:200]!r}")
                if fault == "swap" and not held:
                    held = frame
                    continue
                if fault == "cut":
                    return self._cut(source, target)
                if fault == "half":
                    target.sendall(frame[: len(frame) // 2])
                    return self._cut(source, target)
                for each in self._harmed(frame, fault):
                    target.sendall(each)
                target.sendall(held)
                held = b""
            target.sendall(held)
            target.shutdown(socket.SHUT_WR)
        return None

    def _harmed(self, frame: bytes, fault: str) -> list[bytes]:
        chance = self.faults.chance
        if fault == "drop":
            return []
        if fault == "twice":
            return [frame, frame]
        if fault == "late":
            time.sleep(self.faults.late_s)
        if fault == "type":
            # A tag stands behind the text, of any bytes.
            message, _ = json.JSONDecoder().raw_decode(frame[4:].decode("utf-8", "surrogateescape"))
            text = json.dumps(message | {"type": chance.choice(TYPES)}).encode()
            return [struct.pack(">I", len(text)) + text]
        if fault == "bits":
            at = chance.randrange(4, len(frame))
            return [frame[:at] + bytes([frame[at] ^ 1 << chance.randrange(8)]) + frame[at + 1 :]]
        return [frame]

    def _bytes(self, source: socket.socket, target: socket.socket, way: str, number: int) -> None:
        fault, at = self.faults.data.get((way, number), ("", 0))
        carried = 0
        with contextlib.suppress(OSError):
            while chunk := source.recv(1 << 16):
                if fault and carried + len(chunk) > at:
                    target.sendall(chunk[: max(at - carried, 0)])
                    self.faults.done.append(f"data {way} {number}: {fault} at {at}")
                    if fault == "late":
                        time.sleep(self.faults.late_s)
                    elif fault == "end":
                        target.shutdown(socket.SHUT_WR)
                        return None
                    elif fault == "cut":
                        return self._cut(source, target)
                    else:
                        time.sleep(LINGER_S)
                    chunk, carried, fault = chunk[max(at - carried, 0) :], at, ""
                target.sendall(chunk)
                carried += len(chunk)
            target.shutdown(socket.SHUT_WR)
        return None

    def close(self) -> None:
        """End all of it."""
        for each in (self.listener, self.datagrams, self.onward, *self.open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
