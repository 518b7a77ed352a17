"""A direction whose delays and chances are those of netem: a line of tc as values of the plan, with its table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from landspeed.base.errors import Problem, ScenarioError
from landspeed.base.units import QueueSize
from landspeed.scenario.file.document import KeyPath
from landspeed.scenario.file.load import LoadedScenario
from landspeed.scenario.file.model_links import LinkSection
from landspeed.scenario.file.netem_line import MADE, NetemLine
from landspeed.scenario.plan.direction import Netem
from landspeed.scenario.traces.delay_tables import made_table, read_delays

COUNTED_BYTES = 14  # what netem counts beside an IP packet: its Ethernet header
FRAMING = "netem"  # of a link whose rate is netem's


def netem_values(line: NetemLine) -> dict[str, Any]:
    """Fields of a direction, by the plan's names, that a line says besides delay and rate."""
    correlations: dict[str, Any] = {f"{name}_correlation": share for name, share in line.correlations.items()}
    netem = Netem(
        line=line.text,
        distribution=line.distribution,
        keeps_order=line.rate_bps is not None,
        gap=line.gap,
        limit_packets=line.limit_packets,
        loss_model=line.loss_model,
        loss_chances=list(line.chances),
        **correlations,
    )
    found = {"jitter_ns": line.jitter_ns, "loss": line.loss, **line.shares}
    seed = {} if line.seed is None else {"seed": line.seed}
    return found | seed | {"packet_limit": line.limit_packets, "netem": netem}


def netem_queue(line: NetemLine, mtu_bytes: int) -> QueueSize:
    """The part of a line's limit that waits for its rate: the packets that are not on their way then."""
    frame = mtu_bytes + COUNTED_BYTES
    flying = (line.rate_bps or 0) * line.delay_ns // 8_000_000_000
    return QueueSize(bytes=max(line.limit_packets * frame - flying, frame))


def netem_overhead(link: LinkSection) -> int | None:
    """Bytes that the rates of a link's netem count besides the Ethernet header; None: they have no rate."""
    lines = (link.netem, link.reverse.netem if link.reverse else None)
    return next((line.overhead_bytes for line in lines if line and line.rate_bps), None)


def as_line(plain: dict[str, Any]) -> bool:
    """Return whether a direction is as a line of netem says: what netem makes of it counts, not what would be wise."""
    return bool((netem := plain.get("netem")) and netem.line)


def with_table(
    loaded: LoadedScenario, index: int, plain: dict[str, Any], problems: list[Problem], *, reverse: bool
) -> dict[str, Any]:
    """The values of a direction, with the table of its distribution; what is wrong with that is put to `problems`."""
    netem: Netem | None = plain.get("netem")
    if netem is None or netem.distribution is None:
        return plain
    if netem.distribution in MADE:
        return plain | {"netem": replace(netem, table=made_table(netem.distribution))}
    link, key = loaded.scenario.all_links[index], "netem" if netem.line else "jitter_distribution"
    own = reverse and link.reverse and getattr(link.reverse, key) is not None
    links = loaded.scenario.links_key
    where: KeyPath = (links, index, "reverse", key) if own else (links, index, key)
    try:
        table = read_delays(loaded.file_of(where), netem.distribution, loaded.tree.locate(where))
    except ScenarioError as error:
        problems.extend(each for each in error.problems if all(each.mark != other.mark for other in problems))
        return plain
    return plain | {"netem": replace(netem, table=table)}
