"""Result of a flow of datagrams, from the members that the engine and the simulator tell alike."""

from __future__ import annotations

from typing import Any

from landspeed.results.tool_result import TransferResult

COUNTS = {
    "loss_ratio": "udp_lost",
    **{name.removeprefix("udp_"): name for name in ("udp_sent", "udp_received", "udp_reordered", "udp_duplicates")},
}
DELAYS = {"min_s": "min", "mean_s": "mean", "p50_s": "p50", "p95_s": "p95", "p99_s": "p99", "max_s": "max"}
NOT_KEPT = (*COUNTS, "jitter_s", "jitter_mean_s", "one_way_delay")


def datagram_result(told: dict[str, Any]) -> TransferResult:
    """The result of a transfer of datagrams.

    Args:
        told: `sent`, `received`, `loss_ratio` …, `jitter_s`, and `one_way_delay`, which may have quantiles at even
            steps; times are in s.
    """
    figures: dict[str, Any] = {name: told.get(member) for member, name in COUNTS.items()}
    for member, name in (("jitter_s", "udp_jitter_ms"), ("jitter_mean_s", "udp_jitter_mean_ms")):
        figures[name] = _ms(told.get(member))
    delays: dict[str, Any] = told.get("one_way_delay") or {}
    figures |= {f"udp_delay_{name}_ms": _ms(delays.get(member)) for member, name in DELAYS.items()}
    options: dict[str, Any] = told.get("options") or {}
    size: int | None = options.get("size_bytes")
    if figures["udp_received"] is not None and size:
        figures["bytes"] = figures["udp_received"] * size
    kept = {name: value for name, value in told.items() if name not in NOT_KEPT}
    told_steps: list[float] = delays.get("steps_s") or []
    steps = [_ms(each) for each in told_steps]
    return TransferResult.of(kept | figures | {"one_way_delay_steps_ms": steps})


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(1e3 * seconds, 6)
