"""Crowds of strangers from many addresses, and a client that is far away; also where a whole IPv6 network is local."""

import contextlib
import ctypes
import os
import queue
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

PLACES = 2048  # server/pending_clients.h
RTT_S = 0.264
RATE = 400  # connections a second
CLONE_NEWNET = 0x40000000
IP_FREEBIND = 15


class Place:
    """Where server and strangers are: this host, or a network namespace that has every address of 2001:db8::/32."""

    def __init__(self, name: str | None = None, server: str = "127.0.0.1", client: str = "127.0.0.1") -> None:
        self.name, self.server, self.client = name, server, client

    def of_networks(self, count: int) -> list["Place"]:
        """The same with a client in each of so many networks, in none of which there are strangers."""
        made = "2001:db8:fff{}::2" if ":" in self.client else "127.25{}.0.1"
        return [Place(self.name, self.server, made.format(number)) for number in range(count)]

    def enter(self) -> None:
        """This thread's new sockets are there."""
        if self.name is None:
            return
        with Path(f"/run/netns/{self.name}").open("rb") as file:
            if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")

    def under(self) -> list[str]:
        """Before a command that is to run there."""
        return ["ip", "netns", "exec", self.name] if self.name else []

    def connect(self, port: int, source: str) -> socket.socket:
        """A connection from that address, which need be nobody's."""
        family = socket.AF_INET6 if ":" in source else socket.AF_INET
        made = socket.socket(family, socket.SOCK_STREAM)
        try:
            made.settimeout(20)
            made.setsockopt(socket.SOL_IP, IP_FREEBIND, 1)
            made.bind((source, 0))
            made.connect((self.server, port))
        except OSError:
            made.close()
            raise
        return made


@contextlib.contextmanager
def all_of_a_network() -> Iterator[Place]:
    """A namespace in which each address of 2001:db8::/32 is its own."""
    name = f"lsc{os.getpid()}"

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True, timeout=20)

    ip("netns", "add", name)
    try:
        ip("-n", name, "link", "set", "lo", "up")
        ip("-n", name, "-6", "addr", "add", "2001:db8:ffff::1/128", "dev", "lo", "nodad")
        ip("-n", name, "-6", "route", "add", "local", "2001:db8::/32", "dev", "lo")
        yield Place(name, "2001:db8:ffff::1", "2001:db8:fffe::2")
    finally:
        ip("netns", "del", name)


class Strangers(threading.Thread):
    """Fill all places, then come at the rate, from one address after the other, each with these words."""

    def __init__(self, port: int, addresses: list[str], words: bytes, place: Place | None = None) -> None:
        super().__init__(daemon=True)
        self.port, self.addresses, self.words, self.place = port, addresses, words, place or Place()
        self.count, self.stop, self.full = 0, threading.Event(), threading.Event()
        self.alive: deque[socket.socket] = deque()

    def say(self, each: socket.socket) -> None:
        """What one of them has to say as it comes."""
        if self.words:
            each.sendall(self.words)

    def _come(self) -> None:
        each = self.place.connect(self.port, self.addresses[self.count % len(self.addresses)])
        self.alive.append(each)
        self.say(each)
        self.count += 1
        if len(self.alive) > PLACES + 100:
            self.alive.popleft().close()

    def run(self) -> None:
        """Until told."""
        self.place.enter()
        due = 0.0
        while not self.stop.is_set():
            with contextlib.suppress(OSError):
                self._come()
            if self.count < PLACES:
                continue
            due = due or time.monotonic()
            self.full.set()
            due += 1 / RATE
            self.stop.wait(max(due - time.monotonic(), 0))
        for each in self.alive:
            each.close()


@contextlib.contextmanager
def far(port: int, place: Place | None = None) -> Iterator[int]:
    """Another port from which all goes on to that one, half a round trip later each way."""
    where = place or Place()
    opened = queue.SimpleQueue[socket.socket]()

    def read(source: socket.socket, way: queue.SimpleQueue[tuple[float, bytes]]) -> None:
        part = b"-"
        while part:
            try:
                part = source.recv(1 << 16)
            except OSError:
                part = b""
            way.put((time.monotonic() + RTT_S / 2, part))

    def write(target: socket.socket, way: queue.SimpleQueue[tuple[float, bytes]]) -> None:
        with contextlib.suppress(OSError):
            while (item := way.get())[1]:
                time.sleep(max(item[0] - time.monotonic(), 0))
                target.sendall(item[1])
            target.shutdown(socket.SHUT_WR)

    def accept() -> None:
        where.enter()
        family = socket.AF_INET6 if ":" in where.server else socket.AF_INET
        listener = socket.create_server((where.server, 0), family=family, backlog=64)
        opened.put(listener)
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                there = where.connect(port, where.client)
                there.settimeout(None)
                for source, target in ((near, there), (there, near)):
                    way: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
                    threading.Thread(target=read, args=(source, way), daemon=True).start()
                    threading.Thread(target=write, args=(target, way), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    listener = opened.get(timeout=20)
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
