"""A pair of traces for mahimahi's mm-link: each line a millisecond at which one packet of 1500 bytes may leave.

Format: Netravali et al., Mahimahi: Accurate Record-and-Replay for HTTP, USENIX ATC 2015, and mm-link(1). A trace
repeats from its end, so it is as long as it takes for its number of packets to be the rate's.
"""

from __future__ import annotations

from landspeed.exporters.exporter import Exported, Exporter, ExportError
from landspeed.scenario.plan.direction import Direction
from landspeed.scenario.plan.plan import Plan

PACKET_BYTES = 1500
MOST_BPS = 2 * 10**9
CONSTANT_MS = 60_000
FEW_PACKETS = 20_000
"""A constant rate's trace has so many packets, or lasts a minute."""


def _write(exported: Exported) -> dict[str, str | bytes]:
    plan = exported.plan
    if not plan.is_path:
        raise ExportError(f"{exported.name}: mm-link is one link; a network has several flows: export its parts")
    delay_ms = sum(each.forward.delay_ns + each.reverse.delay_ns for each in plan.links) / 2e6
    there = min((each.forward for each in plan.links), key=lambda one: one.rate_bps)
    back = min((each.reverse for each in plan.links), key=lambda one: one.rate_bps)
    loss = 1.0
    for each in plan.links:
        loss *= 1 - each.forward.loss
    words = [f"mm-delay {max(round(delay_ms), 1)}"]
    words += [f"mm-loss uplink {1 - loss:.9g}"] if loss < 1 else []
    words.append(f"mm-link {exported.name}.up {exported.name}.down")
    for word, direction in (("uplink", there), ("downlink", back)):
        words.append(f"--{word}-queue=droptail --{word}-queue-args=bytes={direction.queue_bytes}")
    told = f"# mahimahi's delay is of whole ms: {delay_ms:g} ms each way."
    script = f'#!/bin/sh\n{told}\nexec {" ".join(words)} "$@"\n'
    return {".mahimahi.sh": script, ".up": _trace(plan, there), ".down": _trace(plan, back)}


def _trace(plan: Plan, direction: Direction) -> str:
    if (fastest := max(direction.rates_bps)) > MOST_BPS:
        raise ExportError(
            f"{plan.scenario}: at {fastest / 1e9:g} Gbit/s a trace of mahimahi has {fastest // 12_000} lines a second; "
            f"it is made for {MOST_BPS / 1e9:g} Gbit/s at the most: export mininet"
        )
    trace = direction.trace
    if trace is None or trace.rate_bps is None:
        return _lines([(0, direction.rate_bps)], _length_ms(direction.rate_bps))
    steps = [(at_ns // 10**6, rate) for at_ns, rate in zip(trace.at_ns, trace.rate_bps, strict=True)]
    return _lines(steps, max(round(trace.lasts_ns / 1e6), 1))


def _length_ms(rate_bps: int) -> int:
    return min(CONSTANT_MS, max(1000, -(-FEW_PACKETS * PACKET_BYTES * 8 * 1000 // rate_bps)))


def _lines(steps: list[tuple[int, int]], lasts_ms: int) -> str:
    """Delivery times of the steps (begin in ms, rate in bit/s), until `lasts_ms`, which is the last line."""
    found: list[int] = []
    owed_bits = 0.0
    ends = [*(at for at, _ in steps[1:]), lasts_ms]
    for (begin, rate), end in zip(steps, ends, strict=True):
        for ms in range(begin, end):
            owed_bits += rate / 1000
            while owed_bits >= PACKET_BYTES * 8 - 1e-6:
                found.append(ms + 1)
                owed_bits -= PACKET_BYTES * 8
    if not found or found[-1] != lasts_ms:
        found.append(lasts_ms)  # mahimahi repeats from the last line's time on
    return "\n".join(map(str, found)) + "\n"


EXPORTER = Exporter(
    "mahimahi", "a pair of traces for mahimahi, and a script that runs mm-link with them", "plan", _write, "sh FILE"
)
