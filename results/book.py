"""The record book's rows and page: every record recorded, emulated and simulated, from plans and bundles alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .page import environment, template_text
from .record import RunRecord
from .rules import contest_class, rules_summary
from .wording import DASH, NARROW, duration_text, grouped, rate_text, scientific, signed_percent

if TYPE_CHECKING:
    from ..scenarios.plan import Plan

GROUPS = {
    "documents": "Records with their own documents",
    "public": "Later records, from public notices",
    "what if": "What if: today's rates on such paths",
}


@dataclass(frozen=True)
class Entry:
    """A record of the book: its plan, and the runs that there are (None: not rehearsed yet)."""

    plan: Plan
    emulated: RunRecord | None = None
    simulated: RunRecord | None = None
    submission: str | None = None  # path of its submission page, relative to the book


@dataclass(frozen=True)
class BookRow:
    """One line of the book, as text; `state` is good, bad or open."""

    date: str
    title: str
    scenario: str
    category: str
    path: str
    recorded: str
    emulated: str
    difference: str
    simulated: str
    basis: str
    bound_recorded: str
    bound_emulated: str
    score: str
    rules: str
    wall: str
    state: str
    submission: str | None
    checks: list[Any] = field(default_factory=list)
    why: str = ""
    emulated_more: str = ""


def book_row(entry: Entry) -> BookRow:
    """The line of an entry."""
    plan, run = entry.plan, entry.emulated
    expect, contest = plan.expect, plan.contest
    assert contest is not None
    recorded = expect.goodput_bps if expect else None
    known = run is not None and run.complete
    measured = run.goodput_bps if run is not None and known else None
    distance = expect.distance_m if expect and expect.distance_m else plan.physics.distance_m
    km = f"{distance / 1000:,.0f}".replace(",", NARROW) + " km" if distance else ""
    rtt = f"{plan.physics.rtt_ns / 1e6:g} ms"
    state = "open" if run is None else "good" if known and run.passed else "bad"
    more = ""
    if run is not None and known:
        more = f"{grouped((run.bytes or 0) / 1e6)} MB in {run.duration_s or 0:.1f} s"
        whole = expect.duration_ns if expect else None
        if whole and (run.duration_s or 0) < 0.9 * whole / 1e9:
            more += f", a part of the record's {whole / 1e9:g} s"
    return BookRow(
        date=contest.date,
        title=plan.title,
        scenario=plan.scenario,
        category=contest_class(plan),
        path=f"{_ends(plan)}, {km}, {rtt}, {len(plan.links)} links, {min(link.mtu_bytes for link in plan.links)} B",
        recorded=rate_text(recorded),
        emulated=rate_text(measured) if run is not None else "not rehearsed",
        difference=signed_percent(measured / recorded - 1, 2) if measured and recorded else DASH,
        simulated=_simulated(entry, recorded),
        basis=_basis(plan),
        bound_recorded=contest.bound_by if contest.basis != "what if" else DASH,
        bound_emulated=(run.limited_by or DASH) if run is not None else DASH,
        score=scientific(run.score_bit_m_per_s, 3) if run is not None else DASH,
        rules=rules_summary(run.rules) if run is not None and run.rules else DASH,
        wall=duration_text(run.wall_s) if run is not None else DASH,
        state=state,
        submission=entry.submission,
        checks=list(run.rules) if run is not None else [],
        why=(contest.bound_why or "").strip(),
        emulated_more=more,
    )


def _ends(plan: Plan) -> str:
    return " – ".join(node.place or node.name for node in (plan.nodes[0], plan.nodes[-1]))


def _simulated(entry: Entry, recorded: float | None) -> str:
    run = entry.simulated
    if run is None or not run.complete or run.goodput_bps is None:
        return DASH
    transfer = (run.plan or {}).get("transfer", {})
    whole = (transfer.get("bytes"), transfer.get("duration_ns")) == (
        entry.plan.transfer.bytes,
        entry.plan.transfer.duration_ns,
    )
    steady = None if whole else run.steady_goodput_bps  # a part's mean has too much of the start in it
    rate = steady or run.goodput_bps
    span = f"{run.duration_s or 0:.3g} s"
    span += ", whole" if whole else ", from 10 s on" if steady else ""
    apart = f"; {signed_percent(rate / recorded - 1, 2)}" if recorded else ""
    return f"{rate_text(rate)} ({span}{apart})"


def _basis(plan: Plan) -> str:
    """Predicted or fitted, and from what."""
    if plan.contest is not None and plan.contest.basis == "what if":
        return "prediction; nothing to compare with"
    fitted = [node.name for node in plan.nodes if node.bus_fitted]
    if fitted:
        return f"fitted: host limit of {', '.join(fitted)}"
    return f"predicted: {plan.physics.expected_bottleneck.split(' of ')[0]}"


def render_book(entries: list[Entry], facts: dict[str, str]) -> tuple[str, str]:
    """(HTML, Markdown) of the book.

    Args:
        entries: in any order; they are shown by group and date.
        facts: what to say of the making (date, versions, command, wall time), in order.
    """
    from markupsafe import Markup

    groups = []
    for key, title in GROUPS.items():
        chosen = [(e.plan.contest.date, e.plan.scenario, e) for e in entries if e.plan.contest]
        chosen = [each for each in chosen if each[2].plan.contest and each[2].plan.contest.basis == key]
        rows = [book_row(entry) for _, _, entry in sorted(chosen, key=lambda each: each[:2])]
        if rows:
            groups.append((title, rows))
    style = Markup(template_text("page.css"))
    html = environment().get_template("record-book.html.j2").render(groups=groups, facts=facts, style=style)
    return html, _markdown(groups, facts)


def _markdown(groups: list[tuple[str, list[BookRow]]], facts: dict[str, str]) -> str:
    lines = ["# Record book", ""]
    lines += ["Every record of `scenarios/records/`, rehearsed. Made by a command; do not edit:", ""]
    lines += [f"- {name}: {text}" for name, text in facts.items()]
    head = ["date", "class", "path", "recorded", "emulated", "difference", "simulated", "predicted or fitted"]
    head += ["bound the record (its documents)", "bound the rehearsal", "score (bit·m/s)", "rules", "wall time"]
    for title, rows in groups:
        lines += ["", f"## {title}", "", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        for row in rows:
            emulated = f"{row.emulated} ({row.emulated_more})" if row.emulated_more else row.emulated
            cells = [row.date, row.category, f"`{row.scenario}`: {row.path}", row.recorded, emulated]
            cells += [row.difference, row.simulated, row.basis, row.bound_recorded, row.bound_emulated, row.score]
            cells += [row.rules, row.wall]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
