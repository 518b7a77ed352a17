"""Goodput over time in theory: slow start, then losses and growth, until one cycle is like the one before.

All streams are alike, each with its share of the path, and lose together. Random losses come evenly, each 1/p packets,
as in the square-root law (Mathis et al. 1997). The model leaves out retransmission time-outs and what one stream takes
from another. Windows are in packets, times in s.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

from landspeed.base import limits
from landspeed.explore.growth import GROWTHS, Share, keeps
from landspeed.scenario.theory.physics import INITIAL_WINDOW_PACKETS

NODES = 12  # of a cycle
MOST_CYCLES = 16
ALIKE = 0.01  # two cycles whose peaks differ by less are one
LEAST_WINDOW = 2.0  # packets (RFC 5681 section 3.1)
FAST_CONVERGENCE = 0.85  # (1 + β) / 2: CUBIC's new peak when it lost below the former one (RFC 9438 section 4.7)
BBR_DIP_EVERY_S, BBR_DIP_S, BBR_DIP_WINDOW = 10.0, 0.2, 4.0  # ProbeRTT: Cardwell et al. 2016; tcp_bbr.c
BBR_WINDOW = 2.0  # pipes at most on the way
QUEUE_LOSS = f"{limits.LOSS} (queue)"
"""Losses are those of the link, or of its full queue."""

Nodes = list[tuple[float, float]]
"""(time in s, packets on the way of one stream), in the order of time, straight lines between them."""


@dataclass(frozen=True)
class Curve:
    """The window of a stream over time.

    Attributes:
        rise: from the start.
        cycle: what comes then, again and again, its times from its own beginning; one node: it stays so.
    """

    rise: Nodes
    cycle: Nodes

    @property
    def top(self) -> float:
        """The largest window."""
        return max(window for _, window in (*self.rise, *self.cycle))

    @property
    def period_s(self) -> float:
        """Duration of the cycle; 0 where the window stays as it is."""
        return self.cycle[-1][0]

    def mean_level(self, pipe: float, from_s: float, until_s: float) -> float:
        """Mean share of the line that is in use between two times."""
        return (self._filled(pipe, until_s) - self._filled(pipe, from_s)) / (until_s - from_s)

    def long_level(self, pipe: float) -> float:
        """Mean level in the long run: over a cycle."""
        if self.period_s <= 0:
            return min(self.cycle[0][1] / pipe, 1.0)
        return _area(self.cycle, pipe, self.period_s) / self.period_s

    def _filled(self, pipe: float, until_s: float) -> float:
        """∫ min(w, pipe) / pipe up to a time."""
        begin_s = self.rise[-1][0]
        total = _area(self.rise, pipe, until_s)
        rest_s = until_s - begin_s
        if rest_s <= 0:
            return total
        if self.period_s <= 0:
            return total + rest_s * self.long_level(pipe)
        whole, part_s = divmod(rest_s, self.period_s)
        full = whole * self.period_s * self.long_level(pipe) if whole else 0.0
        return total + full + _area(self.cycle, pipe, part_s)


def _area(nodes: Nodes, pipe: float, until_s: float) -> float:
    total = 0.0
    for (t0, w0), (t1, w1) in pairwise(nodes):
        if t0 >= until_s:
            break
        end = min(t1, until_s)
        last = w1 if end == t1 else w0 + (w1 - w0) * (end - t0) / (t1 - t0)
        total += (end - t0) * ((pipe if w0 > pipe else w0) + (pipe if last > pipe else last))
    return total / 2 / pipe


def curve(share: Share, control: str) -> Curve:
    """A stream's window over time, for a congestion control.

    Args:
        share: its part of the path.
        control: reno, cubic, htcp or bbr.
    """
    if math.isfinite(share.spacing) and control != "bbr":
        free = _curve(replace(share, brim=math.inf, cap=math.inf), control)
        if free.top <= min(share.brim, share.cap):  # losses keep it from ever feeling queue and window
            return free
    return _curve(share, control)


def _curve(share: Share, control: str) -> Curve:
    if control == "bbr":
        return _bbr(share)
    rise, floor, peak, steady = _slow_start(share, control)
    if steady:
        return Curve(rise, [(0.0, floor)])
    before: float | None = None
    nodes: Nodes = []
    for _ in range(MOST_CYCLES):
        nodes, last = _cycle(share, control, floor, peak)
        if last is None:
            return Curve(_joined(rise, nodes), [(0.0, nodes[-1][1])])
        if before is not None and abs(last - before) <= ALIKE * before:
            return Curve(rise, nodes)
        converges = control == "cubic" and before is not None and last < before * (1 - ALIKE)
        peak = last * FAST_CONVERGENCE if converges else last
        floor = max(LEAST_WINDOW, keeps(control, share, last) * last)
        rise, before = _joined(rise, nodes), last
    return Curve(rise, nodes)


def _joined(one: Nodes, other: Nodes) -> Nodes:
    begin = one[-1][0]
    return one + [(begin + time_s, window) for time_s, window in other]


def hystart_window(share: Share) -> float:
    """Packets at which CUBIC leaves slow start: one round's acknowledgments came for a whole RTT (tcp_cubic.c).

    For half of one where the sender does not pace (Ha and Rhee 2011); here fq does. A round of w packets takes w / pipe
    of an RTT on the line, so the first round of a pipe shows it, and the window has grown by a pipe meanwhile.
    """
    rounds = max(0, math.ceil(math.log2(share.pipe / INITIAL_WINDOW_PACKETS)))
    return INITIAL_WINDOW_PACKETS * 2**rounds + share.pipe


def _slow_start(share: Share, control: str) -> tuple[Nodes, float, float, bool]:
    """Doubling in each round trip (RFC 5681, RFC 6928).

    Returns:
        nodes, the window with which growth goes on, the peak before it, and whether nothing will change any more.
    """
    leaves = hystart_window(share) if control == "cubic" else math.inf
    # The window at a random loss's notice is what was sent before it; at an overflow's, twice what path and queue hold.
    lost_at = INITIAL_WINDOW_PACKETS + share.spacing
    target = min(lost_at, share.brim, share.cap, leaves)
    nodes: Nodes = [(0.0, 0.0), (share.rtt_s / 2, 0.0)]
    window, time_s = float(INITIAL_WINDOW_PACKETS), share.rtt_s / 2
    nodes.append((time_s, min(window, target)))
    while window < target:
        step = min(2.0, target / window)
        time_s += math.log2(step) * share.rtt_s
        window *= step
        nodes.append((time_s, window))
    if target == share.cap:
        return nodes, share.cap, share.cap, math.isinf(share.spacing)
    if target in (lost_at, share.brim):
        noticed = lost_at if target == lost_at else min(2 * share.brim, share.cap, leaves)
        held = min(noticed, share.brim)
        nodes.append((time_s + share.rtt_s * max(1.0, held / share.pipe), held))
        return nodes, max(LEAST_WINDOW, keeps(control, share, noticed) * noticed), noticed, False
    return nodes, target, target, False  # HyStart: growth goes on without a loss


def _cycle(share: Share, control: str, floor: float, peak: float) -> tuple[Nodes, float | None]:
    """Compute the growth of the window from a loss to the next one.

    Returns:
        nodes, and the window at the loss; None: there will be none.
    """
    growth = GROWTHS[control]
    top = min(share.brim, share.cap)
    if floor >= top:  # the queue is still full: lost again a round trip later
        if share.cap <= share.brim and math.isinf(share.spacing):
            return [(0.0, share.cap)], None
        until_s = share.rtt_s * max(1.0, top / share.pipe)
        if share.cap > share.brim:
            return [(0.0, top), (until_s, top)], floor
    # No later than this: the window reaches the top, or the packets up to the next loss have gone even without growth.
    until_s = share.spacing * share.rtt_s / min(floor, share.pipe)
    reaches = growth(share, floor, peak, until_s) >= top if math.isfinite(until_s) else True
    if floor >= top:
        until_s = 0.0
    elif reaches:
        until_s = _first(lambda t: growth(share, floor, peak, t) - top, until_s, share.rtt_s)
    steps = NODES if until_s else 0
    nodes = [(t, min(growth(share, floor, peak, t), top)) for t in (until_s * n / NODES for n in range(steps + 1))]
    sent = 0.0
    for number, ((t0, w0), (t1, w1)) in enumerate(pairwise(nodes)):
        more = (t1 - t0) / share.rtt_s * (min(w0, share.pipe) + min(w1, share.pipe)) / 2
        if sent + more >= share.spacing:
            part = (share.spacing - sent) / more
            part += part * (1 - part) * (w1 - w0) / (w1 + w0)  # the window grows within the step
            last = w0 + (w1 - w0) * part
            return [*nodes[: number + 1], (t0 + (t1 - t0) * part, last)], last
        sent += more
    if share.cap > share.brim:
        return nodes, top
    if math.isinf(share.spacing):
        return nodes, None
    flat_s = (share.spacing - sent) * share.rtt_s / min(top, share.pipe)
    return [*nodes, (nodes[-1][0] + flat_s, top)], top


def _first(above: Callable[[float], float], high: float, scale_s: float) -> float:
    """Find the time at which a growing window reaches a limit, by false position (Illinois)."""
    low, below = 0.0, above(0.0)
    if math.isinf(high):
        high = scale_s
        while (over := above(high)) < 0:
            low, below, high = high, over, 2 * high
    over = above(high)
    aim = 1e-4 * -above(0.0)
    for _ in range(40):
        middle = high - over * (high - low) / (over - below)
        here = above(middle)
        if abs(here) <= aim:
            return middle
        if here < 0:
            low, below, over = middle, here, over / 2
        else:
            high, over, below = middle, here, below / 2
    return high


def _bbr(share: Share) -> Curve:
    """Doubling until the line is full; then the line's rate, with a dip every ten seconds to see the shortest RTT."""
    window = min(share.cap, share.pipe)
    nodes: Nodes = [(0.0, 0.0), (share.rtt_s / 2, 0.0)]
    grown, time_s = float(INITIAL_WINDOW_PACKETS), share.rtt_s / 2
    nodes.append((time_s, min(grown, window)))
    while grown < window:
        step = min(2.0, window / grown)
        time_s, grown = time_s + math.log2(step) * share.rtt_s, grown * step
        nodes.append((time_s, grown))
    if window <= BBR_DIP_WINDOW:
        return Curve(nodes, [(0.0, window)])
    dip_s = max(BBR_DIP_S, share.rtt_s)
    kept = 1 - 1 / share.spacing  # what is lost is sent again, at the same rate
    level = window * kept
    cycle = [(0.0, level), (BBR_DIP_EVERY_S, level), (BBR_DIP_EVERY_S, BBR_DIP_WINDOW)]
    cycle += [(BBR_DIP_EVERY_S + dip_s, BBR_DIP_WINDOW), (BBR_DIP_EVERY_S + dip_s, level)]
    return Curve(nodes, cycle)


def bound(of: Curve, share: Share) -> str:
    """Name the limit of a curve in the long run."""
    level = of.long_level(share.pipe)
    if level >= limits.THEORY_SHARE:
        return limits.LINE_RATE
    if level * share.pipe >= limits.THEORY_SHARE * share.cap:
        return limits.WINDOW
    peak = max(window for _, window in of.cycle)
    return limits.LOSS if math.isfinite(share.spacing) and peak < share.brim else QUEUE_LOSS
