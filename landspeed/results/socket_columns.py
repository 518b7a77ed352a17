"""Raw samples of sockets: the sampler's CSV files (emu/linkwatch/sockets.h) become parquet files."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from landspeed.results.bundle import LINKS, OutputError
from landspeed.results.sample_columns import SamplesError, convert_links, read_integers, write_table

if TYPE_CHECKING:
    import pyarrow as pa

SOCKETS = "sockets.parquet"
RAW_SOCKETS, RAW_OWNERS, RAW_LINKS = "sockets.csv", "owners.csv", "links.csv"
SOCKET_COLUMNS = [
    "time_ns",
    "socket",
    "tcp_state",
    "rqueue_bytes",
    "wqueue_bytes",
    "rmem_bytes",
    "rcvbuf_bytes",
    "wmem_bytes",
    "sndbuf_bytes",
    "drops",
    "cwnd_packets",
    "ssthresh_packets",
    "srtt_us",
    "rttvar_us",
    "min_rtt_us",
    "retransmits",
    "lost_packets",
    "in_flight_packets",
    "ca_state",
    "delivery_rate_bps",
    "pacing_rate_bps",
    "app_limited",
    "busy_us",
    "rwnd_limited_us",
    "sndbuf_limited_us",
    "rcv_space_bytes",
    "snd_wnd_bytes",
    "mss_bytes",
    "bytes_sent",
    "bytes_acked",
    "bytes_received",
    "bytes_retransmitted",
    "notsent_bytes",
    "data_segs_out",
    "data_segs_in",
]
OWNER_COLUMNS = ["node", "protocol", "local", "local_port", "remote", "remote_port", "pid", "program"]
PROTOCOLS = {6: "tcp", 17: "udp"}


def make_samples_folder(folder: Path) -> None:
    """The folder for samples, before anything is run.

    Raises:
        OutputError: it cannot be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        beside = folder / ".landspeed"
        beside.touch()
        beside.unlink()
    except OSError as error:
        raise OutputError(f"{folder}: samples cannot be kept there: {error.strerror}; name another folder") from error


def keep_samples(run: Path, folder: Path, nodes: Sequence[str]) -> None:
    """Write `sockets.parquet` and `links.parquet` of a run whose folder has the sampler's CSV files.

    Args:
        run: the folder with the CSV files.
        folder: where the parquet files go; it is there.
        nodes: the plan's nodes, in its order.

    Raises:
        SamplesError: a CSV file is not what the sampler writes.
        OutputError: the folder cannot be written.
    """
    try:
        convert_sockets(run, folder / SOCKETS, nodes)
        convert_links(run / RAW_LINKS, folder / LINKS)
    except OSError as error:
        raise OutputError(f"{folder}: samples cannot be kept there: {error.strerror}") from error


def convert_sockets(run: Path, out: Path, nodes: Sequence[str]) -> int:
    """Write `sockets.parquet`: `SOCKET_COLUMNS`, and for each row node, protocol, addresses and program of its socket.

    Rows are sorted by socket and time. Same CSV files, same bytes.

    Returns:
        number of rows.

    Raises:
        SamplesError: columns missing or unknown, or a value is not what its column holds.
        OSError: cannot read or write.
    """
    import pyarrow.compute as pc

    table = read_integers(run / RAW_SOCKETS, SOCKET_COLUMNS)
    table = table.sort_by([("socket", "ascending"), ("time_ns", "ascending")])
    owners = _owners(run / RAW_OWNERS, nodes)
    rows = pc.call_function("index_in", [table["socket"]], pc.SetLookupOptions(value_set=owners["socket"]))
    for name in OWNER_COLUMNS:
        table = table.append_column(name, pc.call_function("take", [owners[name], rows]))
    return write_table(table, out)


def _owners(file: Path, nodes: Sequence[str]) -> pa.Table:
    """Read the owner of each socket; a socket that is missing (a killed run) has nulls."""

    import pyarrow as pa

    numbers = ("socket", "local_port", "remote_port", "pid")
    found: dict[str, list[object]] = {name: [] for name in ("socket", *OWNER_COLUMNS)}
    with file.open(newline="", encoding="ascii", errors="replace") as handle:
        for line, row in enumerate(csv.DictReader(handle), 2):
            try:
                for name, column in found.items():
                    value: object = row[name] or None
                    if name == "node":
                        value = nodes[int(row[name])]
                    elif name == "protocol":
                        value = PROTOCOLS[int(row[name])]
                    elif name in numbers and value is not None:
                        value = int(row[name])
                    column.append(value)
            except (KeyError, TypeError, ValueError, IndexError) as error:
                raise SamplesError(f"{file}:{line}: {type(error).__name__}: {error}") from error
    types = {name: pa.int64() if name in numbers else pa.string() for name in found}
    return pa.table({name: pa.array(values, types[name]) for name, values in found.items()})
