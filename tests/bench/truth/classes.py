"""The rate classes, and the two paths that each is asked about."""

from dataclasses import dataclass
from typing import Any

from .theory import ETHERNET, Lane

MTU, SMALL_MTU = 1500, 1400
FASTEST_BPS = 200e9
QUEUE_BYTES = 200_000
MARKED_AFTER = 20  # packets in the queue of the link that marks


@dataclass(frozen=True)
class RateClass:
    """A class: its rate, and how long the slow line of TCP's path is.

    Long enough that windows of some packets fill nothing, and short enough that no SYN is sent twice (1 s).
    """

    name: str
    rate_bps: float
    one_way_s: float

    @property
    def fast_bps(self) -> float:
        """Of the lines before and behind."""
        return min(10 * self.rate_bps, FASTEST_BPS)

    @property
    def packet_s(self) -> float:
        """A full packet on the line."""
        return (MTU + ETHERNET) * 8 / self.rate_bps


CLASSES = {
    each.name: each
    for each in (
        RateClass("56k", 56e3, 0.34),
        RateClass("1M", 1e6, 0.34),
        RateClass("10M", 1e7, 0.05),
        RateClass("100M", 1e8, 0.02),
        RateClass("1G", 1e9, 0.01),
        RateClass("10G", 1e10, 0.005),
        RateClass("100G", 1e11, 0.005),
    )
}


def bps(rate: float) -> str:
    return f"{rate / 1e3:.3f} kbit/s"


def seconds(time: float) -> str:
    return f"{time * 1e6:.3f} us"


# --- The wire's path: each link does one thing -----------------------------------------------------------------------

LINE, QUEUE, MARKING, SMALL, LOSS, DUPLICATE, REORDER, CORRUPT, JITTER = range(1, 10)
SHARES = {LOSS: 0.02, DUPLICATE: 0.02, REORDER: 0.05, CORRUPT: 0.03}
JITTER_S = 1e-3


def wire_lanes(rate: RateClass) -> tuple[list[Lane], list[Lane]]:
    """Forward and reverse, in the order of the links."""
    fast, slow = rate.fast_bps, rate.rate_bps
    there = [(1e-3, fast), (30e-3, slow), (5e-3, 0.9 * slow), (5e-3, 0.8 * slow), (1e-3, fast)]
    back = [(1e-3, fast), (10e-3, 0.7 * slow), *there[2:]]
    chances = [(5e-3, fast)] * 5 + [(1e-3, fast)]
    return [Lane(*each) for each in [*there, *chances]], [Lane(*each) for each in [*back, *chances]]


def wire_links(rate: RateClass) -> list[dict[str, Any]]:
    """The links of the scenario."""
    links = [
        {
            "one_way_delay": seconds(ahead.delay_s),
            "line_rate": bps(ahead.rate_bps),
            "queue": "30 MB",
            "reverse": {"one_way_delay": seconds(behind.delay_s), "line_rate": bps(behind.rate_bps)},
        }
        for ahead, behind in zip(*wire_lanes(rate), strict=True)
    ]
    links[QUEUE]["queue"] = f"{QUEUE_BYTES} B"
    waits_s = MARKED_AFTER * rate.packet_s / 0.8
    # Nothing but the threshold marks: CoDel's own target is never passed.
    times = {"target": "60 s", "interval": "60 s", "ce_threshold": seconds(waits_s)}
    links[MARKING]["discipline"] = {"codel": {"ecn": True, **times}}
    links[SMALL]["mtu"] = f"{SMALL_MTU} B"
    for place, name in ((LOSS, "loss"), (DUPLICATE, "duplicate"), (REORDER, "reorder"), (CORRUPT, "corrupt")):
        links[place][name] = f"{SHARES[place]:.0%}"
    links[JITTER]["jitter"] = seconds(JITTER_S)
    return links


# --- TCP's path ------------------------------------------------------------------------------------------------------


def tcp_lanes(rate: RateClass) -> list[Lane]:
    """Both ways are alike: a fast line, and the one of the class."""
    return [Lane(1e-3, rate.fast_bps), Lane(rate.one_way_s, rate.rate_bps)]


def tcp_links(rate: RateClass) -> list[dict[str, Any]]:
    """The links of the scenario, with a queue that nothing here overflows."""
    return [
        {"one_way_delay": seconds(lane.delay_s), "line_rate": bps(lane.rate_bps), "queue": "30 MB"}
        for lane in tcp_lanes(rate)
    ]
