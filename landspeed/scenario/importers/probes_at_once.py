"""Probes of a traceroute that wait for each other: Linux's traceroute sends sixteen at once, three for each hop.

On a slow line they queue. Then each answer of a hop comes one step later than the one before, and the step is the same
at every hop behind that line: the time of an answer on it (88 B of IP, which quotes the probe of 60 B). The first probe
of a hop has waited for those of all hops before it. That time is the program's own queue, no delay of the path.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from landspeed.scenario.importers.path_evidence import Traceroute, TracerouteHop
from landspeed.scenario.theory import physics as ph

PROBES, AT_ONCE = 3, 16
STEADY = 0.1  # steps of one line differ by no more
LEAST_STEP_MS = 0.02  # of less the program's own work is as much
PROBE_BYTES, ANSWER_BYTES = 60, 88


def least_ms(trace: Traceroute) -> list[float | None]:
    """The least time of each hop, without what its probes waited for each other."""
    least = [min(hop.rtts_ms, default=None) for hop in trace.hops]
    begin, step_ms = _queue(trace.hops)
    share = (PROBE_BYTES + ph.ETHERNET_FRAMING) / (ANSWER_BYTES + ph.ETHERNET_FRAMING)
    most = AT_ONCE // PROBES  # hops; later probes are sent as answers come
    waited = [PROBES * min(max(at - begin, 0), most) * step_ms * share for at in range(len(least))]
    return [None if ms is None else max(ms - less, 0.0) for ms, less in zip(least, waited, strict=True)]


def _queue(hops: Sequence[TracerouteHop]) -> tuple[int, float]:
    """The hop (from 0) from which on probes queue, and their step in ms; a step of 0: they do not."""
    steps = [_step_ms(hop) for hop in hops]
    begin = next((at for at, step in enumerate(steps) if step), len(hops))
    behind = [step for step, hop in zip(steps[begin:], hops[begin:], strict=True) if hop.rtts_ms]
    middle = statistics.median(behind) if len(behind) > 1 else 0.0
    steady = all(abs(step - middle) <= STEADY * middle for step in behind)
    return begin, middle if steady else 0.0


def _step_ms(hop: TracerouteHop) -> float:
    """Delay by which each answer of a hop comes after the one before; 0 where that is not steady."""
    if len(hop.rtts_ms) != PROBES:
        return 0.0
    first, second, third = hop.rtts_ms
    one, other = second - first, third - second
    mean = (one + other) / 2
    return mean if mean > LEAST_STEP_MS and abs(one - other) <= STEADY * mean else 0.0
