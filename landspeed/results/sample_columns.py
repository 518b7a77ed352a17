"""Raw samples: the engine's and the link watch's CSV files become the bundle's parquet files.

The same CSV gives the same parquet bytes. A last line cut short (a killed run, a full disk) is dropped. pyarrow is
imported inside the functions: a run must begin before anybody needs it.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from landspeed.base.failures import BundleError
from landspeed.base.files import replacing
from landspeed.scenario.plan.plan import PATH_FLOW

if TYPE_CHECKING:
    import pyarrow as pa

# The one spelling of the columns: tests/results/test_column_names.py holds the programs in C and C++ to it.
SAMPLE_COLUMNS = [
    "time_ns",
    "stream",
    "bytes",
    "cwnd_packets",
    "ssthresh_packets",
    "srtt_us",
    "rttvar_us",
    "min_rtt_us",
    "retransmits",
    "lost_packets",
    "in_flight_packets",
    "state",
    "delivery_rate_bps",
    "pacing_rate_bps",
    "busy_us",
    "rwnd_limited_us",
    "sndbuf_limited_us",
    "rcv_space_bytes",
    "snd_wnd_bytes",
    "bytes_retransmitted",
    "mss_bytes",
]
LINK_COLUMNS = [
    "time_ns",
    "link",
    "direction",
    "bytes",
    "packets",
    "drops",
    "backlog_bytes",
    "backlog_packets",
    "marks",  # packets marked instead of dropped
]
PING_COLUMNS = ["number", "sent_ns", "rtt_ns"]  # of the echoes that came back


class SamplesError(BundleError):
    """A time series cannot be read, or is not what the engine or the link watch writes."""


@dataclass(frozen=True)
class RawFlow:
    """The CSV files of one flow; any may be missing.

    Attributes:
        flow: its name.
        begins_ns: when it began, after the run's start: its samples count from there.
    """

    sender_csv: Path | None
    receiver_csv: Path | None
    flow: str = PATH_FLOW
    begins_ns: int = 0


def convert_samples(sender_csv: Path | None, receiver_csv: Path | None, out: Path) -> int:
    """Write `samples.parquet` of a path's one flow: `convert_flows`."""
    return convert_flows([RawFlow(sender_csv, receiver_csv)], out)


def convert_flows(flows: Sequence[RawFlow], out: Path) -> int:
    """Write `samples.parquet`: the CSVs' columns, `end` ("sender" or "receiver") and `goodput_bps` per interval.

    Of several flows it has `flow`, too; where it is missing, readers take it for the one flow of a path
    (samples_reader.py). Rows are sorted by end, flow (in the order given), stream and time. The first interval of a
    stream begins at the start of its flow with 0 bytes.

    Args:
        flows: what there is of each flow.
        out: the parquet file; replaced as a whole.

    Returns:
        number of rows.

    Raises:
        SamplesError: columns missing or unknown, or a line in the middle is not integers.
        OSError: cannot read or write.
    """
    files = [("receiver", flow.receiver_csv, flow) for flow in flows]
    files += [("sender", flow.sender_csv, flow) for flow in flows]
    files = [(end, csv, flow) for end, csv, flow in files if csv and csv.exists()]
    if not files:
        return 0
    import pyarrow as pa

    table, counts = _read_together([csv for _, csv, _ in files if csv], SAMPLE_COLUMNS)

    def told(values: Sequence[object], kind: pa.DataType) -> pa.Array:
        """A value of each file, in all of its rows."""
        return pa.array([value for value, count in zip(values, counts, strict=True) for _ in range(count)], kind)

    # One table for all: each of the dozen steps takes Arrow as long for a hundred rows as for thousands.
    table = table.append_column("file", told(range(len(files)), pa.int64()))
    table = table.sort_by([("file", "ascending"), ("stream", "ascending"), ("time_ns", "ascending")])
    rate = _rate_bps(table, ["file", "stream"])
    table = later(table.drop_columns(["file"]), told([flow.begins_ns for *_, flow in files], pa.int64()))
    table = table.add_column(0, "end", told([end for end, *_ in files], pa.string()))
    table = table.append_column("goodput_bps", rate)
    if len(flows) > 1:
        table = table.append_column("flow", told([flow.flow for *_, flow in files], pa.string()))
    return write_table(table, out)


def convert_links(csv: Path, out: Path, origin_ns: int = 0) -> int:
    """Write `links.parquet`: the CSV's columns, direction in words, and `rate_bps` per interval.

    Rows are sorted by link, direction and time; the rate of a series' first row is null, because the counters began
    before the transfer.

    Args:
        csv: the raw samples.
        out: the parquet file; replaced as a whole.
        origin_ns: the transfer's start on the clock of the CSV; the parquet's times count from it.

    Returns:
        number of rows.

    Raises:
        SamplesError: columns missing or unknown, or a line in the middle is not integers.
        OSError: cannot read or write.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    table = read_integers(csv, LINK_COLUMNS)
    table = table.sort_by([("link", "ascending"), ("direction", "ascending"), ("time_ns", "ascending")])
    rate = _rate_bps(table, ["link", "direction"], from_zero=False)
    ahead = pc.call_function("equal", [table["direction"], pa.scalar(0)])
    words = pc.call_function("if_else", [ahead, pa.scalar("forward"), pa.scalar("reverse")])
    table = later(table, -origin_ns)
    position = table.column_names.index("direction")
    return write_table(table.set_column(position, "direction", words).append_column("rate_bps", rate), out)


def convert_pings(csvs: Mapping[str, Path], out: Path, origin_ns: int = 0) -> int:
    """Write `pings.parquet`: `flow`, `time_ns` at which an echo was sent, and `rtt_ns`, null of one that was lost.

    Echoes are sent at even intervals, so that those before the last answer that are not told are lost, and when they
    were sent is known. Of copies the first counts.

    Args:
        csvs: the raw file of each flow.
        out: the parquet file; replaced as a whole.
        origin_ns: the run's start on the clock of the CSVs.

    Returns:
        number of echoes.

    Raises:
        SamplesError: columns missing or unknown, or a line in the middle is not integers.
        OSError: cannot read or write.
    """
    import pyarrow as pa

    rows: list[tuple[str, int, int | None]] = []
    for flow, csv in csvs.items():
        table = read_integers(csv, PING_COLUMNS)
        told: dict[int, tuple[int, int]] = {}
        for number, sent_ns, rtt_ns in zip(*(table[name].to_pylist() for name in PING_COLUMNS), strict=True):
            told.setdefault(number, (sent_ns - origin_ns, rtt_ns))
        ordered = sorted(told)
        first, last = ordered[:1], ordered[-1:]
        interval_ns = (told[last[0]][0] - told[first[0]][0]) / max(last[0] - first[0], 1) if told else 0
        for number in range(last[0] + 1 if told else 0):
            sent_ns = round(told[last[0]][0] - (last[0] - number) * interval_ns)
            at_ns, rtt_ns = told.get(number, (sent_ns, None))
            rows.append((flow, at_ns, rtt_ns))
    kinds = {"flow": pa.string(), "time_ns": pa.int64(), "rtt_ns": pa.int64()}
    columns = {name: pa.array([row[place] for row in rows], kind) for place, (name, kind) in enumerate(kinds.items())}
    return write_table(pa.table(columns), out)


def later(table: pa.Table, by_ns: int | pa.Array) -> pa.Table:
    """The table with each time later by so much, or by as much as is told for each."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(by_ns, int) and not by_ns:
        return table
    shift = pa.scalar(by_ns, pa.int64()) if isinstance(by_ns, int) else by_ns
    moved = pc.call_function("add", [table["time_ns"], shift])
    return table.set_column(table.column_names.index("time_ns"), "time_ns", moved)


def read_integers(file: Path, columns: list[str]) -> pa.Table:
    """The rows of a CSV of integers; empty fields are null.

    Raises:
        SamplesError: columns missing or unknown, or a line is not integers.
    """
    return _parsed(_whole_lines(file), columns, file)


def _read_together(files: Sequence[Path], columns: list[str]) -> tuple[pa.Table, list[int]]:
    """The rows of several such CSVs, and how many are of each.

    Arrow is given all lines at once: it has them read by a thread of its own, for which each file would wait.
    """
    import pyarrow as pa

    contents = [_whole_lines(file) for file in files]
    heads = {content.partition(b"\n")[0] for content in contents if content}
    if len(heads) == 1:
        head = heads.pop() + b"\n"
        lines = [content[len(head) :] for content in contents]
        counts = [each.count(b"\n") for each in lines]
        with contextlib.suppress(SamplesError):
            table = _parsed(head + b"".join(lines), columns, files[0])
            if len(table) == sum(counts):  # else there are empty lines
                return table, counts
    tables = [read_integers(file, columns) for file in files]  # says which file is wrong, if one is
    return pa.concat_tables(tables), [len(table) for table in tables]


def _whole_lines(file: Path) -> bytes:
    content = file.read_bytes()
    return content[: content.rfind(b"\n") + 1]  # a killed guest leaves half a line, or a hole


def _parsed(content: bytes, columns: list[str], file: Path) -> pa.Table:
    """The rows of a CSV; `file` is named where they are wrong."""
    import pyarrow as pa
    from pyarrow import csv

    if not content:
        return pa.schema([(name, pa.int64()) for name in columns]).empty_table()
    found = content[: content.find(b"\n")].decode(errors="replace").strip().split(",")
    if sorted(found) != sorted(columns):
        missing, unknown = sorted(set(columns) - set(found)), sorted(set(found) - set(columns))
        raise SamplesError(f"{file}:1: columns missing: {missing or 'none'}; unknown: {unknown or 'none'}")
    types = {name: pa.int64() for name in columns}
    options = csv.ConvertOptions(column_types=types, include_columns=columns, null_values=[""])
    try:
        table = csv.read_csv(io.BytesIO(content), csv.ReadOptions(use_threads=False), convert_options=options)
    except pa.ArrowInvalid as error:
        raise SamplesError(f"{file}: {error}") from error
    return table.combine_chunks()


def _rate_bps(table: pa.Table, keys: list[str], *, from_zero: bool = True) -> pa.Column:
    """Bits per second between a row and the one before it of the same series; null where no time passed."""
    import pyarrow as pa
    import pyarrow.compute as pc

    call = pc.call_function

    def previous(name: str) -> pa.Array:
        column = table[name].combine_chunks()
        return pa.concat_arrays([pa.nulls(1, pa.int64()), column.slice(0, len(column) - 1)]) if len(column) else column

    begins: pa.Column = pa.array([True] * len(table))
    for number, key in enumerate(keys):
        changed = call("coalesce", [call("not_equal", [table[key], previous(key)]), pa.scalar(True)])
        begins = changed if number == 0 else call("or", [begins, changed])
    start = pa.scalar(0 if from_zero else None, pa.int64())
    spans: list[pa.Column] = []
    for name in ("bytes", "time_ns"):
        before = call("if_else", [begins, start, previous(name)])
        spans.append(call("cast", [call("subtract", [table[name], before])], pc.CastOptions(target_type=pa.float64())))
    passed = call("if_else", [call("greater", [spans[1], pa.scalar(0.0)]), spans[1], pa.scalar(None, pa.float64())])
    return call("divide", [call("multiply", [spans[0], pa.scalar(8e9)]), passed])


def write_table(table: pa.Table, out: Path) -> int:
    """Replace a parquet file; the same table makes the same bytes. Returns the number of rows."""
    from pyarrow import parquet

    with replacing(out) as beside:
        parquet.write_table(table.combine_chunks(), beside, compression="zstd", row_group_size=1 << 20)
    return len(table)
