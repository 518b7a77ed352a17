"""Figures from the time series that the judge needs. Reads `samples.parquet` and `links.parquet`, nothing else."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from pathlib import Path

from .bundle import LINKS, SAMPLES


@dataclass
class ByteCurves:
    """Cumulative bytes over time of every stream, as the receiving application read them.

    Attributes:
        streams: for each stream the times in s and the bytes, both rising, beginning at (0, 0).
    """

    streams: dict[int, tuple[list[float], list[int]]] = field(default_factory=dict)

    @property
    def end_s(self) -> float:
        """Time when the last byte had been read, in s: the first sample that shows the final count."""
        ends = [times[bisect_left(counts, counts[-1])] for times, counts in self.streams.values()]
        return max(ends, default=0.0)

    def bytes_at(self, time_s: float) -> float:
        """Bytes of all streams at a time, between samples by interpolation."""
        return sum(_interpolate(times, counts, time_s) for times, counts in self.streams.values())

    def goodput_bps(self, from_s: float, to_s: float | None = None) -> float | None:
        """Mean goodput between two times in bit/s; None if nothing lies between them."""
        end = self.end_s if to_s is None else to_s
        if end <= from_s:
            return None
        return (self.bytes_at(end) - self.bytes_at(from_s)) * 8 / (end - from_s)


def receiver_curves(bundle: Path) -> ByteCurves | None:
    """The receiver's byte curves of a bundle; None without samples of the receiver."""
    if not (bundle / SAMPLES).exists():
        return None
    from pyarrow import parquet

    table = parquet.read_table(
        bundle / SAMPLES, columns=["stream", "time_ns", "bytes"], filters=[("end", "=", "receiver")]
    )
    curves = ByteCurves()
    columns = [table[name].to_pylist() for name in ("stream", "time_ns", "bytes")]
    for stream, time_ns, count in zip(*columns, strict=True):
        times, counts = curves.streams.setdefault(stream, ([0.0], [0]))
        if time_ns / 1e9 > times[-1]:
            times.append(time_ns / 1e9)
            counts.append(count)
        elif count >= counts[-1]:
            counts[-1] = count
    return curves if curves.streams else None


def largest_send_window(bundle: Path) -> int | None:
    """Sum over the streams of the largest window that the receiver offered, in bytes; None if not sampled."""
    if not (bundle / SAMPLES).exists():
        return None
    from pyarrow import parquet

    table = parquet.read_table(bundle / SAMPLES, columns=["stream", "snd_wnd_bytes"], filters=[("end", "=", "sender")])
    largest = table.group_by("stream").aggregate([("snd_wnd_bytes", "max")])["snd_wnd_bytes_max"].to_pylist()
    known = [each for each in largest if each]
    return sum(known) if known and len(known) == len(largest) else None


def drops_by_link(bundle: Path) -> dict[tuple[int, str], int]:
    """Packets dropped during the run for each link and direction that dropped any."""
    if not (bundle / LINKS).exists():
        return {}
    from pyarrow import parquet

    table = parquet.read_table(bundle / LINKS, columns=["link", "direction", "drops"])
    grouped = table.group_by(["link", "direction"]).aggregate([("drops", "min"), ("drops", "max")])
    return {
        (row["link"], row["direction"]): row["drops_max"] - row["drops_min"]
        for row in grouped.to_pylist()
        if row["drops_max"] and row["drops_max"] > row["drops_min"]
    }


def _interpolate(times: list[float], counts: list[int], time_s: float) -> float:
    after = bisect_left(times, time_s)
    if after == 0:
        return counts[0]
    if after == len(times):
        return counts[-1]
    t0, t1, n0, n1 = times[after - 1], times[after], counts[after - 1], counts[after]
    return n0 + (n1 - n0) * (time_s - t0) / (t1 - t0)
