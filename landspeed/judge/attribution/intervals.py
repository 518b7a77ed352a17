"""Intervals of a stream: what its sender's samples say of the time between two of them."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from landspeed.base import limits
from landspeed.base.limits import LARGE_SHARE, NEARLY_FULL, RunLimit
from landspeed.scenario.theory.physics import INITIAL_WINDOW_PACKETS

if TYPE_CHECKING:
    from landspeed.results.samples_reader import Samples

COLUMNS = (
    *("stream", "time_ns", "bytes", "cwnd_packets", "ssthresh_packets", "retransmits", "in_flight_packets", "state"),
    *("busy_us", "rwnd_limited_us", "sndbuf_limited_us", "snd_wnd_bytes", "mss_bytes", "srtt_us"),
)
RECOVERY = 3  # TCP_CA_Recovery; above it TCP_CA_Loss: what was lost is being made good


class Interval(NamedTuple):
    """The time between two samples of a sending stream. What its tool does not tell is None.

    Attributes:
        begin_s, end_s: since the flow's start.
        acked_bytes, resent_packets: in it.
        busy, rwnd, sndbuf: shares of it by the kernel's own clock (chrono statistics of TCP_INFO): something to send,
            waiting for the receiver's window, waiting for room in the send buffer.
        cwnd, cwnd_before, ssthresh, ssthresh_before, in_flight: in packets, at its end and at its begin.
        window_bytes: that the receiver offers.
        recovering: lost data was being made good at its end.
        waits: share of it in which TCP would have sent more than the program gave it; seen by samples closer together.
    """

    begin_s: float
    end_s: float
    acked_bytes: int
    resent_packets: int | None
    busy: float | None
    rwnd: float | None
    sndbuf: float | None
    cwnd: int | None
    cwnd_before: int | None
    ssthresh: int | None
    ssthresh_before: int | None
    in_flight: int | None
    window_bytes: int | None
    mss_bytes: int
    rtt_s: float | None
    recovering: bool
    waits: float | None = None

    @property
    def span_s(self) -> float:
        """Duration in s."""
        return self.end_s - self.begin_s

    @property
    def held_by_end(self) -> RunLimit | None:
        """End that held the stream: its send buffer, the receiver's window, or a program without data."""
        if self.sndbuf is not None and self.sndbuf >= LARGE_SHARE:
            return limits.SEND_BUFFER
        if self.window_full:
            return limits.WINDOW
        return limits.APPLICATION if self.waits is not None and self.waits >= LARGE_SHARE else None

    @property
    def window_full(self) -> bool:
        """The receiver's window had no room for a packet: by the kernel's clock, else by what is in flight."""
        if self.rwnd is not None:
            return self.rwnd >= LARGE_SHARE
        if self.window_bytes is None or not self.in_flight or not self.mss_bytes:
            return False
        return (self.in_flight + 1) * self.mss_bytes > self.window_bytes

    @property
    def cwnd_full(self) -> bool:
        """The congestion window had no room, or lost data was missing; if nobody tells what is in flight it is full.

        Below the threshold half of it in use is full, as the kernel has it (tcp_is_cwnd_limited), and so is a window
        that grew with what was acknowledged: what is in flight at an end of the interval may be the transfer's last.
        """
        if self.recovering or not self.cwnd:
            return self.recovering
        if self.waits is not None:  # a part of it may be held back, or paced (tcp_tso_should_defer)
            return self.waits < LARGE_SHARE
        if self.in_flight is None:
            return True
        if not self.in_slow_start:
            return self.in_flight >= NEARLY_FULL * self.cwnd
        grown = self.cwnd - (self.cwnd_before or INITIAL_WINDOW_PACKETS)
        return 2 * self.in_flight >= self.cwnd or 2 * grown * self.mss_bytes >= self.acked_bytes > 0

    @property
    def reduced(self) -> bool:
        """The congestion window was made smaller (RFC 5681 section 3.1): a new threshold, or a smaller window."""
        if self.ssthresh is not None and self.ssthresh_before is not None and self.ssthresh != self.ssthresh_before:
            return self.ssthresh < self.ssthresh_before or bool(self.resent_packets)
        return self.cwnd is not None and self.cwnd_before is not None and self.cwnd < self.cwnd_before

    @property
    def in_slow_start(self) -> bool:
        """The window is below its threshold; if nobody tells what is in flight, it must grow: TCP used all of it."""
        if self.cwnd is None or self.ssthresh is None or self.cwnd >= self.ssthresh:
            return False
        return self.in_flight is not None or (self.cwnd_before is not None and self.cwnd > self.cwnd_before)

    @property
    def stands(self) -> bool:
        """True if nothing that was in flight was acknowledged for a round trip: the last packets, or all, were lost."""
        return (
            bool(self.in_flight and self.rtt_s) and not self.acked_bytes and self.span_s >= (self.rtt_s or 0.0) - 1e-9
        )


def stream_intervals(samples: Samples, rtt_s: float) -> dict[int, list[Interval]]:
    """The intervals of each stream, in the order of time; the first one begins at the flow's start.

    Each lasts a round trip or longer, so samples closer together are passed over: within one, a window that is full
    comes as a burst, which fills a line, and then as nothing.
    """
    rows = samples.rows("sender", *COLUMNS)
    streams = itertools.groupby(rows, operator.itemgetter(0))
    return {stream: list(_intervals(list(of), round(rtt_s * 1e9))) for stream, of in streams}


def _intervals(rows: list[tuple[int | None, ...]], least_ns: int) -> Iterator[Interval]:
    before: dict[str, int | None] = dict.fromkeys(COLUMNS)
    before["time_ns"] = 0
    told = {name for place, name in enumerate(COLUMNS) if any(row[place] for row in rows)}  # others are 0 to the end
    if "busy_us" in told:
        told |= {"rwnd_limited_us", "sndbuf_limited_us"}
    for number, values in enumerate(rows, start=1):
        row = dict(zip(COLUMNS, values, strict=True))
        begin_ns, end_ns = before["time_ns"] or 0, row["time_ns"] or 0
        if end_ns <= begin_ns or (end_ns - begin_ns < least_ns and number < len(rows)):
            before = row if end_ns <= begin_ns else before
            continue
        yield Interval(
            begin_s=begin_ns / 1e9,
            end_s=end_ns / 1e9,
            acked_bytes=(row["bytes"] or 0) - (before["bytes"] or 0),
            resent_packets=_grown(row, before, "retransmits"),
            busy=_share(row, before, "busy_us", end_ns - begin_ns) if "busy_us" in told else None,
            rwnd=_share(row, before, "rwnd_limited_us", end_ns - begin_ns) if "rwnd_limited_us" in told else None,
            sndbuf=_share(row, before, "sndbuf_limited_us", end_ns - begin_ns) if "sndbuf_limited_us" in told else None,
            cwnd=row["cwnd_packets"],
            cwnd_before=before["cwnd_packets"],
            ssthresh=row["ssthresh_packets"],
            ssthresh_before=before["ssthresh_packets"],
            in_flight=row["in_flight_packets"] if "in_flight_packets" in told else None,
            window_bytes=row["snd_wnd_bytes"],
            mss_bytes=row["mss_bytes"] or 0,
            rtt_s=row["srtt_us"] / 1e6 if row["srtt_us"] else None,
            recovering=(row["state"] or 0) >= RECOVERY,
        )
        before = row


def _grown(row: dict[str, int | None], before: dict[str, int | None], name: str) -> int | None:
    now = row[name]
    return None if now is None else now - (before[name] or 0)


def _share(row: dict[str, int | None], before: dict[str, int | None], name: str, span_ns: int) -> float | None:
    grown = _grown(row, before, name)
    return None if grown is None else min(max(grown * 1e3 / span_ns, 0.0), 1.0)
