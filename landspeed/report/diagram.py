"""The path as a drawing (SVG), from the plan: nodes, distances, delays, and where the bottleneck is.

Two forms: wide (left to right, with a ruler that has the delays to scale) and tall (top to bottom, for a phone).
Colours are classes that the page's style sheet defines.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from markupsafe import Markup

from landspeed.base.limits import ACK_PATH, BUS, LINE_RATE
from landspeed.base.text import rate_text
from landspeed.judge.cause_words import word_of

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Link, Node, Plan

MOST_PER_ROW = 14
WIDTH = 1120


@dataclass(frozen=True)
class Bottleneck:
    """The place that bound the run: a node, links (of the way back, `back`), or neither (a window has no place)."""

    node: str | None
    links: frozenset[int]
    text: str
    back: bool = False


def bottleneck(plan: Plan, limited_by: str | None) -> Bottleneck:
    """Find the place on the path of the limit that the judge named, or that the plan expects."""
    limits = sorted(plan.physics.limits, key=lambda each: each.goodput_bps)
    limit = next((each for each in limits if limited_by in (None, word_of(each))), None)
    if limit is None and limited_by == ACK_PATH:  # with acknowledgments that are dropped, theory has no figure of it
        thinnest = min(plan.returned, key=lambda link: link.reverse.rate_bps)
        return Bottleneck(None, frozenset({thinnest.index}), str(limited_by), back=True)
    if limit is None:  # something that theory does not foresee
        return Bottleneck(None, frozenset(), str(limited_by))
    named = f"{limit.name}, {rate_text(limit.goodput_bps)}{limit.after_headers}"
    links = slowest_links(plan) if limit.kind == LINE_RATE else frozenset[int]()
    if limit.kind == ACK_PATH:
        links = frozenset(
            link.index for link in plan.links if limit.place == f"link {link.index + 1} {link.b}–{link.a}"
        )
    return Bottleneck(limit.place if limit.kind == BUS else None, links, named, back=limit.kind == ACK_PATH)


def slowest_links(plan: Plan) -> frozenset[int]:
    """The links that let the least payload through (all that are as slow)."""
    payload = {
        link.index: link.forward.rate_bps * link.mtu_bytes / link.line_bytes(link.mtu_bytes)
        for link in plan.links[: plan.hops]
    }
    least = min(payload.values())
    return frozenset(index for index, rate in payload.items() if rate <= least * 1.0001)


def wide_svg(plan: Plan, limited_by: str | None) -> Markup:
    """The path from left to right, in rows if it is long, and below it the delays to scale; a way back of its own."""
    mark = bottleneck(plan, limited_by)
    if not plan.flow.route_back:
        return _wide(plan, mark)
    there, names = plan.links[: plan.hops], {node.name: node for node in plan.nodes}
    back = [replace(link, a=link.b, b=link.a, forward=link.reverse) for link in plan.returned]
    drawn: list[Markup] = []
    for links, sender in ((there, plan.flow.source), (back, plan.flow.target)):
        nodes = [names[name] for name in (sender, *(link.b for link in links))]
        marked = mark.links if mark.back == (links is back) else frozenset[int]()
        here = frozenset(number for number, link in enumerate(links) if link.index in marked)
        one_way = [replace(link, reverse=link.forward) for link in links]
        alone = replace(plan, nodes=nodes, links=one_way, flows=[replace(plan.flow, route_back=None)])
        drawn.append(_wide(alone, replace(mark, node=mark.node if links is there else None, links=here)))
    return Markup("").join(drawn)


def _wide(plan: Plan, mark: Bottleneck) -> Markup:
    rows = [plan.nodes[begin : begin + MOST_PER_ROW - 1] for begin in range(0, len(plan.nodes), MOST_PER_ROW - 1)]
    if len(rows) > 1 and len(rows[-1]) == 1:
        rows[-2:] = [rows[-2] + rows[-1]]
    height = 194 * len(rows) + 84
    parts: list[Markup] = []
    at = 0
    for number, row in enumerate(rows):
        parts.append(_row(plan, row, at, 194 * number, mark))
        at += len(row)
    parts.append(_ruler(plan, 194 * len(rows) + 6))
    return _svg(WIDTH, height, plan, "wide", parts)


def tall_svg(plan: Plan, limited_by: str | None) -> Markup:
    """The path from top to bottom."""
    mark = bottleneck(plan, limited_by)
    step, x = 54, 26
    parts: list[Markup] = []
    for index, node in enumerate(plan.nodes):
        y = 24 + index * step
        if index < len(plan.links):
            link = plan.links[index]
            kind = "link bottleneck" if index in mark.links else "link"
            parts.append(Markup('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(kind, x, y, x, y + step))
            text = f"{_km(link)}{_one_way(link)} · {rate_text(link.forward.rate_bps)}"
            parts.append(_text(x + 20, y + step / 2 + 5, text, "small"))
        parts.append(_dot(x, y, node, mark))
        parts.append(_text(x + 20, y + 5, node.name, "name"))
    return _svg(360, 24 + (len(plan.nodes) - 1) * step + 24, plan, "tall", parts)


# --- Parts -----------------------------------------------------------------------------------------------------------


def _row(plan: Plan, nodes: list[Node], first: int, top: float, mark: Bottleneck) -> Markup:
    step = min((WIDTH - 125) / max(len(nodes) - 1 + (first + len(nodes) < len(plan.nodes)), 1), 320)
    y, left = top + 116, 40
    parts: list[Markup] = []
    for column, node in enumerate(nodes):
        index, x = first + column, left + column * step
        if index < len(plan.links):
            link = plan.links[index]
            kind = "link bottleneck" if index in mark.links else "link"
            last = column == len(nodes) - 1
            end = x + (step * 0.7 if last else step)
            parts.append(
                Markup('<line class="{}" x1="{:.1f}" y1="{}" x2="{:.1f}" y2="{}"/>').format(kind, x, y, end, y)
            )
            if last:
                parts.append(_text(end + 4, y + 4, "…", "small"))
            middle = (x + end) / 2
            parts.append(_text(middle, y + 26, _km(link).removesuffix(" · "), "small", "middle"))
            parts.append(_text(middle, y + 42, _one_way(link), "small", "middle"))
        parts.append(_dot(x, y, node, mark))
        if mark.node == node.name:
            side = "end" if column == len(nodes) - 1 else "start"
            parts.append(_text(x + (11 if side == "end" else -11), y + 64, mark.text, "bound", side))
        elif index in mark.links and index == min(mark.links):
            parts.append(_text(x, y + 64, mark.text, "bound"))
        label = Markup('<text class="name" transform="translate({:.1f} {}) rotate(-38)">{}</text>')
        parts.append(label.format(x - 2, y - 16, node.name))
    return Markup("").join(parts)


def _ruler(plan: Plan, top: float) -> Markup:
    """One-way delay to scale: where the time goes."""
    total = sum(link.forward.delay_ns for link in plan.links) or 1
    left, width, y = 40.0, WIDTH - 80.0, top + 26
    gap = 1.5
    parts = [_text(left, top + 6, f"one-way delay to scale, {total / 1e6:.2f} ms", "small")]
    at = 0
    for number, link in enumerate(plan.links):
        x, length = left + width * at / total, width * link.forward.delay_ns / total
        at += link.forward.delay_ns
        box = Markup('<rect class="leg{}" x="{:.1f}" y="{}" width="{:.1f}" height="14"><title>{}</title></rect>')
        told = f"{link.a} → {link.b}: {link.forward.delay_ns / 1e6:g} ms"
        parts.append(box.format(number % 2, x, y - 8, max(length - gap, 0.5), told))
        if length > 48:
            parts.append(_text(x + length / 2, y + 22, f"{link.forward.delay_ns / 1e6:.1f} ms", "small", "middle"))
            parts.append(
                _text(x + length / 2, y + 36, f"{link.a} → {link.b}", "small", "middle") if length > 150 else Markup("")
            )
    return Markup("").join(parts)


def _dot(x: float, y: float, node: Node, mark: Bottleneck) -> Markup:
    kind = node.kind + (" bottleneck" if mark.node == node.name else "")
    told = f"{node.name}: {node.label or node.kind}"
    if node.kind == "host":
        shape = Markup('<rect class="{}" x="{:.1f}" y="{}" width="22" height="22" rx="3"><title>{}</title></rect>')
        return shape.format(kind, x - 11, y - 11, told)
    return Markup('<circle class="{}" cx="{:.1f}" cy="{}" r="7"><title>{}</title></circle>').format(kind, x, y, told)


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> Markup:
    shape = Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>')
    return shape.format(kind, x, y, anchor, text)


def _km(link: Link) -> str:
    return f"{link.distance_m / 1e3:,.0f} km · ".replace(",", "\u202f") if link.distance_m else ""


def _one_way(link: Link) -> str:
    forward, reverse = link.forward.delay_ns / 1e6, link.reverse.delay_ns / 1e6
    return f"{forward:.4g} ms" if forward == reverse else f"{forward:.4g}/{reverse:.4g} ms"


def _svg(width: float, height: float, plan: Plan, kind: str, parts: list[Markup]) -> Markup:
    hops = len(plan.nodes) - 2
    told = (
        f"Path from {plan.nodes[0].name} to {plan.nodes[-1].name} over {hops} routers, "
        f"round-trip time {plan.physics.rtt_ns / 1e6:g} ms: " + ", ".join(node.name for node in plan.nodes)
    )
    head = Markup('<svg class="path {}" viewBox="0 0 {} {}" role="img" aria-label="{}">')
    body = Markup("").join(parts)
    return head.format(kind, width, height, told) + body + Markup("</svg>")
