"""Shared by tests: what test_bound and others use."""

from pathlib import Path
from typing import Any

from landspeed.results.record import RunRecord, StreamResult
from landspeed.results.sample_columns import LINK_COLUMNS, SAMPLE_COLUMNS, convert_links, convert_samples
from landspeed.results.samples_reader import Samples
from tests.support.path_record import path_record
from tests.support.results_fixture import NS

BUSY = {"duration_s": 60.0, "busy_us": 60_000_000, "rwnd_limited_us": 0, "sndbuf_limited_us": 0}


def record_of(goodput: float | None, *streams: dict[str, Any], **fields: Any) -> RunRecord:
    made = [StreamResult(stream=number, goodput_bps=1e9, **each) for number, each in enumerate(streams or (BUSY,))]
    known = {"goodput_bps": goodput, "duration_s": 60.0, "retransmits": 0, "rtt_ms": 264.0, "streams": made}
    return path_record("x", **(known | fields))


def sampled(folder: Path, *rows: dict[str, Any], end: str = "receiver") -> Samples:
    """Samples of one end; what a row does not say is 0."""
    lines = [",".join(SAMPLE_COLUMNS)]
    for row in rows:
        known = row | {"time_ns": round(row["time_s"] * NS)}
        lines.append(",".join(str(known.get(name, 0)) for name in SAMPLE_COLUMNS))
    file = folder / f"{end}.csv"
    file.write_text("\n".join(lines) + "\n")
    convert_samples(folder / "sender.csv", folder / "receiver.csv", folder / "samples.parquet")
    return Samples(folder)


def linked(folder: Path, *rows: str) -> Samples:
    """Samples of links: time in s, link, direction (1: reverse), bytes, packets, drops."""
    lines = [",".join(LINK_COLUMNS)]
    for row in rows:
        time_s, *rest = row.split(",")
        known: dict[str, str] = dict(zip(("link", "direction", "bytes", "packets", "drops"), rest, strict=True))
        known["time_ns"] = str(round(float(time_s) * NS))
        lines.append(",".join(known.get(name, "0") for name in LINK_COLUMNS))
    (folder / "links.csv").write_text("\n".join(lines) + "\n")
    convert_links(folder / "links.csv", folder / "links.parquet")
    return Samples(folder)
