"""What netem is told of a direction: from the plan, and as a netlink message or as words for tc.

Pure, as lane_options.py is: the real world's box gets the words. A key that leaves something to chance is told here and
nowhere else in this world.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ...scenarios.plan import Direction

UINT32_MAX = (1 << 32) - 1


@dataclass(frozen=True)
class LossModel:
    """A loss model instead of a plain probability: its attribute, and its fields in netem's fixed point."""

    kind: Literal["NETEM_LOSS_GI", "NETEM_LOSS_GE"]
    fields: dict[str, int]


def impairments(direction: Direction) -> dict[str, Any]:
    """The options of a direction's netem that are neither rate nor limit."""
    told = {"delay_ns": direction.delay_ns, "seed": direction.seed, **direction.impairments}
    burst = told.pop("loss_burst", 0)
    return told | ({"loss": _bursts(direction.loss, burst)} if burst else {})


def _bursts(loss: float, burst: float) -> LossModel:
    """Losses in bursts of a mean length, as many as with `loss` for each packet by itself.

    Gilbert, Capacity of a burst-noise channel, Bell System Technical Journal 39 (1960): a good state that loses nothing
    and a bad one that loses everything, left with probability r after each packet, so that bursts are geometric with
    mean 1/r; p, the way into it, follows from loss = p / (p + r).
    """
    r = 1 / burst
    p = r * loss / (1 - loss)
    return LossModel("NETEM_LOSS_GE", {"p": probability(min(p, 1.0)), "r": probability(r), "h": 0, "k1": 0})


def line(options: dict[str, Any]) -> bytes:
    """struct tc_line of patch 0013: framing for each segment, and whether super-packets arrive spaced."""
    return struct.pack("iI", options["framing_bytes"], options["spaced"])


def probability(value: float) -> int:
    """A probability 0…1 in netem's fixed point (32 bits)."""
    return round(value * UINT32_MAX)


def message(options: dict[str, Any]) -> dict[str, Any]:
    """The options as qdiscs.py's layout of a netlink message wants them; whatever is not there is off."""
    attributes: list[list[Any]] = [["TCA_NETEM_LATENCY64", options["delay_ns"]]]
    if options.get("jitter_ns"):
        attributes.append(["TCA_NETEM_JITTER64", options["jitter_ns"]])
    if rate := options.get("rate_bytes_per_s"):
        if rate > UINT32_MAX:
            attributes.append(["TCA_NETEM_RATE64", rate])
        fields = {
            "rate": min(rate, UINT32_MAX),
            "packet_overhead": options["overhead_bytes"],
            "cell_size": 0,
            "cell_overhead": 0,
        }
        attributes.append(["TCA_NETEM_RATE", fields])
        if "line" in options:
            attributes.append(["TCA_NETEM_LINE", line(options["line"])])
    if joined := options.get("joined"):
        attributes.append(["TCA_NETEM_JOINED_END", struct.pack("III6s6s", *options["joined_end"])])
        attributes.append(["TCA_NETEM_JOINED", b"".join(struct.pack("qQiI", *each) for each in joined)])
    for name in ("reorder", "corrupt"):
        if options.get(name):
            attributes.append(
                [f"TCA_NETEM_{name.upper()}", {"probability": probability(options[name]), "correlation": 0}]
            )
    loss = options.get("loss", 0.0)
    if isinstance(loss, LossModel):
        attributes.append(["TCA_NETEM_LOSS", {"attrs": [[loss.kind, loss.fields]]}])
    attributes.append(["TCA_NETEM_PRNG_SEED", options["seed"]])
    return {
        "latency": 0,
        "limit": min(options["limit_packets"], UINT32_MAX),
        "loss": 0 if isinstance(loss, LossModel) else probability(loss),
        "gap": 1 if options.get("reorder") else 0,
        "duplicate": probability(options.get("duplicate", 0.0)),
        "jitter": 0,
        "attrs": attributes,
    }


def words(options: dict[str, Any]) -> list[str]:
    """Delay and chance as tc's netem wants them (tc-netem(8)); the seed is left out: a real path has none."""
    told = [f"delay {options['delay_ns'] / 1e3:.15g}us"]
    told += [f"{options['jitter_ns'] / 1e3:.15g}us"] if "jitter_ns" in options else []
    chances = {name: options[name] for name in ("loss", "corrupt", "duplicate", "reorder") if name in options}
    if isinstance(loss := chances.get("loss"), LossModel):
        p, r = (f"{loss.fields[name] / UINT32_MAX * 100:.9g}%" for name in ("p", "r"))
        told.append(f"loss gemodel {p} {r}")
        del chances["loss"]
    return told + [f"{name} {value * 100:.9g}%" for name, value in chances.items()]
