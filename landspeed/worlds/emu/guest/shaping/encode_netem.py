"""Options of netem for a direction: from the plan, as a netlink message or as words for tc.

Pure, as direction_options.py is: the real world's box gets the words. A key that leaves something to chance is told
here and nowhere else in this world.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from landspeed.worlds.emu.guest.network.netlink import attribute

if TYPE_CHECKING:
    from landspeed.scenario.plan.direction import Direction

UINT32_MAX = (1 << 32) - 1
# linux/pkt_sched.h
NETEM_REORDER, NETEM_CORRUPT, NETEM_LOSS, NETEM_RATE = 3, 4, 5, 6
NETEM_RATE64, NETEM_LATENCY64, NETEM_JITTER64, NETEM_PRNG_SEED = 8, 10, 11, 14
NETEM_JOINED_END, NETEM_JOINED = 29, 30  # patch 0014
TCA_LINE = 31  # patch 0013: the attribute's number, netem's and tbf's
LOSS_MODELS = {
    # struct tc_netem_gimodel: transitions between good and lossy states; the first good one is the start
    "NETEM_LOSS_GI": (1, ("p13", "p31", "p32", "p14", "p23")),
    # struct tc_netem_gemodel: two states, good at first, and what each loses (h: what the bad one lets by)
    "NETEM_LOSS_GE": (2, ("p", "r", "h", "k1")),
}


@dataclass(frozen=True)
class LossModel:
    """A loss model instead of a plain probability: its attribute, and its fields in netem's fixed point."""

    kind: Literal["NETEM_LOSS_GI", "NETEM_LOSS_GE"]
    fields: dict[str, int]


def impairments(direction: Direction) -> dict[str, Any]:
    """The options of a direction's netem that are neither rate nor limit."""
    told = {"delay_ns": direction.delay_ns, "seed": direction.seed, **direction.impairments}
    burst = told.pop("loss_burst", 0)
    if told.pop("loss_every", 0):  # periodic.py tells netem which packets, once the transfer runs
        del told["loss"]
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


def message(options: dict[str, Any]) -> bytes:
    """The options as netlink has them: struct tc_netem_qopt and attributes; whatever is not there is off."""
    loss: LossModel | float = options.get("loss", 0.0)
    model, share = (loss, 0.0) if isinstance(loss, LossModel) else (None, loss)
    said = struct.pack(
        "=IIIIII",
        0,  # the delay is told in nanoseconds
        min(options["limit_packets"], UINT32_MAX),
        probability(share),
        1 if options.get("reorder") else 0,
        probability(options.get("duplicate", 0.0)),
        0,
    )
    said += attribute(NETEM_LATENCY64, struct.pack("=q", options["delay_ns"]))
    if options.get("jitter_ns"):
        said += attribute(NETEM_JITTER64, struct.pack("=q", options["jitter_ns"]))
    if rate := options.get("rate_bytes_per_s"):
        if rate > UINT32_MAX:
            said += attribute(NETEM_RATE64, struct.pack("=Q", rate))
        # struct tc_netem_rate: bytes per second, added to each packet, cells
        said += attribute(NETEM_RATE, struct.pack("=IiIi", min(rate, UINT32_MAX), options["overhead_bytes"], 0, 0))
    if "line" in options:
        said += attribute(TCA_LINE, line(options["line"]))
    if joined := options.get("joined"):
        said += attribute(NETEM_JOINED_END, struct.pack("III6s6s", *options["joined_end"]))
        said += attribute(NETEM_JOINED, b"".join(struct.pack("qQiI", *each) for each in joined))
    for name, number in (("reorder", NETEM_REORDER), ("corrupt", NETEM_CORRUPT)):
        if name in options:
            said += attribute(number, struct.pack("=II", probability(options[name]), 0))
    if model:
        number, names = LOSS_MODELS[model.kind]
        states = struct.pack(f"={len(names)}I", *(model.fields[name] for name in names))
        said += attribute(NETEM_LOSS, attribute(number, states))
    return said + attribute(NETEM_PRNG_SEED, struct.pack("=Q", options["seed"]))


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
