"""What landspeed uses of Mininet's network; the package has no types."""

from typing import Any

class Mininet:
    nameToNode: dict[str, Any]
    hosts: list[Any]
    switches: list[Any]
    controllers: list[Any]
    terms: list[Any]
    links: list[Any]
    def __getitem__(self, key: str) -> Any: ...
