"""The path's own round trip, and how it divides over the hops.

Every figure of a round trip is an upper bound of the path's own: a queue or a busy host only adds. So the least of all
is taken: of probes, of a traceroute that reached its target, of the kernel's minimum, of a transfer's intervals.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from landspeed.scenario.importers.fit_traceroute import fit, without_outliers
from landspeed.scenario.importers.path_evidence import (
    Figure,
    MeasuredTransfer,
    MeasurementError,
    PathEvidence,
    Traceroute,
)
from landspeed.scenario.importers.probes_at_once import least_ms
from landspeed.scenario.theory import physics as ph

OWN_QUEUE = "the least smoothed RTT, an upper bound: its own queue may be in it"
ECHO, TRACE, HANDSHAKE = (84, 84), (60, 88), (60, 60)
"""IP packets there and back: a ping; a traceroute, whose answer quotes it; SYN and SYN-ACK with their options."""
HALF_MS = 0.5  # what "<1 ms" counts as
APART = 0.05  # sources that differ by more may not be of one path


@dataclass
class RoundTrip:
    """The round trip without queues, and each link's share of it.

    Attributes:
        base: of a full packet of TCP where TCP told it: what an empty path shows.
        delay: of propagation alone.
        hops: labels of the routers, in order.
        links_ms: there and back, for each link; one more than routers.
    """

    base: Figure
    delay: Figure
    hops: list[str] = field(default_factory=list[str])
    links_ms: list[float] = field(default_factory=list[float])
    assumptions: list[str] = field(default_factory=list[str])
    forward: Traceroute | None = None
    reverse: Traceroute | None = None


def round_trip(evidence: PathEvidence, transfer: MeasuredTransfer | None, mtu: int, line_bps: float) -> RoundTrip:
    """The least round trip, and its links.

    Args:
        mtu: of a full packet.
        line_bps: of the bottleneck; what packets take on it is no part of the delay.

    Raises:
        MeasurementError: nothing tells a round trip.
    """
    told = list(_candidates(evidence, transfer, mtu, line_bps)) or list(_last_resorts(evidence))
    told.sort(key=lambda pair: pair[1].value)
    if not told:
        raise MeasurementError(
            "no round-trip time in these files; add a ping, a traceroute, what `ss -ti` printed, or iperf3's JSON of "
            "the sending end"
        )
    own, delay = told[0]
    made = RoundTrip(own, delay)
    if told[-1][1].value > delay.value * (1 + APART):
        more = told[-1][1]
        made.assumptions.append(
            f"Delay. {more.source}; it is {more.value * 1e3:.4g} ms. The least figure is taken, since queues only add."
        )
    if OWN_QUEUE in own.source:
        made.assumptions.append(
            "Delay. Only the transfer itself tells it, so a queue that stood all the time is counted as delay: how "
            "much, nobody can tell. A traceroute, a ping or `ss -ti` would."
        )
    _links(made, evidence, (sum(TRACE) + 2 * ph.ETHERNET_FRAMING) * 8e3 / line_bps)
    return made


def _off_s(times_ms: Sequence[float]) -> float:
    """Half of the last digit in which times were printed, and no less than what a clock and a system call take.

    A half stands for "<1 ms" and is no digit.
    """
    printed = [f"{time:.6f}".rstrip("0").partition(".")[2] for time in times_ms if time != HALF_MS]
    return max(5e-6, 0.5e-3 * 10.0 ** -max(map(len, printed), default=0))


def _candidates(
    evidence: PathEvidence, transfer: MeasuredTransfer | None, mtu: int, line_bps: float
) -> Iterator[tuple[Figure, Figure]]:
    """(what an empty path shows TCP, propagation) as each source has it."""

    full = (mtu, ph.ack_bytes(transfer.ip_version if transfer else 4))

    def takes_s(sizes: tuple[int, int]) -> float:
        """Time on the bottleneck's line, there and back."""
        return (sum(sizes) + 2 * ph.ETHERNET_FRAMING) * 8 / line_bps

    def told(seconds: float, sizes: tuple[int, int], source: str, off_s: float = 0.0) -> tuple[Figure, Figure]:
        delay_s = max(seconds - takes_s(sizes), 0.0)
        return Figure(delay_s + takes_s(full), source, off_s, off_s), Figure(delay_s, source, off_s, off_s)

    others: list[tuple[Figure, Figure]] = []
    for probe in evidence.probes:
        if probe.min_s and not probe.one_way:
            others.append(
                told(
                    probe.min_s,
                    ECHO,
                    f"{probe.source}: {probe.what}, least of {probe.sent}",
                    _off_s([probe.min_s * 1e3]),
                )
            )
    for trace in evidence.traces:
        if trace.reached and trace.hops[-1].rtts_ms:
            off_s = _off_s([time for hop in trace.hops for time in hop.rtts_ms])
            others.append(told((least_ms(trace)[-1] or 0.0) / 1e3, TRACE, f"{trace.source}: its last hop", off_s))
    for socket in evidence.sockets:
        if socket.min_rtt_s:
            # The handshake's packets count in it, and they are small.
            others.append(told(socket.min_rtt_s, HANDSHAKE, f"{socket.source}: {socket.least_of}", 5e-6))
    yield from others
    if transfer is not None:
        seen = [each.rtt_s for each in transfer.intervals if each.rtt_s]
        seen += [transfer.min_rtt_s] if transfer.min_rtt_s else []
        if seen:
            # It may be that of the handshake: beside others it is an upper bound only with that one's small packets.
            yield told(min(seen), HANDSHAKE if others else full, f"{transfer.source}: {OWN_QUEUE}")
    for socket in evidence.sockets:
        if socket.rtt_s and not socket.min_rtt_s:  # ss of before 2016
            yield told(socket.rtt_s, HANDSHAKE if others else full, f"{socket.source}: {OWN_QUEUE}")


def _last_resorts(evidence: PathEvidence) -> Iterator[tuple[Figure, Figure]]:
    for probe in evidence.probes:
        if probe.min_s and probe.one_way:
            off = 2 * probe.clock_error_s
            figure = Figure(2 * probe.min_s, f"{probe.source}: {probe.what}, one way twice", off, off)
            yield figure, figure
    for trace in evidence.traces:
        if not trace.reached and trace.hops[-1].rtts_ms:
            least = min(trace.hops[-1].rtts_ms) / 1e3
            figure = Figure(least, f"{trace.source}: the last hop that answered, which is not the target", 0.0, least)
            yield figure, figure


def bottleneck_of(links_ms: Sequence[float]) -> int:
    """The link that is taken for the bottleneck: with most delay, as no end can tell which it is.

    Not the sender's own link: a queue there holds its sender back and drops nothing.
    """
    return max(range(1, len(links_ms)), key=lambda index: links_ms[index]) if len(links_ms) > 1 else 0


def _less(ms: float | None, off_ms: float, most_ms: float = math.inf) -> float | None:
    return None if ms is None else min(max(ms - off_ms, 0.0), most_ms)


def _links(made: RoundTrip, evidence: PathEvidence, line_ms: float) -> None:
    """Each link's share, from the traceroutes of one end or of both (fit_traceroute.py says how).

    Args:
        made: what is known of the round trip so far.
        evidence: with the traceroutes.
        line_ms: of a packet of traceroute and its answer on the bottleneck's line, which is no delay.
    """
    total_ms = made.delay.value * 1e3
    if not evidence.traces:
        made.hops, made.links_ms = ["router"], [0.0, total_ms]
        made.assumptions.append(
            "Hops. No traceroute: one router is assumed for all, close to the sender, and the delay lies behind it."
        )
        return
    made.forward, made.reverse = evidence.traces[0], evidence.traces[1] if len(evidence.traces) > 1 else None
    routers = list(made.forward.hops[:-1] if made.forward.reached else made.forward.hops)
    if not made.forward.reached:
        made.assumptions.append(
            f"Hops. {made.forward.source} did not reach {made.forward.target}: the receiver is taken as the next hop."
        )
    if not routers:
        made.hops, made.links_ms = ["router"], [0.0, total_ms]
        made.assumptions.append("Hops. The traceroute shows no router; one without a delay holds the queue.")
        return
    count = len(routers) + 1
    forward: list[float | None] = [*least_ms(made.forward)[: len(routers)], None]
    forward, outliers = without_outliers(forward)
    reverse: list[float | None] = [None] * count
    if made.reverse is not None:
        back = list(made.reverse.hops[:-1] if made.reverse.reached else made.reverse.hops)
        if len(back) == len(routers):
            told = least_ms(made.reverse)[: len(back)][::-1]
            seen = [None if ms is None else total_ms - ms for ms in told]
            reverse = [None if ms is None else max(ms, 0.0) for ms in seen] + [None]
        else:
            made.assumptions.append(
                f"Hops. {made.reverse.source} has {len(back)} routers and {made.forward.source} {len(routers)}: "
                "the ways differ, and only the forward one is used."
            )
            made.reverse = None
    for trace in (made.forward, made.reverse):
        if trace is not None and least_ms(trace) != [min(hop.rtts_ms, default=None) for hop in trace.hops]:
            made.assumptions.append(
                f"Probes. Those of {trace.source} waited for each other on a slow line, for traceroute sends sixteen "
                "at once: what they waited is taken off."
            )
    fitted = fit(total_ms, [0.0] * count, forward, reverse)
    narrow = bottleneck_of(fitted.links_ms)
    # What crossed the bottleneck took its time on that line, too.
    forward = [_less(ms, line_ms if hop >= narrow else 0.0) for hop, ms in enumerate(forward)]
    reverse = [_less(ms, -line_ms if hop < narrow else 0.0, total_ms) for hop, ms in enumerate(reverse)]
    fitted = fit(total_ms, [0.0] * count, forward, reverse)
    made.hops, made.links_ms = [hop.label for hop in routers], fitted.links_ms
    ends = [*(hop.label if ms is not None else "" for hop, ms in zip(routers, forward, strict=False)), "the receiver"]
    if sooner := [label for label, ms in zip(ends, fitted.links_ms, strict=True) if label and ms == 0]:
        made.assumptions.append(
            f"Links without a delay. The hop before answered no sooner than {', '.join(sooner)}: the link between them "
            "has the least delay there can be, none."
        )
    quiet = sum(not hop.rtts_ms for hop in routers)
    also = f" {quiet} did not answer and got no delay of their own." if quiet else ""
    slow = f" {len(outliers)} were slow to answer and are left out." if outliers else ""
    made.assumptions.append(
        "Delays by hop. Fitted to the traceroute; how a round trip divides into its two directions no list shows: "
        f"it is halved.{also}{slow}"
    )
