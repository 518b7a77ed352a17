"""Checks of flows of datagrams: the keys that go with `protocol: udp`, and those that do not."""

from __future__ import annotations

from collections.abc import Iterator

from landspeed.base.units import SIZE, format_exact
from landspeed.scenario.file.document import KeyPath
from landspeed.scenario.file.fault import Fault
from landspeed.scenario.file.flow_transfer import OF_DATAGRAMS, OF_TCP
from landspeed.scenario.file.model import TransferSection
from landspeed.scenario.theory.datagrams import LEAST_PAYLOAD, UDP_HEADER, call_packet_bytes
from landspeed.scenario.theory.physics import IP_HEADER


def check_datagrams(
    transfer: TransferSection, written: TransferSection, where: KeyPath, name: str, ip: int
) -> Iterator[Fault]:
    """Find what contradicts the protocol of a transfer.

    Args:
        transfer: with what the file says for all.
        written: the section itself, which has the keys that can be pointed at.
        where: its place.
        name: of the transfer, in messages.
        ip: version of IP.
    """
    if transfer.protocol == "tcp":
        for key in (each for each in OF_DATAGRAMS if getattr(written, each) is not None):
            right = "add protocol: udp, or remove it" + (" (pacing is TCP's)" if key == "rate" else "")
            yield Fault((*where, key), f"{key} is of datagrams, and {name} is TCP", right, at_key=True)
            return
        return
    for key in (each for each in OF_TCP if each in written.model_fields_set):
        right = "write duration instead: datagrams are sent for a time" if key == "bytes" else "remove it"
        yield Fault((*where, key), f"{key} is of TCP, and {name} sends datagrams", right, at_key=True)
        return
    yield from _shape(transfer, where, name, ip)


def _shape(transfer: TransferSection, where: KeyPath, name: str, ip: int) -> Iterator[Fault]:
    """Find what is wrong with rate, size and rests of datagrams."""
    if transfer.rate is None and transfer.call is None:
        yield Fault((*where, "protocol"), f"{name} sends datagrams at no rate", "add rate: 5 Mbit/s, or call: g711")
    if transfer.call is not None and (transfer.rate is not None or transfer.packet is not None):
        packet = call_packet_bytes(transfer.call, ip)
        what = f"a call has its own rate and packets: 50 a second of {packet} B"
        yield Fault((*where, "call"), what, "leave rate and packet out, or call")
    if (transfer.active is None) != (transfer.idle is None):
        key, other = ("active", "idle") if transfer.idle is None else ("idle", "active")
        yield Fault((*where, key), f"{key} without {other}", f"add {other}: 1 s, or remove it", at_key=True)
    least = LEAST_PAYLOAD + UDP_HEADER + IP_HEADER[ip]
    if transfer.packet is not None and transfer.packet < least:
        what = f"packets of {format_exact(SIZE, transfer.packet)} do not hold a datagram with its number and time"
        yield Fault((*where, "packet"), what, f"write at least {least} B")


def too_large(packet_bytes: int | None, mtu_bytes: int, where: KeyPath, name: str) -> Iterator[Fault]:
    """Find packets that do not pass a way of that MTU whole."""
    if packet_bytes is not None and packet_bytes > mtu_bytes:
        what = f"packets of {format_exact(SIZE, packet_bytes)}, and the way of {name} takes {mtu_bytes} B"
        yield Fault((*where, "packet"), what, f"write at most {mtu_bytes} B: datagrams are not fragmented here")
