"""One direction of a link in the plan: its queue with the discipline's parameters, its rate, its delay, its chances."""

# The guest imports this: dataclasses and typing are guest/stdlib_stand_ins there.
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from landspeed.scenario.plan.trace import Trace

DisciplineName: TypeAlias = Literal[
    "fifo", "red", "codel", "fq_codel", "pie", "fq_pie", "dualpi2", "sfq", "cake", "tbf"
]

TABLE_SCALE = 8192  # of a distribution's table: NETEM_DIST_SCALE of linux/pkt_sched.h
LONGEST_BURST = 1000  # packets, that anybody waits out
IMPAIRMENTS: dict[str, Literal["probability", "time", "packets"]] = {
    "loss": "probability",
    "loss_burst": "packets",
    "loss_every": "packets",
    "corrupt": "probability",
    "duplicate": "probability",
    "reorder": "probability",
    "jitter_ns": "time",
}
"""Fields of a direction that leave to chance what happens to a packet, and what they are; at zero they do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueParameters:
    """The parameters of a direction's discipline, all of them; None where the discipline has no such thing.

    `min_bytes`, `max_bytes`, `probability`, `weight_log` (its weight is 1/2^weight_log): RED. `target_ns`,
    `interval_ns`, `ce_threshold_ns` (None: off): CoDel.
    `target_ns`, `update_ns`, `alpha`, `beta` (sixteenths): PIE. DualPI2 has these (of 1/256 Hz),
    `ce_threshold_ns`, `coupling` and `classic_share` (percent). `quantum_bytes` None: a packet of the link's MTU with
    the header that a world counts. `depth_packets`, `perturb_ns`: SFQ. `rtt_ns`, `ack_filter`, `isolation`: CAKE.
    `rate_bps`, `burst_bytes`: the token bucket.
    """

    ecn: bool | None = None
    min_bytes: int | None = None
    max_bytes: int | None = None
    weight_log: int | None = None
    probability: float | None = None
    target_ns: int | None = None
    interval_ns: int | None = None
    ce_threshold_ns: int | None = None
    update_ns: int | None = None
    alpha: int | None = None
    beta: int | None = None
    coupling: int | None = None
    classic_share: int | None = None
    flows: int | None = None
    quantum_bytes: int | None = None
    depth_packets: int | None = None
    perturb_ns: int | None = None
    rtt_ns: int | None = None
    ack_filter: bool | None = None
    isolation: Literal["triple-isolate", "flows", "hosts", "flowblind"] | None = None
    rate_bps: int | None = None
    burst_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Netem:
    """Work of Linux's netem in a direction beyond the direction's own figures, which are its mean delay, its jitter …

    Attributes:
        line: as the file has it; "": the file asks for no more than a distribution.
        distribution, table: of delays: its name, and its entries in 1/8192 of `jitter_ns`; None: uniform.
        keeps_order: packets do, in spite of the jitter.
        gap: of so many packets one may be reordered.
        limit_packets: so many may be under way; None: any number.
        loss_model, loss_chances: losses come from a chain: p13, p31, p32, p14, p23, or p, r, h, 1-k (tc-netem(8), but
            that h is the chance to pass).
    """

    line: str = ""
    distribution: str | None = None
    table: list[int] | None = None
    keeps_order: bool = False
    gap: int = 0
    limit_packets: int | None = None
    delay_correlation: float = 0.0
    loss_correlation: float = 0.0
    duplicate_correlation: float = 0.0
    corrupt_correlation: float = 0.0
    reorder_correlation: float = 0.0
    loss_model: Literal["random", "state", "gemodel"] = "random"
    loss_chances: list[float] = field(default_factory=list[float])


@dataclass(frozen=True, slots=True, kw_only=True)
class Direction:
    """One direction of a link: a queue drained at the line rate, then the propagation delay.

    Where a trace says what a figure is over time, the figure here is its mean over the transfer: what theory goes by,
    and what holds before the transfer.
    """

    delay_ns: int
    rate_bps: int  # line rate, framing included
    queue_bytes: int
    packet_limit: int | None = None  # as asked: packets that the emulation may hold, in flight and queued
    can_queue: bool  # False only when proved: whatever can arrive, arrives no faster than it leaves
    loss: float = 0.0  # probabilities, 0…1
    loss_burst: float = 0.0  # packets lost in a row, in the mean; 0: each is lost for itself
    loss_every: int = 0  # each so many-th packet is lost, of which `loss` is the share; 0: chance decides
    corrupt: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    jitter_ns: int = 0
    netem: Netem | None = None  # what it does of these is done as Linux's netem does it
    discipline: DisciplineName = "fifo"
    parameters: QueueParameters | None = None  # of the discipline; None: it has none
    trace: Trace | None = None
    seed: int = 0  # derived from the plan's seed, the link's index and the direction

    @property
    def impairments(self) -> dict[str, float]:
        """Random impairments of packets here: the fields of `IMPAIRMENTS` that are not zero, in their order."""
        found = {name: value for name in IMPAIRMENTS if (value := getattr(self, name))}
        return (
            found
            if self.loss
            else {name: value for name, value in found.items() if name not in ("loss_burst", "loss_every")}
        )

    @property
    def respaces(self) -> bool:
        """True if chance changes the spacing of packets, so that they may come closer together than they were sent."""
        return bool(self.jitter_ns or self.reorder or self.duplicate)

    @property
    def jitters_freely(self) -> bool:
        """True if packets overtake each other because their delays differ."""
        return bool(self.jitter_ns and self.netem and not self.netem.keeps_order)

    @property
    def overtakes(self) -> bool:
        """True if packets may arrive in another order than they were sent."""
        return bool(self.reorder) or self.jitters_freely

    @property
    def varies_ns(self) -> int:
        """The most by which the delay varies, up and down."""
        table = self.netem.table if self.netem else None
        return -(-self.jitter_ns * max(map(abs, table)) // TABLE_SCALE) if table else self.jitter_ns

    @property
    def rates_bps(self) -> list[int]:
        """Every rate that the line has, by itself or by its trace."""
        return [self.rate_bps, *((self.trace and self.trace.rate_bps) or [])]

    @property
    def delays_ns(self) -> list[int]:
        """All delays: the planned one, and those of the trace."""
        return [self.delay_ns, *((self.trace and self.trace.delay_ns) or [])]

    @property
    def _burst(self) -> float:
        """Mean number of packets lost in a row by what makes losses come together; 0: nothing does."""
        if self.netem is None or not self.netem.loss_chances:
            return self.loss_burst
        chances = self.netem.loss_chances
        bad, ends = (1 - chances[2], chances[1]) if self.netem.loss_model == "gemodel" else (1.0, chances[1])
        return min(bad / ends, LONGEST_BURST) if chances[0] and ends else LONGEST_BURST if chances[0] else 0.0

    @property
    def loss_events(self) -> float:
        """Share of the packets at which a loss begins, for a sender to whom one window's losses are one."""
        return 1 - (1 - self.loss / max(self._burst, 1)) * (1 - self.corrupt)

    @property
    def losses_in_a_row(self) -> float:
        """Mean number of packets lost in a row, once one is lost; infinite if none arrives."""
        return max(1 / (1 - self.loss), self._burst) if self.loss < 1 else float("inf")
