"""The truth suite's questions (tests/bench/truth), all of them, at one rate class a world; `make truth` asks the rest.

And `ping` over a slow line at every rate, as MEASURED in November 2026, and those cases of the BBR draft that one
connection answers.
"""

import re
from pathlib import Path

import pytest

from tests.bench.truth import packets, simulated, simulated_tcp, tcp, theory
from tests.bench.truth.bbr_cases import CASES, carry_out
from tests.bench.truth.classes import CLASSES
from tests.bench.truth.question import Asked, Finding, within
from tests.bench.truth.table import Found as Table
from tests.bench.truth.table import by_question, lines, page
from tests.bench.truth.timers import fires, timers
from tests.support.emu_fixtures import execute, plan_of, scenario

ROUND_TRIP = re.compile(r"= ([\d.]+)/([\d.]+)/([\d.]+)/")
RATES_BPS = [9_600, 56e3, 128e3, 1e6, 5e6, 1e7, 2e7, 5e7, 1e8, 1e9, 1e10, 1e11]


def check(findings: list[Finding], *, at_least: int) -> None:
    """All are right, and so many questions were answered."""
    assert [each for each in findings if not each.ok] == []
    assert len(by_question(findings)) >= at_least


@pytest.mark.guest
@pytest.mark.parametrize(("rate", "ip", "fidelity"), [("10M", 4, "packets"), ("100G", 6, "super-packets")])
def test_the_emulated_wire_is_what_theory_says(rate: str, ip: int, fidelity: str) -> None:
    check(packets.wire(CLASSES[rate], ip, fidelity), at_least=30)


@pytest.mark.guest
@pytest.mark.parametrize(("rate", "ip"), [("100M", 4), ("56k", 6)])
def test_linux_s_tcp_over_it_is_what_theory_says(rate: str, ip: int) -> None:
    check(tcp.tcp(CLASSES[rate], ip, "packets"), at_least=20)


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "ip"), [("10M", 4), ("56k", 6)])
def test_the_simulated_wire_is_what_theory_says(rate: str, ip: int) -> None:
    check(simulated.wire(CLASSES[rate], ip), at_least=10)


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "ip"), [("100M", 4), ("56k", 6)])
def test_the_simulated_tcp_is_what_theory_says(rate: str, ip: int) -> None:
    check(simulated_tcp.tcp(CLASSES[rate], ip), at_least=10)


@pytest.mark.guest
@pytest.mark.parametrize("rate_bps", RATES_BPS)
def test_ping_takes_propagation_and_serialization(tmp_path: Path, rate_bps: float) -> None:
    """A full packet over 100 Mbit/s and a slower or faster line of 20 ms: to 0.01 % of theory."""
    links = [
        {"one_way_delay": "1 ms", "line_rate": "100 Mbit/s"},
        {"one_way_delay": "20 ms", "line_rate": f"{rate_bps / 1e3:g} kbit/s"},
    ]
    shown = execute(plan_of(tmp_path, scenario(links)), tmp_path, "ping", "-c", "3", "-i", "5", "-s", "1472", "omega")
    lanes = [theory.Lane(1e-3, 1e8), theory.Lane(20e-3, rate_bps)]
    wanted_s = theory.ping_s(1472, 4, 1500, lanes, lanes[::-1])
    for found in ROUND_TRIP.findall(shown.out)[0]:
        assert float(found) / 1e3 == pytest.approx(wanted_s, rel=1e-4)


@pytest.mark.guest
def test_the_cases_of_the_bbr_draft_that_one_connection_answers() -> None:
    """Each step is green, or red for a reason that is known to be version 1's."""
    cases = [case for case in CASES if case.run == "plain"]
    assert len(cases) == 5
    for case, steps in carry_out(cases):
        assert steps
        assert [step for step in steps if not step.ok and not step.why] == [], case.title


@pytest.mark.guest
def test_each_timer_of_tcp_is_within_a_jiffy_of_the_kernel_s_own_arithmetic() -> None:
    """A quarter of an hour of retransmissions, keepalives, closing states: all at once, in virtual time."""
    found = timers()
    assert [each for each in found if not each.ok] == []
    assert len(by_question(found)) == 10


def test_the_wheel_rounds_as_the_kernel_s_does() -> None:
    """Level 0 is of a jiffy up to 62, level 1 of 8 up to 503, level 2 of 64 up to 4031 (LVL_START)."""
    assert [fires(0, after) for after in (0, 1, 62, 63, 503, 504, 4031, 4032)] == [1, 2, 63, 64, 504, 512, 4032, 4096]


def test_what_is_not_right_is_told() -> None:
    """A figure that is off is red on the terminal and in the page; the worst of several stands for all."""
    findings = [within("ping", 0.0101, 0.01), within("ping", 0.01, 0.01), within("other", 1.00001, 1)]
    assert [each.ok for each in findings] == [False, True, True]
    table = Table(Asked("emu", "10M", 4, "packets"), findings)
    assert "red   ping: 0.0101 s, theory 0.01 s ± 1e-06, +1.00% (worst of 2)" in "\n".join(lines(table))
    assert "| ping | **red** +1.00% |" in page([table])
    assert "3 figures, 1 of them red" in page([table])
