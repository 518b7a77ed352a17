"""The route on a map, as SVG: coastlines from a packaged data set (GSHHG, crude), geodesics between the places.

The projection is equirectangular over the part of the globe that the route needs, stretched by the cosine of its middle
latitude, so that shapes near the route are right. Without the data set there are no coasts, and the note says so.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from landspeed.judge.distance import position
from landspeed.report.page_parts import environment

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Node, Plan

COASTLINES = Path("/usr/share/cartopy/data/shapefiles/gshhs/c/GSHHS_c_L1.shp")  # Debian's python-cartopy-data
WIDTH = 960.0
MARGIN_DEG = 8.0
LEAST_SPAN_DEG = 24.0
GEODESIC_STEP_M = 100_000.0
SMALLEST_ISLAND_PX = 2.0


@dataclass(frozen=True)
class _View:
    """Degrees to picture: west and north edge, pixels per degree."""

    west: float
    north: float
    width_deg: float
    height_deg: float
    across: float
    down: float

    def xy(self, latitude: float, longitude: float) -> tuple[float, float]:
        """Picture coordinates; the longitude as it is, beyond ±180 if the route goes there."""
        return (longitude - self.west) * self.across, (self.north - latitude) * self.down


def route_svg(plan: Plan, coastlines: Path = COASTLINES) -> tuple[str, str] | None:
    """(SVG, note) of the route; None where fewer than two places are known."""
    places = _places(plan)
    if len(places) < 2:
        return None
    points = [place for place, _ in places]
    lines = [_geodesic(a, b) for a, b in pairwise(points)]
    view = _view([point for line in lines for point in line])
    height = view.height_deg * view.down
    note = "Coastlines: GSHHG (crude). Lines are geodesics between the places of the hops, not cables."
    coasts = _coasts(coastlines, view) if coastlines.is_file() else ""
    if not coastlines.is_file():
        note = f"No coastlines: {coastlines} is not there (apt-get install python-cartopy-data)."
    ways = [" ".join(f"{x:.1f},{y:.1f}" for x, y in (view.xy(*point) for point in line)) for line in lines]
    template = environment().get_template("worldmap.svg.j2")
    dots = _labels(places, view, height)
    return template.render(width=WIDTH, height=height, coasts=coasts, ways=ways, dots=dots), note


def _places(plan: Plan) -> list[tuple[tuple[float, float], str]]:
    """((latitude, longitude), name) of each place in order; longitudes go on beyond 180 rather than around."""
    found: list[tuple[tuple[float, float], str]] = []
    for node in plan.nodes:
        here = position(node)
        if here is None:
            continue
        latitude, longitude = here
        if found:
            while longitude - found[-1][0][1] > 180:
                longitude -= 360
            while longitude - found[-1][0][1] < -180:
                longitude += 360
        name = _name(node)
        if not found or found[-1] != ((latitude, longitude), name):
            found.append(((latitude, longitude), name))
    return found


def _name(node: Node) -> str:
    return node.place or node.name


def _geodesic(origin: tuple[float, float], target: tuple[float, float]) -> list[tuple[float, float]]:
    from geographiclib.geodesic import Geodesic

    line = Geodesic.WGS84.InverseLine(*origin, *target)
    steps = max(1, math.ceil(line.s13 / GEODESIC_STEP_M))
    mask = Geodesic.LATITUDE | Geodesic.LONGITUDE | Geodesic.LONG_UNROLL
    return [(at["lat2"], at["lon2"]) for at in (line.Position(line.s13 * n / steps, mask) for n in range(steps + 1))]


def _view(points: list[tuple[float, float]]) -> _View:
    latitudes, longitudes = [p[0] for p in points], [p[1] for p in points]
    south, north = max(-85.0, min(latitudes) - MARGIN_DEG), min(85.0, max(latitudes) + MARGIN_DEG)
    west, east = min(longitudes) - MARGIN_DEG, max(longitudes) + MARGIN_DEG
    if north - south < LEAST_SPAN_DEG:
        middle = (north + south) / 2
        south, north = max(-85.0, middle - LEAST_SPAN_DEG / 2), min(85.0, middle + LEAST_SPAN_DEG / 2)
    across = WIDTH / (east - west)
    down = across / max(0.3, math.cos(math.radians((north + south) / 2)))
    return _View(west, north, east - west, north - south, across, down)


def _coasts(file: Path, view: _View) -> str:
    """One SVG path of every coast that can be seen, each point once per copy of the globe that is in view."""
    import shapefile  # pyshp

    parts: list[str] = []
    reader = shapefile.Reader(str(file))
    with contextlib.closing(reader):
        for shape in filter(None, reader.shapes()):
            ends = [*shape.parts[1:], len(shape.points)]
            for begin, end in zip(shape.parts, ends, strict=True):
                ring = [(float(point[0]), float(point[1])) for point in shape.points[begin:end]]
                for turn in (-360.0, 0.0, 360.0):
                    parts += _ring(ring, turn, view)
    return "".join(parts)


def _ring(ring: list[tuple[float, float]], turn: float, view: _View) -> list[str]:
    longitudes, latitudes = [point[0] + turn for point in ring], [point[1] for point in ring]
    east, south = view.west + view.width_deg, view.north - view.height_deg
    if max(longitudes) < view.west or min(longitudes) > east or max(latitudes) < south or min(latitudes) > view.north:
        return []
    if (max(longitudes) - min(longitudes)) * view.across < SMALLEST_ISLAND_PX:
        return []
    points: list[str] = []
    for longitude, latitude in zip(longitudes, latitudes, strict=True):
        # Far outside the picture a point's exact place does not show; near its edge it must not be moved.
        x, y = view.xy(min(89.0, max(-89.0, latitude)), longitude)
        text = f"{min(2 * WIDTH, max(-WIDTH, x)):.1f} {min(2 * WIDTH, max(-WIDTH, y)):.1f}"
        if not points or points[-1] != text:
            points.append(text)
    return [f"M{'L'.join(points)}Z"]


@dataclass
class _Dot:
    """A place; `label` is the upper left corner of its name, None where another name is in the way."""

    name: str
    x: float
    y: float
    end: bool
    label: tuple[float, float] | None = None


def _labels(places: list[tuple[tuple[float, float], str]], view: _View, height: float) -> list[_Dot]:
    """A dot for each place; its name where no other name is in the way (ends first)."""
    once: dict[str, tuple[float, float]] = {}
    for point, name in places:
        once.setdefault(name, view.xy(*point))
    names = list(once)
    order = [names[0], names[-1], *names[1:-1]] if len(names) > 1 else names
    dots, taken = list[_Dot](), list[tuple[float, float, float, float]]()
    for name in order:
        x, y = once[name]
        dot = _Dot(name, x, y, name in (names[0], names[-1]))
        dots.append(dot)
        width = 8.2 * len(name)
        for left, top in ((x + 8, y - 18), (x - width - 8, y - 18), (x + 8, y + 4), (x - width - 8, y + 4)):
            box = (left, top, left + width, top + 17)
            inside = box[0] >= 2 and box[2] <= WIDTH - 2 and box[1] >= 2 and box[3] <= height - 2
            if inside and not any(box[0] < t[2] and t[0] < box[2] and box[1] < t[3] and t[1] < box[3] for t in taken):
                taken.append(box)
                dot.label = (left, top)
                break
    return dots
