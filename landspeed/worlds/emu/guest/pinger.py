"""Echoes beside a transfer: ICMP from a flow's sender to its receiver, a packet of its own at even intervals.

Two processes share the socket: one sends at its times, the other waits for what comes back.
"""

from __future__ import annotations

import itertools
import os
import signal
import socket
import struct
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from landspeed.scenario.theory.timing import ECHO_PAYLOAD_BYTES, ICMP_HEADER_BYTES
from landspeed.worlds.emu.guest import clock
from landspeed.worlds.emu.guest.calibration.calibrate import echo_request, echo_sequence, internet_checksum
from landspeed.worlds.emu.guest.calibration.trains import SO_TIMESTAMPNS_NEW
from landspeed.worlds.emu.guest.files import OUT

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Flow
    from landspeed.worlds.emu.guest.network.network import Network

STAMP = struct.Struct("!QQ")
"""What an echo carries: its number, and the calendar's time at which it was sent, in ns."""

IDENTIFIER = 0x5000  # of the first flow; none of the calibration's


class Pinger:
    """Echoes of one flow; `pings.csv` in its folder gets those that came back."""

    def __init__(self, network: Network, flow: Flow, number: int, folder: str) -> None:
        """Open the socket and the file."""
        self._version = network.plan.ip_version
        self._identifier = IDENTIFIER + number
        self._target = (network.flow_address(flow, target=True), 0)
        assert flow.transfer.ping_interval_ns is not None, "the flow asks for echoes"
        self._interval_ns = flow.transfer.ping_interval_ns
        family, protocol = (
            (socket.AF_INET, socket.IPPROTO_ICMP) if self._version == 4 else (socket.AF_INET6, socket.IPPROTO_ICMPV6)
        )
        with network.node(flow.source).inside():
            self._socket = socket.socket(family, socket.SOCK_RAW, protocol)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS_NEW, 1)
        self._file = open("/".join(filter(None, (OUT, folder, "pings.csv"))), "wb", buffering=0)  # noqa: PTH123, SIM115
        self._file.write(b"number,sent_ns,rtt_ns\n")
        self._children: list[int] = []

    def start(self, first_ns: int) -> None:
        """Send from a time of the monotonic clock on."""
        self._children = [_forked(self._receive), _forked(lambda: self._send(first_ns))]

    def stop(self) -> None:
        """End it; what has not come back by now is lost."""
        for child in self._children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        self._socket.close()
        self._file.close()

    def _send(self, first_ns: int) -> None:
        for number in itertools.count():
            clock.sleep_until(first_ns + number * self._interval_ns)
            payload = STAMP.pack(number, time.time_ns()).ljust(ECHO_PAYLOAD_BYTES, b"\0")
            request = echo_request(self._version, number & 0xFFFF, payload, self._identifier)
            self._socket.sendto(request, self._target)

    def _receive(self) -> None:
        while True:
            packet, control, _, _ = self._socket.recvmsg(2048, 64)
            if echo_sequence(self._version, packet, self._identifier) is None or self._damaged(packet):
                continue
            number, sent_ns = STAMP.unpack_from(packet, len(packet) - ECHO_PAYLOAD_BYTES)
            seconds, nanoseconds = struct.unpack("qq", control[0][2])
            self._file.write(b"%d,%d,%d\n" % (number, sent_ns, seconds * 10**9 + nanoseconds - sent_ns))

    def _damaged(self, packet: bytes) -> bool:
        """Return whether the checksum is wrong; ICMPv6's the kernel has looked at."""
        return self._version == 4 and internet_checksum(packet[-ICMP_HEADER_BYTES - ECHO_PAYLOAD_BYTES :]) != 0


def _forked(work: Callable[[], None]) -> int:
    child = os.fork()
    if not child:
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            work()
        finally:
            os._exit(1)
    return child
