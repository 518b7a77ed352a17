"""Form of an inferred path, and the words for how sure its reading is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from landspeed.base.limits import ImportLimit
from landspeed.scenario.importers.path_evidence import Figure, MeasuredTransfer
from landspeed.scenario.importers.round_trip import RoundTrip
from landspeed.scenario.theory import physics as ph

STANDARD_BPS = (10**7, 10**8, 10**9, 10**10, 4 * 10**10, 10**11, 4 * 10**11)
UNKNOWN_BPS = 10**9  # where nothing tells of a line

Sure: TypeAlias = Literal["certain", "likely", "one of two", "possible"]
"""How sure a reading is: the figures show it; they fit it best; a second one fits as well; it is what is left."""


@dataclass
class InferredPath:
    """The path that was inferred; what is None is not known.

    Attributes:
        bound_by: the limit of the transfer; None without one. A standing queue, too, shows that the line was full.
        rate: of the bottleneck's line, framing included. `rate_known`: measured, not only a lower bound.
        goodput: of the transfer that stands for all, with the spread of all.
        sure: how sure `bound_by` is, and `second` the reading that fits the figures next best.
        mtu_source: what tells the MTU; "" where it is assumed.
        control_guess: why the control is taken, where no program told it.
        reorder: the share of packets that overtake.
        nic: speed of a host's interface.
    """

    round_trip: RoundTrip
    mtu_bytes: int
    transfer: MeasuredTransfer | None = None
    goodput: Figure | None = None
    bound_by: ImportLimit | None = None
    why: str = ""
    sure: Sure | None = None
    second: str = ""
    mtu_source: str = ""
    nic: Figure | None = None
    rate: Figure | None = None
    rate_known: bool = False
    queue: Figure | None = None
    loss: Figure | None = None
    window: Figure | None = None
    host: Figure | None = None
    pacing_bps: float | None = None
    ip_version: int = 4
    congestion_control: str | None = None
    control_guess: str = ""
    reorder: Figure | None = None
    assumptions: list[str] = field(default_factory=list[str])

    @property
    def fast_bps(self) -> int:
        """The line rate of all other links: the interface's, or the next of Ethernet's that is twice as fast."""
        if self.nic is not None:
            return round(self.nic.value)
        least = 2 * self.rate.value if self.rate else UNKNOWN_BPS
        return next((rate for rate in STANDARD_BPS if rate >= least), STANDARD_BPS[-1])

    @property
    def wire_share(self) -> float:
        """Bits on the line for each bit of payload; time stamps of TCP are in it unless packets show that none were."""
        transfer = self.transfer
        payload = ph.mss_bytes(self.mtu_bytes, transfer.ip_version if transfer else 4)
        if transfer and transfer.captured_packets and transfer.mtu_bytes in (None, self.mtu_bytes):
            payload = transfer.mss_bytes or payload
        return (self.mtu_bytes + ph.ETHERNET_FRAMING) / payload
