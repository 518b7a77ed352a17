"""What was found, as a table on a terminal or in a page."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .bbr_cases import Case, Step
from .question import Asked, Finding, Unasked

SIGN = {True: "green", False: "red"}
TITLE = {"emu": "Emulated", "sim": "Simulated"}


@dataclass
class Found:
    """Everything about one rate class, IP version and fidelity in one world."""

    asked: Asked
    findings: list[Finding]
    unasked: list[Unasked] = field(default_factory=list[Unasked])


def worst(findings: Iterable[Finding]) -> Finding:
    """The one that uses up most of what it may."""
    return max(findings, key=lambda each: (not each.ok, _share(each)))


def _share(finding: Finding) -> float:
    off = abs(finding.seen - finding.theory)
    return off / finding.allowed if finding.allowed else float(off > 0)


def by_question(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """In the order in which they were asked."""
    found: dict[str, list[Finding]] = {}
    for each in findings:
        found.setdefault(each.question, []).append(each)
    return found


def lines(found: Found) -> list[str]:
    """For a terminal: each question once, with its worst figure."""
    said = [f"{found.asked}"]
    for question, findings in by_question(found.findings).items():
        one = worst(findings)
        seen, theory = (f"{value:.9g}{' ' + one.unit if one.unit else ''}" for value in (one.seen, one.theory))
        count = f" (worst of {len(findings)})" if len(findings) > 1 else ""
        said.append(f"  {SIGN[one.ok]:5} {question}: {seen}, theory {theory} ± {one.allowed:.3g}, {one.off}{count}")
    said += [f"  -     {each.question}: not asked: {each.why}" for each in found.unasked]
    return said


def page(all_found: Sequence[Found]) -> str:
    """Markdown: for each world a table of questions by rate classes, of the worst over IP versions and fidelities."""
    parts: list[str] = []
    for world in dict.fromkeys(found.asked.world for found in all_found):
        of_world = [found for found in all_found if found.asked.world == world]
        rates = list(dict.fromkeys(found.asked.rate for found in of_world))
        figures = sum(len(found.findings) for found in of_world)
        red = sum(not each.ok for found in of_world for each in found.findings)
        parts += [f"## {TITLE[world]}", "", f"{figures} figures, {red} of them red.", ""]
        parts += ["| question | " + " | ".join(rates) + " | allowed |", "|---|" + "---|" * (len(rates) + 1)]
        questions = dict.fromkeys(each.question for found in of_world for each in found.findings)
        for question in questions:
            cells, told = [], list[Finding]()
            for rate in rates:
                here = [each for found in of_world if found.asked.rate == rate for each in found.findings]
                here = [each for each in here if each.question == question]
                told += here
                cells.append(_cell(worst(here)) if here else "–")
            parts.append(f"| {question} | " + " | ".join(cells) + f" | {_allowed(worst(told))} |")
        reasons = {each.question: each.why for found in of_world for each in found.unasked}
        parts += ["", *(f"- Not asked: {question}: {why}." for question, why in reasons.items()), ""]
    return "\n".join(parts)


def _cell(finding: Finding) -> str:
    return finding.off if finding.ok else f"**red** {finding.off}"


def _allowed(finding: Finding) -> str:
    return finding.why or ("exact" if not finding.allowed else f"± {finding.allowed:.3g} {finding.unit}".strip())


def case_lines(carried: Sequence[tuple[Case, list[Step]]]) -> list[str]:
    """The BBR draft's cases, for a terminal."""
    said: list[str] = []
    for number, (case, steps) in enumerate(carried, start=1):
        said.append(f"{SIGN[all(step.ok for step in steps)]:5} {number}. {case.title}")
        for step in steps:
            reason = "" if step.ok else f": {step.why or 'THIS MUST NOT BE'}"
            said.append(f"        {SIGN[step.ok]:5} {step.wanted}: {step.seen}{reason}")
    return said


def case_page(carried: Sequence[tuple[Case, list[Step]]]) -> str:
    """The same as Markdown."""
    green = sum(all(step.ok for step in steps) for _, steps in carried)
    parts = [
        f"{len(carried)} cases, {green} green.",
        "",
        "| case | | asked for | seen | reason |",
        "|---|---|---|---|---|",
    ]
    for case, steps in carried:
        title = f"{case.title} | {SIGN[all(step.ok for step in steps)]}"
        for step in steps:
            sign = "" if step.ok else "**red** "
            parts.append(
                f"| {title} | {step.wanted} | {sign}{step.seen} | {'' if step.ok else step.why or 'unknown'} |"
            )
            title = " |"
    return "\n".join(parts)
