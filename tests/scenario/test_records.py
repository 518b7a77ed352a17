"""The six dated records: what their files say against what the documents say, and the fit of a list with outliers."""

from pathlib import Path

import pytest

from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.importers import fit_traceroute
from tests.support.plans import plan_of_file

RECORDS = Path(__file__).resolve().parents[2] / "scenarios" / "records"
REDMOND = RECORDS / "2000-03-redmond-arlington.yaml"
ARNES = RECORDS / "2002-10-09-arnes-rediris.yaml"
LULEA = RECORDS / "2004-04-14-san-jose-lulea.yaml"


@pytest.mark.parametrize(
    ("file", "facts", "goodput", "km", "hops", "fitted"),
    [
        (REDMOND, (2, 4, 4470, 20_971_520), 957.369e6, 5626, 10, False),
        (ARNES, (1, 6, 1500, 32_000_000), 348e6, 14_800, 4, True),
        (RECORDS / "2003-05-02-geneva-chicago-ipv6.yaml", (1, 6, 9000, 11_000_000), 983e6, 7067, 3, False),
        (RECORDS / "2003-05-02-geneva-chicago-ipv6-mtu1500.yaml", (1, 6, 1500, 69_700_000), 919e6, 7067, 3, False),
        (LULEA, (1, 4, 4470, 150_000_000), 4226e6, 16_343, 40, False),
        (RECORDS / "2004-06-25-geneva-pasadena.yaml", (8, 4, 9000, 46_565_120), 6626.513e6, 15_766, 13, True),
    ],
    ids=lambda value: value.stem if isinstance(value, Path) else "",
)
def test_facts(file: Path, facts: tuple[int, ...], goodput: float, km: int, *, hops: int, fitted: bool) -> None:
    """The table of the records, and that theory is within 3 % of each, 1.5 % where the line rate bound it."""
    plan = plan_of_file(file)
    streams, ip, mtu, window = facts
    expect, contest = plan.expect, plan.contest
    assert expect
    assert contest
    assert plan.scenario.startswith(contest.date)
    assert (plan.transfer.streams, plan.ip_version, plan.transfer.window_bytes) == (streams, ip, window)
    assert {link.mtu_bytes for link in plan.links} == {mtu}
    assert len(plan.links) == hops
    assert expect.goodput_bps == goodput
    assert expect.distance_m == km * 1000
    assert expect.host_limits_fitted is fitted
    assert (expect.goodput_tolerance or 1) <= 0.03
    if expect.score_bit_m_per_s:
        assert expect.score_bit_m_per_s == pytest.approx(goodput * km * 1000, rel=0.002)
    if not fitted:
        limit = 0.015 if contest.bound_by == "line rate" else 0.03
        assert plan.physics.expected_goodput_bps == pytest.approx(goodput, rel=limit)


def test_redmond_has_gigabit_ends_on_a_pos_core() -> None:
    plan = plan_of_file(REDMOND)
    assert [link.framing for link in plan.links] == ["ethernet", *["pos"] * 8, "ethernet"]
    assert {link.forward.rate_bps for link in plan.links[1:-1]} == {2_396_160_000}  # 149.76 Mbit/s × 16
    assert plan.physics.expected_goodput_bps == 10**9 * 4418 // 4508
    assert plan.transfer.receive in ("memory", "verify")
    assert plan.transfer.initial_window_packets == 2


def test_lulea_is_bound_by_its_window() -> None:
    plan = plan_of_file(LULEA)
    assert plan.physics.expected_bottleneck.kind == "window"
    assert plan.physics.expected_goodput_bps == 150_000_000 * 8 * 10**9 // 276_138_000
    assert plan.transfer.bytes == 838_860_800_000
    assert pytest.approx(4226e6, rel=1e-4) == 838_860_800_000 * 8 / 1588
    assert plan.transfer.initial_window_packets == 30_000
    without = plan_of_file(LULEA, "transfer.window_exact=false")
    assert without.physics.window_limit_bps == 65535 * 4096 * 8 * 10**9 // 276_138_000  # Linux's own idea of 150 MB


def test_lulea_has_the_fitted_delays_and_keeps_the_outliers() -> None:
    scenario = load_scenario(LULEA).scenario
    fitted = fit_traceroute.fit_scenario(scenario)
    recorded = [hop.rtt[0][0] for hop in scenario.expect.forward_traceroute] if scenario.expect else []
    assert fitted.outliers == {22: 237.432, 25: 401.930, 31: 346.130, 33: 289.444, 36: 346.368, 38: 318.898}
    assert [round((link.rtt or 0) / 1e6, 3) for link in scenario.path] == [round(ms, 3) for ms in fitted.links_ms]
    assert sum(link.rtt or 0 for link in scenario.path) == 276_138_000
    for index, (hop, said) in enumerate(zip(fitted.hops_ms, recorded, strict=True)):
        if index not in fitted.outliers:
            assert hop == pytest.approx(said, abs=0.05)
    assert "(401.9 ms)" in fit_traceroute.report(scenario, fitted)


def test_an_outlier_is_far_above_a_later_hop() -> None:
    kept, outliers = fit_traceroute.without_outliers([1.0, 8.9, None, 4.0, 8.9, 4.2])
    assert kept == [1.0, 8.9, None, 4.0, 8.9, 4.2]  # 4.9 ms above at the most
    assert not outliers
    kept, outliers = fit_traceroute.without_outliers([1.0, 9.3, None, 4.0, 9.0, 4.2])
    assert (kept, outliers) == ([1.0, None, None, 4.0, 9.0, 4.2], {1: 9.3})


def test_a_position_is_read_and_refused(tmp_path: Path) -> None:
    plan = plan_of_file(LULEA)
    assert (plan.nodes[0].latitude_deg, plan.nodes[0].longitude_deg) == (37.3394, -121.8950)
    assert plan.nodes[1].latitude_deg is None
    for wrong in ("91 N, 0 E", "46.2, 6.1", "46 N", "46 E, 6 N", "10 N, 181 W"):
        with pytest.raises(Exception, match="not a position on the globe"):
            load_scenario(LULEA, [f"hosts.lulea.position={wrong}"])


def test_an_exact_window_needs_a_window() -> None:
    with pytest.raises(Exception, match="window_exact without a window"):
        load_scenario(LULEA, ["transfer.window=null"])
