"""A direction of a link whose qdiscs change while packets are in them: always the whole set of options, at once."""

from __future__ import annotations

import socket
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from landspeed.worlds.emu.guest.network.netlink import PARENT_ROOT
from landspeed.worlds.emu.guest.network.network import Network
from landspeed.worlds.emu.guest.shaping import lose_next as loss
from landspeed.worlds.emu.guest.shaping.direction_options import delays_after_line, direction_options
from landspeed.worlds.emu.guest.shaping.encode_qdisc import options_of, size_table
from landspeed.worlds.emu.guest.shaping.link_qdiscs import CHILD, FIRST_CLASS, ROOT, shaped_device

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Link

FOLLOW_NS = 1_000_000
NUDGE = bytes.fromhex("02000000000002000000000088b5")
SEED_STEP = 0x9E3779B97F4A7C15  # each change begins another part of the random numbers


class DirectionState:
    """State of one direction after events.

    Attributes:
        rate_bps, delay_ns: as they are now; None is as planned.
        probability: of loss now; None is as planned.
        to_lose: packets still to be lost, the next ones that come.
        lost: packets that events have taken so far.
    """

    def __init__(self, network: Network, link: Link, *, forward: bool) -> None:
        """The lane as it was built."""
        self._plan, self._link, self._forward = network.plan, link, forward
        self._late_ns = network.late_ns
        self._planned = link.forward if forward else link.reverse
        position, name = shaped_device(network, link.index, forward=forward)
        self._netlink, self._interface = network.netlink(position), network.interface(position, name)
        self._node, self._name = network.nodes[position], name
        self._nudges: socket.socket | None = None
        self.rate_bps: int | None = None
        self.delay_ns: int | None = None
        self.probability: float | None = None
        self.to_lose = self.lost = 0
        self._armed = 0  # packets that netem has been told to lose
        self._all = False  # told to lose everything until told otherwise
        self._changes = 0
        self._netem_drops = 0
        self._next_period: int | None = None  # the packet to be lost next, as netem counts those that enter

    @property
    def queue_delay_ns(self) -> int:
        """Delay until the queue sees what enters now: the delay comes before it (link_qdiscs.py says why and when)."""
        if delays_after_line(self._planned):
            return 0
        queues = direction_options(self._plan, self._link, self._planned, forward=self._forward)[1] is not None
        return (self._planned.delay_ns if self.delay_ns is None else self.delay_ns) if queues else 0

    def count(self) -> None:
        """Read how many packets netem itself has lost, and whose they were."""
        drops = self._read_netem_drops()
        fresh, self._netem_drops = drops - self._netem_drops, drops
        if self._armed or self.probability is not None:  # else it was the link's own chance
            self.lost += fresh
        if self._armed:
            self.to_lose -= fresh
            self._armed -= fresh

    def change_netem(self) -> None:
        """Tell netem what holds from now on."""
        self.count()
        self._changes += 1
        netem, _ = self._options()
        netem["seed"] = (netem["seed"] + self._changes * SEED_STEP) % (1 << 64)
        self._armed, self._all = 0, False
        if self.probability is not None:
            netem["loss"] = self.probability
            if self.probability >= 1:  # netem's loss takes the copy: what is copied would pass a line that is down
                netem.pop("duplicate", None)
        elif self.to_lose > loss.MOST_AT_ONCE:
            netem["loss"], self._armed = 1.0, self.to_lose  # `follow_loss` comes back before too many are lost
            self._all = True
        elif self.to_lose > 0:
            netem["seed"], netem["loss"] = loss.exactly(self.to_lose)
            self._armed = self.to_lose
        elif self._next_period is not None:
            netem["seed"], netem["loss"] = loss.nth(self._next_period - self._entered())
        options = options_of("netem", **netem) + size_table(self._link)  # what is not said again is gone
        self._netlink.change_qdisc("netem", self._interface, ROOT, PARENT_ROOT, options)

    def change_rate(self) -> None:
        """Tell the token bucket, or netem where it has the rate."""
        _, bucket = self._options()
        if bucket is None:
            self.change_netem()
        else:
            options = options_of("tbf", **bucket)
            self._netlink.change_qdisc("tbf", self._interface, CHILD, FIRST_CLASS, options)

    def follow(self, *, delay_ns: int | None, loss: float | None) -> None:
        """Apply a trace's delay and loss from now on; None: unchanged."""
        now = replace(
            self._planned,
            delay_ns=self._planned.delay_ns if delay_ns is None else delay_ns,
            loss=self._planned.loss if loss is None else loss,
        )
        if now != self._planned:
            self._planned = now
            self.change_netem()

    def follow_rate(self, rate_bps: int) -> None:
        """Apply a trace's rate. Packets that wait for a faster line do not wait the slower line's time out."""
        before, self._planned = self._planned.rate_bps, replace(self._planned, rate_bps=rate_bps)
        if rate_bps != before:
            self.change_rate()
            if rate_bps > before and self._options()[1] is not None:
                self._nudge()

    def _nudge(self) -> None:
        """Have the qdiscs look again whether something may leave: a token bucket's timer is set by its old rate.

        The kernel looks when a packet comes, and at no change. So one comes: 14 bytes for nobody, of a type that nobody
        takes (IEEE 802's local experimental one), which is dropped where the link ends.
        """
        if self._nudges is None:
            with self._node.inside():
                self._nudges = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
                self._nudges.bind((self._name, 0))
        self._nudges.send(NUDGE)

    def follow_loss(self) -> int | None:
        """Look after a loss of counted packets.

        Returns:
            after what time to look again; None when there is nothing to look after any more.
        """
        self.count()
        if self._armed > 0 and self._all and self.to_lose <= loss.MOST_AT_ONCE:
            self.change_netem()  # no time has passed since the count: none can have slipped through
        if self._armed <= 0:
            return None
        if not self._all:
            return FOLLOW_NS  # they are lost by themselves: this is for the record, and for the link's own chance
        smallest_ns = 90 * 8e9 / max(self._planned.rate_bps, self.rate_bps or 0)  # an acknowledgement with its framing
        return max(round((self._armed - loss.MOST_AT_ONCE) / 2 * smallest_ns), 1000)

    def lose_next_of_period(self) -> None:
        """Have netem lose each N-th packet, counted from the first call on; to be called again before N have come.

        Raises:
            RuntimeError: it was called too late, and one was not lost.
        """
        every, entered = self._planned.loss_every, self._entered()
        if self._next_period is None:
            self._next_period = entered + every
        elif entered < self._next_period:
            return
        else:
            self._next_period += every
        if entered >= self._next_period:
            raise RuntimeError(f"each {every}th packet is to be lost: they came too fast for that")
        self.change_netem()

    def _entered(self) -> int:
        return self._netlink.entered(self._interface, ROOT)

    def _options(self) -> tuple[dict[str, Any], dict[str, Any] | None]:
        planned = self._planned
        rate_bps = planned.rate_bps if self.rate_bps is None else self.rate_bps
        delay_ns = planned.delay_ns if self.delay_ns is None else self.delay_ns
        direction = replace(planned, rate_bps=rate_bps, delay_ns=delay_ns)
        return direction_options(self._plan, self._link, direction, forward=self._forward, late_ns=self._late_ns)

    def _read_netem_drops(self) -> int:
        """Drops of the root, which counts those of its child too, less the child's."""
        return self._netlink.drops(self._interface, ROOT) - self._netlink.drops(self._interface, CHILD)
