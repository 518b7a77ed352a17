"""The JSON result of the engine's `udp`, and the receiver's bytes over time, read as those of every transfer."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from landspeed.base.json_form import is_object
from landspeed.results.datagram_result import datagram_result
from landspeed.results.sample_columns import SAMPLE_COLUMNS
from landspeed.results.tool_result import TransferResult
from landspeed.worlds.engine.result import ResultError

ALWAYS = ("engine", "complete", "error", "sent", "start_unix_ns", "duration_s")


def datagrams_told(content: bytes, folder: Path) -> TransferResult:
    """Read the result of the sender, and rewrite `receiver.csv` in the columns of all samples, from the sender's start.

    Raises:
        ResultError: it is not a result of the engine's `udp`.
    """
    try:
        told = json.loads(content)
    except ValueError as error:
        raise ResultError(f"engine.json: {error}") from error
    if not is_object(told) or any(name not in told for name in ALWAYS):
        raise ResultError("engine.json: not a result of udp")
    _rewrite(folder / "receiver.csv", told["start_unix_ns"])
    return datagram_result(told)


def _rewrite(path: Path, start_unix_ns: int) -> None:
    if not path.exists():
        return
    with path.open(newline="") as handle:
        came = {int(row["time_ns"]) - start_unix_ns: row["bytes"] for row in csv.DictReader(handle) if row["bytes"]}
    with path.open("w", newline="") as handle:
        writer = csv.DictWriter(handle, SAMPLE_COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows({"time_ns": at_ns, "stream": 0, "bytes": count} for at_ns, count in came.items() if at_ns > 0)
