"""Speech over packets: how a call sounds, by the E-model of ITU-T Recommendation G.107.

All of its parameters but delay and loss have their default values (G.107, table 2), with which R is 93.2. The codec is
G.711 with loss concealment, in packets of 20 ms: Ie 0, Bpl 25.1 (G.113, appendix I); losses come each for itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

PACKET_MS = 20.0
BASIC_R = 93.2  # with all defaults, G.107 section 7.7
NOISE, RLR, TELR, WEPL = 94.77, 2.0, 65.0, 110.0  # Ro; loudness and echo, defaults
IE, BPL = 0.0, 25.1
_NO_DBM0P = -61.18  # No of G.107 with its defaults


def delay_impairment(one_way_ms: float) -> float:
    """Id of G.107: talker echo (Idte), listener echo (Idle) and delay in itself (Idd), for both ways alike."""
    t, roundtrip = one_way_ms, 2 * one_way_ms
    terv = TELR - 40 * math.log10((1 + t / 10) / (1 + t / 150)) + 6 * math.exp(-0.3 * t * t)
    talker = -1.5 * (_NO_DBM0P - RLR) - (80 + 2.5 * (terv - 14))
    echo = (talker / 2 + math.sqrt(talker**2 / 4 + 100) - 1) * (1 - math.exp(-t))
    listener = NOISE - 10.5 * (WEPL + 7) * (roundtrip + 1) ** -0.25
    heard = listener / 2 + math.sqrt(listener**2 / 4 + 169)
    if t <= 100:
        return echo + heard
    x = math.log2(t / 100)
    return echo + heard + 25 * ((1 + x**6) ** (1 / 6) - 3 * (1 + (x / 3) ** 6) ** (1 / 6) + 2)


def rating(one_way_ms: float, loss: float) -> float:
    """R of G.107, of a mouth-to-ear delay and a share of packets lost."""
    idle, percent = delay_impairment(0.0), 100 * loss
    return BASIC_R - (delay_impairment(one_way_ms) - idle) - (IE + (95 - IE) * percent / (percent + BPL))


def mean_opinion(r: float) -> float:
    """The mean opinion score of a rating: 1 (bad) to 4.5 (G.107, annex B)."""
    return 1.0 if r <= 0 else 4.5 if r >= 100 else 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6


def call_opinion(round_trips_ms: Sequence[float]) -> float:
    """The score of a call whose packets fare as echoes, each of half their round trip; infinite: it was lost.

    The receiver plays each packet at a fixed time after it was spoken; what comes later is lost. That time is the one
    with which the call sounds best.
    """
    came = [each / 2 for each in round_trips_ms if math.isfinite(each)]
    return heard_opinion(came, 1 - len(came) / len(round_trips_ms))


def heard_opinion(one_way_ms: Sequence[float], lost: float) -> float:
    """The score of a call of which a share was lost, and the rest took these times, one as often as the other."""
    ordered = sorted(one_way_ms)
    best, step = 0.0, max(len(ordered) // 1000, 1)
    for number in {*range(0, len(ordered), step), len(ordered) - 1} if ordered else ():
        in_time = (number + 1) / len(ordered)
        best = max(best, rating(ordered[number] + PACKET_MS, 1 - (1 - lost) * in_time))
    return mean_opinion(best)
