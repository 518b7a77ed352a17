"""Rehearsed beside real: how far apart they are, and which limit explains it, the one that bound the attempt first."""

from __future__ import annotations

from collections.abc import Iterator

from landspeed.base.limits import LOSS, RECEIVER_PROCESSOR, SEND_BUFFER, SENDER_PROCESSOR, WINDOW
from landspeed.results.check import Check
from landspeed.results.record import RunRecord
from landspeed.scenario.theory.tolerances import (
    BESIDE_REHEARSAL_GOODPUT_TOLERANCE,
    BESIDE_REHEARSAL_WINDOW_TOLERANCE,
    REAL_PATH_RTT_TOLERANCE,
)

BUSY_CORE = 0.85  # a thread that takes this much of a core is at the end of it
LOSS_FACTOR = 2.0


def compare(rehearsed: RunRecord, real: RunRecord, tolerance: float = BESIDE_REHEARSAL_GOODPUT_TOLERANCE) -> Check:
    """Goodput of both, and, where they differ by more than the tolerance, the figures that say why.

    Args:
        rehearsed: record of the rehearsal.
        real: record of the attempt.
        tolerance: relative difference that needs no explanation.

    Returns:
        a verdict with one reason, that which bound the attempt where it is among them; others are notes. `ok` is null
        when they differ: that is no fault of the attempt.
    """
    before, now = rehearsed.goodput_bps, real.goodput_bps
    if not before or not now:
        return Check("rehearsed beside real", None, "not compared: one of the two has no goodput")
    difference = now / before - 1
    text = f"{now / 1e6:.2f} Mbit/s, rehearsed {before / 1e6:.2f} Mbit/s ({difference:+.1%})"
    ok: bool | None = True
    if abs(difference) > tolerance:
        ok = None
        reasons = [f"{word}: {why}" for word, why in _reasons(rehearsed, real)]
        reasons.sort(key=lambda each: not each.startswith(f"{real.limited_by}:"))
        text += "; " + (reasons[0] if reasons else "neither loss, RTT, window nor the hosts' processors explain it")
        text += f" (also {'; '.join(reasons[1:])})" if reasons[1:] else ""
    return Check("rehearsed beside real", ok, text, before, now, tolerance * before, "bit/s", "goodput")


def _reasons(rehearsed: RunRecord, real: RunRecord) -> Iterator[tuple[str, str]]:
    """Limits that differ between the two: the word of each, and both figures."""
    lost_before, lost_now = _loss(rehearsed), _loss(real)
    if lost_now > max(LOSS_FACTOR * lost_before, 1e-9):
        yield LOSS, f"{lost_now:.2e} of the bytes were sent again, {lost_before:.2e} in the rehearsal"
    if rehearsed.rtt_ms and real.rtt_ms and abs(real.rtt_ms / rehearsed.rtt_ms - 1) > REAL_PATH_RTT_TOLERANCE:
        yield "RTT", f"{real.rtt_ms:.2f} ms, {rehearsed.rtt_ms:.2f} ms in the rehearsal"
    for word, key, what in (
        (WINDOW, "rwnd_limited_us", "the receiver's window"),
        (SEND_BUFFER, "sndbuf_limited_us", "its own send buffer"),
    ):
        before, now = _waited(rehearsed, key), _waited(real, key)
        if now is not None and now > (before or 0.0) + BESIDE_REHEARSAL_GOODPUT_TOLERANCE:
            yield word, f"TCP waited for {what} {now:.1%} of the time, {before or 0.0:.1%} in the rehearsal"
    for name in ("advertised_bytes", "sender_granted_bytes", "receiver_granted_bytes"):
        before, now = getattr(rehearsed.window, name, None), getattr(real.window, name, None)
        # What the streams can move with it in an RTT is less than what the rehearsal moved. (A window that nobody asked
        # for is no limit but grows with the goodput.)
        if (
            real.window.asked_bytes
            and before
            and now
            and now < before * (1 - BESIDE_REHEARSAL_WINDOW_TOLERANCE)
            and _window_bps(real, now) < _goodput(rehearsed)
        ):
            what = name.replace("_bytes", "").replace("_", " ")
            yield WINDOW, f"{what} {now / 1e6:.2f} MB, {before / 1e6:.2f} MB in the rehearsal (`landspeed real tune`?)"
            break
    for end, word in (("sender", SENDER_PROCESSOR), ("receiver", RECEIVER_PROCESSOR)):
        share = _busy(real, end)
        if share is not None and share >= BUSY_CORE:
            yield word, f"{share:.0%} of a core for each stream"


def _loss(record: RunRecord) -> float:
    """Bytes sent again, of all; 0 when it was not measured."""
    again = record.tool_result.bytes_retransmitted or 0
    return again / record.bytes if record.bytes else 0.0


def _waited(record: RunRecord, key: str) -> float | None:
    """Share of the time that TCP waited for a window, mean of the streams; None when it was not measured."""
    times = [us for stream in record.streams if (us := getattr(stream, key)) is not None]
    return sum(times) / len(times) / 1e6 / record.duration_s if times and record.duration_s else None


def _window_bps(record: RunRecord, window_bytes: int) -> float:
    """Goodput of all streams that such a window each allows."""
    return max(1, len(record.streams)) * window_bytes * 8 / (record.rtt_ms / 1e3) if record.rtt_ms else 0.0


def _goodput(record: RunRecord) -> float:
    return record.steady_goodput_bps or record.goodput_bps or 0.0


def _busy(record: RunRecord, end: str) -> float | None:
    """Processor time of an end, of the time that its threads (one a stream) had."""
    cpu = record.tool_result.cpu.get(end)
    if not record.duration_s or cpu is None or cpu.user_s is None or cpu.system_s is None:
        return None
    return (cpu.user_s + cpu.system_s) / record.duration_s / max(1, len(record.streams))
