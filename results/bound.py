"""What bound a run: the window, the bus, the framing, loss, one of the ends, or the time it had."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .record import LimitedBy, RunRecord
from .wording import rate_text

if TYPE_CHECKING:
    from ..scenarios.plan import Plan
    from .series import ByteCurves

LIMIT_NEARNESS = 0.02  # a goodput this close to a limit is bound by it
WINDOW_NEARNESS = 0.10  # rwnd-limited and this close to window / RTT: the window, else a slow reader
LARGE_SHARE = 0.5
GROWING = 1.1  # the last fifth this much faster than the rate: still in its start


@dataclass
class _Shares:
    """Parts of the transfer's time, mean over the streams, 0…1; None if the tool does not say."""

    busy: float | None
    rwnd: float | None
    sndbuf: float | None


def limited_by(
    plan: Plan, record: RunRecord, curves: ByteCurves | None = None, bundle_dir: Path | None = None
) -> tuple[LimitedBy | None, str | None]:
    """What bound the run, and the figures that say so.

    A steady goodput (from 10 s on, in shorter runs that of the second half) within 2 % of a limit of the plan is bound
    by that limit (the nearest). Otherwise TCP's own account decides (time limited by the receiver's window or the send
    buffer, time with something to send), then retransmissions, then whether the run was over before the window had
    grown.
    """
    goodput, span = _settled(record, curves)
    if not goodput:
        return None, None
    near = [limit for limit in plan.physics.limits if abs(goodput / limit.goodput_bps - 1) <= LIMIT_NEARNESS + 1e-9]
    if near:
        limit = min(near, key=lambda each: abs(goodput / each.goodput_bps - 1))
        apart = _apart(goodput, limit.goodput_bps)
        allowed = f"the {rate_text(limit.goodput_bps)} that the {limit.name} allows"
        return _kind(limit.name), f"goodput {span} was {rate_text(goodput)}, {apart} {allowed}"
    return _from_tcp(plan, record, curves, bundle_dir, goodput)


def _settled(record: RunRecord, curves: ByteCurves | None) -> tuple[float | None, str]:
    """The goodput that shows the limit, and when it was measured."""
    if record.steady_goodput_bps:
        return record.steady_goodput_bps, "from 10 s on"
    if curves is not None and (late := curves.goodput_bps(curves.end_s / 2)):
        return late, "in the second half"
    return record.goodput_bps, "over the whole run"


def _from_tcp(
    plan: Plan, record: RunRecord, curves: ByteCurves | None, bundle_dir: Path | None, goodput: float
) -> tuple[LimitedBy, str]:
    shares = _shares(record)
    if shares.rwnd is not None and shares.rwnd > LARGE_SHARE:
        return _window_or_receiver(plan, record, bundle_dir, goodput, shares.rwnd)
    if shares.sndbuf is not None and shares.sndbuf > LARGE_SHARE:
        return "sender", f"TCP waited for room in the send buffer {shares.sndbuf * 100:.0f} % of the time"
    if shares.busy is not None and shares.busy < LARGE_SHARE:
        return "application", f"there was something to send only {shares.busy * 100:.0f} % of the time"
    if record.retransmits:
        return "loss", f"{record.retransmits} retransmissions held the window down" + _where_dropped(plan, bundle_dir)
    if curves is not None and (last := curves.goodput_bps(0.8 * curves.end_s)) and last > GROWING * goodput:
        return "slow start", f"the last fifth ran at {rate_text(last)}: it was over before its window had grown"
    return "unknown", f"{rate_text(goodput)} is near no limit of the plan, and TCP names no reason"


def _window_or_receiver(
    plan: Plan, record: RunRecord, bundle_dir: Path | None, goodput: float, share: float
) -> tuple[LimitedBy, str]:
    """TCP waited for the receiver: because the window is small for the RTT, or because it was not emptied."""
    from .series import largest_send_window

    told = f"TCP waited for the receiver's window {share * 100:.0f} % of the time"
    window = largest_send_window(bundle_dir) if bundle_dir else None
    if window is None:
        return "window", told
    rtt_ms = record.rtt_ms or plan.physics.rtt_ns / 1e6
    most = window * 8e3 / rtt_ms
    allowed = f"{window / 1e6:.1f} MB per {rtt_ms:.1f} ms allow {rate_text(most)}"
    if goodput >= most * (1 - WINDOW_NEARNESS):
        return "window", f"{told}; {allowed}"
    return "receiver", f"{told}, though {allowed}: it reads too slowly"


def _where_dropped(plan: Plan, bundle_dir: Path | None) -> str:
    from .series import drops_by_link

    drops = drops_by_link(bundle_dir) if bundle_dir else {}
    where = ", ".join(f"{count} dropped at {_link(plan, *key)}" for key, count in sorted(drops.items()))
    return f" ({where})" if where else ""


def _shares(record: RunRecord) -> _Shares:
    def share(name: str) -> float | None:
        known = [
            getattr(stream, name) / 1e6 / duration
            for stream in record.streams
            if getattr(stream, name) is not None and (duration := stream.duration_s or record.duration_s)
        ]
        return sum(known) / len(known) if known else None

    return _Shares(busy=share("busy_us"), rwnd=share("rwnd_limited_us"), sndbuf=share("sndbuf_limited_us"))


def _kind(limit_name: str) -> LimitedBy:
    """The word for a limit of the plan, whose name begins with it."""
    word = limit_name.split(maxsplit=1)[0].rstrip(":,")
    if word == "bus":
        return "bus (fitted)" if "fitted" in limit_name else "bus"
    kinds: dict[str, LimitedBy] = {"window": "window", "framing": "framing", "pacing": "pacing", "loss": "loss"}
    return kinds.get(word, "unknown")


def _link(plan: Plan, index: int, direction: str) -> str:
    link = plan.links[index]
    return f"{link.a} → {link.b}" if direction == "forward" else f"{link.b} → {link.a}"


def _apart(goodput: float, limit: float) -> str:
    apart = (goodput / limit - 1) * 100
    if abs(apart) < 0.005:
        return "at"
    return f"{abs(apart):.2f} % {'above' if apart > 0 else 'below'}"
