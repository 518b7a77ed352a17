"""What bound a run: the window, the bus, the framing, the ACK path, loss, one of the ends, or the time it had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..scenarios import physics as ph
from .ack_path import FullLine, full_line_back
from .own_probing import CONTROL, PROBE_PACKETS, probing
from .record import LimitedBy, RunRecord
from .wording import rate_text

if TYPE_CHECKING:
    from ..scenarios.plan import Plan
    from ..scenarios.plan_limits import Limit
    from .samples import Samples
    from .series import ByteCurves

LIMIT_NEARNESS = 0.02  # a goodput this close to a limit is bound by it
WINDOW_NEARNESS = 0.10  # rwnd-limited and this close to window / RTT: the window, else a slow reader
SHARED_WINDOW_NEARNESS = 0.20  # the same of MPTCP
LARGE_SHARE = 0.5
PACE_NEARNESS = 0.10
STARTS = 2.0  # so many times what slow start needs
GROWING = 1.1  # the last fifth this much faster than the rate: still in its start


@dataclass
class _Shares:
    """Parts of the transfer's time, mean over the streams, 0…1; None if the tool does not say."""

    busy: float | None
    rwnd: float | None
    sndbuf: float | None


def limited_by(plan: Plan, record: RunRecord, samples: Samples | None = None) -> tuple[LimitedBy | None, str | None]:
    """What bound the run, and the figures that say so.

    A steady goodput (from 10 s on, in shorter runs that of the second half) within 2 % of a limit of the plan is bound
    by that limit (the nearest). Otherwise a line of the way back that was full of acknowledgments; then TCP's own
    account decides (time limited by the receiver's window or the send buffer, time with something to send), then
    pacing, retransmissions, and whether the run was over before the window had grown, or grew slowly; at last whether
    BBR's own probing is what it was below a limit.
    """
    curves = samples.curves if samples else None
    goodput, from_s, span = _settled(record, curves)
    if not goodput:
        return None, None
    near = [limit for limit in plan.physics.limits if abs(goodput / limit.goodput_bps - 1) <= LIMIT_NEARNESS + 1e-9]
    if near:
        limit = min(near, key=lambda each: abs(goodput / each.goodput_bps - 1))
        apart = _apart(goodput, limit.goodput_bps)
        allowed = f"the {rate_text(limit.goodput_bps)} that the {limit.name} allows"
        return word_of(limit), f"goodput {span} was {rate_text(goodput)}, {apart} {allowed}"
    if samples and (full := full_line_back(plan, record.world, samples, from_s)):
        return "ack path", _acks(plan, full, goodput)
    return _from_tcp(plan, record, samples, goodput)


def _settled(record: RunRecord, curves: ByteCurves | None) -> tuple[float | None, float, str]:
    """The goodput that shows the limit, and from when on it was measured, in seconds and in words."""
    if record.steady_goodput_bps:
        return record.steady_goodput_bps, 10.0, "from 10 s on"
    if curves is not None and (late := curves.goodput_bps(curves.end_s / 2)):
        return late, curves.end_s / 2, "in the second half"
    return record.goodput_bps, 0.0, "over the whole run"


def _acks(plan: Plan, full: FullLine, goodput: float) -> str:
    link = full.link
    line = f"{link.b} → {link.a}, {rate_text(link.reverse.rate_bps)}"
    each = goodput / 8 / full.packets_per_s / plan.physics.mss_bytes if full.packets_per_s else 0
    return (
        f"the line back {line}, was {full.share * 100:.0f} % full: {full.packets_per_s:.0f} packets a second, "
        f"each the acknowledgment of {each:.1f} full packets"
    )


def _from_tcp(plan: Plan, record: RunRecord, samples: Samples | None, goodput: float) -> tuple[LimitedBy, str]:
    shares = _shares(record)
    rwnd = shares.rwnd
    if rwnd is None and samples:  # a simulator keeps no account of it
        rwnd = samples.window_share()
    if rwnd is not None and rwnd > LARGE_SHARE:
        return _window_or_receiver(plan, record, samples, goodput, rwnd)
    if rwnd is not None and rwnd > LARGE_SHARE / 2:  # of the whole time, its start included
        found = _window_or_receiver(plan, record, samples, goodput, rwnd)
        if found[0] == "window" and samples and samples.largest_send_window():
            return found
    if shares.sndbuf is not None and shares.sndbuf > LARGE_SHARE:
        return "sender", f"TCP waited for room in the send buffer {shares.sndbuf * 100:.0f} % of the time"
    if shares.busy is not None and shares.busy < LARGE_SHARE:
        return "application", f"there was something to send only {shares.busy * 100:.0f} % of the time"
    return (
        _shared_window(plan, record, samples, goodput)
        or _paced(plan, goodput)
        or _lost(plan, record, samples)
        or _standing(plan, record, samples)
        or _starting(plan, record, samples)
        or _growing(plan, samples)
        or _probing(plan, record, samples, goodput)
        or ("unknown", f"{rate_text(goodput)} is near no limit of the plan, and TCP names no reason")
    )


def _lost(plan: Plan, record: RunRecord, samples: Samples | None) -> tuple[LimitedBy, str] | None:
    if not record.retransmits:
        return None
    return "loss", f"{record.retransmits} retransmissions held the window down" + _where_dropped(plan, samples)


def _standing(plan: Plan, record: RunRecord, samples: Samples | None) -> tuple[LimitedBy, str] | None:
    """A run that had stopped before it was halfway, and ended before a timeout sent anything again."""
    since_s = samples.stands_since_s() if samples else None
    known_s = plan.transfer.sample_interval_ns / 1e9  # it stopped at some time since the sample before
    if since_s is None or record.duration_s is None or since_s - known_s > LARGE_SHARE * record.duration_s:
        return None
    why = f"nothing was acknowledged from {since_s:.3g} s on: it ended before TCP's timeout"
    return "loss", why + _where_dropped(plan, samples)


def _paced(plan: Plan, goodput: float) -> tuple[LimitedBy, str] | None:
    """A paced run not far from its pace: short runs and losses stay below, and what had waited behind a hole adds."""
    pace = next((limit.goodput_bps for limit in plan.physics.limits if limit.kind == "pacing"), None)
    if pace is None or not abs(goodput / pace - 1) <= PACE_NEARNESS:
        return None
    return "pacing", f"{rate_text(goodput)} is {_apart(goodput, pace)} the {rate_text(pace)} to which it was paced"


def _starting(plan: Plan, record: RunRecord, samples: Samples | None) -> tuple[LimitedBy, str] | None:
    """A run without a loss that still grew, or that ended before slow start could bring it to the plan's goodput."""
    curves = samples.curves if samples else None
    over, last = _settled(record, curves)[0], curves.goodput_bps(0.8 * curves.end_s) if curves is not None else None
    if last and over and last > GROWING * over:
        return "slow start", f"the last fifth ran at {rate_text(last)}: it was over before its window had grown"
    if samples is None or samples.left_slow_start() is not False:
        return None
    physics, streams = plan.physics, plan.transfer.streams
    wanted = physics.expected_goodput_bps * physics.rtt_ns // (8 * 10**9 * streams)
    needs_s = ph.slow_start_ns(wanted, physics.mss_bytes, physics.rtt_ns) / 1e9
    if record.duration_s is None or record.duration_s > STARTS * needs_s:
        return None
    return (
        "slow start",
        f"no stream left it in {record.duration_s:.2f} s; it takes {needs_s:.2f} s to the plan's goodput",
    )


def _growing(plan: Plan, samples: Samples | None) -> tuple[LimitedBy, str] | None:
    """Nothing was lost, and the congestion window is what held it: a delay or a mark ended slow start early."""
    share = samples.congestion_window_share() if samples else None
    if samples is None or share is None or share < LARGE_SHARE or not samples.left_slow_start():
        return None
    marks = sum(samples.passed_by_link("marks").values())
    told = f"{marks} packets were marked" if marks else "nothing was lost or marked"
    control = plan.transfer.congestion_control
    return "congestion window", f"it was full {share * 100:.0f} % of the time; {told}, {control} had left slow start"


def _probing(plan: Plan, record: RunRecord, samples: Samples | None, goodput: float) -> tuple[LimitedBy, str] | None:
    """BBR at a limit but for its own looks at the round trip: it was there in the time between them."""
    if samples is None or plan.transfer.congestion_controls or plan.transfer.congestion_control != CONTROL:
        return None
    found = probing(samples, _settled(record, samples.curves)[1], (record.rtt_ms or plan.physics.rtt_ns / 1e6) / 1e3)
    if found is None:
        return None
    limit = min(plan.physics.limits, key=lambda each: abs(found.between_bps / each.goodput_bps - 1))
    if abs(found.between_bps / limit.goodput_bps - 1) > LIMIT_NEARNESS or goodput > limit.goodput_bps:
        return None
    return "probing", (
        f"{rate_text(goodput)} is {_apart(goodput, limit.goodput_bps)} the {rate_text(limit.goodput_bps)} that the "
        f"{limit.name} allows: BBR kept {PROBE_PACKETS} packets in flight {_times(found.looks)} to see the round trip; "
        f"this took {found.share * 100:.1f} % of the time, and in the rest it ran at {rate_text(found.between_bps)}"
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _window_or_receiver(
    plan: Plan, record: RunRecord, samples: Samples | None, goodput: float, share: float
) -> tuple[LimitedBy, str]:
    """TCP waited for the receiver: because the window is small for the RTT, or because it was not emptied."""
    told = f"TCP waited for the receiver's window {share * 100:.0f} % of the time"
    window = samples.largest_send_window() if samples else None
    if window is None:
        return "window", told
    rtt_ms = record.rtt_ms or plan.physics.rtt_ns / 1e6
    most = window * 8e3 / rtt_ms
    allowed = f"{window / 1e6:.1f} MB per {rtt_ms:.1f} ms allow {rate_text(most)}"
    if goodput >= most * (1 - WINDOW_NEARNESS):
        return "window", f"{told}; {allowed}"
    return "receiver", f"{told}, though {allowed}: it reads too slowly"


def _shared_window(
    plan: Plan, record: RunRecord, samples: Samples | None, goodput: float
) -> tuple[LimitedBy, str] | None:
    """MPTCP whose congestion windows had room: then its one window had none, of which TCP keeps no account.

    It is seldom quite full: Linux fills it again in bursts, now on this route and now on that.
    """
    most, share = plan.physics.window_limit_bps, samples.congestion_window_share() if samples else None
    if not plan.transfer.mptcp or not most or record.retransmits or share is None or share > LARGE_SHARE:
        return None
    told = f"the congestion windows had room {100 - share * 100:.0f} % of the time, and nothing was lost"
    allowed = f"{_apart(goodput, most)} the {rate_text(most)} that one window for both routes allows"
    near = goodput >= most * (1 - SHARED_WINDOW_NEARNESS)
    return "window" if near else "receiver", f"{rate_text(goodput)} is {allowed}; {told}"


def _where_dropped(plan: Plan, samples: Samples | None) -> str:
    drops = samples.drops_by_link() if samples else {}
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


def word_of(limit: Limit) -> LimitedBy:
    """The judge's word for a limit of the plan."""
    return "bus (fitted)" if limit.kind == "bus" and limit.fitted else limit.kind


def _link(plan: Plan, index: int, direction: str) -> str:
    link = plan.links[index]
    return f"{link.a} → {link.b}" if direction == "forward" else f"{link.b} → {link.a}"


def _apart(goodput: float, limit: float) -> str:
    apart = (goodput / limit - 1) * 100
    if abs(apart) < 0.005:
        return "at"
    return f"{abs(apart):.2f} % {'above' if apart > 0 else 'below'}"
