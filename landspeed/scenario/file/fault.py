"""A contradiction between keys of a scenario, before anybody has looked up its line."""

from __future__ import annotations

from dataclasses import dataclass

from landspeed.scenario.file.document import KeyPath


@dataclass(frozen=True)
class Fault:
    """A problem by the path of its key; the caller knows the line."""

    where: KeyPath
    what: str
    right: str
    at_key: bool = False
