"""Figures that a few sliders decide, and constants of the model: with them the page's script computes theory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from landspeed.base import limits
from landspeed.explore import goodput_theory, growth, setting
from landspeed.explore.setting import Setting, Slider
from landspeed.scenario.theory import physics


def theory_constants() -> dict[str, Any]:
    """Constants of the model, by their names in templates/theory.js."""
    return {
        "initialWindow": physics.INITIAL_WINDOW_PACKETS,
        "leastWindow": goodput_theory.LEAST_WINDOW,
        "cubicC": physics.CUBIC_C,
        "cubicBeta": physics.CUBIC_BETA,
        "cubicFriendly": growth.CUBIC_FRIENDLY,
        "fastConvergence": goodput_theory.FAST_CONVERGENCE,
        "htcpBeta": growth.HTCP_BETA,
        "htcpLinear": growth.HTCP_LINEAR_S,
        "htcpScale": growth.HTCP_SCALE,
        "htcpShort": growth.HTCP_SHORT_S,
        "bbrDipEvery": goodput_theory.BBR_DIP_EVERY_S,
        "bbrDip": goodput_theory.BBR_DIP_S,
        "bbrDipWindow": goodput_theory.BBR_DIP_WINDOW,
        "nodes": goodput_theory.NODES,
        "mostCycles": goodput_theory.MOST_CYCLES,
        "alike": goodput_theory.ALIKE,
        "framing": setting.FRAMING,
        "queuedFrame": setting.QUEUED_FRAME,
        "leastQueue": setting.LEAST_QUEUE,
        "targets": setting.TARGETS_S,
        "share": limits.THEORY_SHARE,
        "bounds": {
            "line": limits.LINE_RATE,
            "window": limits.WINDOW,
            "loss": limits.LOSS,
            "queue": goodput_theory.QUEUE_LOSS,
        },
    }


def figure_tables(chosen: Sequence[Slider]) -> dict[str, dict[str, Any]]:
    """Figures that a few sliders decide: `{"over": keys, "values": list}`, the last key's values fastest."""
    wanted: dict[str, tuple[tuple[str, ...], Callable[[Setting], float | int | None]]] = {
        "mss": (("mtu",), lambda s: s.mss),
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
