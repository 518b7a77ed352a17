"""mtr's JSON (`--json`) and CSV (`--csv`); its report as text is read with the traceroutes."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

from landspeed.scenario.importers.path_evidence import MeasurementError, PathEvidence, Traceroute, TracerouteHop
from landspeed.scenario.importers.peers import is_address
from landspeed.scenario.importers.reading import items, member, plain_number, read_json, read_text, text_of
from landspeed.scenario.importers.registry import Reader

WHAT = "what `mtr --json HOST` or `mtr --csv HOST` printed"
Row = tuple[int, str, float]
"""Number of a hop, its label, its least round trip in ms; 0 where it did not answer."""


def read_mtr(file: Path) -> PathEvidence:
    """The path of a file: of each hop the best time.

    Raises:
        MeasurementError: no hop answered.
    """
    text = read_text(file)
    target, rows = _by_json(file) if text.lstrip().startswith("{") else _by_csv(text)
    hops = {number: TracerouteHop(label, (ms,)) for number, label, ms in rows if ms > 0 and 0 < number < 256}
    if not hops:
        raise MeasurementError(f"{file}: no hop of mtr with a best time (column Best); give {WHAT}")
    last = max(number for number, *_ in rows)
    whole = tuple(hops.get(number, TracerouteHop("", ())) for number in range(1, max(hops) + 1))
    reached = last in hops
    address = whole[-1].label if reached and is_address(whole[-1].label) else ""
    return PathEvidence(traces=[Traceroute(file.name, target or whole[-1].label, whole, reached, address)])


def _by_json(file: Path) -> tuple[str, list[Row]]:
    report = member(read_json(file, WHAT), "report")
    rows: list[Row] = []
    for count, each in enumerate(items(report, "hubs"), start=1):
        label = text_of(each, "host")
        rows.append(
            (_number(member(each, "count")) or count, "" if label == "???" else label, _ms(member(each, "Best")))
        )
    return text_of(report, "mtr", "dst"), rows


def _number(value: Any) -> int:
    """A hop's number, which old versions write as text."""
    return round(plain_number(str(value)))


def _ms(value: Any) -> float:
    return plain_number(str(value))


def _by_csv(text: str) -> tuple[str, list[Row]]:
    lines = [line for line in text.splitlines() if line.count(",") >= 10]
    head = next((line for line in lines if line.startswith("Mtr_Version")), "")
    columns = [each.strip() for each in head.split(",")]
    best, target = columns.index("Best") if "Best" in columns else 11, ""
    rows: list[Row] = []
    for row in csv.reader(line for line in lines if line is not head):
        if len(row) > best and row[0].startswith("MTR"):
            target = row[3]
            rows.append((_number(row[4].strip()), "" if row[5] == "???" else row[5], _ms(row[best].strip())))
    return target, rows


_LIKE = re.compile(r'"hubs"\s*:|"report"\s*:\s*\{\s*"mtr"|^Mtr_Version,|^MTR\.[\d.]+,\d+,', re.MULTILINE)
READER = Reader("mtr", "mtr's JSON or CSV", _LIKE.search, read_mtr)
