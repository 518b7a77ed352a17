"""The way back as a limit: how much payload the acknowledgments that fit into it stand for."""

from __future__ import annotations

from dataclasses import dataclass

from landspeed.scenario.plan.plan import Link
from landspeed.scenario.theory import physics as ph

TELLS = 1.5  # an ACK path that would carry more than so many times the lines ahead is not worth a word


@dataclass(frozen=True)
class AckPath:
    """The line of the way back that acknowledgments fill first.

    Attributes:
        link: which.
        goodput_bps: what the ACKs stand for that fill it, each for what a receiver acknowledges at once.
        drops: ACKs that do not fit are dropped before the line, and those that are left stand for more: no limit then.
            Otherwise they wait in the receiving host, whose interface is as slow as the line and drops nothing.
    """

    link: Link
    goodput_bps: int
    drops: bool

    @property
    def place(self) -> str:
        """The line in words, from the receiver's side."""
        return f"link {self.link.index + 1} {self.link.b}–{self.link.a}"


def ack_path(
    links: list[Link], *, hops: int | None = None, mss: int, ip_version: int, fidelity: str, line_rate_limit_bps: int
) -> AckPath | None:
    """The way back of these links, or None where it is wide enough whatever happens.

    Args:
        links: with their proofs of queueing; those after `hops` are passed by acknowledgments alone.
        mss: payload of a full packet.
        ip_version: 4 or 6.
        fidelity: of the plan; a super-packet is acknowledged once.
        line_rate_limit_bps: the goodput that the lines ahead let through.
    """
    joined_ns = round(min(ph.MODERATION_NS, links[:hops][-1].forward.delay_ns * ph.MODERATION_SHARE))
    acked = ph.bytes_per_ack(mss, fidelity, rate_bps=line_rate_limit_bps, joined_ns=joined_ns)
    bare = ph.ack_bytes(ip_version)
    limits = [ph.ack_limit_bps(link.reverse.rate_bps, link.framing_of(bare), ip_version, acked) for link in links]
    least = min(limits)
    if least >= TELLS * line_rate_limit_bps:
        return None
    link = links[limits.index(least)]
    return AckPath(link, least, link.reverse.can_queue)
