"""The time series of a bundle: the one reader of `samples.parquet` and `links.parquet`.

Nothing is read before it is asked for, and nothing twice. Tables are Arrow's; pyarrow is imported inside the functions,
because a command begins before anybody needs it.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from landspeed.base.extras import require_extra
from landspeed.results.bundle import PINGS
from landspeed.results.parquet_file import read_samples
from landspeed.results.sample_columns import later
from landspeed.results.sample_tables import SampleTables
from landspeed.results.series import ByteCurves, Series, total_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    from landspeed.results.flow_result import FlowResult
    from landspeed.scenario.plan.flow_path import Step
    from landspeed.scenario.plan.plan import Plan

WAYS = ("forward", "reverse")
LOSS = 4  # TCP_CA_Loss: the kernel makes good a timeout


class Samples:
    """Samples of a run. A file that is not there is an empty table.

    Streams are numbered anew in each flow. Per-stream methods need a single flow; for a network call `of_flow` first.

    Attributes:
        bundle: the bundle's folder.
    """

    def __init__(self, bundle: Path) -> None:
        """Keep the folder; open nothing yet."""
        self.bundle = Path(bundle)
        self._tables = SampleTables(self.bundle)
        self._flow: str | None = None
        self._begins_ns = 0
        self._way: Sequence[Step] | None = None

    def __repr__(self) -> str:
        """Text that says what it is of and how to get at it; nothing is read."""
        flow = f", flow {self._flow}" if self._flow else ""
        return f"<samples of {self.bundle.name}{flow}: .goodput(), .to_arrow(), .to_pandas()>"

    def of_flow(self, name: str, begins_s: float = 0.0, way: Sequence[Step] | None = None) -> Samples:
        """The samples of one flow of a network.

        Args:
            name: of the flow.
            begins_s: when it began; its times then count from there.
            way: the links that it passes; samples of links are then those of its path, numbered along it.
        """
        made = Samples(self.bundle)
        made._flow, made._begins_ns, made._way = name, round(begins_s * 1e9), way
        made._tables = self._tables
        return made

    def alone(self, plan: Plan, flow: FlowResult) -> Samples:
        """The samples of one flow as those of a transfer over its path, and nothing else."""
        if plan.is_path:
            return self
        # saves 1 ms where it is not needed
        from landspeed.scenario.plan.flow_path import steps

        planned = next(each for each in plan.flows if each.name == flow.name)
        return self.of_flow(flow.name, flow.begins_s or 0.0, steps(plan, planned))

    @property
    def of_network(self) -> bool:
        """True if these are of one flow of a network: others may pass its links."""
        return self._flow is not None

    # --- tables ------------------------------------------------------------------------------------------------------

    @cached_property
    def sender(self) -> pa.Table:
        """Samples of the sending end: the columns `SAMPLE_COLUMNS`, `end` and `goodput_bps`.

        Rows are sorted by stream and time.

        Raises:
            SamplesError: the file cannot be read.
        """
        return self._end("sender")

    @cached_property
    def receiver(self) -> pa.Table:
        """Samples of the receiving end, in the same columns.

        Raises:
            SamplesError: the file cannot be read.
        """
        return self._end("receiver")

    @cached_property
    def links(self) -> pa.Table:
        """Samples of the links: the columns `LINK_COLUMNS` and `rate_bps`, sorted by link, direction and time.

        Raises:
            SamplesError: the file cannot be read.
        """
        if self._way is None:
            return later(self._tables.links, -self._begins_ns)
        import pyarrow as pa

        table = pa.concat_tables([self._tables.links.slice(0, 0), *itertools.starmap(_numbered, self._lanes())])
        return later(table, -self._begins_ns)

    def lanes(self, *columns: str) -> Iterator[tuple[tuple[int, str], list[int], list[list[Any]]]]:
        """Each direction of a link in turn: its number and "forward" or "reverse", times in ns, and these columns.

        Raises:
            SamplesError: the file cannot be read.
        """
        for lane, table in self._lanes():
            times_ns = [time_ns - self._begins_ns for time_ns in table["time_ns"].to_pylist()]
            yield lane, times_ns, [table[name].to_pylist() for name in columns]

    def link(self, index: int, way: str) -> pa.Table:
        """Samples of one direction of a link, "forward" or "reverse", in the order of time.

        Raises:
            SamplesError: the file cannot be read.
        """
        link, direction = _fields("link", "direction")
        return self.links.filter((link == index) & (direction == way))

    @cached_property
    def pings(self) -> Series:
        """Echoes beside the transfer: when each was sent, in s, and its round trip in ms; infinite: it was lost.

        Raises:
            SamplesError: the file cannot be read.
        """
        table = read_samples(self.bundle / PINGS, ["flow", "time_ns", "rtt_ns"])
        return [
            ((time_ns - self._begins_ns) / 1e9, math.inf if rtt_ns is None else rtt_ns / 1e6)
            for flow, time_ns, rtt_ns in _rows(table, "flow", "time_ns", "rtt_ns")
            if self._flow in (None, flow)
        ]

    def rows(self, table: Literal["sender", "receiver", "links"], *columns: str) -> Iterator[tuple[Any, ...]]:
        """The rows of one of the tables, each as the values of these columns."""
        return _rows(getattr(self, table), *columns)

    def to_arrow(self) -> pa.Table:
        """Samples of both ends as one Arrow table.

        Raises:
            SamplesError: the file cannot be read.
        """
        return self._both

    def to_pandas(self) -> pd.DataFrame:
        """Samples of both ends as a pandas frame, one row for each stream, end and time.

        Raises:
            NotReady: pandas is not installed.
        """
        require_extra("notebook")
        return self._both.to_pandas()

    # --- series ------------------------------------------------------------------------------------------------------

    def goodput(self, stream: int | None = None) -> Series:
        """Goodput over time in bit/s as the receiving application read it: of a stream, or of all together."""
        streams = self.by_stream("receiver", "goodput_bps")
        return total_of(streams) if stream is None else streams.get(stream, [])

    def by_stream(self, end: Literal["sender", "receiver"], column: str, per: float = 1) -> dict[int, Series]:
        """A column over time in s, stream by stream; rows without the figure are left out.

        Args:
            end: "sender" or "receiver".
            column: its name.
            per: each value is divided by this (1e9 makes Gbit/s of bit/s).
        """
        found: dict[int, Series] = {}
        for stream, time_ns, value in self.rows(end, "stream", "time_ns", column):
            if value is not None:
                found.setdefault(stream, []).append((time_ns / 1e9, value if per == 1 else value / per))
        return found

    def windows(self, mss_bytes: int, per: float = 1) -> dict[int, Series]:
        """Each stream's congestion window over time, in bytes divided by `per`.

        Args:
            mss_bytes: packet size of rows that do not tell theirs.
            per: each value is divided by this.
        """
        found: dict[int, Series] = {}
        for stream, time_ns, packets, told in self.rows("sender", "stream", "time_ns", "cwnd_packets", "mss_bytes"):
            if packets is not None:
                window = packets * (told or mss_bytes)
                found.setdefault(stream, []).append((time_ns / 1e9, window if per == 1 else window / per))
        return found

    @cached_property
    def curves(self) -> ByteCurves | None:
        """The receiver's byte curves; None without samples of the receiver."""
        curves = ByteCurves()
        for stream, time_ns, count in self.rows("receiver", "stream", "time_ns", "bytes"):
            curves.add(stream, time_ns / 1e9, count)
        return curves if curves.streams else None

    # --- figures -----------------------------------------------------------------------------------------------------

    def largest_send_window(self) -> int | None:
        """Sum over the streams of the largest window that the receiver offered, in bytes; None if not sampled."""
        table = self.sender.group_by("stream").aggregate([("snd_wnd_bytes", "max")])
        largest = table["snd_wnd_bytes_max"].to_pylist()
        known = [each for each in largest if each]
        return sum(known) if known and len(known) == len(largest) else None

    def congestion_window_share(self) -> float | None:
        """Share of the sender's samples in which the congestion window had no room for a packet more, 0…1; or None."""
        flight, window = _fields("in_flight_packets", "cwnd_packets")
        return _share(self.sender.filter(flight.is_valid() & (window > 0)), flight >= window * 0.9)

    def stands_since_s(self) -> float | None:
        """Time of the last acknowledgment, in s, if data is still in flight at the end; None: it moves."""
        rows = list(_rows(self.sender.sort_by("time_ns"), "time_ns", "bytes", "in_flight_packets"))
        if not rows or not rows[-1][2] or len(self.sender["stream"].unique()) != 1:
            return None
        first = next(time_ns for time_ns, moved, _ in rows if moved == rows[-1][1])
        return first / 1e9 if first < rows[-1][0] else None

    def recoveries(self, rtt_s: float) -> int:
        """Count the recoveries of all streams; retransmissions that begin within a round trip are one recovery."""
        found = 0
        for points in self.by_stream("sender", "retransmits").values():
            known, began_s = 0.0, -rtt_s
            for time_s, count in points:
                if count > known and time_s - began_s >= rtt_s:
                    found, began_s = found + 1, time_s
                known = count
        return found

    def waiting(self) -> float:
        """Share of the senders' samples in which the kernel was making good a timeout (TCP_CA_Loss), 0…1."""
        (state,) = _fields("state")
        return _share(self.sender.filter(state.is_valid()), state == LOSS) or 0.0

    def backs_off(self) -> bool:
        """Return whether each stream ends waiting for a timeout twice the one before (RFC 6298 section 5.5)."""
        rows = self.rows("sender", "stream", "time_ns", "bytes", "retransmits", "state")
        ends = [
            _backs_off([row[1:] for row in of if None not in row])
            for _, of in itertools.groupby(rows, operator.itemgetter(0))
        ]
        return bool(ends) and all(ends)

    def left_slow_start(self) -> bool | None:
        """Return whether any stream's window has passed its threshold; None if not sampled."""
        window, threshold = _fields("cwnd_packets", "ssthresh_packets")
        share = _share(self.sender.filter(window.is_valid() & threshold.is_valid()), window >= threshold)
        return None if share is None else share > 0

    def drops_by_link(self, from_s: float | None = None) -> dict[tuple[int, str], int]:
        """Packets dropped during the run, or from a time on, for each link and direction that dropped any."""
        return {key: count for key, count in self.passed_by_link("drops", from_s).items() if count}

    def passed_by_link(self, counter: str, from_s: float | None = None) -> dict[tuple[int, str], int]:
        """Growth of a counter of each (link, direction): "packets", "bytes", "drops" or "marks".

        Args:
            counter: its name.
            from_s: from this time on; None: from the first sample on, which may lie before the transfer.
        """
        (time_ns,) = _fields("time_ns")
        links = self.links if from_s is None else self.links.filter(time_ns >= round(from_s * 1e9))
        grouped = links.group_by(["link", "direction"]).aggregate([(counter, "min"), (counter, "max")])
        return {
            (row["link"], row["direction"]): row[f"{counter}_max"] - row[f"{counter}_min"]
            for row in grouped.to_pylist()
            if row[f"{counter}_max"] is not None
        }

    def backlogs(self, per: float = 1) -> dict[tuple[int, str], Series]:
        """Bytes waiting at each (link, direction) from the transfer's start on, divided by `per`."""
        found: dict[tuple[int, str], Series] = {}
        for lane, times_ns, (waiting,) in self.lanes("backlog_bytes"):
            rows = zip(times_ns, waiting, strict=True)
            if known := [(at_ns / 1e9, count / per) for at_ns, count in rows if count is not None and at_ns >= 0]:
                found[lane] = known
        return found

    # --- reading -----------------------------------------------------------------------------------------------------

    @cached_property
    def _both(self) -> pa.Table:
        if self._flow is None:
            return self._tables.samples
        import pyarrow as pa

        return pa.concat_tables([self.receiver, self.sender])

    def _lanes(self) -> Iterator[tuple[tuple[int, str], pa.Table]]:
        """Each direction of a link with its samples, times as in the file; of a flow's path those that it passes."""
        known = self._tables.lanes
        if self._way is None:
            yield from known.items()
            return
        for number, step in enumerate(self._way):  # numbered from the flow's source, forward as its data goes
            for (link, ahead), way in step.passed:
                if rows := known.get((link, WAYS[0 if ahead else 1])):
                    yield (number, way), rows

    def _end(self, name: str) -> pa.Table:
        return later(self._tables.of_end(self._flow, name), -self._begins_ns)


def _rows(table: pa.Table, *columns: str) -> Iterator[tuple[Any, ...]]:
    return zip(*(table[name].to_pylist() for name in columns), strict=True)


def _numbered(lane: tuple[int, str], rows: pa.Table) -> pa.Table:
    """Samples of a direction of a link, which is this one of a flow's path."""
    import pyarrow as pa

    for name, value, kind in zip(("link", "direction"), lane, (pa.int64(), pa.string()), strict=True):
        column = pa.array([value] * rows.num_rows, kind)
        rows = rows.set_column(rows.column_names.index(name), name, column)
    return rows


def _fields(*columns: str) -> list[pc.Expression]:
    import pyarrow.compute as pc

    return [pc.field(name) for name in columns]


def _share(table: pa.Table, condition: pc.Expression) -> float | None:
    """The share of the rows that meet a condition; None of no rows."""
    return table.filter(condition).num_rows / table.num_rows if table.num_rows else None


def _backs_off(rows: Sequence[tuple[int, int, int, int]]) -> bool:
    """Return whether one stream backs off; a row: time, acknowledged bytes, retransmissions, the kernel's state."""
    steps = [  # something was acknowledged, or sent once more
        (now_ns, moved > before)
        for (_, before, had, _), (now_ns, moved, has, _) in itertools.pairwise(rows)
        if moved > before or has > had
    ]
    if len(steps) < 2 or rows[-1][3] != LOSS:
        return False
    (earlier_ns, _), (last_ns, advanced) = steps[-2:]
    return not advanced and rows[-1][0] - last_ns < 2 * (last_ns - earlier_ns)
