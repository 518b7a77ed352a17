"""A plan of a network for people: its links, its flows, and what theory says of each flow alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from landspeed.base.units import RATE, SIZE, TIME, format_exact, format_round
from landspeed.base.units_text import time_text
from landspeed.scenario.plan.direction import Direction
from landspeed.scenario.plan.flow_path import path_of, subflows
from landspeed.scenario.plan.plan import Flow, Link, Plan, Transfer
from landspeed.scenario.plan.routing import bottleneck_shares
from landspeed.scenario.theory.timing import echo_ns, path_mtu

MOST_NODES = 6  # of a route that are written out


def network_view(plan: Plan, notes: Sequence[tuple[str, str, str]] = ()) -> RenderableType:
    """Links and flows as tables that fit a terminal."""
    facts = f"{plan.scenario} · IPv{plan.ip_version} · {plan.fidelity} · seed {plan.seed}"
    counts = f"{len(plan.nodes)} nodes, {len(plan.links)} links, {len(plan.flows)} flow{'s' if plan.flows[1:] else ''}"
    parts: list[RenderableType] = [Text(plan.title, style="bold"), Text(f"{facts} · {counts}", style="dim"), Text()]
    parts += [_links(plan), Text("→ as the link is written, ← back; (queue): none can form", style="dim")]
    parts += [Text(), Text("Flows", style="bold"), _flows(plan)]
    parts.append(Text("expected: of each flow alone, without the others", style="dim"))
    if notes:
        table = _table("", "", "")
        for row in notes:
            table.add_row(*row)
        parts += [Text(), table]
    return Group(*parts)


def _table(*names: str) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold", show_header=any(names))
    for name in names:
        table.add_column(name, overflow="fold")
    return table


def _links(plan: Plan) -> Table:
    table, shares = _table("#", "link", "delay", "line rate", "queue", "flows"), bottleneck_shares(plan)
    for link in plan.links:
        name = Text(f"{link.a} – {link.b}" + (f" ({link.name})" if link.name else ""))
        routes = [{*each.route, *(each.route_back or ())} for flow in plan.flows for each in subflows(flow)]
        passing = shares.get(link.index, sum(link.index in route for route in routes))
        table.add_row(
            str(link.index + 1),
            name,
            _both(link, lambda direction: time_text(direction.delay_ns)),
            _both(link, lambda direction: format_exact(RATE, direction.rate_bps)),
            _both(link, _queue),
            str(passing),
        )
    return table


def _queue(direction: Direction) -> str:
    size = format_round(SIZE, direction.queue_bytes, 3)
    kept = "" if direction.discipline == "fifo" else f" {direction.discipline}"
    return f"{size}{kept}" if direction.can_queue else f"({size}{kept})"


def _flows(plan: Plan) -> Table:
    table = _table("flow", "route", "sends", "start", "RTT", "expected", "expected limit")
    for flow in plan.flows:
        paths = [path_of(plan, each) for each in subflows(flow)]
        back = _way_back(plan, flow, paths[0])
        table.add_row(
            Text(flow.name, style="cyan"),
            "\n".join([*(_route([node.name for node in each.nodes[: each.hops + 1]]) for each in paths), *back]),
            _sends(flow),
            f"{flow.start_ns / 1e9:g} s",
            "\n".join(time_text(echo_ns(path)) for path in paths),
            format_round(RATE, flow.physics.expected_goodput_bps),
            flow.physics.expected_bottleneck.kind,
        )
    return table


def _route(names: list[str]) -> str:
    if len(names) > MOST_NODES:
        names = [*names[:2], f"… {len(names) - 4} …", *names[-2:]]
    return " → ".join(names)


def _way_back(plan: Plan, flow: Flow, path: Plan) -> Iterator[str]:
    """Yield the links of a flow's own way, and the nodes or links over which answers come that data does not pass."""
    if flow.own_way and (named := [plan.links[index].name for index in flow.route if plan.links[index].name]):
        yield "over " + ", ".join(map(str, named))
    if path.flow.route_back:
        yield f"back {_route([link.b for link in path.returned] + [flow.source])}"
        ahead = sum(link.forward.delay_ns for link in path.links)
        back = sum(link.reverse.delay_ns for link in path.links)
        there, returns = path_mtu(path), path_mtu(path, forward=False)
        mtu = f"MTU {there} B" if there == returns else f"MTU {there} and {returns} B"
        yield f"{time_text(ahead)} there, {time_text(back)} back; {mtu}"
    elif others := [index for index in flow.route_back or () if index not in flow.route]:
        yield "back over " + ", ".join(plan.links[index].name or f"link {index + 1}" for index in others)


def _sends(flow: Flow) -> str:
    transfer = flow.transfer
    amount = f"{(transfer.duration_ns or 0) / 1e9:g} s"
    if transfer.bytes is not None:
        amount = format_round(SIZE, transfer.bytes)
    kind = "MPTCP, " if transfer.mptcp else ""
    return f"{kind}{sends_words(transfer)}, {amount}"


def sends_words(transfer: Transfer) -> str:
    """Words for what a flow sends: streams and controls of TCP, or rate and size of datagrams."""
    if transfer.protocol == "tcp":
        controls = ", ".join(transfer.congestion_controls or [transfer.congestion_control])
        return f"{transfer.streams} × {controls}"
    text = f"UDP {format_exact(RATE, transfer.rate_bps or 0)} of {transfer.packet_bytes} B"
    if transfer.call:
        text = f"UDP, a call ({transfer.call.upper()})"
    if transfer.active_ns and transfer.idle_ns:
        text += f", {format_exact(TIME, transfer.active_ns)} on and {format_exact(TIME, transfer.idle_ns)} off"
    return text


def _both(link: Link, show: Callable[[Direction], str]) -> str:
    ahead, back = show(link.forward), show(link.reverse)
    return ahead if ahead.strip("()") == back.strip("()") else f"{ahead}\n← {back}"
