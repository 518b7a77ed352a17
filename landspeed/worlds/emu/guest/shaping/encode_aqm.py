"""Disciplines that manage a queue, as bytes; encode_qdisc.py has those of every kind.

The layouts are those of linux/pkt_sched.h. Times in microseconds, PIE's weights in sixteenths.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

from landspeed.worlds.emu.guest.network.netlink import attribute

UINT32_MAX = (1 << 32) - 1
TC_RED_ECN = 1
RED_TABLE = 256
RED_PARMS, RED_STAB, RED_MAX_P = 1, 2, 3
CODEL = {"target": 1, "limit": 2, "interval": 3, "ecn": 4, "ce_threshold": 5}
FQ_CODEL = {**CODEL, "flows": 5, "quantum": 6, "ce_threshold": 7, "memory": 9}
PIE = {"target": 1, "limit": 2, "update": 3, "alpha": 4, "beta": 5, "ecn": 6}
FQ_PIE = {"limit": 1, "flows": 2, "target": 3, "update": 4, "alpha": 5, "beta": 6, "quantum": 7, "memory": 8, "ecn": 10}
DUALPI2 = {"limit": 1, "target": 3, "update": 4, "alpha": 5, "beta": 6, "step_us": 8}
DUALPI2_BYTES = {"coupling": 10, "classic_share": 13}
SFQ_LIMIT_PACKETS = 65_535  # more the kernel does not number
CAKE_BASE_RATE64 = 2
CAKE = {"flow_mode": 5, "rtt": 7, "target": 8, "memory": 10, "ack_filter": 16, "split_gso": 17}
CAKE_FLOW_MODES = {"flowblind": 0, "hosts": 3, "flows": 4, "triple-isolate": 7}


def _numbers(numbers: dict[str, int], values: dict[str, int]) -> bytes:
    return b"".join(attribute(numbers[name], value) for name, value in values.items())


def _red(options: dict[str, Any]) -> bytes:
    """struct tc_red_qopt, the table for idle times, the probability."""
    cell_log, table = red_idle_table(options["weight_log"], options["packet_us"])
    parameters = struct.pack(
        "=IIIBBBB",
        min(options["limit_bytes"], UINT32_MAX),
        options["min_bytes"],
        options["max_bytes"],
        options["weight_log"],
        0,
        cell_log,
        TC_RED_ECN if options["ecn"] else 0,
    )
    said = attribute(RED_PARMS, parameters) + attribute(RED_STAB, table)
    return said + attribute(RED_MAX_P, min(round(options["probability"] * 2**32), UINT32_MAX))


def red_idle_table(weight_log: int, packet_us: float) -> tuple[int, bytes]:
    """Compute RED's table of how many times its average halves while idle: (1 - w)^(idle time / time of a packet).

    Returns:
        step of the table in microseconds as a power of two, so that its end is where the average has all but gone; the
        powers, at most 31 as the kernel has it.
    """
    if weight_log == 0:
        return 0, bytes([0] + [31] * (RED_TABLE - 1))  # the average is the queue, and gone with it
    halving_us = packet_us / -math.log2(1 - 2.0**-weight_log)  # the average halves in this time
    cell_log = max(0, math.ceil(math.log2(max(halving_us * 31 / RED_TABLE, 1))))
    return cell_log, bytes(min(31, int((cell << cell_log) / halving_us)) for cell in range(RED_TABLE))


def _codel(options: dict[str, Any]) -> bytes:
    return _numbers(CODEL, _codel_values(options))


def _codel_values(options: dict[str, Any]) -> dict[str, int]:
    values = {
        "target": options["target_ns"] // 1000,
        "limit": options["limit_packets"],
        "interval": options["interval_ns"] // 1000,
        "ecn": int(options["ecn"]),
    }
    if options.get("ce_threshold_ns") is not None:
        values["ce_threshold"] = options["ce_threshold_ns"] // 1000
    return values


def _fq_codel(options: dict[str, Any]) -> bytes:
    # The limit in packets is the queue's; that of memory counts the kernel's overhead.
    more = {"flows": options["flows"], "quantum": options["quantum_bytes"], "memory": UINT32_MAX}
    return _numbers(FQ_CODEL, _codel_values(options) | more)


def _pie(options: dict[str, Any]) -> bytes:
    return _numbers(PIE, _pie_values(options))


def _pie_values(options: dict[str, Any]) -> dict[str, int]:
    return {
        "target": options["target_ns"] // 1000,
        "limit": options["limit_packets"],
        "update": options["update_ns"] // 1000,
        "alpha": options["alpha"],
        "beta": options["beta"],
        "ecn": int(options["ecn"]),
    }


def _fq_pie(options: dict[str, Any]) -> bytes:
    more = {"flows": options["flows"], "quantum": options["quantum_bytes"], "memory": UINT32_MAX}
    return _numbers(FQ_PIE, _pie_values(options) | more)


def _dualpi2(options: dict[str, Any]) -> bytes:
    """Packets as large as the link's, each for itself: it splits what is larger (split_gso, the kernel's default)."""
    values = {
        "limit": options["limit_packets"],
        "target": options["target_ns"] // 1000,
        "update": options["update_ns"] // 1000,
        "alpha": options["alpha"],
        "beta": options["beta"],
        "step_us": options["ce_threshold_ns"] // 1000,
    }
    small = (attribute(number, bytes([options[name]])) for name, number in DUALPI2_BYTES.items())
    return _numbers(DUALPI2, values) + b"".join(small)


def _sfq(options: dict[str, Any]) -> bytes:
    """struct tc_sfq_qopt_v1; all that RED in it would have is 0."""
    said = struct.pack(
        "=IiIIIII",
        options["quantum_bytes"],
        options["perturb_ns"] // 10**9,
        min(options["limit_packets"], SFQ_LIMIT_PACKETS),
        0,  # the kernel chooses how many buckets there are
        options["flows"],
        options["depth_packets"],
        0,
    )
    return said + bytes(12 + 4 + 4 + 24)


def _cake(options: dict[str, Any]) -> bytes:
    values = {
        "flow_mode": CAKE_FLOW_MODES[options["isolation"]],
        "rtt": options["rtt_ns"] // 1000,
        "target": max(options["rtt_ns"] // 20_000, 1),
        "memory": options["memory_bytes"],
        "ack_filter": int(options["ack_filter"]),
        "split_gso": 1,
    }
    # No rate: the line below it has one.
    return attribute(CAKE_BASE_RATE64, struct.pack("=Q", 0)) + _numbers(CAKE, values)


MADE_BY: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "red": _red,
    "codel": _codel,
    "fq_codel": _fq_codel,
    "pie": _pie,
    "fq_pie": _fq_pie,
    "dualpi2": _dualpi2,
    "sfq": _sfq,
    "cake": _cake,
}
