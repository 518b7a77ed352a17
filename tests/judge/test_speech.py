"""A call's quality: the E-model against values that others published for it, and the choice of the playout time."""

import math
import random

import pytest

from landspeed.judge.loaded_delay import ping_figures
from landspeed.scenario.theory.speech import PACKET_MS, call_opinion, delay_impairment, mean_opinion, rating


def test_the_defaults_give_what_the_recommendation_says() -> None:
    """G.107: R 93.2, MOS 4.41; the scale of annex B: R 90, 80, 70, 60, 50 are 4.34, 4.03, 3.60, 3.10, 2.58."""
    assert rating(0, 0) == pytest.approx(93.2, abs=1e-9) and mean_opinion(93.2) == pytest.approx(4.41, abs=0.005)
    for r, mos in ((90, 4.34), (80, 4.03), (70, 3.60), (60, 3.10), (50, 2.58)):
        assert mean_opinion(r) == pytest.approx(mos, abs=0.007)  # the table there rounds up
    assert (mean_opinion(-5), mean_opinion(101)) == (1, 4.5)


@pytest.mark.parametrize("one_way_ms", [50, 100, 150, 200, 250, 300, 350])
def test_delay_costs_what_was_fitted_to_the_model(one_way_ms: float) -> None:
    """Cole and Rosenbluth, CCR 31(2), 2001: Id = 0.024 d + 0.11 (d - 177.3) above that, of their figure's curve."""
    fitted = 0.024 * one_way_ms + 0.11 * max(one_way_ms - 177.3, 0)
    assert delay_impairment(one_way_ms) - delay_impairment(0) == pytest.approx(fitted, abs=2.5)


@pytest.mark.parametrize("loss", [0.01, 0.02, 0.05, 0.1])
def test_loss_costs_what_was_measured(loss: float) -> None:
    """There too: G.711 with concealment loses 30 ln(1 + 15 e)."""
    assert rating(0, 0) - rating(0, loss) == pytest.approx(30 * math.log(1 + 15 * loss), abs=2)


def test_a_call_waits_for_as_many_as_sound_best() -> None:
    """For one late packet of a thousand it does not wait; for a tenth of them it does, if they are not late by much."""
    even = call_opinion([100.0] * 1000)
    assert even == pytest.approx(mean_opinion(rating(50 + PACKET_MS, 0)), abs=1e-9)
    assert call_opinion([100.0] * 999 + [2000.0]) == pytest.approx(mean_opinion(rating(70, 0.001)), abs=1e-3)
    tenth = [100.0] * 900 + [140.0] * 100
    assert call_opinion(tenth) == pytest.approx(mean_opinion(rating(90, 0)), abs=1e-9)
    assert call_opinion([math.inf] * 3) == 1.0
    shuffled = random.Random(1).sample(tenth, len(tenth))
    assert call_opinion(shuffled) == call_opinion(tenth)


def test_echoes_of_the_settled_part_are_the_call() -> None:
    pings = [(number / 10, 40.0 if number < 100 else 500.0) for number in range(200)]
    found = ping_figures(pings, (10.0, 20.0), [])
    assert found["ping_call_mos"] == pytest.approx(mean_opinion(rating(270, 0)), abs=0.001)
