"""The record book's rows and page: every record recorded, emulated and simulated, from plans and bundles alone."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from landspeed.base.text import DASH, NARROW, duration_text, grouped, rate_text, scientific, signed_percent
from landspeed.judge.contest_rules import contest_class, rules_summary
from landspeed.report.page_parts import environment, template_text
from landspeed.results.record import RuleCheck, RunRecord

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Plan

GROUPS = {
    "documents": "Records with their own documents",
    "public": "Later records, from public notices",
    "what if": "What if: today's rates on such paths",
}

# What is kept of a run where its bundle is not.
KEPT_OF_FLOW = {"name", "source", "target", "start_s", "goodput_bps", "steady_goodput_bps", "bytes", "duration_s"}
KEPT: dict[str, Any] = {
    "flows": {"__all__": KEPT_OF_FLOW | {"limited_by", "passed"}},
    **dict.fromkeys(("scenario", "world", "started", "complete", "error", "wall_s", "versions"), True),
    **dict.fromkeys(("score_bit_m_per_s", "rules"), True),
}


@dataclass(frozen=True)
class BookEntry:
    """A record of the book: its plan, and the runs that there are (None: not rehearsed yet)."""

    plan: Plan
    emulated: RunRecord | None = None
    simulated: RunRecord | None = None
    submission: str | None = None  # path of its submission page, relative to the book
    simulated_transfer: dict[str, Any] | None = None  # what was simulated, of a kept book, which has no plan of it


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
    checks: list[RuleCheck] = field(default_factory=list[RuleCheck])
    why: str = ""
    emulated_more: str = ""


def book_row(entry: BookEntry) -> BookRow:
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


def _simulated(entry: BookEntry, recorded: float | None) -> str:
    run = entry.simulated
    if run is None or not run.complete or run.goodput_bps is None:
        return DASH
    transfer = entry.simulated_transfer or _sent(run)
    whole = (transfer.get("bytes"), transfer.get("duration_ns")) == (
        entry.plan.transfer.bytes,
        entry.plan.transfer.duration_ns,
    )
    steady = None if whole else run.steady_goodput_bps  # a part's mean has too much of the start in it
    if not whole and steady is None:
        return f"not simulated to a steady state ({run.duration_s or 0:.3g} s)"
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
    return f"predicted: {plan.physics.expected_bottleneck.kind}"


def render_book(entries: list[BookEntry], facts: dict[str, str]) -> str:
    """The book as one page.

    Args:
        entries: in any order; they are shown by group and date.
        facts: what to say of the making (date, versions, command, wall time), in order.
    """
    from markupsafe import Markup

    style = Markup(template_text("page.css"))
    template = environment().get_template("record-book.html.j2")
    return template.render(groups=book_groups(entries), facts=facts, style=style)


def book_groups(entries: list[BookEntry]) -> list[tuple[str, list[BookRow]]]:
    """(Title, rows by date) of each group that has any."""
    groups: list[tuple[str, list[BookRow]]] = []
    for key, title in GROUPS.items():
        chosen = [(e.plan.contest.date, e.plan.scenario, e) for e in entries if e.plan.contest]
        chosen = [each for each in chosen if each[2].plan.contest and each[2].plan.contest.basis == key]
        rows = [book_row(entry) for _, _, entry in sorted(chosen, key=lambda each: each[:2])]
        if rows:
            groups.append((title, rows))
    return groups


def book_json(entries: list[BookEntry], facts: dict[str, str]) -> str:
    """Write the book's facts of its runs, to be kept where the bundles are not: JSON, a line for each record."""
    runs = {
        entry.plan.scenario: {
            world: _kept(run)
            for world, run in (("emulated", entry.emulated), ("simulated", entry.simulated))
            if run is not None
        }
        for entry in entries
    }
    lines = ",\n".join(f"{_json(name)}: {_json(worlds)}" for name, worlds in runs.items())
    return f'{{"facts": {_json(facts)},\n"runs": {{\n{lines}\n}}}}\n'


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def book_entries(text: str, plans: Iterable[Plan]) -> tuple[list[BookEntry], dict[str, str]]:
    """(Entries, facts) of a kept book.

    Args:
        text: what `book_json` gave.
        plans: of the records; one that the text does not have is an entry without runs.
    """
    kept = json.loads(text)
    runs = {
        name: {world: RunRecord.model_validate({**run, "plan": None}) for world, run in worlds.items()}
        for name, worlds in kept["runs"].items()
    }
    simulated = {name: worlds["simulated"] for name, worlds in kept["runs"].items() if "simulated" in worlds}
    sent = {name: run["plan"]["transfer"] for name, run in simulated.items()}
    entries = [
        BookEntry(plan, run.get("emulated"), run.get("simulated"), simulated_transfer=sent.get(plan.scenario))
        for plan, run in ((plan, runs.get(plan.scenario, {})) for plan in plans)
    ]
    return entries, kept["facts"]


def _kept(run: RunRecord) -> dict[str, Any]:
    data = run.model_dump(mode="json", include=KEPT, exclude_none=True)
    return {**data, "plan": {"transfer": _sent(run)}}


def _sent(run: RunRecord) -> dict[str, Any]:
    """Return the transfer of a run's plan as JSON values."""
    return run.plan.to_dict()["flows"][0]["transfer"] if run.plan else {}
