"""Terrestrial distance of a path, leg by leg, from the positions of its places, beside the distances stated.

Rule 7 of the contest counts the terrestrial distance between the cities of the router hops. A leg here is the geodesic
on the WGS 84 ellipsoid (Karney 2013, as geographiclib computes it) between two neighbouring places of known position;
nodes between them whose place is not known are part of the leg.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Node, Plan


@dataclass(frozen=True)
class Leg:
    """Leg between two known places; metres. `stated_m` is None if a link between them has no distance."""

    origin: Node
    target: Node
    stated_m: int | None
    computed_m: float


def geodesic_m(origin: tuple[float, float], target: tuple[float, float]) -> float:
    """Shortest way on the ellipsoid between two (latitude, longitude) in degrees, in metres."""
    from geographiclib.geodesic import Geodesic

    return float(Geodesic.WGS84.Inverse(*origin, *target, Geodesic.DISTANCE)["s12"])


def legs(plan: Plan) -> list[Leg]:
    """The legs between known positions, in the order of the path; legs within one place are left out."""
    found: list[Leg] = []
    last: int | None = None
    for index, node in enumerate(plan.nodes):
        here = position(node)
        if here is None:
            continue
        if last is not None:
            before = plan.nodes[last]
            there = position(before)
            stated = [link.distance_m for link in plan.links[last:index]]
            assert there is not None
            if there != here or any(stated):
                total = None if None in stated else sum(metres or 0 for metres in stated)
                found.append(Leg(before, node, total, geodesic_m(there, here)))
        last = index
    return found


def position(node: Node) -> tuple[float, float] | None:
    """(latitude, longitude) in degrees, if known."""
    if node.latitude_deg is None or node.longitude_deg is None:
        return None
    return node.latitude_deg, node.longitude_deg


def every_place_known(plan: Plan) -> bool:
    """Return whether the legs are the whole path, so that their sum may stand for its distance."""
    return all(position(node) is not None for node in plan.nodes)
