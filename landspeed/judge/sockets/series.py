"""Series of socket samples, as connections: two ends, and the data that each sent to the other over time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landspeed.results.parquet_file import read_parquet
from landspeed.results.samples_reader import Samples
from landspeed.results.socket_columns import OWNER_COLUMNS, SOCKET_COLUMNS, SOCKETS

if TYPE_CHECKING:
    import pyarrow as pa

    from landspeed.scenario.plan.flow_path import Step

ESTABLISHED = 1  # of linux/tcp_states.h


@dataclass(frozen=True)
class End:
    """One socket: one end of a connection, or an unconnected UDP socket.

    Attributes:
        number: of the socket, as it was first seen.
        node: where it is.
        protocol: "tcp" or "udp".
        local, remote: address and port; a remote port 0 is no remote end.
        program: that holds it; None when nobody was found.
        rows: its samples, column by column (`SOCKET_COLUMNS`), in the order of time; values are numbers or None.
    """

    number: int
    node: str
    protocol: str
    local: tuple[str, int]
    remote: tuple[str, int]
    program: str | None
    pid: int | None
    rows: dict[str, list[Any]] = field(repr=False)

    @property
    def times_s(self) -> list[float]:
        """Times of the samples, in s since the first one."""
        return [each / 1e9 for each in self.rows["time_ns"]]

    def last(self, name: str) -> int:
        """The last value of a counter; 0 where it never had one."""
        return next((value for value in reversed(self.rows[name]) if value is not None), 0)

    def most(self, name: str) -> int:
        """The greatest value of a column; 0 where it never had one."""
        return max((value for value in self.rows[name] if value is not None), default=0)


class SentSeries:
    """One direction of a connection: what one end sent to the other.

    Attributes:
        sender: the end that sends.
        receiver: the other end; None when it was not sampled.
        source, target: their nodes; the target is "" when its address is of no node with a socket.
        bytes: that TCP delivered.
    """

    def __init__(self, sender: End, receiver: End | None, target: str) -> None:
        self.sender, self.receiver = sender, receiver
        self.source, self.target = sender.node, target
        self.rows = _complete(sender.rows)
        self.times_s = [each / 1e9 for each in self.rows["time_ns"]]
        sent = [a - b for a, b in zip(self.rows["bytes_sent"], self.rows["bytes_retransmitted"], strict=True)]
        extra = _counted_beside(self.rows, sent, sender)
        self.sent = sent
        self.acked = [max(min(a - extra, b), 0) for a, b in zip(self.rows["bytes_acked"], sent, strict=True)]
        self.in_flight = [a - b for a, b in zip(sent, self.acked, strict=True)]
        heard = receiver.last("bytes_received") if receiver else 0
        self.bytes = max(self.acked[-1] if self.acked else 0, min(heard, sent[-1]) if sent else 0)

    def __repr__(self) -> str:
        return f"Sending({self.source} → {self.target}, {self.bytes} B of {self.sender.program})"

    @cached_property
    def begins_s(self) -> float:
        """The last sample before the first byte was sent."""
        return self.times_s[max(_first_above(self.sent, 0) - 1, 0)]

    @cached_property
    def ends_s(self) -> float:
        """The first sample in which all was acknowledged that ever was."""
        return self.times_s[bisect_left(self.acked, self.acked[-1])]

    @property
    def mss_bytes(self) -> int:
        """The last segment size."""
        return self.rows["mss_bytes"][-1]

    def spans(self) -> Iterator[tuple[int, float]]:
        """(row, seconds until the next one) between the begin and the end."""
        for number, (at, after) in enumerate(pairwise(self.times_s)):
            if self.begins_s <= at < self.ends_s:
                yield number, after - at


class SocketSamples:
    """The samples of one run: `sockets.parquet` and, where it is, `links.parquet` of a folder.

    Attributes:
        folder: of the two files.
    """

    def __init__(self, folder: Path) -> None:
        """Keep the folder; open nothing yet."""
        self.folder = Path(folder)
        self._series = Samples(self.folder)

    @cached_property
    def table(self) -> pa.Table:
        """`SOCKET_COLUMNS` and who holds each socket, sorted by socket and time.

        Raises:
            SamplesError: the file is not there, or cannot be read.
        """
        return read_parquet(self.folder / SOCKETS, [*SOCKET_COLUMNS, *OWNER_COLUMNS])

    @cached_property
    def ends(self) -> list[End]:
        """Every socket, in the order in which they were first seen.

        Raises:
            SamplesError: the file is not there, or cannot be read.
        """
        columns = {name: self.table[name].to_pylist() for name in (*SOCKET_COLUMNS, *OWNER_COLUMNS)}
        numbers = columns["socket"]
        starts = [row for row, number in enumerate(numbers) if row == 0 or numbers[row - 1] != number]
        return [_end(columns, first, after) for first, after in pairwise([*starts, len(numbers)])]

    @cached_property
    def sendings(self) -> list[SentSeries]:
        """Both directions of every TCP connection in which bytes were sent."""
        known = [end for end in self.ends if end.protocol == "tcp" and end.remote[1]]
        of_address = {end.local[0]: end.node for end in self.ends}
        others = {(end.local, end.remote): end for end in known}
        found = [
            SentSeries(end, others.get((end.remote, end.local)), of_address.get(end.remote[0], ""))
            for end in known
            if end.last("bytes_sent")
        ]
        return [each for each in found if each.bytes]

    def between(self, source: str, target: str) -> list[SentSeries]:
        """List the TCP traffic from the programs of one node to those of another, most bytes first."""
        found = [each for each in self.sendings if (each.source, each.target) == (source, target)]
        return sorted(found, key=lambda each: (-each.bytes, each.sender.number))

    @cached_property
    def datagram_nodes(self) -> list[str]:
        """Nodes with UDP sockets, in the order of the sockets."""
        return list(dict.fromkeys(end.node for end in self.ends if end.protocol == "udp"))

    @property
    def links(self) -> pa.Table:
        """Samples of the links; empty without the file.

        Raises:
            SamplesError: the file cannot be read.
        """
        return self._series.links

    def along(self, way: Sequence[Step], begin_s: float) -> Samples:
        """The samples of a way's links, numbered along it; their times count from `begin_s`."""
        return self._series.of_flow("", begin_s, way)

    def link(self, index: int, direction: str) -> pa.Table:
        """The rows of one direction of a link, "forward" or "reverse", in the order of time.

        Raises:
            SamplesError: the file cannot be read.
        """
        return self._series.link(index, direction)


def _end(columns: dict[str, list[Any]], first: int, after: int) -> End:
    rows = {name: columns[name][first:after] for name in SOCKET_COLUMNS}
    of = {name: columns[name][first] for name in OWNER_COLUMNS}
    return End(
        number=columns["socket"][first],
        node=of["node"] or "",
        protocol=of["protocol"] or "",
        local=(_plain(of["local"]), of["local_port"] or 0),
        remote=(_plain(of["remote"]), of["remote_port"] or 0),
        program=of["program"],
        pid=of["pid"],
        rows=rows,
    )


def _plain(address: str | None) -> str:
    """An IPv4 address that an IPv6 socket has is the IPv4 address."""
    return (address or "").removeprefix("::ffff:")


def _complete(rows: dict[str, list[Any]]) -> dict[str, list[int]]:
    """The rows that have TCP's figures, without None: what a last row does not tell is as it was before."""
    kept = [number for number, value in enumerate(rows["bytes_sent"]) if value is not None]
    found: dict[str, list[int]] = {}
    for name, values in rows.items():
        last, column = 0, list[int]()
        for number in kept:
            last = last if values[number] is None else values[number]
            column.append(last)
        found[name] = column
    return found


def _counted_beside(rows: dict[str, list[int]], sent: list[int], sender: End) -> int:
    """1 where the SYN was counted as an acknowledged byte: at the end that opened the connection."""
    beside = [
        acked - own
        for acked, own, state in zip(rows["bytes_acked"], sent, rows["tcp_state"], strict=True)
        if state == ESTABLISHED
    ]
    if beside and (most := max(beside)) >= 0:  # all was acknowledged at some time
        return min(most, 1)
    return int(sender.local[1] > sender.remote[1])


def _first_above(rising: list[int], bound: int) -> int:
    """The first row of a rising counter above a bound; the last row where there is none."""
    return next((row for row, value in enumerate(rising) if value > bound), max(len(rising) - 1, 0))
