"""The traces that come with landspeed. They are made, not kept: by setup, for a wheel, or when one is first read.

None is a recording. Each is a model with few figures, so that what a transfer meets is known; the sources say where the
figures' sizes come from. Chance is a generator of Python's with a fixed seed.
"""

from __future__ import annotations

import math
import random
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path

from landspeed.base.places import ROOT

FOLDER = ROOT / "scenarios" / "traces"
LIGHT_KM_PER_MS = 299.792458
ALTITUDE_KM, SPEED_KM_PER_S = 550.0, 7.3
HANDOVER_S = 15
OUTAGE_MS = 80
GROUND_MS = 9.0
NEAREST_S = (20, 90, -55, 65)  # when each slot's satellite is nearest, from the beginning of the slot
SEED = 17


def low_orbit() -> Iterator[str]:
    """A terminal below a constellation: four slots of 15 s, each with another satellite, then again.

    The delay is twice the way to the satellite at 550 km (up and down, bent pipe) and 9 ms on the ground; the satellite
    passes at 7.3 km/s. The rate falls with the square of that way, from 180 Mbit/s. At a handover nothing passes for
    80 ms. Slots of 15 s, gaps and rates of this size: Mohan et al., A Multifaceted Look at Starlink Performance,
    WWW 2024.
    """
    yield "# A terminal below a constellation: a new satellite every 15 s. Made by landspeed (made_traces.py)."
    yield "time [ms],rate [Mbit/s],delay [ms],loss [%]"
    for slot, nearest_s in enumerate(NEAREST_S):
        for second in range(HANDOVER_S):
            way_km = math.hypot(ALTITUDE_KM, SPEED_KM_PER_S * (second - nearest_s))
            rate = 180 * (ALTITUDE_KM / way_km) ** 2
            delay_ms = 2 * way_km / LIGHT_KM_PER_MS + GROUND_MS
            start_ms = 1000 * (HANDOVER_S * slot + second)
            if second == 0:
                yield f"{start_ms},0,{delay_ms:.3f},0.1"
                start_ms += OUTAGE_MS
            yield f"{start_ms},{rate:.1f},{delay_ms:.3f},{0.5 if second == HANDOVER_S - 1 else 0.1}"
    yield f"{1000 * HANDOVER_S * len(NEAREST_S)},0,{GROUND_MS + 2 * ALTITUDE_KM / LIGHT_KM_PER_MS:.3f},0.1"


def cellular_downlink() -> Iterator[str]:
    """A moving phone, in Mahimahi's format: 30 s, 4 Mbit/s in the mean of its logarithm, with two seconds of shadow.

    Every 20 ms the logarithm of the rate moves a twentieth of the way back to the mean, and by chance; packets leave as
    credit for 1500 bytes comes together. Such swings within seconds: Winstein, Sivaraman, Balakrishnan, Stochastic
    Forecasts Achieve High Throughput and Low Delay over Cellular Networks, NSDI 2013.
    """
    chance = random.Random(SEED)
    mean = level = math.log(4e6)
    credit = 0.0
    for time_ms in range(1, 30_001):
        if time_ms % 20 == 1:
            level += 0.05 * (mean - level) + 0.35 * (chance.random() - chance.random())
        shadow = 0.05 if 16_000 < time_ms <= 18_000 else 1.0
        credit += shadow * math.exp(level) / 8000
        while credit >= 1500:
            credit -= 1500
            yield str(time_ms)
    yield "30000"


def degrading_line() -> Iterator[str]:
    """A copper line that gets wet: it trains down in ten steps, then cuts losses by interleaving, which takes time.

    50 Mbit/s falls by an eighth every 5 s while the losses grow; at 50 s the modem interleaves: 8 ms more, and the
    losses are gone. Interleaving against delay: ITU-T G.993.2, impulse noise protection.
    """
    yield "# A copper line that gets wet, and a modem that interleaves at last. Made by landspeed (made_traces.py)."
    yield "time [s],rate [Mbit/s],delay [ms],loss [%]"
    rate = 50.0
    for step in range(10):
        yield f"{5 * step},{rate:.2f},6,{0.002 * 2**step - 0.002:.3f}"
        rate *= 7 / 8
    yield f"50,{rate:.2f},14,0"
    yield f"60,{rate:.2f},14,0"


TRACES = {
    "low-orbit.csv": low_orbit,
    "cellular-downlink.mahimahi": cellular_downlink,
    "degrading-line.csv": degrading_line,
}


def make_trace(path: Path) -> None:
    """Write the trace of this path if it is one of them; two processes may do so at once.

    Raises:
        OSError: it cannot be written.
    """
    if path.name in TRACES and path.parent.resolve() == FOLDER:
        _write(path.name, FOLDER)


def _write(name: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    beside = folder / f".{name}.{secrets.token_hex(4)}"
    beside.write_text("\n".join(TRACES[name]()) + "\n", encoding="utf-8")
    beside.replace(folder / name)


def main() -> None:
    """Write all of them, into another folder if one is named."""
    for name in TRACES:
        _write(name, Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)


if __name__ == "__main__":
    main()
