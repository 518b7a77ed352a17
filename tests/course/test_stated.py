"""Figures in lessons' running text: each is what its formula gives, and one that is changed by hand is found."""

import random
import re
from collections.abc import Iterator

import pytest

from landspeed.course.comparison import FigurePoint
from landspeed.course.lesson_run import LessonRun
from landspeed.course.stated_figures import NUMBER, StatedText, computed, measured, thousands
from landspeed.course.stated_numbers import given, numbers, prose, unmade, unmade_told
from landspeed.scenario.file.vary import load_variants
from landspeed.worlds.registry import plan_for
from tests.support.lessons import LESSONS

STATED = [(name, each) for name, lesson in LESSONS.items() for each in lesson.stated]
COMPUTED = [(name, each) for name, each in STATED if not each.key]


@pytest.mark.parametrize(("name", "each"), COMPUTED, ids=[f"{name}: {each.sentence[:40]}" for name, each in COMPUTED])
def test_a_lesson_says_what_is_computed(name: str, each: StatedText) -> None:
    assert each.failure(LESSONS[name].text) is None


def test_what_is_measured_is_of_a_comparison_of_the_lesson() -> None:
    for name, each in STATED:
        assert not each.key or each.key in LESSONS[name].comparisons, each.sentence


@pytest.fixture(scope="module")
def values() -> dict[str, set[tuple[float, str]]]:
    """What the scenarios of each lesson give."""
    return {name: given(lesson.folder) for name, lesson in LESSONS.items()}


def mutants() -> Iterator[tuple[str, StatedText, str]]:
    """A lesson's text with one figure of one sentence changed."""
    for name, each in COMPUTED:
        text = " ".join(LESSONS[name].text.split())
        right = " ".join(each.right().split())
        for found in re.finditer(r"\d", right):
            other = str((int(found[0]) + 1) % 10)
            yield name, each, text.replace(right, right[: found.start()] + other + right[found.end() :])


def test_a_figure_that_is_changed_by_hand_is_found() -> None:
    """Digit by digit, of every sentence; and those are many."""
    kept = [(name, each.sentence) for name, each, text in mutants() if each.failure(text) is None]
    assert kept == []
    assert len(list(mutants())) >= 100


def test_every_number_of_every_lesson_is_made(values: dict[str, set[tuple[float, str]]]) -> None:
    """By a formula or a run beside it, or by the lesson's scenarios; or it is of a reference that is known."""
    loose = {name: unmade(lesson.text, lesson.stated, values[name]) for name, lesson in LESSONS.items()}
    assert {name: each for name, each in loose.items() if each} == {}
    assert sum(1 for lesson in LESSONS.values() for _ in numbers(lesson.text)) >= 450


def test_titles_of_figures_have_the_values_of_their_scenarios(values: dict[str, set[tuple[float, str]]]) -> None:
    for name, lesson in LESSONS.items():
        constants = {value for value in vars(lesson.theory).values() if isinstance(value, int | float)}
        titles = " | ".join(one.title for one in lesson.comparisons.values())
        assert [e.around for e in unmade(titles, (), values[name]) if e.quantity[0] not in constants] == [], name


def test_thirty_numbers_that_are_changed_by_hand_are_found(values: dict[str, set[tuple[float, str]]]) -> None:
    """One digit of any number of any lesson, drawn by chance: what a formula or a scenario gives differs then.

    What a run gives is compared where the lesson is made (tests/course/test_pages.py changes one of these).
    """
    chance, changed = random.Random(38), []
    while len(changed) < 30:
        lesson = chance.choice(list(LESSONS.values()))
        said = prose(lesson.text)
        of_runs = [span for each in lesson.stated if each.key for span in each.spans(said)]
        every = [each for each in numbers(lesson.text) if not any(a <= each.start < b for a, b in of_runs)]
        one = chance.choice(every)
        place = one.start + chance.choice([i for i, c in enumerate(one.number) if c in "0123456789"])
        mutant = said[:place] + str((int(said[place]) + chance.randrange(1, 9)) % 10) + said[place + 1 :]
        right = [prose(each.right()) for each in lesson.stated if not each.key]
        found = any(each in said and each not in mutant for each in right)
        changed.append((lesson.name, one.around, found or bool(unmade(mutant, lesson.stated, values[lesson.name]))))
    assert [each for each in changed if not each[-1]] == []


def test_an_rfc_that_is_cited_wrongly_is_found(values: dict[str, set[tuple[float, str]]]) -> None:
    lesson = LESSONS["queues"]
    wrong = lesson.text.replace("McKeown 2004", "McKeown 2005")
    assert [each.number for each in unmade(wrong, lesson.stated, values["queues"])] == ["2005"]
    told = unmade_told("It is 42 ms away (RFC 7324).", (), lesson.folder)
    assert [each.split("'")[1] for each in told] == ["42 ms", "7324"]
    assert "state it in theory.py" in told[0]


def test_a_failure_says_what_the_text_has() -> None:
    one = computed("{:.0f} minutes, or {} s", 54.2, thousands(3252))
    assert one.failure("… 54 minutes, or\n3 252 s …") is None
    said = one.failure("… 40 minutes, or\n2 400 s. …")
    assert said == "the text should say '54 minutes, or 3 252 s'; it says '40 minutes, or 2 400 s'"
    assert str(one.failure("soon")).endswith("it says nothing of that form")


def test_what_a_run_measured_is_compared_with_the_text() -> None:
    one = measured("{:.1f} Mbit/s of {:.1f}", "goodput", lambda points: (points["a"].measured, points["a"].predicted))
    assert one.failure("it is 35.9 Mbit/s of 47.1.", [FigurePoint("a", 35.87, 47.07)]) is None
    assert "35.8 Mbit/s" in str(one.failure("it is 35.9 Mbit/s of 47.1.", [FigurePoint("a", 35.8, 47.07)]))


def test_numbers_are_seen_whole() -> None:
    assert re.findall(NUMBER, "15 766 km, 2.3 MB; −3") == ["15 766", "2.3", "−3"]


def test_the_line_of_a_full_path_is_that_of_the_queue_that_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The figure of HyStart has a queue of one BDP: 1646 packets on the way and 1650 in the queue, not two BDP more."""
    lesson = LESSONS["slow-start"]
    monkeypatch.setattr(LessonRun, "series", lambda *_: [(0.0, 10.0)])
    variants = load_variants(lesson.folder / "overshoot.yaml")
    runs = [LessonRun("overshoot.yaml", values, 1, plan_for(loaded, "emu", None)) for values, loaded in variants]
    (full,) = [line for line in lesson.theory.windows(runs) if line.kind == "limit"]
    assert [y for _, y in full.points] == [pytest.approx(3296, abs=1)] * 2


def test_reno_keeps_a_policers_rate_with_a_burst_of_a_squared_bdp() -> None:
    """50 Mbit/s over 40 ms: 2.26 MB; a burst of one BDP leaves five sixths, none three quarters."""
    theory = LESSONS["policer"].theory
    enough = theory.reno_burst_bytes(50e6, 0.040, 1538)
    assert enough == pytest.approx(2.2576e6, rel=1e-4)
    share = [theory.reno_share(burst, 50e6, 0.040, 1538) for burst in (0.0, 250e3, 0.99 * enough, enough)]
    assert share == [0.75, pytest.approx(0.8332, abs=1e-4), pytest.approx(0.9987, abs=1e-4), pytest.approx(1.0)]


def test_the_shortest_way_from_geneva_to_pasadena() -> None:
    """A quarter of the equator is a great circle, and so is the way from Geneva: 9480 km, 93 ms of glass."""
    theory = LESSONS["delay"].theory
    assert theory.great_circle_km((0, 0), (0, 90)) == pytest.approx(10_007.5, abs=0.1)
    km = theory.great_circle_km(theory.GENEVA, theory.PASADENA)
    assert km == pytest.approx(9481, abs=2)
    assert theory.light_ms(km) == pytest.approx(92.95, abs=0.05)


def test_an_unpaced_sender_is_not_paced_by_its_queue() -> None:
    """Linux's fq paces every TCP stream; a lesson whose sender is to send in bursts says `nopacing`."""
    for name, script in (("pacing", "bursts.sh"), ("own-window", "measure.sh"), ("slow-start", "hystart.sh")):
        assert "nopacing" in (LESSONS[name].folder / script).read_text()


def test_a_part_of_the_line_is_idle_behind_a_short_target() -> None:
    """CoDel's usual target over the lesson's path: 6.5 %; from 3/7 of a round trip on nothing; house.yaml has half."""
    lesson = LESSONS["flow-queues"]
    idle, rtt_s = lesson.theory.idle, lesson.theory.RTT_S
    assert idle(rtt_s, lesson.theory.USUAL_TARGET_S) == pytest.approx(0.0654, abs=5e-5)
    assert idle(1.0, 0.0) == pytest.approx(0.15)  # a saw from 0.7 to 1
    assert idle(7.0, 2.99) > 0
    assert idle(7.0, 3.0) == 0
    planned = (plan_for(loaded, "emu", None) for _, loaded in load_variants(lesson.folder / "house.yaml"))
    queues = [plan.links[1].forward.parameters for plan in planned]
    targets_s = [
        (each.target_ns or (each.rtt_ns or 0) // 20) / 1e9
        for each in queues
        if each and (each.target_ns or each.rtt_ns)
    ]
    assert targets_s == [lesson.theory.TARGET_S] * 3
    assert idle(rtt_s, lesson.theory.TARGET_S) == 0
