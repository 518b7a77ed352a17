"""Queueing disciplines as netlink messages, for pyroute2's table of plugins.

pyroute2 0.9 knows netem and tbf only with 32-bit rates (34 Gbit/s), no seed, delays in ticks, and neither fq nor bfifo.
The layouts below are those of linux/pkt_sched.h; 64-bit values throughout.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

from pyroute2.netlink import nla
from pyroute2.netlink.rtnl import TC_H_ROOT
from pyroute2.netlink.rtnl.tcmsg import plugins, sched_template

UINT32_MAX = (1 << 32) - 1
LINKLAYER_ETHERNET = 1  # tells tbf that no rate table comes with the request


def probability(value: float) -> int:
    """A probability 0…1 in netem's fixed point (32 bits)."""
    return round(value * UINT32_MAX)


class NetemOptions(nla):
    """struct tc_netem_qopt and the attributes used here."""

    nla_map = (
        ("TCA_NETEM_UNSPEC", "none"),
        ("TCA_NETEM_CORR", "none"),
        ("TCA_NETEM_DELAY_DIST", "none"),
        ("TCA_NETEM_REORDER", "two"),
        ("TCA_NETEM_CORRUPT", "two"),
        ("TCA_NETEM_LOSS", "loss"),
        ("TCA_NETEM_RATE", "rate"),
        ("TCA_NETEM_ECN", "uint32"),
        ("TCA_NETEM_RATE64", "uint64"),
        ("TCA_NETEM_PAD", "none"),
        ("TCA_NETEM_LATENCY64", "int64"),
        ("TCA_NETEM_JITTER64", "int64"),
        ("TCA_NETEM_SLOT", "none"),
        ("TCA_NETEM_SLOT_DIST", "none"),
        ("TCA_NETEM_PRNG_SEED", "uint64"),
    )
    fields = (("latency", "I"), ("limit", "I"), ("loss", "I"), ("gap", "I"), ("duplicate", "I"), ("jitter", "I"))

    class two(nla):  # noqa: N801 (pyroute2 finds it by this name)
        """Probability and correlation."""

        fields = (("probability", "I"), ("correlation", "I"))

    class loss(nla):  # noqa: N801
        """A loss model instead of a plain probability."""

        nla_map = (("NETEM_LOSS_UNSPEC", "none"), ("NETEM_LOSS_GI", "states"))

        class states(nla):  # noqa: N801
            """struct tc_netem_gimodel: transitions between good and lossy states; the first good one is the start."""

            fields = (("p13", "I"), ("p31", "I"), ("p32", "I"), ("p14", "I"), ("p23", "I"))

    class rate(nla):  # noqa: N801
        """struct tc_netem_rate; bytes per second."""

        fields = (("rate", "I"), ("packet_overhead", "i"), ("cell_size", "I"), ("cell_overhead", "i"))


def _netem(options: dict[str, Any]) -> dict[str, Any]:
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
    for name in ("reorder", "corrupt"):
        if options.get(name):
            attributes.append(
                [f"TCA_NETEM_{name.upper()}", {"probability": probability(options[name]), "correlation": 0}]
            )
    if model := options.get("loss_model"):
        attributes.append(["TCA_NETEM_LOSS", {"attrs": [["NETEM_LOSS_GI", model]]}])
    attributes.append(["TCA_NETEM_PRNG_SEED", options["seed"]])
    return {
        "latency": 0,
        "limit": min(options["limit_packets"], UINT32_MAX),
        "loss": probability(options.get("loss", 0.0)),
        "gap": 1 if options.get("reorder") else 0,
        "duplicate": probability(options.get("duplicate", 0.0)),
        "jitter": 0,
        "attrs": attributes,
    }


class TbfOptions(nla):
    """struct tc_tbf_qopt and the attributes used here."""

    nla_map = (
        ("TCA_TBF_UNSPEC", "none"),
        ("TCA_TBF_PARMS", "parms"),
        ("TCA_TBF_RTAB", "none"),
        ("TCA_TBF_PTAB", "none"),
        ("TCA_TBF_RATE64", "uint64"),
        ("TCA_TBF_PRATE64", "uint64"),
        ("TCA_TBF_BURST", "uint32"),
        ("TCA_TBF_PBURST", "uint32"),
    )

    class parms(nla):  # noqa: N801
        """Two struct tc_ratespec (the second, the peak rate, stays zero), limit, buffer, mtu."""

        fields = (
            ("cell_log", "B"), ("linklayer", "B"), ("overhead", "H"), ("cell_align", "h"), ("mpu", "H"), ("rate", "I"),
            ("peak_cell_log", "B"), ("peak_linklayer", "B"), ("peak_overhead", "H"), ("peak_cell_align", "h"),
            ("peak_mpu", "H"), ("peak_rate", "I"),
            ("limit", "I"), ("buffer", "I"), ("mtu", "I"),
        )  # fmt: skip


def _tbf(options: dict[str, Any]) -> dict[str, Any]:
    rate = options["rate_bytes_per_s"]
    fields = {
        "linklayer": LINKLAYER_ETHERNET,
        "overhead": options["overhead_bytes"],
        "rate": min(rate, UINT32_MAX),
        "limit": min(options["limit_bytes"], UINT32_MAX),
    }
    attributes: list[list[Any]] = [["TCA_TBF_PARMS", fields], ["TCA_TBF_BURST", options["burst_bytes"]]]
    if rate > UINT32_MAX:
        attributes.append(["TCA_TBF_RATE64", rate])
    return {"attrs": attributes}


class FqOptions(nla):
    """The limits of fq; everything else stays as the kernel has it."""

    nla_map = (("TCA_FQ_UNSPEC", "none"), ("TCA_FQ_PLIMIT", "uint32"), ("TCA_FQ_FLOW_PLIMIT", "uint32"))


def _fq(options: dict[str, Any]) -> dict[str, Any]:
    limit = options["limit_packets"]
    return {"attrs": [["TCA_FQ_PLIMIT", limit], ["TCA_FQ_FLOW_PLIMIT", limit]]}


class RedOptions(nla):
    """struct tc_red_qopt, the table for idle times, the probability."""

    nla_map = (
        ("TCA_RED_UNSPEC", "none"),
        ("TCA_RED_PARMS", "parms"),
        ("TCA_RED_STAB", "cdata"),
        ("TCA_RED_MAX_P", "uint32"),
    )

    class parms(nla):  # noqa: N801
        """Sizes in bytes; `Wlog` is the weight, `Scell_log` the step of the table in µs, both as powers of 2."""

        fields = (
            ("limit", "I"), ("qth_min", "I"), ("qth_max", "I"),
            ("Wlog", "B"), ("Plog", "B"), ("Scell_log", "B"), ("flags", "B"),
        )  # fmt: skip


TC_RED_ECN = 1
RED_TABLE = 256


def _red(options: dict[str, Any]) -> dict[str, Any]:
    cell_log, table = red_idle_table(options["weight_log"], options["packet_us"])
    fields = {
        "limit": min(options["limit_bytes"], UINT32_MAX),
        "qth_min": options["min_bytes"],
        "qth_max": options["max_bytes"],
        "Wlog": options["weight_log"],
        "Plog": 0,
        "Scell_log": cell_log,
        "flags": TC_RED_ECN,
    }
    maximum = round(options["probability"] * 2**32)
    return {"attrs": [["TCA_RED_PARMS", fields], ["TCA_RED_STAB", table], ["TCA_RED_MAX_P", maximum]]}


def red_idle_table(weight_log: int, packet_us: float) -> tuple[int, bytes]:
    """By how many powers of two RED's average falls while nothing comes: (1 - w)^(idle time / time of a packet).

    Returns:
        step of the table in microseconds as a power of two, so that its end is where the average has all but gone; the
        powers, at most 31 as the kernel has it.
    """
    halving_us = packet_us / -math.log2(1 - 2.0**-weight_log)  # the average halves in this time
    cell_log = max(0, math.ceil(math.log2(max(halving_us * 31 / RED_TABLE, 1))))
    return cell_log, bytes(min(31, int((cell << cell_log) / halving_us)) for cell in range(RED_TABLE))


class FqCodelOptions(nla):
    """What is set of fq_codel; times in microseconds."""

    nla_map = (
        ("TCA_FQ_CODEL_UNSPEC", "none"),
        ("TCA_FQ_CODEL_TARGET", "uint32"),
        ("TCA_FQ_CODEL_LIMIT", "uint32"),
        ("TCA_FQ_CODEL_INTERVAL", "uint32"),
        ("TCA_FQ_CODEL_ECN", "uint32"),
        ("TCA_FQ_CODEL_FLOWS", "uint32"),
        ("TCA_FQ_CODEL_QUANTUM", "uint32"),
        ("TCA_FQ_CODEL_CE_THRESHOLD", "uint32"),
        ("TCA_FQ_CODEL_DROP_BATCH_SIZE", "uint32"),
        ("TCA_FQ_CODEL_MEMORY_LIMIT", "uint32"),
    )


def _fq_codel(options: dict[str, Any]) -> dict[str, Any]:
    values = {
        "TARGET": options["target_ns"] // 1000,
        "LIMIT": options["limit_packets"],
        "INTERVAL": options["interval_ns"] // 1000,
        "ECN": 1,
        "FLOWS": options["flows"],
        "QUANTUM": options["quantum_bytes"],
        "MEMORY_LIMIT": UINT32_MAX,  # the limit in packets is the queue's; this one counts the kernel's overhead
    }
    return {"attrs": [[f"TCA_FQ_CODEL_{name}", value] for name, value in values.items()]}


def register() -> None:
    """Put these disciplines into pyroute2's table, over its own 32-bit ones."""
    for kind, layout, build in (
        ("netem", NetemOptions, _netem),
        ("tbf", TbfOptions, _tbf),
        ("fq", FqOptions, _fq),
        ("red", RedOptions, _red),
        ("fq_codel", FqCodelOptions, _fq_codel),
    ):
        plugins[kind] = SimpleNamespace(  # type: ignore[assignment]
            parent=TC_H_ROOT,
            options=layout,
            get_parameters=build,
            stats=sched_template.stats,
            stats2=sched_template.stats2,
        )
