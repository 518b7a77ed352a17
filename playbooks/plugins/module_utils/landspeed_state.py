"""Changes that landspeed made on a host, and the former values.

`STATE` is the one truth that `restore` needs. A former value is in it, flushed to the disk, before the change is made;
the first value saved stays, however often the plays run. So it is right after a `kill -9` at any point. What a reboot
undid is not put back: the kernel's values are known with the boot (boot_id, random(4)) in which they were saved. The
file also says whose the host is, and until when (`Lease`).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from .landspeed_host import beside, write_safely

if TYPE_CHECKING:
    from typing import TypeGuard  # Python 3.10; what is above it needs no newer one than Ansible

FOLDER = Path("/var/lib/landspeed")
STATE = FOLDER / "state" / "state.json"
SCHEMA = 1
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
OUTLIVE_A_BOOT = ("path", "unit", "user")  # kinds whose values are on the disk


class Saved(TypedDict):
    """A former value in the state file; `former` is what the setting of this kind read."""

    kind: str
    name: str
    former: Any
    role: str
    saved_unix_s: int


class Entry(Saved, total=False):
    """A former value; `lasting`: what was set instead comes back with each boot."""

    lasting: bool


class Applied(TypedDict, total=False):
    """Value that was asked for, and the value that the system shows: both as the kind has them.

    `refused` is there when the system did not take it, with its reason.
    """

    asked: Any
    shown: Any
    refused: str


class Lease(TypedDict):
    """Owner of a host, for which plan, until when, and which plays made it ready: play → digest of what it ran with."""

    owner: str
    inventory: str
    plan: str
    until_unix_s: int
    rollout: dict[str, str]


class State:
    """The state file, locked while it is open."""

    def __init__(self) -> None:
        """Read it; empty when there is none."""
        self.entries: list[Entry] = []
        self.applied: dict[str, Applied] = {}  # where a system shows in other words what was asked for
        self.lease: Lease | None = None
        self.forgotten: list[Entry] = []  # saved before the last boot, which undid them
        self._lock: int | None = None

    def __enter__(self) -> State:
        """Lock: a module whose play was killed may still be at work here. The folder above is there before ours is."""
        self._lock = os.open(FOLDER.parent, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        if STATE.exists():
            content = json.loads(STATE.read_text())
            self.entries, self.applied = content["entries"], content["applied"]
            self.lease = content.get("lease")
            if content.get("boot_id") not in (None, boot_id()):
                self.forgotten = [entry for entry in self.entries if not outlives_a_boot(entry)]
                self.entries = [entry for entry in self.entries if outlives_a_boot(entry)]
                self.applied = {}
                if self.lease:
                    self.lease["rollout"] = {}
        return self

    def __exit__(self, *_: object) -> None:
        """Unlock."""
        if self._lock is not None:
            os.close(self._lock)

    def has(self, kind: str, name: str) -> bool:
        """Return whether a former value is saved."""
        return any(entry["kind"] == kind and entry["name"] == name for entry in self.entries)

    def remember(self, kind: str, name: str, former: Any, role: str) -> bool:
        """Save a former value unless an older one is there."""
        if self.has(kind, name):
            return False
        self.entries.append(
            {"kind": kind, "name": name, "former": former, "role": role, "saved_unix_s": int(time.time())}
        )
        self.save()
        return True

    def make_last(self, kind: str, name: str) -> None:
        """Note that what was set comes back with each boot."""
        for entry in self.entries:
            if (entry["kind"], entry["name"]) == (kind, name) and not entry.get("lasting"):
                entry["lasting"] = True
                self.save()

    def save(self) -> None:
        """Write the file; nothing left to restore and nobody's: remove it, and the folder if nothing else is there."""
        if self.entries or self.lease:
            STATE.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            FOLDER.chmod(0o755)
            content = {"schema": SCHEMA, "boot_id": boot_id(), "lease": self.lease}
            content |= {"entries": self.entries, "applied": self.applied}
            write_safely(STATE, (json.dumps(content, indent=1) + "\n").encode())
            STATE.chmod(0o600)
            return
        for file in (STATE, beside(STATE)):
            file.unlink(missing_ok=True)
        for folder in (STATE.parent, FOLDER):
            with contextlib.suppress(OSError):  # something of somebody else's is in it
                folder.rmdir()


def outlives_a_boot(entry: Entry) -> bool:
    """Return whether a boot leaves what was set."""
    return entry["kind"] in OUTLIVE_A_BOOT or entry.get("lasting", False)


def boot_id() -> str:
    """Name of this boot of the kernel."""
    return BOOT_ID.read_text().strip()


def is_parts(value: object) -> TypeGuard[dict[str, Any]]:
    """Return whether a value has several parts, by name."""
    return isinstance(value, dict)


def is_lines(value: object) -> TypeGuard[list[str]]:
    """Return whether a value is a list of lines."""
    return isinstance(value, list)


def as_text(value: Any) -> str:
    """A value as a line of a diff; contents of files are left out, they may be secret."""
    if is_parts(value):
        return ", ".join(f"{key} {each}" for key, each in sorted(value.items()) if key != "content")
    return "; ".join(value) if is_lines(value) else str(value)
