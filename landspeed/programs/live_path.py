"""A path whose clock moves as it is asked: its session, and the story of what happened on it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path as File
from typing import Any

from landspeed.base.units import TIME, UnitError, parse
from landspeed.programs.errors import PathError
from landspeed.programs.story import Story
from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.program_world import ProgramSession


class LivePath:
    """A running path, as its programs and samplings need it.

    Attributes:
        plan: its figures.
        session: of the world.
        folder: the run's folder on this computer.
        events: of its links: the plan's, and those that were planned since.
    """

    def __init__(self, plan: Plan, session: ProgramSession, folder: File) -> None:
        """Attach to a session that has begun."""
        self.plan, self.session, self.folder = plan, session, folder
        self.events = list(plan.events)
        self._story = Story()
        self._nodes_of: dict[int, str] = {}  # programs by number → their nodes

    @property
    def elapsed_s(self) -> float:
        """Virtual time since the path was handed over."""
        return self.session.now_ns / 1e9

    def plan_since(self, begin_ns: int) -> Plan:
        """The path with all of its events, their times counted from a time of its clock."""
        return replace(self.plan, events=[replace(event, at_ns=event.at_ns - begin_ns) for event in self.events])

    def note(self, text: str) -> None:
        """Add a line to the story."""
        self._story.tell(self.session.now_ns, text)

    def ask(self, do: str, **words: Any) -> dict[str, Any]:
        """Ask the session, and tell of the programs that ended meanwhile."""
        running = [number for number in self._nodes_of if self.session.programs[number].status is None]
        answer = self.session.ask(do, **words)
        for number in running:
            program = self.session.programs[number]
            if (status := program.status) is not None and program.ended_ns is not None:
                how = f"exit status {status}" if status >= 0 else f"signal {-status}"
                self._story.tell(program.ended_ns, f"{self._nodes_of[number]}: program {number} ended, {how}")
        return answer

    def duration(self, text: str) -> int:
        """A time in nanoseconds.

        Raises:
            PathError: it is none.
        """
        __tracebackhide__ = True  # for pytest: what went wrong is in the message
        try:
            return parse(TIME, text)
        except (UnitError, AttributeError, TypeError) as error:
            raise PathError(f"{text!r} is not a time: {error}") from error
