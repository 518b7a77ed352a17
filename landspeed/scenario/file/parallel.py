"""Parallel links of a network: a link written once that stands for several, of which each destination takes one.

Routers with several equal ways, and switches with a bundle of lines, choose one by a hash of what a packet's headers
have (RFC 2992, IEEE 802.1AX), so a flow never gets more than one line. Here the hash is of the destination, as routers
forward by that; the way back has its own, of the sender. Ports and flow label are not in it: two flows to one host
share a line, two flows to two hosts may.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from landspeed.scenario.file.document import YamlNode
from landspeed.scenario.file.model_links import LinkSection

MOST = 64
KEY = "parallel"


def spread(tree: YamlNode) -> YamlNode:
    """The tree with each link that stands for several written so many times, as `NAME-1`, `NAME-2` …"""
    links = tree.mapping.get("links")
    if links is None or not any(_count(link) for link in links.items):
        return tree
    items = [member for link in links.items for member in (_members(link) or [link])]
    return replace(tree, mapping=tree.mapping | {"links": replace(links, items=items)})


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
    """Links of which each destination takes one, by index."""

    name: str
    members: tuple[int, ...]

    def member(self, seed: int, destination: str) -> int:
        """The link that goes to a destination: of equal chance each, another with another seed."""
        digest = hashlib.sha256(f"landspeed/{seed}/{self.name}/{destination}".encode()).digest()
        return self.members[int.from_bytes(digest[:8], "big") % len(self.members)]


def parallel_links(links: list[LinkSection]) -> dict[int, ParallelLinks]:
    """The set of equal links of each link that is one of them."""
    found: dict[str, list[int]] = {}
    for index, link in enumerate(links):
        if link.parallel and link.name:
            found.setdefault(link.name.rpartition("-")[0], []).append(index)
    return {index: ParallelLinks(name, tuple(members)) for name, members in found.items() for index in members}
