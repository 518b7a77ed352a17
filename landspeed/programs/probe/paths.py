"""The path of a probe: two hosts, or a scenario, at the round-trip time, rate and loss that are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from landspeed.base.errors import LandspeedError
from landspeed.judge.sockets.ways import links_between
from landspeed.runs.scenario import Scenario
from landspeed.scenario.plan.plan import Link, Plan

USUAL_RATE = "10 Gbit/s"
ROUTER = "probe-router"


class ProbeError(LandspeedError):
    """A probe was asked for what cannot be; the message says what would be right."""


def usual_path(nodes: Sequence[str]) -> Scenario:
    """Two hosts, a router between them, and lines of 10 Gbit/s that lose nothing: no limit of TCP's but its slow start.

    Nothing can queue there, so both links are passed in one step. (netem alone would take a packet from its socket's
    account without a word: TCP, which holds small writes back while two packets are in its interface's queue, would
    wait for an acknowledgment.)

    Raises:
        ProbeError: there are not two nodes.
    """
    if len(nodes) != 2:
        raise ProbeError(
            f"{len(nodes)} nodes ({', '.join(nodes)}) need a path of your own: name a scenario file. Without one there "
            "are two hosts: that of --at and that of every --serve"
        )
    a, b = nodes
    return Scenario.build(
        format=1,
        name="probe",
        title=f"Two hosts, {USUAL_RATE}",
        mtu="1500 B",
        line_rate=USUAL_RATE,
        hosts={a: {"role": "sender"}, b: {"role": "receiver"}},
        path=[
            {"from": a, "to": ROUTER, "one_way_delay": "1 ms"},
            {"from": ROUTER, "to": b, "one_way_delay": "1 ms"},
        ],
        transfer={"duration": "1 s"},
    )


def at_rtt(
    scenario: Scenario, ends: tuple[str, str], rtt_ns: int, *, rate_bps: int | None = None, loss: float | None = None
) -> Scenario:
    """The scenario with another round-trip time between two nodes: every delay on the way is scaled alike.

    Args:
        scenario: the path.
        ends: the two nodes.
        rtt_ns: of propagation, there and back.
        rate_bps: of the slowest link on the way; None leaves it.
        loss: on that link, in both directions; None leaves it.

    Raises:
        ProbeError: there is no way between the two, or its delays follow a trace.
        ScenarioError: the path cannot have that rate.
    """
    plan = scenario.plan()
    way = _links(plan, *ends)
    if traced := [link for link in way if link.forward.trace or link.reverse.trace]:
        where = f"{traced[0].a} – {traced[0].b}"
        raise ProbeError(f"link {where} follows a trace, which has its own delays; take that away, or another path")
    total = sum(link.forward.delay_ns + link.reverse.delay_ns for link in way)
    key, lines = scenario.loaded.scenario.links_key, scenario.loaded.scenario.all_links
    changes: dict[str, Any] = {}
    for link in way:
        share = (rtt_ns / total) if total else 1 / len(way)
        own = (link.forward.delay_ns, link.reverse.delay_ns) if total else (rtt_ns / 2, rtt_ns / 2)
        ahead, back = (round(each * share) for each in own)
        line, place = lines[link.index], f"{key}.{link.index}"
        if line.rtt is not None:
            changes[f"{place}.rtt"] = None
        changes[f"{place}.one_way_delay"] = f"{ahead} ns"
        if ahead != back or (line.reverse and line.reverse.one_way_delay is not None):
            changes[f"{place}.reverse.one_way_delay"] = f"{back} ns"
    slowest = min(way, key=lambda link: min(link.forward.rate_bps, link.reverse.rate_bps))
    if rate_bps is not None:
        changes[f"{key}.{slowest.index}.line_rate"] = f"{rate_bps} bit/s"
    if loss:
        changes[f"{key}.{slowest.index}.loss"] = f"{loss * 100:.12f} %"
    return scenario.with_(changes)


def _links(plan: Plan, source: str, target: str) -> list[Link]:
    names = [node.name for node in plan.nodes]
    for name in (source, target):
        if name not in names:
            raise ProbeError(f"no node {name!r}; the path has {', '.join(names)}")
    try:
        return links_between(plan, source, target)
    except LookupError as error:
        raise ProbeError(str(error)) from error
