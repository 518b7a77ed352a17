"""The sliders and what they stand for: a setting is a value of each, and its share of the path, theory and scenario."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from landspeed.base.failures import NotPossible
from landspeed.base.units import RATE, SIZE, TIME, Kind, format_exact, format_probability
from landspeed.explore.goodput_theory import Curve, curve
from landspeed.explore.growth import Share
from landspeed.runs.scenario import Scenario
from landspeed.scenario.plan.plan import Link, Plan
from landspeed.scenario.theory import physics as ph
from landspeed.scenario.theory.timing import path_mtu

IP, FRAMING = 4, ph.ETHERNET_FRAMING
QUEUED_FRAME = 14  # bytes of Ethernet that a queue counts beside each packet
LEAST_QUEUE = 10  # packets of a queue that is given in BDP (docs/reference: queue)
ACCESS = 10  # the sender is connected at so many times the bottleneck's rate
DURATION_S = 20  # of a run
MEAN_S = (10.0, 20.0)  # what measured and predicted means are of: slow start is mostly over
SAMPLE_MS = 250
AUTOTUNED_BYTES = 1_000_000_000  # a window that nobody set: so large that it does not bind
WORD_KEYS = {"discipline": "{}.discipline", "control": "transfer.congestion_control"}
TARGETS_S = {
    "codel": ph.CODEL_TARGET_NS / 1e9,
    "fq_codel": ph.CODEL_TARGET_NS / 1e9,
    "pie": ph.PIE_TARGET_NS / 1e9,
}
"""Delay in the queue that a discipline allows: beyond it, it drops (RFC 8289, 8290, 8033)."""


@dataclass(frozen=True)
class Slider:
    """One figure that can be chosen.

    Attributes:
        key: its name in a setting.
        kind: of quantity; None for words and counts.
        values: in base units, rising; words for those that are words.
        start: where it stands first.
    """

    key: str
    label: str
    kind: Kind | None
    values: tuple[Any, ...]
    start: int
    hint: str

    def text(self, value: Any) -> str:
        """A value as the scenario's format has it."""
        if self.key == "queue":
            return f"{value:g} BDP"
        if self.key == "loss":
            return format_probability(value)
        if self.key == "mtu":
            return f"{value} B"
        return format_exact(self.kind, value) if self.kind else str(value)

    @property
    def is_word(self) -> bool:
        """True if its values have no order."""
        return isinstance(self.values[0], str)


MS = 10**6
USUAL = (
    Slider("rtt", "Round-trip time", TIME, tuple(n * MS for n in (10, 20, 50, 100, 200, 300)), 3, "with empty queues"),
    Slider("rate", "Line rate", RATE, (10**8, 10**9, 10**10), 1, "of the slowest line"),
    Slider(
        "window",
        "Window",
        SIZE,
        tuple(n * 1000 for n in (64, 256, 1000, 4000, 16_000, 64_000, 256_000, 1_000_000)),
        3,
        "of each stream: what may be on its way",
    ),
    Slider("mtu", "MTU", SIZE, (1500, 9000), 0, "the largest packet"),
    Slider("loss", "Random loss", None, (0.0, 1e-6, 1e-5, 1e-4, 1e-3), 0, "of all packets, on the slowest line"),
    Slider("streams", "Streams", None, (1, 4, 16), 0, "connections side by side"),
    Slider("queue", "Queue", None, (0.1, 1.0, 4.0), 1, "before the slowest line"),
    Slider("discipline", "Queue discipline", None, ("fifo", "codel", "fq_codel", "pie"), 0, "when the queue drops"),
    Slider("control", "Congestion control", None, ("reno", "cubic", "htcp", "bbr"), 1, "how the window grows"),
)
"""The sliders where nobody says otherwise."""


def sliders(start: Mapping[str, Any] | None = None, slowest: str = "path.N") -> tuple[Slider, ...]:
    """The sliders; values of `start` that none of them has are added to it.

    Args:
        start: by key, in base units; what is missing stands where it usually stands.
        slowest: key of the link that is shown, for advice.

    Raises:
        NotPossible: theory does not know the discipline or the congestion control.
    """
    return tuple(_beginning(slider, (start or {}).get(slider.key), slowest) for slider in USUAL)


def _beginning(slider: Slider, value: Any, slowest: str) -> Slider:
    if value is None:
        return slider
    if slider.is_word and value not in slider.values:
        raise NotPossible(
            f"theory here knows no {slider.label.lower()} '{value}'; choose one of {', '.join(slider.values)}: "
            f"--set {WORD_KEYS[slider.key].format(slowest)}={slider.values[0]}"
        )
    values = slider.values if value in slider.values else (*slider.values, value)
    ordered = values if slider.is_word else tuple(sorted(values))
    return replace(slider, values=ordered, start=ordered.index(value))


def slowest_link(plan: Plan) -> Link:
    """The link of a path that the sliders are of."""
    return min(plan.links[: plan.hops], key=lambda link: link.forward.rate_bps)


def values_of(plan: Plan) -> dict[str, Any]:
    """Describe a plan's path as values of the sliders: its bottleneck, and the sums over all its links."""
    transfer, forward = plan.transfer, slowest_link(plan).forward
    return {
        "rtt": plan.physics.rtt_ns,
        "rate": forward.rate_bps,
        "mtu": path_mtu(plan),
        "loss": float(f"{1 - math.prod(1 - link.forward.loss_events for link in plan.links):.3g}"),
        "streams": transfer.streams,
        "queue": float(f"{forward.queue_bytes / max(1, plan.physics.bdp_bytes):.2g}"),
        "discipline": forward.discipline,
        "control": transfer.congestion_control,
        "window": transfer.window_bytes or AUTOTUNED_BYTES,
    }


def settings_of(plan: Plan) -> Iterator[Setting]:
    """The settings that may have made a plan: a queue of a share of the BDP holds ten packets at least."""
    found = Setting(**values_of(plan))
    queues = next(slider.values for slider in USUAL if slider.key == "queue")
    if found.queue not in queues:
        yield from (replace(found, queue=queue) for queue in queues)
    yield found


@dataclass(frozen=True)
class Setting:
    """A value of each slider, in base units."""

    rtt: int
    rate: int
    window: int
    mtu: int
    loss: float
    streams: int
    queue: float
    discipline: str
    control: str

    @property
    def mss(self) -> int:
        """Payload of a full packet, in bytes."""
        return ph.mss_bytes(self.mtu, IP)

    @property
    def line_rate_bps(self) -> int:
        """The goodput of a full line."""
        return ph.line_rate_limit_bps(self.rate, self.mtu, FRAMING, IP)

    @property
    def window_bps(self) -> int:
        """Goodput that whole packets of the window allow (RFC 7323 section 1.1)."""
        return ph.window_limit_bps(max(1, self.window // self.mss) * self.mss, self.streams, self.rtt)

    @property
    def loss_bps(self) -> int | None:
        """Goodput of Reno by the square-root law, all streams together; None without loss."""
        return self.streams * ph.square_root_law_bps(self.mss, self.rtt, self.loss) if self.loss else None

    @property
    def bdp_bytes(self) -> int:
        """Rate × RTT."""
        return ph.bdp_bytes(self.rate, self.rtt)

    @property
    def pipe_packets(self) -> float:
        """Full packets that are on the way when the line is full and the queue empty."""
        return self.rate * self.rtt / (8e9 * (self.mtu + FRAMING))

    @property
    def window_bdp(self) -> float:
        """Whole packets of all streams' windows together, in BDP."""
        return self.streams * max(1, self.window // self.mss) / self.pipe_packets

    @cached_property
    def share(self) -> Share:
        """Each stream's part of the path, in packets; BBR lets no queue stand."""
        rtt_s = self.rtt / 1e9
        frame = self.mtu + FRAMING
        pipe = self.pipe_packets
        held = max(self.queue * self.bdp_bytes / (self.mtu + QUEUED_FRAME), LEAST_QUEUE)
        if target_s := TARGETS_S.get(self.discipline):
            held = min(held, max(target_s * self.rate / 8 / frame, 1.0))
        share = pipe / self.streams
        brim = share if self.control == "bbr" else (pipe + held) / self.streams
        cap = max(1.0, self.window // self.mss)
        if cap <= share:
            brim = share  # no queue will ever stand
        elif cap >= 2 * brim:
            cap = math.inf  # nor will the window be felt
        return Share(rtt_s, share, brim, cap, 1 / self.loss if self.loss else math.inf)

    @cached_property
    def curve(self) -> Curve:
        """A stream's window over time, as theory says."""
        return curve(self.share, self.control)

    @property
    def mean_bps(self) -> float:
        """Goodput between the times of MEAN_S, as theory says."""
        return self.line_rate_bps * self.curve.mean_level(self.share.pipe, *MEAN_S)

    def scenario(self) -> Scenario:
        """The path and the transfer that measure it: sender, router, receiver, the slow line behind the router."""
        queue: dict[str, Any] = {"queue": f"{self.queue:g} BDP", "discipline": self.discipline}
        return Scenario.build(
            format=1,
            name="explore",
            title=f"{format_exact(RATE, self.rate)} over {format_exact(TIME, self.rtt)}, {self.control}",
            mtu=f"{self.mtu} B",
            hosts={"sender": {"role": "sender"}, "receiver": {"role": "receiver"}},
            path=[
                {
                    "from": "sender",
                    "to": "router",
                    "one_way_delay": "0 ms",
                    "line_rate": format_exact(RATE, min(ACCESS * self.rate, 10**12)),
                },
                {
                    "from": "router",
                    "to": "receiver",
                    "one_way_delay": f"{self.rtt // 2} ns",
                    "line_rate": format_exact(RATE, self.rate),
                    **queue,
                    **({"loss": f"{self.loss * 1e6:g} ppm", "reverse": {"loss": "0 %"}} if self.loss else {}),
                },
            ],
            transfer={
                "streams": self.streams,
                "congestion_control": self.control,
                "duration": f"{DURATION_S} s",
                "window": f"{self.window} B",
                "window_exact": True,
                "sample_interval": f"{SAMPLE_MS} ms",
            },
        )


def setting_at(chosen: Sequence[Slider], places: Sequence[int]) -> Setting:
    """The setting with each slider at its place.

    Raises:
        IndexError: a slider has no such place.
    """
    return Setting(**{slider.key: slider.values[place] for slider, place in zip(chosen, places, strict=True)})
