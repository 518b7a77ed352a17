"""Table of the queues of a path: their discipline, how full each got, its drops and its marks."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from landspeed.base.text import DASH, grouped
from landspeed.base.units_text import rate_text, time_text
from landspeed.report.tables import Table, link_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from landspeed.results.record import QueueDelay
    from landspeed.results.samples_reader import Samples
    from landspeed.scenario.plan.direction import Direction
    from landspeed.scenario.plan.plan import Plan

LEAST_MS = 0.001  # a shorter wait is none: the table has three digits


def queue_table(plan: Plan, samples: Samples, delays: Sequence[QueueDelay]) -> Table | None:
    """Each direction in whose queue packets waited, or that manages it, dropped or marked; None where there is none."""
    drops, marks = samples.passed_by_link("drops"), samples.passed_by_link("marks")
    fullest = {key: max(waiting for _, waiting in series) for key, series in samples.backlogs().items() if series}
    waits = {(each.link, each.direction): each for each in delays if each.p99_ms >= LEAST_MS}
    rows: list[list[str]] = []
    for link in plan.links:
        for way, direction in (("forward", link.forward), ("reverse", link.reverse)):
            key = (link.index, way)
            if direction.discipline == "fifo" and not (drops.get(key) or marks.get(key) or key in waits):
                continue
            figures = [fullest.get(key, 0), drops.get(key, 0), marks.get(key, 0)]
            wait = waits.get(key)
            waited = [f"{value:.3f}" for value in (wait.median_ms, wait.p99_ms, wait.max_ms)] if wait else [DASH] * 3
            kept = f"{direction.discipline}{_words(direction)}"
            rows.append([link_text(plan, *key), kept, *waited, *(grouped(round(figure)) for figure in figures)])
    if not rows:
        return None
    header = ["queue", "discipline", "wait, median (ms)", "p99", "longest", "most waiting (B)", "dropped", "marked"]
    note = (
        "Wait: what the line takes to send what stands before a packet, from 10 s on or in the second half. Most "
        "waiting: of the samples. Dropped and marked: packets; marked ones told congestion (ECN) instead."
    )
    return Table("Queues", header, rows, note, text_columns=2)


def _words(direction: Direction) -> str:
    if direction.parameters is None:
        return ""
    said = {name: value for name, value in asdict(direction.parameters).items() if value is not None}
    return ": " + ", ".join(f"{_name(name)} {_value(name, value)}" for name, value in said.items())


def _name(name: str) -> str:
    for suffix in ("_ns", "_bytes", "_bps", "_packets"):
        name = name.removesuffix(suffix)
    return name.replace("_", " ")


def _value(name: str, value: float | str) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str):
        return value
    if name.endswith("_ns"):
        return time_text(value)
    if name.endswith("_bps"):
        return rate_text(value)
    return f"{grouped(round(value))} B" if name.endswith("_bytes") else f"{value:g}"
