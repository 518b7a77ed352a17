"""Queueing disciplines as netlink messages, for pyroute2's table of plugins.

pyroute2 0.9 knows netem and tbf only with 32-bit rates (34 Gbit/s), no seed, delays in ticks, and neither fq nor bfifo.
The layouts below are those of linux/pkt_sched.h; 64-bit values throughout.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyroute2.netlink import nla
from pyroute2.netlink.rtnl import TC_H_ROOT
from pyroute2.netlink.rtnl.tcmsg import plugins, sched_template

from . import netem
from .managed_qdiscs import MANAGED
from .netem import UINT32_MAX, line

LINKLAYER_ETHERNET = 1  # tells tbf that no rate table comes with the request

TCA_LINE = 31  # patch 0013: the attribute's number, netem's and tbf's
TCA_JOINED_END = 29  # patch 0014, netem's; after it comes TCA_NETEM_JOINED


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
        *((f"TCA_NETEM_{number}", "none") for number in range(15, TCA_JOINED_END)),
        ("TCA_NETEM_JOINED_END", "cdata"),
        ("TCA_NETEM_JOINED", "cdata"),
        ("TCA_NETEM_LINE", "cdata"),
    )
    fields = (("latency", "I"), ("limit", "I"), ("loss", "I"), ("gap", "I"), ("duplicate", "I"), ("jitter", "I"))

    class two(nla):  # noqa: N801 (pyroute2 finds it by this name)
        """Probability and correlation."""

        fields = (("probability", "I"), ("correlation", "I"))

    class loss(nla):  # noqa: N801
        """A loss model instead of a plain probability."""

        nla_map = (("NETEM_LOSS_UNSPEC", "none"), ("NETEM_LOSS_GI", "states"), ("NETEM_LOSS_GE", "gemodel"))

        class states(nla):  # noqa: N801
            """struct tc_netem_gimodel: transitions between good and lossy states; the first good one is the start."""

            fields = (("p13", "I"), ("p31", "I"), ("p32", "I"), ("p14", "I"), ("p23", "I"))

        class gemodel(nla):  # noqa: N801
            """struct tc_netem_gemodel: two states, good at first, and what each loses (h: what the bad one lets by)."""

            fields = (("p", "I"), ("r", "I"), ("h", "I"), ("k1", "I"))

    class rate(nla):  # noqa: N801
        """struct tc_netem_rate; bytes per second."""

        fields = (("rate", "I"), ("packet_overhead", "i"), ("cell_size", "I"), ("cell_overhead", "i"))


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
        *((f"TCA_TBF_{number}", "none") for number in range(8, TCA_LINE)),
        ("TCA_TBF_LINE", "cdata"),
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
    if "line" in options:
        attributes.append(["TCA_TBF_LINE", line(options["line"])])
    return {"attrs": attributes}


class FqOptions(nla):
    """The limits of fq; everything else stays as the kernel has it."""

    nla_map = (("TCA_FQ_UNSPEC", "none"), ("TCA_FQ_PLIMIT", "uint32"), ("TCA_FQ_FLOW_PLIMIT", "uint32"))


def _fq(options: dict[str, Any]) -> dict[str, Any]:
    limit = options["limit_packets"]
    return {"attrs": [["TCA_FQ_PLIMIT", limit], ["TCA_FQ_FLOW_PLIMIT", limit]]}


@dataclass(frozen=True)
class _Discipline:
    """An entry of pyroute2's table: the members that it asks for, by its names."""

    parent: int
    options: type[nla]
    get_parameters: Callable[[dict[str, Any]], dict[str, Any]]
    stats: type[nla]
    stats2: type[nla]


def register() -> None:
    """Put these disciplines into pyroute2's table, over its own 32-bit ones."""
    for kind, layout, build in (
        ("netem", NetemOptions, netem.message),
        ("tbf", TbfOptions, _tbf),
        ("fq", FqOptions, _fq),
        *MANAGED,
    ):
        plugins[kind] = _Discipline(
            parent=TC_H_ROOT,
            options=layout,
            get_parameters=build,
            stats=sched_template.stats,
            stats2=sched_template.stats2,
        )
