"""Theory of the explore page against closed formulas."""

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from landspeed.base.failures import NotPossible
from landspeed.explore.goodput_theory import bound, curve, hystart_window
from landspeed.explore.grid import (
    MOST_PACKETS,
    MOST_SPREAD_PACKETS,
    SPREAD,
    code_of,
    packets_of,
    places_of,
    settings_around,
    settings_spread,
    steps,
)
from landspeed.explore.growth import CUBIC_FRIENDLY, Share, additive, cubic, htcp, keeps, reno
from landspeed.explore.setting import Setting, Slider, setting_at, settings_of, sliders, values_of
from landspeed.explore.tables import figure_tables
from landspeed.results.samples_reader import Samples
from landspeed.scenario.theory import physics as ph
from tests.support.emu_fixtures import transfer

BASE = Setting(100_000_000, 10**9, 1_000_000_000, 1500, 0.0, 1, 1.0, "fifo", "reno")


def long_bps(setting: Setting) -> float:
    return setting.line_rate_bps * setting.curve.long_level(setting.share.pipe)


@pytest.mark.parametrize("loss", [1e-3, 1e-4, 1e-5])
def test_reno_under_random_loss_is_the_square_root_law(loss: float) -> None:
    found = replace(BASE, loss=loss)
    assert found.loss_bps == ph.square_root_law_bps(1448, 100_000_000, loss)
    assert long_bps(found) == pytest.approx(found.loss_bps, rel=0.01)
    assert bound(found.curve, found.share) == "loss"


def test_streams_under_random_loss_add_up() -> None:
    one, four = (long_bps(replace(BASE, loss=1e-3, streams=streams)) for streams in (1, 4))
    assert four == pytest.approx(4 * one, rel=1e-6)


def test_cubic_leaves_slow_start_in_the_round_that_fills_the_pipe_and_grows_by_a_twentieth() -> None:
    """10 × 2^10 packets are the first round beyond a pipe of 8127; a fast line then goes on being full."""
    found = replace(BASE, control="cubic", queue=4.0)
    assert hystart_window(found.share) == pytest.approx(10_240 + 1e9 * 0.1 / 8 / 1538)
    assert found.mean_bps == pytest.approx(found.line_rate_bps, rel=1e-6)
    share = Share(0.1, 1000.0, 5000.0, math.inf, math.inf)
    assert cubic(share, 2000.0, 2000.0, 0.2) == pytest.approx(2100)  # the queue doubles the RTT: one of 0.2 s


@pytest.mark.guest
@pytest.mark.parametrize(("rate", "rtt_ms"), [(10**8, 100), (10**9, 20), (10**8, 30)])
def test_linux_leaves_slow_start_at_that_window(tmp_path: Path, rate: int, rtt_ms: int) -> None:
    """ssthresh is the window at which HyStart ends slow start (tcp_cubic.c), before any loss.

    An acknowledgment is of two packets, and the shortest RTT is of full ones: of 564 packets these are seven.
    """
    found = replace(BASE, rate=rate, rtt=rtt_ms * 10**6, control="cubic", queue=4.0)
    _, bundle = transfer(found.scenario().plan(), tmp_path)
    thresholds = [value for _, value in Samples(bundle).by_stream("sender", "ssthresh_packets")[0]]
    left = next(value for value in thresholds if value < 2**30)
    assert left == pytest.approx(hystart_window(found.share), rel=0.015)


@pytest.mark.parametrize("streams", [1, 4])
@pytest.mark.parametrize("control", ["reno", "cubic", "htcp"])
def test_a_small_window_goes_once_in_each_round_trip(control: str, streams: int) -> None:
    found = replace(BASE, window=1_000_000, control=control, streams=streams)
    assert found.mean_bps == pytest.approx(streams * 690 * 1448 * 8 / 0.1, rel=1e-4)  # 690 packets of 1448 B
    assert found.window_bps == streams * 690 * 1448 * 8 * 10
    assert bound(found.curve, found.share) == "window"


@pytest.mark.parametrize("queue", [0.1, 0.25, 0.5, 1.0, 4.0])
def test_renos_sawtooth_fills_what_the_queue_allows(queue: float) -> None:
    """¾ (1 + b)² / (1 + b + b²) of the line for a queue of b ≤ 1 BDP; all of it for more (Villamizar and Song 1994)."""
    found = replace(BASE, queue=queue)
    b = min(1.0, found.share.brim / found.share.pipe - 1)
    assert found.curve.long_level(found.share.pipe) == pytest.approx(0.75 * (1 + b) ** 2 / (1 + b + b * b), rel=0.003)


def test_renos_way_back_without_a_queue() -> None:
    share = Share(rtt_s=0.1, pipe=1000.0, brim=1000.0, cap=math.inf, spacing=math.inf)
    wanted_s = ph.reno_recovery_ns(1000 * 1448, 1448, 100_000_000) / 1e9
    assert curve(share, "reno").period_s == pytest.approx(wanted_s, rel=1e-3)


def test_cubics_way_back() -> None:
    share = Share(rtt_s=0.1, pipe=1e5, brim=1e5, cap=math.inf, spacing=math.inf)
    k_s = ph.cubic_recovery_ns(10_000 * 1448, 1448) / 1e9
    assert cubic(share, 7000.0, 10_000.0, k_s) == pytest.approx(10_000.0, abs=0.01)
    assert cubic(share, 7000.0, 10_000.0, 0.0) == pytest.approx(7000.0)
    short = replace(share, rtt_s=0.001)  # where Reno is faster, CUBIC is as fast
    assert cubic(short, 70.0, 100.0, 0.1) == pytest.approx(70 + CUBIC_FRIENDLY * 100)


def test_growth_is_slower_while_a_queue_stands() -> None:
    share = Share(rtt_s=0.1, pipe=100.0, brim=200.0, cap=math.inf, spacing=math.inf)
    assert additive(share, 50.0, 1.0, 5.0) == 100.0
    # d(w²)/dt = 2 pipe / RTT: from 100 to 200 in (200² − 100²) / (2 × 100) × 0.1 s.
    assert reno(share, 100.0, 0.0, 15.0) == pytest.approx(200.0)


def test_htcp_is_reno_for_a_second_and_then_is_not() -> None:
    share = Share(rtt_s=0.1, pipe=1e5, brim=1e5, cap=math.inf, spacing=math.inf)
    assert htcp(share, 50.0, 100.0, 1.0) == pytest.approx(60.0)
    # ∫ of 1 + 10 (t − 1) + ((t − 1)/2)² from 1 to 3: 2 + 20 + 2/3 round trips' worth.
    assert htcp(share, 50.0, 100.0, 3.0) == pytest.approx(60.0 + (2 + 20 + 2 / 3) * 10)
    assert keeps("htcp", share, 125_000.0) == 0.8
    assert keeps("htcp", share, 160_000.0) == pytest.approx(0.625)


def test_slow_start_doubles() -> None:
    rise = replace(BASE, window=10_000_000).curve.rise
    steps = [(time_s, window) for time_s, window in rise if window >= 10]
    assert steps[0] == (0.05, 10.0)
    for number, (time_s, window) in enumerate(steps[:9]):
        assert (time_s, window) == (pytest.approx(0.05 + number * 0.1), 10 * 2**number)


def test_codel_is_a_short_queue() -> None:
    long, codel, pie = (replace(BASE, discipline=name) for name in ("fifo", "codel", "pie"))
    assert codel.share.brim - codel.share.pipe == pytest.approx(0.005 * 1e9 / 8 / 1538)
    assert pie.share.brim - pie.share.pipe == pytest.approx(0.015 * 1e9 / 8 / 1538)
    assert long_bps(codel) < long_bps(pie) < long_bps(long)


def test_bbr_gives_up_the_line_for_a_dip_in_ten_seconds() -> None:
    found = replace(BASE, control="bbr")
    assert found.curve.period_s == pytest.approx(10.2)
    assert found.curve.long_level(found.share.pipe) == pytest.approx(10 / 10.2, rel=1e-3)


@pytest.mark.slow
def test_a_curve_never_claims_more_than_its_limits() -> None:
    chosen = sliders()
    draw = random.Random(19)
    for _ in range(1500):
        found = setting_at(chosen, [draw.randrange(len(slider.values)) for slider in chosen])
        assert 0 < found.mean_bps <= 1.0001 * min(found.line_rate_bps, found.window_bps), found


def test_figures_that_few_sliders_decide() -> None:
    chosen = sliders()
    tables = figure_tables(chosen)
    assert tables["bdp"]["over"] == ("rtt", "rate")
    assert tables["bdp"]["values"][3 * 3 + 1] == 12_500_000  # 100 ms × 1 Gbit/s
    assert tables["lineRate"]["values"][2] == ph.line_rate_limit_bps(10**9, 1500, 38, 4)
    assert tables["loss"]["values"][0] is None


def test_a_setting_is_what_its_scenario_says() -> None:
    for found in settings_around(sliders()):
        assert Setting(**values_of(found.scenario().plan())) == found
        assert packets_of(found) <= MOST_PACKETS
    small = replace(BASE, rate=10**8, rtt=10_000_000, mtu=9000, queue=0.1)  # of 12.5 kB: it holds ten packets, 0.72 BDP
    assert values_of(small.scenario().plan())["queue"] == 0.72
    assert small in settings_of(small.scenario().plan())


@pytest.mark.slow
def test_how_far_the_nearest_run_can_be() -> None:
    """From anywhere it is at most eight steps of sliders to a run of the grid, and four on average."""
    chosen = sliders()
    around = settings_around(chosen)
    spread = settings_spread(chosen, around, SPREAD)
    assert len(set(spread) - set(around)) == SPREAD
    assert max(map(packets_of, spread)) <= MOST_SPREAD_PACKETS
    farthest, mean = _reach(chosen, [places_of(chosen, each) for each in around + spread])
    assert (farthest, mean) == (8, pytest.approx(3.95, abs=0.05))


def _reach(chosen: Sequence[Slider], measured: Sequence[tuple[int, ...]]) -> tuple[int, float]:
    """(The most, the mean) of steps from all settings to the nearest of these: those of one slider after another."""
    far = np.full([len(slider.values) for slider in chosen], np.inf)
    far[tuple(np.transpose(measured))] = 0
    for which, slider in enumerate(chosen):
        places = np.arange(len(slider.values))
        apart = abs(places[:, None] - places)
        steps_between = np.where(apart > 0, 2, 0) if slider.is_word else apart
        lines = np.moveaxis(far, which, -1)[..., None]
        far = np.moveaxis((lines + steps_between).min(axis=-2), -1, which)
    return int(far.max()), float(far.mean())


def test_steps() -> None:
    """A slider's places count one by one, another word counts as two."""
    chosen = tuple(slider for slider in sliders() if slider.key in ("rtt", "window", "control"))
    assert steps(code_of(chosen, (1, 2, 3)), code_of(chosen, (4, 2, 0))) == 5


def test_sliders_begin_where_a_scenario_is() -> None:
    chosen = {slider.key: slider for slider in sliders({"rtt": 264_000_000, "rate": 10**10, "control": "bbr"})}
    assert chosen["rtt"].values[chosen["rtt"].start] == 264_000_000
    assert list(chosen["rtt"].values) == sorted(chosen["rtt"].values)
    assert (len(chosen["rate"].values), chosen["rate"].start) == (3, 2)
    assert chosen["control"].start == 3
    with pytest.raises(NotPossible, match="choose one of reno, cubic, htcp, bbr"):
        sliders({"control": "scalable"})
