"""The options of each queueing discipline as bytes, in the layouts of linux/pkt_sched.h; 64-bit values throughout."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from . import managed_qdiscs as managed
from .netlink import NESTED, TCA_OPTIONS, attribute

UINT32_MAX = (1 << 32) - 1
LINKLAYER_ETHERNET = 1  # tells tbf that no rate table comes with the request

NETEM_REORDER, NETEM_CORRUPT, NETEM_LOSS, NETEM_RATE = 3, 4, 5, 6
NETEM_RATE64, NETEM_LATENCY64, NETEM_JITTER64, NETEM_PRNG_SEED = 8, 10, 11, 14
NETEM_JOINED_END, NETEM_JOINED = 29, 30  # patch 0014
NETEM_LOSS_GI = 1
TBF_PARMS, TBF_RATE64, TBF_BURST = 1, 4, 6
TCA_LINE = 31  # patch 0013: the attribute's number, netem's and tbf's
FQ_PLIMIT, FQ_FLOW_PLIMIT = 1, 2


def line(options: dict[str, Any]) -> bytes:
    """struct tc_line of patch 0013: framing for each segment, and whether super-packets arrive spaced."""
    return struct.pack("iI", options["framing_bytes"], options["spaced"])


def probability(value: float) -> int:
    """A probability 0…1 in netem's fixed point (32 bits)."""
    return round(value * UINT32_MAX)


def _netem(options: dict[str, Any]) -> bytes:
    """struct tc_netem_qopt and attributes."""
    said = struct.pack(
        "=IIIIII",
        0,  # the delay is told in nanoseconds
        min(options["limit_packets"], UINT32_MAX),
        probability(options.get("loss", 0.0)),
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
        fields = struct.pack("=IiIi", min(rate, UINT32_MAX), options["overhead_bytes"], 0, 0)
        said += attribute(NETEM_RATE, fields)
        if "line" in options:
            said += attribute(TCA_LINE, line(options["line"]))
    if joined := options.get("joined"):
        said += attribute(NETEM_JOINED_END, struct.pack("III6s6s", *options["joined_end"]))
        said += attribute(NETEM_JOINED, b"".join(struct.pack("qQiI", *each) for each in joined))
    for name, number in (("reorder", NETEM_REORDER), ("corrupt", NETEM_CORRUPT)):
        if options.get(name):
            said += attribute(number, struct.pack("=II", probability(options[name]), 0))
    if model := options.get("loss_model"):
        # struct tc_netem_gimodel: transitions between good and lossy states; the first good one is the start
        states = struct.pack("=IIIII", *(model[name] for name in ("p13", "p31", "p32", "p14", "p23")))
        said += attribute(NETEM_LOSS, attribute(NETEM_LOSS_GI, states))
    return said + attribute(NETEM_PRNG_SEED, struct.pack("=Q", options["seed"]))


def _tbf(options: dict[str, Any]) -> bytes:
    """struct tc_tbf_qopt (rate, no peak rate, limit, buffer, mtu) and attributes."""
    rate = options["rate_bytes_per_s"]
    # struct tc_ratespec: cell_log, linklayer, overhead, cell_align, mpu, rate
    spec = struct.pack("=BBHhHI", 0, LINKLAYER_ETHERNET, options["overhead_bytes"], 0, 0, min(rate, UINT32_MAX))
    limits = struct.pack("=III", min(options["limit_bytes"], UINT32_MAX), 0, 0)
    said = attribute(TBF_PARMS, spec + bytes(len(spec)) + limits) + attribute(TBF_BURST, options["burst_bytes"])
    if rate > UINT32_MAX:
        said += attribute(TBF_RATE64, struct.pack("=Q", rate))
    if "line" in options:
        said += attribute(TCA_LINE, line(options["line"]))
    return said


def _fq(options: dict[str, Any]) -> bytes:
    """The limits; everything else stays as the kernel has it."""
    limit = options["limit_packets"]
    return attribute(FQ_PLIMIT, limit) + attribute(FQ_FLOW_PLIMIT, limit)


MADE_BY: dict[str, Callable[[dict[str, Any]], bytes]] = {"netem": _netem, "tbf": _tbf, "fq": _fq, **managed.MADE_BY}


def options_of(kind: str, **options: Any) -> bytes:
    """The attribute with a discipline's options."""
    flag = NESTED if kind == "fq_pie" else 0  # it alone insists on the flag
    return attribute(TCA_OPTIONS | flag, MADE_BY[kind](options))
