"""Events on links, what each kind does: loss, outage, delay, rate, background traffic; and the steps of traces.

They lie in the order of their time: the caller asks for the next due time, then runs what is due (event_clock.py, or
the loop of a session).

Each is told to the qdiscs at the nanosecond at which it is due: between waking and the change the virtual clock does
not move. A queue stands behind its delay (shaping/link_qdiscs.py), so a rate changes there when what enters the link at
the event's time arrives at it. In real time things happen as soon as they can; the record has the times at which they
did.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from landspeed.worlds.emu.guest import clock
from landspeed.worlds.emu.guest.background import Background
from landspeed.worlds.emu.guest.files import write_json
from landspeed.worlds.emu.guest.network.network import Network
from landspeed.worlds.emu.guest.shaping.direction import DirectionState
from landspeed.worlds.emu.guest.shaping.periodic import Periodic, look_after_ns
from landspeed.worlds.emu.guest.shaping.traces import Follower

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Event

_Field = TypeVar("_Field")


class LinkEvents:
    """The events and traces of a plan, and whatever is added later.

    Attributes:
        start_ns: the time of the monotonic clock from which they count; to be set before the first one happens.
        records: what became of each event.
    """

    def __init__(self, network: Network) -> None:
        """Prepare what can be prepared: sockets of background traffic, the directions that change."""
        self._network = network
        self._directions: dict[tuple[int, str], DirectionState] = {}
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self.start_ns = 0
        self.records: list[dict[str, Any]] = []
        self._traffic: list[tuple[dict[str, Any], list[Background]]] = []
        for event in network.plan.events:
            self.add(event)
        for link in network.plan.links:
            for way, direction in (("forward", link.forward), ("reverse", link.reverse)):
                if direction.trace:
                    Follower(self._direction(link.index, way), direction.trace, self._at)
                if direction.loss_every:
                    look_ns = look_after_ns(network.plan, link, forward=way == "forward")
                    Periodic(self._direction(link.index, way), look_ns, self._at)

    def add(self, event: Event) -> None:
        """Let it happen at its time, which is not past."""
        record = {
            "kind": event.kind,
            "link": event.link,
            "direction": event.direction,
            "planned_s": event.at_ns / 1e9,
            "at_s": None,
            "until_s": None,
            "packets_lost": None,
            "packets_sent": None,
            "note": None,
        }
        self.records.append(record)
        self._plan(event, record)

    @property
    def due_ns(self) -> int | None:
        """Due time of the next entry, by the monotonic clock; None: nothing is left."""
        return self.start_ns + self._due[0][0] if self._due else None

    def happen(self) -> None:
        """Let happen what is due next."""
        _, _, act = heapq.heappop(self._due)
        act()

    def end(self) -> None:
        """Stop what still goes on, and write down what it all did."""
        for record, traffic in self._traffic:
            for each in traffic:
                each.stop()
            if record["at_s"] is not None:
                record["packets_sent"] = sum(each.packets_sent for each in traffic)
        for direction in self._directions.values():
            direction.count()
        write_json("events.json", self.records)

    # --- what the kinds do -------------------------------------------------------------------------------------------

    def _plan(self, event: Event, record: dict[str, Any]) -> None:
        ways = event.directions
        directions = [self._direction(event.link, way) for way in ways]
        if event.kind == "loss" and (packets := event.packets):
            self._at(event.at_ns, lambda: self._lose(record, directions, packets))
        elif event.kind in ("loss", "down"):
            probability = 1.0 if event.kind == "down" else _given(event.probability)
            self._at(event.at_ns, lambda: self._lose_share(record, directions, probability, _given(event.duration_ns)))
        elif event.kind == "delay":
            self._at(
                event.at_ns, lambda: self._set_delay(record, directions, _given(event.delay_ns), event.duration_ns)
            )
        elif event.kind == "rate":
            self._at(event.at_ns, lambda: self._set_rate(record, directions, _given(event.rate_bps), event.duration_ns))
        else:
            self._plan_traffic(event, record, ways)

    def _lose(self, record: dict[str, Any], directions: list[DirectionState], packets: int) -> None:
        if self._network.plan.fidelity == "super-packets":
            record["note"] = "packets_lost counts super-packets: each takes all of its packets with it"
        before = [direction.lost for direction in directions]
        for direction in directions:
            direction.to_lose += packets
            direction.change_netem()
        self._happened(record)
        self._watch(record, list(zip(directions, before, strict=True)))

    def _watch(self, record: dict[str, Any], directions: list[tuple[DirectionState, int]]) -> None:
        """Come back to a counted loss until it is complete; the last packets are lost by themselves."""
        waits = [wait for direction, _ in directions if (wait := direction.follow_loss()) is not None]
        record["packets_lost"] = sum(direction.lost - before for direction, before in directions)
        if waits:
            self._at(self._now_ns() + min(waits), lambda: self._watch(record, directions))
            return
        record["until_s"] = self._now_ns() / 1e9
        for direction, _ in directions:
            direction.change_netem()  # back to the link's own chance

    def _lose_share(
        self, record: dict[str, Any], directions: list[DirectionState], probability: float, duration_ns: int
    ) -> None:
        for direction in directions:
            direction.count()
        before = [direction.lost for direction in directions]
        self._switch(directions, probability)
        self._happened(record)

        def end() -> None:
            self._switch(directions, None)
            record["packets_lost"] = sum(
                direction.lost - was for direction, was in zip(directions, before, strict=True)
            )
            record["until_s"] = self._now_ns() / 1e9

        self._at(round(record["planned_s"] * 1e9) + duration_ns, end)

    def _switch(self, directions: list[DirectionState], probability: float | None) -> None:
        for direction in directions:
            direction.count()
            direction.probability = probability
            direction.change_netem()

    def _set_delay(
        self, record: dict[str, Any], directions: list[DirectionState], delay_ns: int, duration_ns: int | None
    ) -> None:
        def change(value: int | None) -> None:
            for direction in directions:
                direction.delay_ns = value
                direction.change_netem()

        change(delay_ns)
        self._happened(record)
        self._back(record, duration_ns, lambda: change(None))

    def _set_rate(
        self, record: dict[str, Any], directions: list[DirectionState], rate_bps: int, duration_ns: int | None
    ) -> None:
        due_ns = round(record["planned_s"] * 1e9)

        def change(at_ns: int, value: int | None) -> None:
            for direction in directions:

                def act(direction: DirectionState = direction) -> None:
                    direction.rate_bps = value
                    direction.change_rate()

                self._at(at_ns + direction.queue_delay_ns, act)

        change(due_ns, rate_bps)
        self._happened(record)
        self._back(record, duration_ns, lambda: change(due_ns + (duration_ns or 0), None))

    def _plan_traffic(self, event: Event, record: dict[str, Any], ways: tuple[str, ...]) -> None:
        link = self._network.plan.links[event.link]
        rate_bps, lasts_ns = _given(event.rate_bps), _given(event.duration_ns)
        traffic = [Background(self._network, link, forward=way == "forward", rate_bps=rate_bps) for way in ways]
        self._traffic.append((record, traffic))
        if traffic[0].together > 1:
            record["note"] = f"{traffic[0].together} packets back to back each time"

        def begin() -> None:
            for each in traffic:
                each.start(self.start_ns + event.at_ns, lasts_ns)
            self._happened(record)
            self._back(record, lasts_ns, lambda: None)

        # The fork is made a little before: it takes no virtual time, but in real time it does.
        self._at(event.at_ns, begin)

    # --- time --------------------------------------------------------------------------------------------------------

    def _at(self, time_ns: int, act: Callable[[], None]) -> None:
        heapq.heappush(self._due, (time_ns, next(self._order), act))

    def _back(self, record: dict[str, Any], duration_ns: int | None, act: Callable[[], None]) -> None:
        if duration_ns is None:
            return

        def end() -> None:
            act()
            record["until_s"] = self._now_ns() / 1e9

        self._at(round(record["planned_s"] * 1e9) + duration_ns, end)

    def _happened(self, record: dict[str, Any]) -> None:
        record["at_s"] = self._now_ns() / 1e9
        write_json("events.json", self.records)  # kept if the run is ended from outside

    def _now_ns(self) -> int:
        return clock.now_ns() - self.start_ns

    def _direction(self, link: int, way: str) -> DirectionState:
        if (link, way) not in self._directions:
            self._directions[link, way] = DirectionState(
                self._network, self._network.plan.links[link], forward=way == "forward"
            )
        return self._directions[link, way]


def _given(field: _Field | None) -> _Field:
    """A field that events of this kind have (scenario/plan/plan.py)."""
    assert field is not None
    return field
