"""Jinja filters of the plays."""

from __future__ import annotations

import hashlib
from pathlib import Path

SUFFIXES = (".yml", ".j2", ".py", ".cfg")


def landspeed_digest(folder: str) -> str:
    """SHA-256 of all playbooks, roles and modules in a folder."""
    digest = hashlib.sha256()
    for file in sorted(Path(folder).rglob("*")):
        name = file.relative_to(folder)
        if file.suffix in SUFFIXES and file.is_file() and not name.parts[0].startswith("."):
            digest.update(f"{name}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


class FilterModule:
    """Entry point of the plug-in for Ansible."""

    def filters(self) -> dict[str, object]:
        """Names and functions."""
        return {"landspeed_digest": landspeed_digest}
