"""What landspeed uses of pyshp."""

from collections.abc import Sequence

class Shape:
    parts: Sequence[int]
    points: Sequence[Sequence[float]]

class Reader:
    def __init__(self, shapefile: str) -> None: ...
    def shapes(self) -> list[Shape | None]: ...
    def close(self) -> None: ...
