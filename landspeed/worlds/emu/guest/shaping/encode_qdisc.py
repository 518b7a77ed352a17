"""Options of each queueing discipline as bytes, in the layouts of linux/pkt_sched.h; 64-bit values throughout."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from landspeed.worlds.emu.guest.network.netlink import NESTED, TCA_OPTIONS, attribute
from landspeed.worlds.emu.guest.shaping import encode_aqm as managed
from landspeed.worlds.emu.guest.shaping.direction_options import VETH_HEADER_BYTES
from landspeed.worlds.emu.guest.shaping.encode_netem import TCA_LINE, UINT32_MAX, line, message

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Link

TCA_STAB = 8
LINKLAYER_ETHERNET = 1  # tells tbf that no rate table comes with the request

TBF_PARMS, TBF_RATE64, TBF_BURST = 1, 4, 6
FQ = {"limit_packets": (1, 2), "paces": (5,), "timer_slack_ns": (13,), "horizon_us": (14,)}  # fq's attributes


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
    """Options as given, the limit of all packets for each flow, too; everything else stays as the kernel has it."""
    return b"".join(attribute(number, value) for name, value in options.items() for number in FQ[name])


def size_table(link: Link) -> bytes:
    """Attribute with what each packet counts as, from its root on: what it takes of a line that pads (TCA_STAB).

    struct tc_sizespec: cell_log, size_log, cell_align, overhead, linklayer, mpu, mtu, tsize; an entry for each length.
    """
    if not link.pads:
        return b""
    count = VETH_HEADER_BYTES + link.mtu_bytes + 1
    lengths = [link.line_bytes(max(length - VETH_HEADER_BYTES, 0)) for length in range(count)]
    base = struct.pack("=BBhiIIII", 0, 0, 0, 0, 0, 0, link.mtu_bytes, count)
    data = struct.pack(f"={count}H", *lengths)
    return attribute(TCA_STAB | NESTED, attribute(1, base) + attribute(2, data))


MADE_BY: dict[str, Callable[[dict[str, Any]], bytes]] = {"netem": message, "tbf": _tbf, "fq": _fq, **managed.MADE_BY}


def options_of(kind: str, **options: Any) -> bytes:
    """The attribute with a discipline's options."""
    flag = NESTED if kind in ("fq_pie", "dualpi2") else 0  # these insist on the flag
    return attribute(TCA_OPTIONS | flag, MADE_BY[kind](options))
