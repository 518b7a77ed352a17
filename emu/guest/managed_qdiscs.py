"""Disciplines that manage a queue, as netlink messages; qdiscs.py has the lines that they stand above.

The layouts are those of linux/pkt_sched.h.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pyroute2.netlink import NLA_F_NESTED, nla

UINT32_MAX = (1 << 32) - 1


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
        "flags": TC_RED_ECN if options["ecn"] else 0,
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


class CodelOptions(nla):
    """What is set of codel; times in microseconds."""

    nla_map = (
        ("TCA_CODEL_UNSPEC", "none"),
        ("TCA_CODEL_TARGET", "uint32"),
        ("TCA_CODEL_LIMIT", "uint32"),
        ("TCA_CODEL_INTERVAL", "uint32"),
        ("TCA_CODEL_ECN", "uint32"),
        ("TCA_CODEL_CE_THRESHOLD", "uint32"),
    )


def _codel(options: dict[str, Any]) -> dict[str, Any]:
    return _numbers("CODEL", _codel_values(options))


def _codel_values(options: dict[str, Any]) -> dict[str, int]:
    values = {
        "TARGET": options["target_ns"] // 1000,
        "LIMIT": options["limit_packets"],
        "INTERVAL": options["interval_ns"] // 1000,
        "ECN": int(options["ecn"]),
    }
    if options.get("ce_threshold_ns") is not None:
        values["CE_THRESHOLD"] = options["ce_threshold_ns"] // 1000
    return values


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
    more = {
        "FLOWS": options["flows"],
        "QUANTUM": options["quantum_bytes"],
        "MEMORY_LIMIT": UINT32_MAX,  # the limit in packets is the queue's; this one counts the kernel's overhead
    }
    return _numbers("FQ_CODEL", _codel_values(options) | more)


class PieOptions(nla):
    """What is set of pie; times in microseconds, weights in sixteenths."""

    nla_map = (
        ("TCA_PIE_UNSPEC", "none"),
        ("TCA_PIE_TARGET", "uint32"),
        ("TCA_PIE_LIMIT", "uint32"),
        ("TCA_PIE_TUPDATE", "uint32"),
        ("TCA_PIE_ALPHA", "uint32"),
        ("TCA_PIE_BETA", "uint32"),
        ("TCA_PIE_ECN", "uint32"),
    )


def _pie(options: dict[str, Any]) -> dict[str, Any]:
    return _numbers("PIE", _pie_values(options))


def _pie_values(options: dict[str, Any]) -> dict[str, int]:
    return {
        "TARGET": options["target_ns"] // 1000,
        "LIMIT": options["limit_packets"],
        "TUPDATE": options["update_ns"] // 1000,
        "ALPHA": options["alpha"],
        "BETA": options["beta"],
        "ECN": int(options["ecn"]),
    }


class FqPieOptions(nla):
    """What is set of fq_pie; times in microseconds, weights in sixteenths. It alone insists on the flag."""

    nla_flags = NLA_F_NESTED
    nla_map = (
        ("TCA_FQ_PIE_UNSPEC", "none"),
        ("TCA_FQ_PIE_LIMIT", "uint32"),
        ("TCA_FQ_PIE_FLOWS", "uint32"),
        ("TCA_FQ_PIE_TARGET", "uint32"),
        ("TCA_FQ_PIE_TUPDATE", "uint32"),
        ("TCA_FQ_PIE_ALPHA", "uint32"),
        ("TCA_FQ_PIE_BETA", "uint32"),
        ("TCA_FQ_PIE_QUANTUM", "uint32"),
        ("TCA_FQ_PIE_MEMORY_LIMIT", "uint32"),
        ("TCA_FQ_PIE_ECN_PROB", "uint32"),
        ("TCA_FQ_PIE_ECN", "uint32"),
    )


def _fq_pie(options: dict[str, Any]) -> dict[str, Any]:
    more = {
        "FLOWS": options["flows"],
        "QUANTUM": options["quantum_bytes"],
        "MEMORY_LIMIT": UINT32_MAX,
    }
    return _numbers("FQ_PIE", _pie_values(options) | more)


class SfqOptions(nla):
    """struct tc_sfq_qopt_v1, the part that SFQ without RED reads; period in seconds."""

    fields = (
        ("quantum", "I"), ("perturb_period", "i"), ("limit", "I"), ("divisor", "I"), ("flows", "I"),
        ("depth", "I"), ("headdrop", "I"), ("red_limit", "I"), ("qth_min", "I"), ("qth_max", "I"),
        ("Wlog", "B"), ("Plog", "B"), ("Scell_log", "B"), ("flags", "B"), ("max_P", "I"),
        *((f"statistic{number}", "I") for number in range(6)),
    )  # fmt: skip


SFQ_LIMIT_PACKETS = 65_535  # more the kernel does not number


def _sfq(options: dict[str, Any]) -> dict[str, Any]:
    return {
        "quantum": options["quantum_bytes"],
        "perturb_period": options["perturb_ns"] // 10**9,
        "limit": min(options["limit_packets"], SFQ_LIMIT_PACKETS),
        "flows": options["flows"],
        "depth": options["depth_packets"],
    }


class CakeOptions(nla):
    """What is set of cake; times in microseconds."""

    nla_map = (
        ("TCA_CAKE_UNSPEC", "none"),
        ("TCA_CAKE_PAD", "uint64"),
        ("TCA_CAKE_BASE_RATE64", "uint64"),
        ("TCA_CAKE_DIFFSERV_MODE", "uint32"),
        ("TCA_CAKE_ATM", "uint32"),
        ("TCA_CAKE_FLOW_MODE", "uint32"),
        ("TCA_CAKE_OVERHEAD", "int32"),
        ("TCA_CAKE_RTT", "uint32"),
        ("TCA_CAKE_TARGET", "uint32"),
        ("TCA_CAKE_AUTORATE", "uint32"),
        ("TCA_CAKE_MEMORY", "uint32"),
        ("TCA_CAKE_NAT", "uint32"),
        ("TCA_CAKE_RAW", "uint32"),
        ("TCA_CAKE_WASH", "uint32"),
        ("TCA_CAKE_MPU", "uint32"),
        ("TCA_CAKE_INGRESS", "uint32"),
        ("TCA_CAKE_ACK_FILTER", "uint32"),
        ("TCA_CAKE_SPLIT_GSO", "uint32"),
    )


CAKE_FLOW_MODES = {"flowblind": 0, "hosts": 3, "flows": 4, "triple-isolate": 7}


def _cake(options: dict[str, Any]) -> dict[str, Any]:
    return _numbers(
        "CAKE",
        {
            "BASE_RATE64": 0,  # unlimited: the line below it has the rate
            "FLOW_MODE": CAKE_FLOW_MODES[options["isolation"]],
            "RTT": options["rtt_ns"] // 1000,
            "TARGET": max(options["rtt_ns"] // 20_000, 1),
            "MEMORY": options["memory_bytes"],
            "ACK_FILTER": int(options["ack_filter"]),
            "SPLIT_GSO": 1,
        },
    )


def _numbers(kind: str, values: dict[str, int]) -> dict[str, Any]:
    return {"attrs": [[f"TCA_{kind}_{name}", value] for name, value in values.items()]}


MANAGED: tuple[tuple[str, type[nla], Callable[[dict[str, Any]], dict[str, Any]]], ...] = (
    ("red", RedOptions, _red),
    ("codel", CodelOptions, _codel),
    ("fq_codel", FqCodelOptions, _fq_codel),
    ("pie", PieOptions, _pie),
    ("fq_pie", FqPieOptions, _fq_pie),
    ("sfq", SfqOptions, _sfq),
    ("cake", CakeOptions, _cake),
)
"""Name, layout, and what makes its message of the options that disciplines.py has."""
