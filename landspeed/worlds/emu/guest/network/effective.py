"""Effective settings of the guest's kernel: addresses, sysctls, offloads. The qdiscs are read by `tc` at the end."""

from __future__ import annotations

import os
from typing import Any

from landspeed.worlds.emu.guest.network import offloads
from landspeed.worlds.emu.guest.network.netlink import (
    HEADER,
    NEW_QDISC,
    STATISTICS,
    TC,
    TCA_KIND,
    TCA_OPTIONS,
    TCA_STATS,
    attributes,
)
from landspeed.worlds.emu.guest.network.network import HOST_WIDE_SYSCTLS, Network, read_host_wide
from landspeed.worlds.emu.guest.spawn import output_of

NO_INTERFACE = 0x7FFFFFFF  # has no name in any namespace, so that tc calls it by its number
NO_NAME = f"if{NO_INTERFACE}"


def effective_settings(network: Network) -> dict[str, Any]:
    """Read back from the kernel, not from the plan."""
    sysctls: dict[str, dict[str, str]] = {"all": {name: read_host_wide(name) for name in HOST_WIDE_SYSCTLS}}
    for position in _hosts(network):
        node = network.nodes[position]
        names = [
            *network.sysctls[position],
            "net.ipv4.tcp_available_congestion_control",
            "net.ipv4.tcp_limit_output_bytes",
        ]
        sysctls[network.names[position]] = node.read_sysctls(names)
    return {
        "kernel": os.uname().release,
        "addresses": {name: network.address(position) for position, name in enumerate(network.names)},
        "sysctls": sysctls,
        "offloads": effective_offloads(network),
    }


def effective_offloads(network: Network) -> dict[str, dict[str, bool]]:
    """List the offloads of the hosts and their state, by `HOST:INTERFACE`."""
    return {
        f"{network.names[position]}:{interface}": offloads.read_offloads(network.netlink(position), interface)
        for position in _hosts(network)
        for interface in network.interfaces(position)
    }


def _hosts(network: Network) -> list[int]:
    return [position for position in range(len(network.nodes)) if network.is_host(position)]


def effective_qdiscs(network: Network) -> dict[str, str]:
    """Read what `tc -s -d qdisc show` says in every node, counters included: asked after the transfer.

    A host without tc has what netlink says: counters, and the options as they are encoded there.
    """
    dumps = [(position, each) for position in range(len(network.nodes)) for each in network.netlink(position).qdiscs()]
    try:
        texts = _worded([message for _, message in dumps])
    except FileNotFoundError:
        texts = [_unworded(message) for _, message in dumps]
    found = dict.fromkeys(network.names, "")
    for (position, message), text in zip(dumps, texts, strict=True):
        _, index, *_ = TC.unpack_from(message)
        named = text.replace(NO_NAME, network.interface_name(position, index), 1)
        found[network.names[position]] += named
    return found


def _worded(messages: list[bytes]) -> list[str]:
    """Each message in the words of tc, which reads them from a file: started in every node it took 10 ms each time.

    Raises:
        FileNotFoundError: there is no tc.
    """
    file = os.memfd_create("qdiscs")
    try:
        for message in messages:
            family, _, *others = TC.unpack_from(message)
            body = TC.pack(family, NO_INTERFACE, *others) + message[TC.size :]
            os.write(file, HEADER.pack(HEADER.size + len(body), NEW_QDISC, 0, 0, 0) + body)
        text = output_of(["tc", "-s", "-d", "monitor", "file", f"/dev/fd/{file}"], given=[file])
    finally:
        os.close(file)
    texts = [f"qdisc {each}\n" for each in f"\n{text.rstrip()}".split("\nqdisc ")[1:]]
    if len(texts) != len(messages):
        raise ValueError(f"tc knows {len(texts)} of {len(messages)} qdiscs: {text}")
    return texts


def _unworded(message: bytes) -> str:
    _, _, handle, parent, _ = TC.unpack_from(message)
    found = dict(attributes(message[TC.size :]))
    kind = found[TCA_KIND].rstrip(b"\0").decode()
    lines = [f"qdisc {kind} {handle >> 16:x}: dev {NO_NAME} parent {parent:x}"]
    if TCA_STATS in found:
        sent_bytes, packets, dropped, overlimits, *_ = STATISTICS.unpack_from(found[TCA_STATS])
        lines.append(f" Sent {sent_bytes} bytes {packets} pkt (dropped {dropped}, overlimits {overlimits})")
    if options := found.get(TCA_OPTIONS):
        lines.append(f" options {options.hex()}")
    return "\n".join([*lines, ""])
