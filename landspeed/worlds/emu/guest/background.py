"""Background traffic: UDP packets of full size from one end of a link to the other, at a rate that heeds nobody."""

from __future__ import annotations

import mmap
import os
import signal
import socket
import struct
from typing import TYPE_CHECKING

from landspeed.worlds.emu.guest import clock
from landspeed.worlds.emu.guest.network.network import Network, link_address

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Link

UDP_SEGMENT = 103
# Each send costs tens of microseconds of wall time; above this rate one carries several packets back to back.
LEAST_SPACING_NS = 20_000
MOST_TOGETHER_BYTES = 60_000


class Background:
    """Traffic in one direction of a link. The sockets are made at once, so that starting it is only a fork."""

    def __init__(self, network: Network, link: Link, *, forward: bool, rate_bps: int) -> None:
        """Open both ends."""
        plan = network.plan
        (origin, _), (target, _) = network.end(link.index, 0 if forward else 1), network.end(link.index, int(forward))
        family = socket.AF_INET if plan.ip_version == 4 else socket.AF_INET6
        header = 28 if plan.ip_version == 4 else 48
        spacing_ns = link.mtu_bytes * 8e9 / rate_bps
        together = max(1, min(MOST_TOGETHER_BYTES // link.mtu_bytes, round(LEAST_SPACING_NS / spacing_ns)))
        self.together, self._spacing_ns = together, spacing_ns * together
        self._payload = b"\0" * ((link.mtu_bytes - header) * together)
        with network.nodes[target].inside():
            self._sink = socket.socket(family, socket.SOCK_DGRAM)
        with network.nodes[origin].inside():
            self._source = socket.socket(family, socket.SOCK_DGRAM)
        self._sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)  # nobody reads it: the kernel drops at the end
        self._sink.bind((link_address(plan.ip_version, link.index, int(forward)), 0))
        self._source.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30)
        if together > 1:
            self._source.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, link.mtu_bytes - header)
        self._source.connect(self._sink.getsockname()[:2])
        self._sent = mmap.mmap(-1, 8)  # shared with the child
        self._child: int | None = None

    @property
    def packets_sent(self) -> int:
        """Packets sent so far."""
        return struct.unpack("q", self._sent[:8])[0]

    def start(self, start_ns: int, duration_ns: int) -> None:
        """Send from a time of the monotonic clock on."""
        child = os.fork()
        if child:
            self._child = child
            return
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            count = round(duration_ns / self._spacing_ns)
            for number in range(count):
                clock.sleep_until(start_ns + round(number * self._spacing_ns))
                self._source.send(self._payload)
                self._sent[:8] = struct.pack("q", (number + 1) * self.together)
        finally:
            os._exit(0)

    def stop(self) -> None:
        """End it, if it has not ended."""
        if self._child is not None:
            os.kill(self._child, signal.SIGKILL)  # a zombie takes the signal too
            os.waitpid(self._child, 0)
            self._child = None
        self._source.close()
        self._sink.close()
