"""The formulae against figures worked out by hand or given by the records."""

import math
from typing import get_args

import pytest

from landspeed.scenario.file.model_links import Framing
from landspeed.scenario.theory import physics as ph

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
def test_line_rate_limit(rate: int, mtu: int, ip: int, framing: int, goodput: float) -> None:
    assert ph.line_rate_limit_bps(rate, mtu, framing, ip) == pytest.approx(goodput, rel=1e-6)


def test_framing_of_gigabit_ethernet_by_hand() -> None:
    """8928 of 9038 bytes on the line are payload; 38 are preamble 8, header 14, FCS 4, gap 12."""
    assert ph.ETHERNET_FRAMING == 8 + 14 + 4 + 12
    assert ph.mss_bytes(9000, 6) == 9000 - 40 - 20 - 12 == 8928
    assert ph.line_rate_limit_bps(G, 9000, 38, 6) == 8928 * G // 9038


def test_encapsulations_have_the_sizes_of_their_standards() -> None:
    """A full packet of each in an Ethernet of 1500 B: the largest inside, and 38 around the outer packet."""
    inside = {"vlan": 1500, "qinq": 1500, "mpls": 1500, "pppoe": 1492, "gre": 1476, "vxlan": 1450, "ipsec": 1446,
              "wireguard": 1440}  # fmt: skip
    tags = {"vlan": 4, "qinq": 8, "mpls": 4}  # beside the frame's 1500 B
    for word, mtu in inside.items():
        assert mtu + ph.FRAMING_BYTES[word] == 1500 + tags.get(word, 0) + 38, word
    assert ph.INSIDE_BYTES.items() >= {word: 1500 - mtu for word, mtu in inside.items() if mtu < 1500}.items()
    padded = {*ph.CELLS, *ph.LEAST_BYTES}  # tests/worlds/test_cells.py
    assert set(ph.FRAMING_BYTES) == {*inside, *padded, "ethernet", "pos"} == set(get_args(Framing))
    assert ph.line_rate_limit_bps(10 * G, 1450, ph.FRAMING_BYTES["vxlan"], 4) == 1398 * 10 * G // 1538


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


# --- Each formula to the last digit ----------------------------------------------------------------------------------


def test_sizes_of_packets() -> None:
    assert (ph.mss_bytes(1500, 4), ph.mss_bytes(1500, 6)) == (1448, 1428)
    assert (ph.ack_bytes(4), ph.ack_bytes(6)) == (52, 72)


@pytest.mark.parametrize(
    ("fidelity", "rate", "joined_ns", "acked"),
    [
        ("packets", 10 * G, 0, 2 * 1448),  # nothing is joined: every second packet is acknowledged
        ("packets", 10 * G, 10_000, 12_500),  # 10 µs of 10 Gbit/s
        ("packets", 10 * G, 64_000, 65_536),  # 80 kB: GRO joins 64 KiB at most
        ("packets", G, 23_168, 2 * 1448),  # 2896 B, to the byte
        ("packets", G, 23_176, 2 * 1448 + 1),
        ("super-packets", G, 0, 125_000),  # a millisecond
        ("super-packets", 10 * G, 0, 180_000),
        ("super-packets", 8 * M, 0, 2 * 1448),
        ("super-packets", 23_176_000, 10**9, 2 * 1448 + 1),  # what is joined does not matter there
    ],
)
def test_what_an_acknowledgment_stands_for(fidelity: str, rate: int, joined_ns: int, acked: int) -> None:
    assert ph.bytes_per_ack(1448, fidelity, rate_bps=rate, joined_ns=joined_ns) == acked


def test_nothing_is_joined_where_nothing_is_said() -> None:
    assert ph.bytes_per_ack(1448, "packets", rate_bps=10**18) == 2896


def test_acknowledgments_that_fill_the_way_back() -> None:
    """2 Mbit/s of Ethernet: 2777.8 ACKs of 52 + 38 B a second, each of two packets of 1448 B: 8.04 MB/s."""
    assert ph.ack_limit_bps(2 * M, 38, 4, 2 * 1448) == 2 * M * 2896 // 90 == 64_355_555
    assert ph.ack_limit_bps(2 * M, 9, 6, 2 * 1428) == 2 * M * 2856 // 81


def test_bus() -> None:
    assert ph.bus_limit_bps(6 * G, 9000, 4) == 6 * G * 8948 // 9000 == 5_965_333_333
    assert ph.bus_for_goodput_bps(8948, 9000, 4) == 9000
    assert ph.bus_for_goodput_bps(8949, 9000, 4) == 9002  # 9001.006: rounded up, so that the goodput fits


def test_window_without_a_path_is_no_limit() -> None:
    assert ph.window_limit_bps(10**6, 2, 8 * MS) == 2 * G
    assert ph.window_limit_bps(3, 1, 7) == 24 * 10**9 // 7
    assert ph.window_limit_bps(10**6, 2, 0) == 10**18


@pytest.mark.parametrize(
    ("asked", "fidelity", "usable"),
    [
        (10_000, "packets", 17_343),  # 20 kB × 222/256: 8948 / 10 292 in whole 256ths
        (10_000, "super-packets", 19_843),  # 20 kB × 254/256: 180 000 / 181 344
        (40_000, "packets", 65_535),  # 16 bits: no scale, and 69 kB cannot be said
        (65_536, "packets", 113_664),
        (100_000, "packets", 131_070),  # 17 bits: a scale of 1
        (131_072, "packets", 227_328),
        (2**30, "packets", 65535 << 14),
        (2**31, "packets", 65535 << 14),
    ],
)
def test_usable_window_to_the_byte(asked: int, fidelity: str, usable: int) -> None:
    assert ph.linux_usable_window_bytes(asked, 8948, fidelity) == usable


def test_a_buffer_of_very_small_packets_gives_what_was_asked() -> None:
    """Linux measures nothing of packets up to 536 B, and takes half of the buffer for payload."""
    assert ph.linux_usable_window_bytes(10_000, 500, "packets") == 10_000
    assert ph.linux_usable_window_bytes(10_000, 536, "packets") == 10_000


@pytest.mark.parametrize(
    ("mtu", "asked", "granted"),
    [
        (600, 1_100_000, 635_968), (800, 1_100_000, 782_048), (1000, 1_100_000, 902_368), (1280, 1_000_000, 951_904),
        (1500, 1_100_000, 1_132_960), (2500, 1_100_000, 1_416_512), (4470, 1_100_000, 1_682_816),
        (9000, 1_100_000, 1_904_992),
    ],
)  # fmt: skip
def test_the_window_that_linux_granted(mtu: int, asked: int, granted: int) -> None:
    """What Linux 6.12 offered over three links (November 2026), to the packet that waits for the reader just then."""
    mss = mtu - 52
    assert granted - 32 <= ph.linux_usable_window_bytes(asked, mss, "packets") <= granted + mss


def test_pacing_counts_every_stream() -> None:
    assert ph.pacing_limit_bps(250 * M, 4) == G


def test_bdp_is_of_whole_bytes() -> None:
    assert ph.bdp_bytes(G, 1 * MS) == 125_000
    assert ph.bdp_bytes(3, 10**9) == 0
    assert ph.bdp_bytes(17, 10**9) == 2


def test_serialization_is_rounded_up() -> None:
    assert ph.serialization_ns(1, 0, 8 * 10**9) == 1
    assert ph.serialization_ns(1, 0, 16 * 10**9) == 1
    assert ph.serialization_ns(84, 38, 128_000) == 7_625_000


def test_slow_start_of_less_than_a_doubling_takes_a_round_trip() -> None:
    assert ph.slow_start_ns(10_001, 1000, 7) == 7
    assert ph.slow_start_ns(40_001, 1000, 7) == 21
    assert ph.slow_start_ns(1_001, 1000, 7) == 0  # more than a packet, less than the first window
    assert ph.slow_start_ns(500, 1000, 7) == 0


def test_recovery_is_counted_in_nanoseconds() -> None:
    assert ph.reno_recovery_ns(3000, 1000, 7) == round(10.5)
    assert ph.reno_recovery_ns(4000, 1000, 7, delayed_ack=True) == 28
    assert ph.cubic_recovery_ns(1000 * 1000, 1000) == round(750 ** (1 / 3) * 1e9)  # K = (1000 · 0.3 / 0.4)^(1/3) s


def test_no_loss_or_no_path_is_no_limit() -> None:
    assert ph.square_root_law_bps(1448, 100 * MS, 0) == 10**18
    assert ph.square_root_law_bps(1448, 0, 1e-4) == 10**18
    assert ph.square_root_law_bps(1000, 10**9, 1.0) == round(8000 * math.sqrt(1.5))
    assert ph.square_root_law_bps(1000, 10**9, 1.5) == 8000


def test_red_as_tc_sets_it_up() -> None:
    assert ph.red_thresholds_bytes(1_200_000) == (100_000, 300_000)
    assert ph.red_thresholds_bytes(1_200_011) == (100_000, 300_002)
    assert ph.red_weight_log(250_000) == 9
    # The average is kept in 32 bits: a threshold of 2^22 takes 23 of them, and leaves 8 for the weight.
    assert ph.red_weight_log(2**22) == 8
    assert ph.red_weight_log(2**22 - 1) == 9
    assert ph.red_weight_log(2**25) == 5


def test_packets_under_way_and_waiting() -> None:
    """8 Gbit/s × 1 ms are 1 MB: 650.2 frames of 1538 B. 3000 B wait in two packets; one more is being sent."""
    assert ph.packets_needed(8 * G, MS, 3000, 1500, 38) == 651 + 2 + 1
    assert ph.packets_needed(8 * G, MS, 3001, 1500, 38) == 651 + 3 + 1
    assert ph.packets_needed(8 * 1538 * 1000, MS, 0, 1500, 38) == 1 + 0 + 1  # exactly one frame on the line
