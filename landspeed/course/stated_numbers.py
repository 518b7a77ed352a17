"""Numbers in a lesson's prose: each is stated in the lesson's theory, a value of its scenarios, or a reference.

A number that is none of these is made by nobody. The course is not built with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from landspeed.course.references import RFCS, WORKS
from landspeed.course.stated_figures import NUMBER, StatedText, on_one_line
from landspeed.scenario.file.vary import load_variants
from landspeed.scenario.plan.flow_path import path_of
from landspeed.worlds.registry import plan_for

MADE = re.compile(  # what is no prose: the head, code and its output, comments, targets of links, HTML, headings
    r"\A---\n.*?\n---\n|^```.*?^```$|<!--.*?-->|`[^`\n]+`|\]\([^)\n]*\)|<[^>\n]+>|^#+ [^\n]*$", re.DOTALL | re.MULTILINE
)
ASKED = re.compile(r'lesson\.predict\(\s*"([^"]*)"')
UNITS = r"(?:[kMGTKmµn]?(?:bit/s|i?B/s|i?B|s)|minutes?|hours?|km|packets?|BDP|%)"
QUANTITY = re.compile(rf"(?<![\w.^])(?P<number>{NUMBER})(?:\s?(?P<unit>{UNITS})(?![\w/]))?")
ORDER = re.compile(r"\*\*\d+\.\*\*|\bIPv[46]\b")
RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
FORMULA = re.compile(r"\$\$.*?\$\$|\$.*?\$")
STRUCTURE = re.compile(r"(?<![\d.])\d(?![\d.])")  # of a formula: 3/4, a square, a half


@dataclass(frozen=True)
class ProseNumber:
    """A number of a lesson's prose.

    Attributes:
        unit: the word behind it, if that is a unit.
        around: some words of its line.
    """

    number: str
    unit: str
    start: int
    around: str

    @property
    def quantity(self) -> tuple[float, str]:
        """Value and unit."""
        return _quantity(self.number, self.unit)


def prose(text: str) -> str:
    """The sentences of a lesson and the questions of its boxes, on one line."""
    asked = " ".join(ASKED.findall(text))
    return on_one_line(f"{MADE.sub(' ', text)} {asked}")


def numbers(text: str) -> Iterator[ProseNumber]:
    """Every number of a lesson's prose that is no reference."""
    said = prose(text)
    cited = [found.span() for phrase in _cited() for found in re.finditer(re.escape(phrase), said)]
    cited += [found.span() for found in ORDER.finditer(said)]
    for formula in FORMULA.finditer(said):
        cited += [found.span() for found in STRUCTURE.finditer(said, *formula.span())]
    for found in QUANTITY.finditer(said):
        if not any(begin <= found.start() < end for begin, end in cited):
            around = said[max(0, found.start() - 40) : found.end() + 30]
            unit = found["unit"] or ("B" if said[: found.start()].endswith("MTU ") else "")
            yield ProseNumber(found["number"], unit, found.start(), around)


@cache
def _cited() -> tuple[str, ...]:
    """List what may be cited, the longer before the shorter."""
    return tuple(sorted([*(f"RFC {number}" for number in RFCS), *WORKS], key=len, reverse=True))


def given(folder: Path) -> set[tuple[float, str]]:
    """The quantities of a lesson's scenarios and scripts, and what follows: round trips, sizes of packets."""
    found: set[tuple[float, str]] = set()
    for file in sorted([*folder.glob("*.yaml"), *folder.glob("*.sh")]):
        text = file.read_text(encoding="utf-8")
        if (base := re.search(r"^extends: (\S+)", text, re.MULTILINE)) is not None:
            text += (folder / base[1]).read_text(encoding="utf-8")
        found |= {_quantity(each["number"], each["unit"] or "") for each in QUANTITY.finditer(text)}
    for file in sorted(folder.glob("*.yaml")):
        for _, loaded in load_variants(file):
            plan = plan_for(loaded, "emu", None)
            for flow in plan.flows:
                found.add((round(flow.physics.rtt_ns / 1e6, 6), "ms"))
                found |= {(float(link.mtu_bytes), "B") for link in path_of(plan, flow).links}
    return found


def unmade(text: str, stated: Sequence[StatedText], values: set[tuple[float, str]]) -> list[ProseNumber]:
    """The numbers of a lesson's prose that neither a formula, nor a run, nor a scenario makes."""
    said = prose(text)
    spans = [span for each in stated for span in each.spans(said)]
    return [
        each
        for each in numbers(text)
        if each.quantity not in values and not any(begin <= each.start < end for begin, end in spans)
    ]


def unmade_told(text: str, stated: Sequence[StatedText], folder: Path) -> list[str]:
    """Say what `unmade` finds in a lesson's text, in words."""
    return [
        f"no formula, run or scenario gives the number '{f'{each.number} {each.unit}'.strip()}' "
        f"in '…{each.around}…'; state it in theory.py with computed(…) or measured(…)"
        for each in unmade(text, stated, given(folder))
    ]


def _quantity(number: str, unit: str) -> tuple[float, str]:
    base, power = re.fullmatch(r"(.*?)((?:⁻?[⁰¹²³⁴-⁹]+)?)", number).groups()  # pyright: ignore[reportOptionalMemberAccess]
    value = float(re.sub(r"[ ,\u202f]", "", base).replace("\u2212", "-"))
    return value ** int(power.translate(RAISED) or 1), re.sub(r"^(packet|minute|hour)s$", r"\1", unit)
