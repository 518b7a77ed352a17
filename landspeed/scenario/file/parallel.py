"""Parallel links of a network: a link written once that stands for several, of which each packet takes one by a hash.

Routers with several equal ways, and switches with a bundle of lines, choose one by a hash of what a packet's headers
have (RFC 2992, IEEE 802.1AX), so a connection never gets more than one line. `hash: hosts` is of the destination, as
routers forward by that; the way back has its own, of the sender: two flows to one host share a line, two flows to two
hosts may. `hash: ports` is of both hosts and the ports, or IPv6's flow label (RFC 6438): each connection has its own
way, there and back. So there a flow of several streams is as many flows, NAME-1, NAME-2 …, of one stream each.

The hash is made here, of names and the seed, not of numbers of ports by Linux: it is known before the run, the same in
every world, and as even as theirs.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

from landspeed.base.errors import Problem, ScenarioError
from landspeed.base.units import SIZE, UnitError, parse
from landspeed.scenario.file.document import YamlNode
from landspeed.scenario.file.model_links import LinkSection

MOST = 64
KEY = "parallel"
PORTS, MOST_STREAMS = "ports", 128
NOT_OF_ONE = {
    "expect": "is of all streams together",
    "start_stagger": "is between streams",
    "mptcp": "has ways of its own",
}
"""Keys that a flow of several streams cannot have where each stream is a flow, and why."""


def spread(tree: YamlNode) -> YamlNode:
    """The tree with each link that stands for several written so many times, as `NAME-1`, `NAME-2` …"""
    links = tree.mapping.get("links")
    if links is None or not any(_count(link) for link in links.items):
        return tree
    made = {"links": replace(links, items=[member for link in links.items for member in (_members(link) or [link])])}
    flows = tree.mapping.get("flows")
    if flows is not None and any(_count(link) and _scalar(link, "hash") == PORTS for link in links.items):
        transfer = tree.mapping.get("transfer") or YamlNode(tree.mark, "mapping")
        made["flows"] = replace(flows, items=[one for flow in flows.items for one in _streams(flow, transfer)])
    return replace(tree, mapping=tree.mapping | made)


def _scalar(node: YamlNode, key: str) -> Any:
    value = node.mapping.get(key)
    return value.scalar if value is not None else None


def _streams(flow: YamlNode, transfer: YamlNode) -> list[YamlNode]:
    """The flow as one for each of its streams; itself if it has one, or says it wrongly, which the model tells."""
    name, count = flow.mapping.get("name"), _scalar(flow, "streams") or _scalar(transfer, "streams")
    if name is None or not isinstance(count, int) or not 2 <= count <= MOST_STREAMS:
        return [flow]
    for key, why in NOT_OF_ONE.items():
        own = flow if key in flow.mapping else transfer
        if key in own.mapping and _scalar(own, key) not in (False, "0 s"):
            what = f"over links with hash: ports each stream of {name.scalar} is a flow, and {key} {why}"
            raise ScenarioError([Problem(what, f"remove {key}, or write a flow for each stream", own.locate((key,)))])
    whole = flow.mapping.get("bytes") or (None if "duration" in flow.mapping else transfer.mapping.get("bytes"))
    controls = (flow if "congestion_controls" in flow.mapping else transfer).mapping.get("congestion_controls")
    found: list[YamlNode] = []
    for number in range(count):
        mapping = {key: value for key, value in flow.mapping.items() if key != "congestion_controls"}
        mapping |= {
            "name": replace(name, scalar=f"{name.scalar}-{number + 1}"),
            "streams": YamlNode(name.mark, "scalar", 1),
        }
        if whole is not None:
            mapping["bytes"] = replace(whole, scalar=_share(whole.scalar, count, number))
        if controls is not None and controls.items and "congestion_control" not in flow.mapping:
            mapping["congestion_control"] = controls.items[number % len(controls.items)]
        found.append(replace(flow, mapping=mapping))
    return found


def _share(amount: Any, count: int, number: int) -> Any:
    """A stream's part of the bytes; what is no amount stays, and the model tells."""
    try:
        share, rest = divmod(parse(SIZE, amount), count)
    except (UnitError, TypeError, AttributeError):
        return amount
    return f"{share + (number < rest)} B"


def _count(link: YamlNode) -> int:
    """Count what a link stands for; 0: it is one, or says it wrongly, which the model tells."""
    asked = link.mapping.get(KEY)
    count = asked.scalar if asked else None
    named = isinstance((name := link.mapping.get("name")) and name.scalar, str)
    return count if isinstance(count, int) and not isinstance(count, bool) and 2 <= count <= MOST and named else 0


def _members(link: YamlNode) -> list[YamlNode]:
    count, name, asked = _count(link), link.mapping.get("name"), link.mapping.get(KEY)
    if not count or name is None or asked is None:
        return []
    return [
        replace(
            link,
            mapping=link.mapping
            | {
                "name": replace(name, scalar=f"{name.scalar}-{number}"),
                KEY: replace(asked, scalar=f"{number} of {count}"),
            },
        )
        for number in range(1, count + 1)
    ]


@dataclass(frozen=True)
class ParallelLinks:
    """Links of which each destination, or each connection, takes one, by index."""

    name: str
    members: tuple[int, ...]
    by_ports: bool = False

    def member(self, seed: int, destination: str) -> int:
        """The link that goes to a destination: of equal chance each, another with another seed.

        By ports it is the first, which stands for all where routers choose by destination.
        """
        return self.members[0] if self.by_ports else self._hashed(f"{seed}/{self.name}/{destination}")

    def of_connection(self, seed: int, source: str, destination: str, flow: str) -> int:
        """The link that a connection's packets to a destination take; of equal chance each."""
        return self._hashed(f"{seed}/{self.name}/{source}/{destination}/{flow}")

    def _hashed(self, words: str) -> int:
        digest = hashlib.sha256(f"landspeed/{words}".encode()).digest()
        return self.members[int.from_bytes(digest[:8], "big") % len(self.members)]


def parallel_links(links: list[LinkSection]) -> dict[int, ParallelLinks]:
    """The set of equal links of each link that is one of them."""
    found: dict[str, list[int]] = {}
    for index, link in enumerate(links):
        if link.parallel and link.name:
            found.setdefault(link.name.rpartition("-")[0], []).append(index)
    return {
        index: ParallelLinks(name, tuple(members), links[members[0]].hash == PORTS)
        for name, members in found.items()
        for index in members
    }
