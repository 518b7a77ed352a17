"""Ring of a session's first packets at an interface, kept by the kernel, read by nobody until the end (packet_mmap).

No program runs and nothing wakes up for a packet; a full ring takes no more. What is written is the ring as it is
(results/packet_ring.py makes a pcap file of it).
"""

from __future__ import annotations

import mmap
import os
import socket
import struct
from typing import TYPE_CHECKING

from landspeed.worlds.emu.guest.files import OUT

if TYPE_CHECKING:
    from landspeed.worlds.emu.guest.network.nodes import GuestNode

SLOT_BYTES = 256  # of it 66 for the kernel's own words: 190 of each packet are kept
SLOTS = 1 << 15
BLOCK_BYTES = 1 << 18
SOL_PACKET, PACKET_RX_RING, PACKET_STATISTICS, PACKET_VERSION = 263, 5, 6, 10
TPACKET_V2 = 1
EVERYTHING = 3  # ETH_P_ALL


class PacketRing:
    """Capture of the packets that one interface of a node sends and receives, from now on."""

    def __init__(self, node: GuestNode, interface: str) -> None:
        """Make the ring, and begin."""
        with node.inside():
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
        self._socket.setsockopt(SOL_PACKET, PACKET_VERSION, TPACKET_V2)
        size = SLOTS * SLOT_BYTES
        ring = struct.pack("IIII", BLOCK_BYTES, size // BLOCK_BYTES, SLOT_BYTES, SLOTS)
        self._socket.setsockopt(SOL_PACKET, PACKET_RX_RING, ring)
        self._ring = mmap.mmap(self._socket.fileno(), size)
        self._socket.bind((interface, EVERYTHING))

    def write(self, name: str) -> None:
        """Write what is in the ring to a file of the run's folder. No more is kept then."""
        told = self._socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8)
        packets, dropped = struct.unpack("II", told)
        used = min(packets - dropped, SLOTS)
        file = os.open(f"{OUT}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        with memoryview(self._ring) as whole, whole[: used * SLOT_BYTES] as part:
            os.write(file, part)
        os.close(file)
