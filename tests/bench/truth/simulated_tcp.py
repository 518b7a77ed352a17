"""Questions to the simulated TCP: the same laws as Linux's (tcp.py), read from the samples."""

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

from . import theory
from .classes import MTU, RateClass, tcp_lanes
from .emulated import a_folder
from .question import Finding, exactly
from .simulated import Runs, S, lane
from .tcp import INITIAL, SEGMENTS

WINDOW_BYTES = 10_000_000  # asked for
LONGEST_RTO_S = 59.0  # RFC 6298 section 2.5: a maximum of 60 s or more; ns-3 has 60 s
Row = dict[str, int]
Make = Callable[[RateClass, int, Runs], Iterable[Finding]]


def tcp(rate: RateClass, ip: int) -> list[Finding]:
    """Everything about TCP."""
    with a_folder() as folder:
        runs = Runs(folder)
        asked = (_slow_start, _window, _pacing, _one_loss, _holes, _cubic, _silence)
        return [found for each in asked for found in each(rate, ip, runs)]


def _rtt_s(rate: RateClass, ip: int) -> float:
    lanes = tcp_lanes(rate)
    ack = theory.IP[ip] + theory.TCP + theory.TIMESTAMPS
    return theory.one_way_s(MTU, lanes) + theory.one_way_s(ack, lanes)


def _lanes(rate: RateClass) -> list[dict[str, Any]]:
    return [lane(each, queue_bytes=30_000_000) for each in tcp_lanes(rate)]


def _rows(run: Any, name: str = "sender") -> list[Row]:
    return [{key: value or 0 for key, value in row.items()} for row in run.rows(name)]


def _slow_start(rate: RateClass, ip: int, runs: Runs) -> Iterable[Finding]:
    """The window is ten segments, and one for each that is acknowledged."""
    mss, step_ns = theory.mss(MTU, ip), round(_rtt_s(rate, ip) / 8 * S)
    run = runs.run(_lanes(rate), ip, bytes=SEGMENTS * mss, sample_interval_ns=step_ns, window_bytes=WINDOW_BYTES)
    rows = [row for row in _rows(run) if row["bytes"] < (SEGMENTS // 2 - INITIAL) * mss]
    worst = max((row["cwnd_packets"] - INITIAL - row["bytes"] / mss for row in rows), key=abs)
    yield Finding("TCP: slow start doubles", worst, 0, 1, "", "a window of ten segments and those acknowledged")
    yield exactly("TCP: MSS", rows[0]["mss_bytes"], mss)
    yield exactly("TCP: nothing sent twice", run.result["retransmits"], 0)
    acks = run.lane(1, "reverse")["packets"]  # where they begin: the last ones are under way
    singly = theory.acknowledged_singly(WINDOW_BYTES, rows[0]["snd_wnd_bytes"], mss)
    wanted = theory.acknowledgments(SEGMENTS, rate.packet_s, singly)
    yield Finding("TCP: ACKs of a stream", acks, wanted, 12, "", "handshake and end, and each round's last one")


def _window(rate: RateClass, ip: int, runs: Runs) -> Iterable[Finding]:
    rtt_s, mss = _rtt_s(rate, ip), theory.mss(MTU, ip)
    count = int(rtt_s / rate.packet_s / 3)
    if count < 13:
        return
    asked = {"window_bytes": count * mss, "window_exact": True, "sample_interval_ns": round(10 * rtt_s * S)}
    run = runs.run(_lanes(rate), ip, duration_ns=round(40 * rtt_s * S), **asked)
    rows = _rows(run)
    window = max(row["snd_wnd_bytes"] for row in rows)
    seen = (rows[3]["bytes"] - rows[1]["bytes"]) * 8e9 / (rows[3]["time_ns"] - rows[1]["time_ns"])
    theirs = theory.window_rate_bps(window, mss, rtt_s)
    why = "it is offered in steps, and two segments share an ACK"
    yield Finding("TCP: a window in each round trip", seen, theirs, 0.03 * theirs, "bit/s", why)


def _pacing(rate: RateClass, ip: int, runs: Runs) -> Iterable[Finding]:
    mss = theory.mss(MTU, ip)
    pacing_bps = round(min(rate.rate_bps / 4, 40 * mss * 8 / _rtt_s(rate, ip)))
    theirs = theory.pacing_gap_s(mss, pacing_bps)
    # The initial window goes at once; after SEGMENTS the window is above what the rate needs.
    asked = {"pacing_rate_bps": pacing_bps, "sample_interval_ns": round(10 * theirs * S)}
    run = runs.run(_lanes(rate), ip, bytes=2 * SEGMENTS * mss, **asked)
    late = [row for row in _rows(run, "receiver") if SEGMENTS * mss < row["bytes"] < 2 * SEGMENTS * mss]
    segments = (late[-1]["bytes"] - late[0]["bytes"]) / mss
    seen_s = (late[-1]["time_ns"] - late[0]["time_ns"]) / S / segments
    yield Finding("TCP: pacing, mean gap", seen_s, theirs, theirs / segments, "s", "a segment more or less")
    begun_ns = late[0]["time_ns"]
    waiting = [row["backlog_packets"] for row in _rows(run, "links") if row["link"] == 1 and row["time_ns"] > begun_ns]
    yield Finding("TCP: pacing, packets that wait for the line", max(max(waiting) - 1, 0), 0, 0)


def _lose(packets: int, at_s: float) -> dict[str, Any]:
    return {"kind": "loss", "at_ns": round(at_s * S), "packets": packets, "link": 1, "direction": "forward"}


def _third_flight_s(rate: RateClass, ip: int) -> float:
    return 2.5 * _rtt_s(rate, ip) + 6 * rate.packet_s


def _one_loss(rate: RateClass, ip: int, runs: Runs) -> Iterable[Finding]:
    rtt_s, mss = _rtt_s(rate, ip), theory.mss(MTU, ip)
    at_s = _third_flight_s(rate, ip)
    lasts_s = at_s + 26 * (rtt_s + max(0, 60 * rate.packet_s - rtt_s))
    asked = {"duration_ns": round(lasts_s * S), "sample_interval_ns": round(rtt_s / 8 * S)}
    run = runs.run(_lanes(rate), ip, events=[_lose(1, at_s)], **asked)
    yield exactly("TCP: one loss, sent again", run.result["retransmits"], 1)
    rows = _rows(run)
    reduced = next(place for place, row in enumerate(rows) if row["ssthresh_packets"] < 10_000 and row["retransmits"])
    before = max(row["cwnd_packets"] for row in rows[:reduced])
    kept = rows[reduced]["ssthresh_packets"]
    yield Finding("TCP: Reno keeps half", kept, before / 2, 1 + 0.06 * before, "", "ACKs between samples")
    after = [row for row in rows[reduced:] if row["state"] == 0]
    acked = (after[-1]["bytes"] - after[0]["bytes"]) // mss
    theirs = theory.reno_growth(after[0]["cwnd_packets"], acked)
    yield Finding("TCP: Reno's growth", after[-1]["cwnd_packets"], theirs, 1, "", "a part of a window at either end")


def _holes(rate: RateClass, ip: int, runs: Runs) -> Iterable[Finding]:
    at_s, rtt_s = _third_flight_s(rate, ip), _rtt_s(rate, ip)
    lasts_s = at_s + 10 * (rtt_s + 60 * rate.packet_s)
    asked = {"duration_ns": round(lasts_s * S), "sample_interval_ns": round(rtt_s / 8 * S)}
    run = runs.run(_lanes(rate), ip, events=[_lose(3, at_s)], **asked)
    yield exactly("TCP: SACK, only the holes are sent again", run.result["retransmits"], 3)
    yield exactly("TCP: SACK, no timeout", sum(row["state"] == 4 for row in _rows(run)), 0)


def _cubic(rate: RateClass, ip: int, runs: Runs) -> Iterable[Finding]:
    rtt_s, at_s = _rtt_s(rate, ip), _third_flight_s(rate, ip)
    if rtt_s + 50 * rate.packet_s >= theory.cubic_k_s(50) / 2:
        return
    after_s = min(1.25 * theory.cubic_k_s(70), 100 * rtt_s)
    asked = {"duration_ns": round((at_s + after_s + 4 * rtt_s) * S), "sample_interval_ns": round(rtt_s / 4 * S)}
    run = runs.run(_lanes(rate), ip, events=[_lose(1, at_s)], congestion_control="cubic", **asked)
    rows = _rows(run)
    reduced = next(place for place, row in enumerate(rows) if row["ssthresh_packets"] < 10_000 and row["retransmits"])
    before = max(row["cwnd_packets"] for row in rows[:reduced])
    kept = rows[reduced]["ssthresh_packets"]
    yield Finding("TCP: CUBIC keeps 0.7", kept / before, theory.CUBIC_BETA, 1.5 / before, "", "whole segments")
    after = [row for row in rows[reduced:] if row["state"] == 0]
    for share in (0.25, 0.5, 0.75, 1):
        row = after[int((len(after) - 1) * share)]
        since_s = (row["time_ns"] - after[0]["time_ns"]) / S
        theirs = theory.cubic_window(kept / theory.CUBIC_BETA, since_s, row["srtt_us"] / 1e6)
        yield Finding("TCP: CUBIC's growth", row["cwnd_packets"], theirs, 0.05 * theirs + 1, "", "5 % and a segment")


def _silence(rate: RateClass, ip: int, runs: Runs) -> Iterable[Finding]:
    """The line is down, and what is sent again comes ever more seldom."""
    rtt_s = _rtt_s(rate, ip)
    first_s = theory.first_rto_s(rtt_s)
    down = {"kind": "down", "at_ns": round(3 * rtt_s * S), "duration_ns": 10**15, "link": 1, "direction": "forward"}
    first_s += 30 * rate.packet_s  # what the queue adds on a slow line
    whole_ns = round((3 * rtt_s + 70 * first_s) * S)
    asked = {"duration_ns": whole_ns, "stall_ns": whole_ns, "sample_interval_ns": round(first_s / 100 * S)}
    run = runs.run(_lanes(rate), ip, events=[down], **asked)
    rows = _rows(run)
    times = [after["time_ns"] / S for before, after in pairwise(rows) if after["retransmits"] > before["retransmits"]]
    gaps = [after - before for before, after in pairwise(times)]
    # What was lost at once is sent once more in one go; then come the timeouts, up to the longest.
    told = [gap for gap in gaps if first_s / 2 < gap < LONGEST_RTO_S]
    for before, after in pairwise(told[-3:]):
        yield Finding("TCP: the timeout doubles", after / before, 2, 0.1, "", "the samples' distance")
