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
    from landspeed.scenario.plan.direction import Direction, Netem

UINT32_MAX = (1 << 32) - 1
# linux/pkt_sched.h
NETEM_CORR, NETEM_DELAY_DIST = 1, 2
NETEM_REORDER, NETEM_CORRUPT, NETEM_LOSS, NETEM_RATE = 3, 4, 5, 6
NETEM_RATE64, NETEM_LATENCY64, NETEM_JITTER64, NETEM_PRNG_SEED = 8, 10, 11, 14
NETEM_JOINED_END, NETEM_JOINED = 29, 30  # patch 0014
TCA_LINE = 31  # patch 0013: the attribute's number, netem's and tbf's
MADE_TABLES = ("normal", "pareto", "paretonormal")  # that iproute2 makes and installs
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
    told |= {"loss": _bursts(direction.loss, burst)} if burst else {}
    return told | (_as_asked(direction, direction.netem) if direction.netem else {})


def _as_asked(direction: Direction, netem: Netem) -> dict[str, Any]:
    """Netem's own ways. Where packets overtake, a gap has the line come before the delay (patch 0023)."""
    told: dict[str, Any] = {
        "correlations": (netem.delay_correlation, netem.loss_correlation, netem.duplicate_correlation),
        "reorder_correlation": netem.reorder_correlation,
        "corrupt_correlation": netem.corrupt_correlation,
        "distribution": netem.distribution,
        "table": netem.table,
    }
    if direction.overtakes:
        told |= {"gap": max(netem.gap, 1), "reorder": direction.reorder}
    if netem.loss_model != "random":
        kind: Literal["NETEM_LOSS_GI", "NETEM_LOSS_GE"] = (
            "NETEM_LOSS_GE" if netem.loss_model == "gemodel" else "NETEM_LOSS_GI"
        )
        chances = map(probability, netem.loss_chances)
        told["loss"] = LossModel(kind, dict(zip(LOSS_MODELS[kind][1], chances, strict=True)))
    return told


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
        options.get("gap", 1 if options.get("reorder") else 0),
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
            correlation = probability(options.get(f"{name}_correlation", 0.0))
            said += attribute(number, struct.pack("=II", probability(options[name]), correlation))
    if "correlations" in options:
        said += attribute(NETEM_CORR, struct.pack("=III", *map(probability, options["correlations"])))
    if table := options.get("table"):
        said += attribute(NETEM_DELAY_DIST, struct.pack(f"={len(table)}h", *table))
    if model:
        number, names = LOSS_MODELS[model.kind]
        states = struct.pack(f"={len(names)}I", *(model.fields[name] for name in names))
        said += attribute(NETEM_LOSS, attribute(number, states))
    return said + attribute(NETEM_PRNG_SEED, struct.pack("=Q", options["seed"]))


def words(options: dict[str, Any]) -> list[str]:
    """Delay and chance as tc's netem wants them (tc-netem(8)); the seed is left out: a real path has none.

    Raises:
        ValueError: delays by a table of the file's own, which tc finds only where it was installed.
    """
    delays, losses, copies = options.get("correlations", (0.0, 0.0, 0.0))
    told = [f"delay {options['delay_ns'] / 1e3:.15g}us"]
    told += [f"{options['jitter_ns'] / 1e3:.15g}us{_correlation(delays)}"] if "jitter_ns" in options else []
    if name := options.get("distribution"):
        if name not in MADE_TABLES:
            raise ValueError(f"the distribution '{name}' is a table of the scenario's own, and tc has none of it")
        told += [f"distribution {name}"]
    beside = {"loss": losses, "duplicate": copies}
    chances = {name: options[name] for name in ("loss", "corrupt", "duplicate", "reorder") if options.get(name)}
    if isinstance(loss := chances.pop("loss", None), LossModel):
        told.append(f"loss {_model_words(loss)}")
    elif loss:
        chances = {"loss": loss} | chances
    for name, value in chances.items():
        correlation = beside.get(name, options.get(f"{name}_correlation", 0.0))
        told.append(f"{name} {value * 100:.9g}%{_correlation(correlation)}")
    return [*told, f"gap {options['gap']}"] if options.get("gap", 1) > 1 else told


def _correlation(share: float) -> str:
    return f" {share * 100:.9g}%" if share else ""


def _model_words(loss: LossModel) -> str:
    """A chain of losses, in tc's order of its chances; those that are tc's own at the end are left out."""
    shares = {name: value / UINT32_MAX * 100 for name, value in loss.fields.items()}
    if loss.kind == "NETEM_LOSS_GI":
        return "state " + " ".join(f"{shares[name]:.9g}%" for name in ("p13", "p31", "p32", "p23", "p14"))
    told = [shares["p"], shares["r"], 100 - shares["h"], shares["k1"]]
    while told[2:] and told[-1] == (100 if len(told) == 3 else 0):
        told.pop()
    return "gemodel " + " ".join(f"{share:.9g}%" for share in told)
