"""Links, addresses, routes and qdiscs by rtnetlink(7): one system call to ask, one for the answer.

A library would do it too (pyroute2 did). Its import took longer in the guest than all that it then built, and its event
loop read the clock some thirty times for each call, 256 ns of virtual time each.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from landspeed.worlds.emu.guest.network.nodes import GuestNode

# linux/netlink.h, linux/rtnetlink.h
NLMSG_ERROR, NLMSG_DONE = 2, 3
REQUEST, ACK, ECHO, DUMP = 1, 4, 8, 0x300
CREATE = 0x600  # and it must not be there yet (NLM_F_EXCL)
NESTED = 0x8000
NEW_LINK, NEW_ADDRESS, NEW_ROUTE, NEW_NEIGHBOUR, NEW_QDISC, GET_QDISC, NEW_FILTER = (
    16,
    20,
    24,
    28,
    36,
    38,
    44,
)
# linux/if_link.h
ADDRESS, IFNAME, MTU, TXQLEN, LINKINFO, NET_NS_FD = 1, 3, 4, 13, 18, 28
GSO_MAX_SEGS, GSO_IPV4_MAX_SIZE = 40, 63
INFO_KIND, INFO_DATA, VETH_PEER = 1, 2, 1
IFF_UP = 1
# linux/if_addr.h, linux/neighbour.h, linux/rtnetlink.h
IFA_ADDRESS, IFA_LOCAL, IFA_FLAGS, IFA_F_NODAD = 1, 2, 8, 0x02
NDA_DST, NDA_LLADDR, NUD_PERMANENT = 1, 2, 0x80
RTA_DST, RTA_GATEWAY, RTA_METRICS, RTAX_INITCWND = 1, 5, 8, 11
TABLE_MAIN, PROTOCOL_STATIC, TYPE_UNICAST = 254, 4, 1
# linux/rtnetlink.h, linux/pkt_sched.h
TCA_KIND, TCA_OPTIONS, TCA_STATS = 1, 2, 3
PARENT_ROOT, PARENT_INGRESS, INGRESS = 0xFFFFFFFF, 0xFFFFFFF1, 0xFFFF0000

HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port
LINK = struct.Struct("=BxHiII")  # family, type, index, flags, change
TC = struct.Struct("=BxxxiIII")  # family, index, handle, parent, info
STATISTICS = struct.Struct("=Q6I")  # the head of struct tc_stats: bytes, packets, drops, overlimits, bps, pps, qlen
RECEIVE_BYTES = 1 << 16


def attribute(kind: int, value: bytes | int | str) -> bytes:
    """One attribute; a number is one of 32 bits, a text ends with a zero."""
    if isinstance(value, int):
        value = struct.pack("=I", value)
    elif isinstance(value, str):
        value = value.encode() + b"\0"
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The attributes of a message: number and content."""
    at = 0
    while at + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, at)
        yield kind & 0x3FFF, data[at + 4 : at + length]
        at += max((length + 3) & ~3, 4)


def packed(address: str) -> bytes:
    """An IP address as bytes."""
    return socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)


def hardware(address: str) -> bytes:
    """An Ethernet address as bytes."""
    return bytes.fromhex(address.replace(":", ""))


class Netlink:
    """A socket in the namespace of a node. What the kernel refuses is an OSError."""

    def __init__(self, node: GuestNode) -> None:
        """Open it."""
        with node.inside():
            self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
        # The kernel answers within the call: no answer is a fault, to be told rather than waited for. (A timeout of
        # Python's own would read the clock.)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("qq", 1, 0))

    def fileno(self) -> int:
        """Descriptor for ioctls on the interfaces of the namespace."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    # --- interfaces --------------------------------------------------------------------------------------------------

    def add_veth(self, near: bytes, far: bytes, namespace: int) -> None:
        """A pair of interfaces as `veth_end` describes them; the far one goes into the namespace of a descriptor."""
        peer = attribute(INFO_DATA, attribute(VETH_PEER, far + attribute(NET_NS_FD, namespace)))
        self._change(NEW_LINK, CREATE, near + attribute(LINKINFO, attribute(INFO_KIND, "veth") + peer), "veth")

    def add_ifb(self, index: int, name: str, mtu: int | None = None) -> None:
        """An intermediate functional block."""
        named = attribute(IFNAME, name) + (attribute(MTU, mtu) if mtu else b"")
        body = LINK.pack(0, 0, index, 0, 0) + named + attribute(LINKINFO, attribute(INFO_KIND, "ifb"))
        self._change(NEW_LINK, CREATE, body, name)

    def set_link(self, index: int, *settings: tuple[int, int], up: bool = False) -> None:
        """Attributes (number, value) of an interface; `up`: and switch it on."""
        flags = IFF_UP if up else 0
        body = LINK.pack(0, 0, index, flags, flags) + b"".join(attribute(*each) for each in settings)
        self._change(NEW_LINK, 0, body, f"interface {index}")

    # --- addresses, neighbours, routes -------------------------------------------------------------------------------

    def add_address(self, index: int, address: str, prefix_bits: int) -> None:
        """An address, usable at once."""
        ip = packed(address)
        body = struct.pack("=BBBBI", family(ip), prefix_bits, 0, 0, index) + attribute(IFA_ADDRESS, ip)
        body += attribute(IFA_LOCAL, ip) if len(ip) == 4 else attribute(IFA_FLAGS, IFA_F_NODAD)
        self._change(NEW_ADDRESS, CREATE, body, f"address {address}")

    def add_neighbour(self, index: int, address: str, hardware_address: str) -> None:
        """A fixed neighbour."""
        ip = packed(address)
        body = struct.pack("=BxxxiHBB", family(ip), index, NUD_PERMANENT, 0, 0)
        body += attribute(NDA_DST, ip) + attribute(NDA_LLADDR, hardware(hardware_address))
        self._change(NEW_NEIGHBOUR, CREATE, body, f"neighbour {address}")

    def add_route(self, prefix: str | None, gateway: str, initial_window_packets: int | None = None) -> None:
        """A route to a prefix (ADDRESS/BITS), or the default one."""
        via = packed(gateway)
        address, _, bits = (prefix or "").partition("/")
        body = struct.pack(
            "=BBBBBBBBI", family(via), int(bits or 0), 0, 0, TABLE_MAIN, PROTOCOL_STATIC, 0, TYPE_UNICAST, 0
        )
        body += attribute(RTA_DST, packed(address)) if prefix else b""
        body += attribute(RTA_GATEWAY, via)
        if initial_window_packets:
            body += attribute(RTA_METRICS, attribute(RTAX_INITCWND, initial_window_packets))
        self._change(NEW_ROUTE, CREATE, body, f"route to {prefix or 'the rest'}")

    # --- qdiscs and filters ------------------------------------------------------------------------------------------

    def add_qdisc(self, kind: str, index: int, handle: int, parent: int, options: bytes) -> None:
        """A qdisc; `options` is an attribute, or several, or nothing."""
        self._change(NEW_QDISC, CREATE, qdisc(kind, index, handle, parent, options), f"qdisc {kind} {handle >> 16:x}")

    def change_qdisc(self, kind: str, index: int, handle: int, parent: int, options: bytes) -> None:
        """All options of a qdisc that is there."""
        self._change(NEW_QDISC, 0, qdisc(kind, index, handle, parent, options), f"qdisc {kind} {handle >> 16:x}")

    def add_filter(self, kind: str, index: int, priority: int, ethertype: int, options: bytes) -> None:
        """A filter of what comes in."""
        body = TC.pack(0, index, 0, INGRESS, priority << 16 | socket.htons(ethertype))
        self._change(NEW_FILTER, CREATE, body + attribute(TCA_KIND, kind) + options, f"filter {kind}")

    def drops(self, index: int, handle: int) -> int:
        """Packets that a qdisc has dropped, 0 if there is none of that handle."""
        return self._statistics(index, handle)[2]

    def entered(self, index: int, handle: int) -> int:
        """Packets that a qdisc has been given: those that left it, were dropped, and are in it."""
        _, left, dropped, _, _, _, inside = self._statistics(index, handle)
        return left + dropped + inside

    def _statistics(self, index: int, handle: int) -> tuple[int, ...]:
        try:
            # Asked without ECHO, the kernel would tell those who listen to changes, and not us.
            answer = self._ask(GET_QDISC, ECHO, TC.pack(0, index, handle, 0, 0), f"qdisc {handle >> 16:x}")
        except FileNotFoundError:
            return (0,) * 7
        told = dict(attributes(answer[HEADER.size + TC.size :]))
        return STATISTICS.unpack_from(told[TCA_STATS])

    def qdiscs(self) -> list[bytes]:
        """Dump the qdiscs of all interfaces: what follows the header of each message."""
        self._send(GET_QDISC, DUMP, TC.pack(0, 0, 0, 0, 0))
        found: list[bytes] = []
        while True:
            for kind, body in messages(self._socket.recv(RECEIVE_BYTES)):
                if kind == NLMSG_DONE:
                    return found
                found.append(body)

    # --- messages ----------------------------------------------------------------------------------------------------

    def _change(self, kind: int, flags: int, body: bytes, what: str) -> None:
        self._ask(kind, flags | ACK, body, what)

    def _ask(self, kind: int, flags: int, body: bytes, what: str) -> bytes:
        self._send(kind, flags, body)
        answer = self._socket.recv(RECEIVE_BYTES)
        if HEADER.unpack_from(answer)[1] == NLMSG_ERROR:
            (error,) = struct.unpack_from("=i", answer, HEADER.size)
            if error:
                raise OSError(-error, f"{what}: {os.strerror(-error)}")
        return answer

    def _send(self, kind: int, flags: int, body: bytes) -> None:
        self._socket.send(HEADER.pack(HEADER.size + len(body), kind, REQUEST | flags, 0, 0) + body)


def family(ip: bytes) -> int:
    """Address family of an address as bytes."""
    return socket.AF_INET if len(ip) == 4 else socket.AF_INET6


def veth_end(index: int, name: str, hardware_address: str, mtu: int) -> bytes:
    """One end of a veth pair."""
    body = LINK.pack(0, 0, index, 0, 0) + attribute(IFNAME, name) + attribute(ADDRESS, hardware(hardware_address))
    return body + attribute(MTU, mtu)


def qdisc(kind: str, index: int, handle: int, parent: int, options: bytes) -> bytes:
    """Encode a request for a qdisc."""
    return TC.pack(0, index, handle, parent, 0) + attribute(TCA_KIND, kind) + options


def messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The messages of an answer: type and what follows the header."""
    at = 0
    while at + HEADER.size <= len(data):
        length, kind, _, _, _ = HEADER.unpack_from(data, at)
        yield kind, data[at + HEADER.size : at + length]
        at += (length + 3) & ~3


# --- filters' options ------------------------------------------------------------------------------------------------

MATCHALL_ACT, U32_CLASSID, U32_SEL, U32_ACT = 2, 1, 5, 7
ACT_KIND, ACT_OPTIONS, MIRRED_PARMS = 1, 2, 2
EGRESS_REDIRECT, STOLEN, TERMINAL = 1, 4, 1


def everything_to(index: int) -> bytes:
    """matchall's options: all that comes in goes out of another interface."""
    return attribute(TCA_OPTIONS, attribute(MATCHALL_ACT, _redirect(index)))


def matching_to(index: int, keys: Iterable[tuple[int, int, int]]) -> bytes:
    """u32's: only that whose 32-bit words are, under masks, these values; `keys` are (offset, mask, value)."""
    packed_keys = [struct.pack(">II", mask, value) + struct.pack("=ii", offset, 0) for offset, mask, value in keys]
    selector = struct.pack("=BBBx", TERMINAL, 0, len(packed_keys)) + bytes(12) + b"".join(packed_keys)
    told = attribute(U32_ACT, _redirect(index)) + attribute(U32_CLASSID, 0) + attribute(U32_SEL, selector)
    return attribute(TCA_OPTIONS, told)


def _redirect(index: int) -> bytes:
    """The action mirred, the first and only one."""
    parameters = struct.pack("=IIiiiiI", 0, 0, STOLEN, 0, 0, EGRESS_REDIRECT, index)
    options = attribute(ACT_OPTIONS | NESTED, attribute(MIRRED_PARMS, parameters))
    return attribute(1, attribute(ACT_KIND, "mirred") + options)
