"""What is found of a run: on the host, in the files that the guest left, and into the record with it."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

from ..results.facts import EmuFacts, GuestFacts
from ..results.record import RunRecord


def shift_links(path: Path, start_unix_ns: int) -> None:
    """The links' samples carry the calendar's time; count from the transfer's start, as the streams' samples do."""
    if not path.exists() or not path.stat().st_size:
        return
    head, *rows = path.read_text().splitlines()
    shifted: list[str] = []
    for row in rows:
        time_text, _, rest = row.partition(",")
        if time_text.isdigit() and rest.count(",") == head.count(",") - 1:
            shifted.append(f"{int(time_text) - start_unix_ns},{rest}")
    path.write_text("\n".join([head, *shifted]) + "\n")


def cpu_model() -> str:
    """Name of this host's processor."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def with_guest(record: RunRecord, found: dict[str, Any]) -> EmuFacts:
    """The record's facts with more of the guest."""
    facts = record.world_facts
    assert isinstance(facts, EmuFacts)
    return facts.model_copy(update={"guest": GuestFacts.model_validate(facts.guest.model_dump() | found)})
