"""The formulae against figures worked out by hand or given by the records."""

import math

import pytest
from landspeed.scenarios import physics as ph

G, M, MS = 10**9, 10**6, 10**6


@pytest.mark.parametrize(
    ("rate", "mtu", "ip", "framing", "goodput"),
    [
        (G, 9000, 6, 38, 987.829e6),  # 1e9 × 8928 / 9038
        (G, 1500, 6, 38, 928.479e6),  # 1e9 × 1428 / 1538
        (10 * G, 9000, 4, 38, 9.90042e9),
        (10 * G, 9000, 4, 9, 9.93229e9),
        (G, 1500, 4, 38, 941.482e6),
    ],
)
def test_framing_limit(rate: int, mtu: int, ip: int, framing: int, goodput: float) -> None:
    assert ph.framing_limit_bps(rate, mtu, framing, ip) == pytest.approx(goodput, rel=1e-6)


def test_framing_of_gigabit_ethernet_by_hand() -> None:
    """8928 of 9038 bytes on the line are payload; 38 are preamble 8, header 14, FCS 4, gap 12."""
    assert ph.ETHERNET_FRAMING == 8 + 14 + 4 + 12
    assert ph.mss_bytes(9000, 6) == 9000 - 40 - 20 - 12 == 8928
    assert ph.framing_limit_bps(G, 9000, 38, 6) == 8928 * G // 9038


def test_bdp_and_window() -> None:
    assert ph.bdp_bytes(10 * G, 264 * MS) == 330_000_000
    assert ph.window_limit_bps(150_000_000, 1, 276 * MS) == pytest.approx(4.348e9, rel=1e-3)  # SUNET measured 4.226
    assert ph.window_limit_bps(46_565_120, 8, 264 * MS) == pytest.approx(11.288e9, rel=1e-3)
    assert ph.window_limit_bps(2**30, 1, 264 * MS) == pytest.approx(32.5e9, rel=1e-2)
    assert ph.MAX_TCP_WINDOW == 65535 * 2**14


def test_usable_window_is_between_asked_and_twice() -> None:
    for asked in (4096, 11_000_000, 150_000_000, 2**30):
        for fidelity in ("packets", "super-packets"):
            usable = ph.linux_usable_window_bytes(asked, 8948, fidelity)
            assert min(asked, ph.MAX_TCP_WINDOW) <= usable <= min(2 * asked, ph.MAX_TCP_WINDOW)
    assert ph.linux_usable_window_bytes(11_000_000, 8928, "packets") > ph.bdp_bytes(G, 119 * MS)


def test_bus_fit_of_2004() -> None:
    bus = ph.bus_for_goodput_bps(6_626_513_000, 9000, 4)
    assert bus == pytest.approx(6_665_022_017, abs=2)
    assert ph.bus_limit_bps(bus, 9000, 4) == pytest.approx(6_626_513_000, abs=2)


def test_recovery() -> None:
    window = 36_880 * 8948  # packets of 10 Gbit/s × 264 ms
    assert ph.reno_recovery_ns(window, 8948, 264 * MS) == pytest.approx(36_880 / 2 * 0.264e9)  # 81 minutes
    assert ph.reno_recovery_ns(window, 8948, 264 * MS, delayed_ack=True) == pytest.approx(36_880 * 0.264e9)
    assert ph.cubic_recovery_ns(window, 8948) == pytest.approx((36_880 * 0.3 / 0.4) ** (1 / 3) * 1e9)


def test_square_root_law() -> None:
    law = ph.square_root_law_bps(1448, 100 * MS, 1e-4)
    assert law == pytest.approx(1448 * 8 / 0.1 * math.sqrt(1.5) * 100)
    assert ph.square_root_law_bps(1448, 100 * MS, 4e-4) == pytest.approx(law / 2, rel=1e-6)


def test_slow_start_doubles_each_round_trip() -> None:
    assert ph.slow_start_ns(10 * 1000, 1000, MS) == 0
    assert ph.slow_start_ns(20 * 1000, 1000, MS) == MS
    assert ph.slow_start_ns(10 * 1024 * 1000, 1000, MS) == 10 * MS
    assert ph.slow_start_ns(0, 1000, MS) == 0


def test_score_of_2004() -> None:
    assert ph.score_bit_m_per_s(6_630_000_000, 15_766_000) == 104_528_580_000_000_000


def test_serialization() -> None:
    assert ph.serialization_ns(9000, 38, 10 * G) == 7231  # 72 304 bits, rounded up to ns
    assert ph.serialization_ns(1500, 38, G) == 12304


def test_packet_limits_hold_what_is_under_way() -> None:
    """10 Gbit/s × 62 ms: 77.5 MB are 8575 full frames, or 861 111 bare ACKs of 52 B and framing."""
    needed = ph.packets_needed(10 * G, 62 * MS, 0, 9000, 38)
    assert needed == math.ceil(77_500_000 / 9038) + 1
    limit = ph.limit_packets(10 * G, 62 * MS, 64_000_000, 38, 4)
    assert limit == math.ceil(77_500_000 / 90) + 1 + math.ceil(64_000_000 / 52) + 1000
    assert ph.limit_packets(10**12, 60 * G, 10**15, 38, 4) == 2**32 - 1


def test_guest_memory_is_in_steps_and_grows() -> None:
    gib = 2**30
    ten = ph.guest_memory_bytes(330_000_000, 9000, "packets", "discard")
    queued = ph.guest_memory_bytes(660_000_000, 9000, "packets", "discard")
    hundred = ph.guest_memory_bytes(6_600_000_000, 9000, "packets", "discard")
    assert ten % (256 << 20) == 0
    assert 1.5 * gib <= ten < queued <= 3 * gib
    assert 8 * gib <= hundred <= 12 * gib
    assert ph.guest_memory_bytes(330_000_000, 9000, "super-packets", "discard") <= ten
    assert ph.guest_memory_bytes(330_000_000, 9000, "packets", "memory") >= ten
