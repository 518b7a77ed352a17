"""Token buckets on the way of a packet train: how many of its packets pass before the slowest of them sets the pace.

A full bucket lets its bytes through at the rate at which they come, and what waits behind it meanwhile keeps the next
one busy. So a train goes through the path's losses, buckets, queues and lines packet by packet here, without chance: of
a loss of 1 %, every hundredth packet is gone. What is lost between two buckets of nearly one rate can double the time
in which the second is emptied.
"""

from __future__ import annotations

import itertools
from collections import deque
from typing import TYPE_CHECKING

from landspeed.scenario.theory.timing import TRAIN_PACKETS, path_mtu, slowest_rate_bps, small_bucket, way

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Plan

MOST_PACKETS = 1 << 17
Train = list[tuple[int, float]]  # sequence number, time in s


def packets_until_settled(plan: Plan, comes_bps: float, *, forward: bool) -> int:
    """Packets of a train to leave out, so that all others leave the path spaced by its bottleneck.

    Args:
        plan: of a path.
        comes_bps: rate of the train, of IP packets.
        forward: its direction.
    """
    if not any(small_bucket(plan, link, link.forward if forward else link.reverse) for link in plan.links):
        return 0
    spacing_s = path_mtu(plan) * 8 / slowest_rate_bps(plan, forward=forward)
    allowed_s = spacing_s * plan.calibration.rate_tolerance / 2
    count = TRAIN_PACKETS
    while True:
        count *= 2
        train = [(number, number * path_mtu(plan) * 8 / comes_bps) for number in range(count)]
        arrived = _through(plan, train, forward=forward)
        unsettled = [
            after
            for (before, earlier_s), (after, later_s) in itertools.pairwise(arrived)
            if after == before + 1 and abs(later_s - earlier_s - spacing_s) > allowed_s
        ]
        settled = max(unsettled, default=0) + 1
        if settled <= count - TRAIN_PACKETS or count >= MOST_PACKETS:
            return settled


def _through(plan: Plan, train: Train, *, forward: bool) -> Train:
    """The train after all links: what found a queue full is missing."""
    mtu, last = path_mtu(plan), len(plan.links)
    lines = way(plan, 0, last) if forward else way(plan, last, 0)
    for line, link in zip(lines, plan.links if forward else plan.links[::-1], strict=True):
        direction = link.forward if forward else link.reverse
        line_s, bucket_s, credit_s = mtu * 8 / line.carries_bps(mtu), 0.0, 0.0
        lost, owed = 1 - (1 - direction.loss) * (1 - direction.corrupt), 0.0
        if bucket := small_bucket(plan, link, direction):
            depth_s, rate_bps = bucket
            bucket_s = mtu * 8 / rate_bps
            credit_s = depth_s - bucket_s  # ahead of an even flow
        even_s = free_s = 0.0  # when the next packet of an even flow is due; when the line is free
        waiting: deque[float] = deque()
        after: Train = []
        for number, comes_s in train:
            owed += lost
            if owed >= 1:
                owed -= 1
                continue
            while waiting and waiting[0] <= comes_s:
                waiting.popleft()
            if direction.can_queue and len(waiting) * mtu > direction.queue_bytes:
                continue
            begins_s = max(comes_s, free_s, even_s - credit_s)
            even_s, free_s = max(begins_s, even_s) + bucket_s, begins_s + line_s
            waiting.append(begins_s)
            after.append((number, free_s))
        train = after
    return train
