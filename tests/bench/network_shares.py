"""How the two Reno flows of the dumbbell share its line, beside theory."""

import statistics
from dataclasses import dataclass
from pathlib import Path

from landspeed.results.samples_reader import Samples

FLOWS = ("near", "far")
FROM_S, TO_S = 60, 600  # the far flow loses a packet every 15 s


@dataclass(frozen=True)
class Shares:
    """Goodputs in bit/s and round-trip times in ms, queue included, of the near and the far flow."""

    goodput_bps: tuple[float, ...]
    rtt_ms: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """The near flow's goodput to the far one's."""
        return self.goodput_bps[0] / self.goodput_bps[1]

    @property
    def theory(self) -> float:
        """What that is where losses come by chance: a flow has MSS/RTT · √(3/2p) (Mathis et al. 1997)."""
        return self.rtt_ms[1] / self.rtt_ms[0]

    @property
    def share(self) -> float:
        """What the near flow has of both."""
        return self.goodput_bps[0] / sum(self.goodput_bps)


def shares_of(bundle: Path, from_s: float = FROM_S, to_s: float = TO_S) -> Shares:
    """What a run of the dumbbell measured between two times."""
    goodput_bps, rtt_ms = list[float](), list[float]()
    for flow in FLOWS:
        samples = Samples(bundle).of_flow(flow)
        assert samples.curves is not None
        goodput_bps.append(samples.curves.goodput_bps(from_s, to_s) or 0.0)
        (measured,) = samples.by_stream("sender", "srtt_us", per=1e3).values()
        rtt_ms.append(statistics.mean(value for time_s, value in measured if from_s <= time_s <= to_s))
    return Shares(tuple(goodput_bps), tuple(rtt_ms))
