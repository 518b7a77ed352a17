"""A network as a map tells it: nodes, perhaps with places, and links, perhaps with rates and delays."""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field

EARTH_RADIUS_M = 6_371_000  # mean (IUGG)
FIBRE_M_PER_S = 299_792_458 * 2 / 3  # light in glass
_WORDS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class MapNode:
    """A node: its own name in the map, its label, degrees north and east where the map has them."""

    key: str
    label: str = ""
    latitude_deg: float | None = None
    longitude_deg: float | None = None


@dataclass(frozen=True)
class MapWay:
    """Figures of one direction of a link, as far as a map tells them."""

    delay_s: float | None = None
    rate_bps: float | None = None
    loss: float | None = None
    queue_bytes: int | None = None
    source: str = ""  # where it is said, in words


@dataclass(frozen=True)
class MapLink:
    """A link between the nodes of two keys."""

    a: str
    b: str
    forward: MapWay = field(default_factory=MapWay)
    reverse: MapWay = field(default_factory=MapWay)


@dataclass(frozen=True)
class Topology:
    """A map.

    Attributes:
        title: what the map calls itself.
        hosts: keys of nodes that only end flows; empty where the map has routers alone.
        notes: what was left out, in words.
    """

    title: str
    nodes: list[MapNode]
    links: list[MapLink]
    hosts: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()

    def node(self, key: str) -> MapNode:
        """The node of a key."""
        return next(each for each in self.nodes if each.key == key)


def distance_m(a: MapNode, b: MapNode) -> float | None:
    """Great circle between two nodes (haversine); None where the map does not place both."""
    if None in (a.latitude_deg, a.longitude_deg, b.latitude_deg, b.longitude_deg):
        return None
    north = [math.radians(each.latitude_deg or 0.0) for each in (a, b)]
    east = math.radians((b.longitude_deg or 0.0) - (a.longitude_deg or 0.0))
    half = math.sin((north[1] - north[0]) / 2) ** 2
    half += math.cos(north[0]) * math.cos(north[1]) * math.sin(east / 2) ** 2
    return 2 * EARTH_RADIUS_M * math.asin(math.sqrt(min(1.0, half)))


def scenario_names(nodes: Iterable[MapNode], taken: Iterable[str] = ()) -> dict[str, str]:
    """Key → name as scenarios have them: of the label, else of the key; a second of the same name has a number."""
    used, found = set(taken), dict[str, str]()
    for node in nodes:
        plain = unicodedata.normalize("NFKD", node.label or node.key).casefold()
        word = _WORDS.sub("-", "".join(each for each in plain if not unicodedata.combining(each))).strip("-")
        word = (word if word[:1].isalpha() else f"n{word}")[:26].strip("-") or "node"
        name = next(
            each for each in itertools.chain([word], (f"{word}-{n}" for n in itertools.count(2))) if each not in used
        )
        used.add(name)
        found[node.key] = name
    return found
