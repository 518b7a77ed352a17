"""Theory for every setting of the sliders, as tables that a page reads: it looks figures up and computes none.

Settings with the same curve share it. Numbers are kept as logarithms, those of curves to 0.08 %, means to 0.02 %.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import sys
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from landspeed.base import limits
from landspeed.base.files import write_atomically
from landspeed.explore import goodput_theory, growth, setting
from landspeed.explore.goodput_theory import Curve, Nodes, curve
from landspeed.explore.growth import Share
from landspeed.explore.setting import MEAN_S, Setting, Slider, every, setting_at
from landspeed.scenario.theory import physics

CURVE_STEPS, MEAN_STEPS = 1500, 6000  # of a decade
LEAST_TIME_S, LEAST_LEVEL, LEAST_QUEUE_BDP = 1e-4, 1e-8, 1e-4
QUEUE_LOSS = f"{limits.LOSS} (queue)"
BOUNDS = (limits.LINE_RATE, limits.WINDOW, limits.LOSS, QUEUE_LOSS)
"""What keeps the goodput where it is in the long run; losses are those of the link or of its full queue."""


def codes(values: Iterable[float], least: float, steps: int = CURVE_STEPS) -> array[int]:
    """Whole numbers for values; 0 for nothing."""
    log10 = math.log10
    return array("I", [0 if value < least else 1 + round(steps * log10(value / least)) for value in values])


def bound(of: Curve, share: Share) -> str:
    """Name the limit of a curve in the long run."""
    level = of.long_level(share.pipe)
    if level >= limits.THEORY_SHARE:
        return limits.LINE_RATE
    if level * share.pipe >= limits.THEORY_SHARE * share.cap:
        return limits.WINDOW
    peak = max(window for _, window in of.cycle)
    return limits.LOSS if math.isfinite(share.spacing) and peak < share.brim else QUEUE_LOSS


def _with_crossings(nodes: Nodes, pipe: float) -> Nodes:
    """A node more wherever the pipe becomes full: goodput has its corner there."""
    found = [nodes[0]]
    for (t0, w0), (t1, w1) in pairwise(nodes):
        if (w0 - pipe) * (w1 - pipe) < 0:
            found.append((t0 + (t1 - t0) * (pipe - w0) / (w1 - w0), pipe))
        found.append((t1, w1))
    return found


class PackedCurves:
    """The curves, each once."""

    def __init__(self) -> None:
        """Begin without curves."""
        self.index: array[int] = array("I")
        self.begins: array[int] = array("I", [0])
        self.cycles: array[int] = array("I")
        self.means: array[int] = array("I")
        self.longs: array[int] = array("I")
        self.bounds: array[int] = array("B")
        self.times: array[int] = array("I")
        self.levels: array[int] = array("I")
        self.queues: array[int] = array("I")
        self._known: dict[tuple[Share, str], int] = {}
        self._same: dict[bytes, int] = {}

    def add(self, share: Share, control: str) -> None:
        """The next setting, by its share of the path."""
        key = (share, control)
        if key not in self._known:
            self._known[key] = self._number(share, curve(share, control))
        self.index.append(self._known[key])

    def _number(self, share: Share, of: Curve) -> int:
        pipe = share.pipe
        rise, cycle = (_with_crossings(nodes, pipe) for nodes in (of.rise, of.cycle))
        nodes = [*rise, *cycle]
        times = codes([time_s for time_s, _ in nodes], LEAST_TIME_S)
        filled = [window / pipe for _, window in nodes]
        levels = codes([1.0 if each > 1.0 else each for each in filled], LEAST_LEVEL)
        queues = codes([each - 1.0 for each in filled], LEAST_QUEUE_BDP)
        binds = bound(of, share)
        same = times.tobytes() + levels.tobytes() + queues.tobytes() + f"{len(rise)} {binds}".encode()
        if same not in self._same:
            self._same[same] = len(self.cycles)
            self.times += times
            self.levels += levels
            self.queues += queues
            self.begins.append(len(self.times))
            self.cycles.append(len(rise))
            self.means += codes([of.mean_level(pipe, *MEAN_S)], LEAST_LEVEL, MEAN_STEPS)
            self.longs += codes([of.long_level(pipe)], LEAST_LEVEL, MEAN_STEPS)
            self.bounds.append(BOUNDS.index(binds))
        return self._same[same]

    def bytes(self) -> bytes:
        """Compress all tables (zlib) for the page.

        Columns of numbers of 32 bits, each as differences from number to number, the lowest bytes of all first: so they
        compress to a third.
        """
        parts = (self.begins, self.index, self.cycles, self.means, self.longs, self.bounds)
        columns = [*parts, self.times, self.levels, self.queues]
        level = 7  # five times as fast as 9, and 5 % larger
        return zlib.compress(b"".join(_planes(column) for column in columns), level)

    @property
    def layout(self) -> dict[str, int]:
        """Numbers of settings, curves and nodes."""
        return {"settings": len(self.index), "curves": len(self.cycles), "nodes": len(self.times)}


def _planes(column: Sequence[int]) -> bytes:
    """Differences from number to number: the lowest bytes of all, then the next ones."""
    differences = array("I", [(one - other) & 0xFFFFFFFF for one, other in zip(column, [0, *column[:-1]], strict=True)])
    if sys.byteorder == "big":
        differences.byteswap()
    whole = differences.tobytes()
    return b"".join(whole[plane::4] for plane in range(4))


def theory_tables(chosen: Sequence[Slider], cache: Path | None = None) -> dict[str, Any]:
    """Compute the tables that the page looks up: `{"layout", "scale", "data"}`, the data in base64.

    Args:
        cache: folder where tables are kept; computing them takes some seconds.
    """
    place = None if cache is None else cache / f"theory-{_content(chosen)}.json"
    if place is not None and place.is_file():
        return json.loads(place.read_text())
    packed = PackedCurves()
    for share, control in _every_share(chosen):
        packed.add(share, control)
    made = {
        "layout": packed.layout,
        "scale": {
            "curve": CURVE_STEPS,
            "mean": MEAN_STEPS,
            "time": LEAST_TIME_S,
            "level": LEAST_LEVEL,
            "queue": LEAST_QUEUE_BDP,
        },
        "bounds": BOUNDS,
        "data": base64.b64encode(packed.bytes()).decode(),
    }
    if place is not None:
        place.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(place, json.dumps(made).encode())
    return made


def _every_share(chosen: Sequence[Slider]) -> Iterator[tuple[Share, str]]:
    """Shares and congestion controls of all settings; the last slider, the control, is the fastest."""
    *others, controls = chosen
    for places in every(others):
        setting = setting_at(chosen, (*places, 0))
        shares = {control: setting.share_by(control) for control in ("bbr", "reno")}
        yield from ((shares["bbr" if control == "bbr" else "reno"], control) for control in controls.values)


def _content(chosen: Sequence[Slider]) -> str:
    """Hash the values and the code that computes."""

    digest = hashlib.sha256(repr([(slider.key, slider.values) for slider in chosen]).encode())
    for file in (
        __file__,
        limits.__file__,
        physics.__file__,
        growth.__file__,
        setting.__file__,
        goodput_theory.__file__,
    ):
        digest.update(Path(file).read_bytes())
    return digest.hexdigest()[:16]


def figure_tables(chosen: Sequence[Slider]) -> dict[str, dict[str, Any]]:
    """Figures that a few sliders decide: `{"over": keys, "values": list}`, the last key's values fastest."""
    wanted: dict[str, tuple[tuple[str, ...], Callable[[Setting], float | int | None]]] = {
        "lineRate": (("rate", "mtu"), lambda s: s.line_rate_bps),
        "window": (("rtt", "window", "mtu", "streams"), lambda s: s.window_bps),
        "loss": (("rtt", "mtu", "loss", "streams"), lambda s: s.loss_bps),
        "bdp": (("rtt", "rate"), lambda s: s.bdp_bytes),
        "packets": (("rtt", "rate", "mtu"), lambda s: max(1, round(s.pipe_packets))),
        "windowBdp": (("rtt", "rate", "window", "mtu", "streams"), lambda s: _short(s.window_bdp)),
    }
    by_key = {slider.key: slider for slider in chosen}
    usual = {slider.key: slider.values[slider.start] for slider in chosen}
    return {
        name: {
            "over": keys,
            "values": [
                figure(Setting(**(usual | dict(zip(keys, values, strict=True)))))
                for values in product(*(by_key[key].values for key in keys))
            ],
        }
        for name, (keys, figure) in wanted.items()
    }


def _short(value: float) -> float:
    return float(f"{value:.4g}")
