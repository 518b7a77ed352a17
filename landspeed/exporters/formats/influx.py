"""InfluxDB's line protocol: every sample of both ends and of every link's direction, at its own time."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Literal

from landspeed.exporters.exporter import Exported, Exporter
from landspeed.results.sample_columns import LINK_COLUMNS, SAMPLE_COLUMNS

_ESCAPED = str.maketrans({",": r"\,", "=": r"\=", " ": r"\ "})


def _write(exported: Exported) -> dict[str, str | bytes]:
    run = exported.bundle.name if exported.bundle else exported.name
    tags = {"run": run, "scenario": exported.name, "world": exported.measured.world}
    lines = itertools.chain(
        _table(exported, "sender", SAMPLE_COLUMNS, tags), _table(exported, "receiver", SAMPLE_COLUMNS, tags),
        _table(exported, "links", LINK_COLUMNS, tags),
    )  # fmt: skip
    return {".influx": "".join(lines)}


def _table(
    exported: Exported, name: Literal["sender", "receiver", "links"], columns: list[str], tags: dict[str, str]
) -> Iterator[str]:
    keys = ["link", "direction"] if name == "links" else ["flow", "stream", "end"]
    fields = [each for each in columns if each not in (*keys, "time_ns")]
    measurement = "landspeed_link" if name == "links" else "landspeed_tcp"
    rate = "rate_bps" if name == "links" else "goodput_bps"
    for row in exported.samples.rows(name, "time_ns", rate, *keys, *fields):
        time_ns, bps = row[:2]
        own = dict(zip(keys, row[2 : 2 + len(keys)], strict=True))
        told: dict[str, Any] = dict(zip(fields, row[2 + len(keys) :], strict=True))
        values = [f"{field}={value}i" for field, value in told.items() if value is not None]
        values += [f"{rate}={bps!r}"] if bps is not None else []
        if values:
            told_tags = ",".join(f"{key}={str(value).translate(_ESCAPED)}" for key, value in {**tags, **own}.items())
            yield f"{measurement},{told_tags} {','.join(values)} {exported.start_unix_ns + time_ns}\n"


EXPORTER = Exporter(
    "influx", "lines for InfluxDB: every sample", "run", _write, "influx write --bucket landspeed --file FILE"
)
