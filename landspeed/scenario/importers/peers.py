"""Peers in a file of `ss`: only the connections of the transfer count.

A host has many connections, and each has its own path. Which one is the transfer's is known from iperf3's or
pScheduler's file, or from the target of a traceroute. Where no file tells it, the connections must have one peer.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import replace

from landspeed.scenario.importers.path_evidence import MeasurementError, PathEvidence, Socket


def plain_address(text: str) -> str:
    """An address without brackets, zone, or the form that IPv4 has in IPv6; a name as it is."""
    bare = text.strip("[]").partition("%")[0]
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        return bare
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def is_address(text: str) -> bool:
    """Return whether it is an address and no name."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def of_one_path(evidence: PathEvidence) -> PathEvidence:
    """The evidence, of the connections only those of the transfer.

    Raises:
        MeasurementError: none is of the transfer, or the files do not tell which are.
    """
    if not evidence.sockets:
        return evidence
    wanted = list(dict.fromkeys(_peers(evidence)))
    ports = {port for each in evidence.transfers for port in each.sender_ports}
    kept: list[Socket] = []
    for source in dict.fromkeys(each.source for each in evidence.sockets):
        own = [each for each in evidence.sockets if each.source == source]
        found = [each for each in own if each.peer in wanted]
        kept += [each for each in found if each.local_port in ports] or found or _only(own, wanted, source)
    return replace(evidence, sockets=kept)


def _peers(evidence: PathEvidence) -> Iterator[str]:
    """Yield the receivers' addresses, as the files have them."""
    yield from (plain_address(each.receiver) for each in evidence.transfers if each.receiver)
    if not evidence.transfers:
        yield from (end for each in evidence.traces[:1] for end in (each.address, each.target) if end)


def _only(sockets: list[Socket], wanted: list[str], source: str) -> list[Socket]:
    """All connections, where they have one peer and it may be the one wanted."""
    peers = list(dict.fromkeys(each.peer for each in sockets))
    among = f"{', '.join(peers[:3])}{' …' if len(peers) > 3 else ''}"
    comparable = any(is_address(each) == is_address(peers[0]) for each in wanted)
    if comparable:
        raise MeasurementError(
            f"{source}: no connection to {' or '.join(wanted)}, but to {among}; give what `ss -tin dst {wanted[0]}` "
            "printed at the sender while the transfer ran"
        )
    if len(peers) > 1:
        raise MeasurementError(
            f"{source}: connections to {len(peers)} peers ({among}), and no file tells which of them received; give "
            f"what `ss -tin dst {peers[0]}` printed, or add iperf3's file"
        )
    return sockets
