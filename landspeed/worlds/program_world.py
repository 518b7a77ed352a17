"""A world that runs programs of the user's on its paths: one program, a prompt, or a session."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landspeed.worlds.world import World

if TYPE_CHECKING:
    from landspeed.base.progress import Progress
    from landspeed.results.facts import Spun
    from landspeed.results.record import EventResult
    from landspeed.scenario.plan.plan import Plan

SAMPLE_INTERVAL_NS = 10_000_000
DOUBLE_AFTER = 8192  # samples: an hour at 10 ms is then 41 000 samples instead of 360 000


@dataclass(frozen=True, kw_only=True)
class SocketSampling:
    """All sockets and all links are looked at, again and again.

    Attributes:
        interval_ns: between two samples.
        double_after: samples after which the interval doubles, again and again; 0: never.
        folder: for the samples, relative to the run's; it must be there.
    """

    interval_ns: int = SAMPLE_INTERVAL_NS
    double_after: int = DOUBLE_AFTER
    folder: str = ""


@dataclass(frozen=True)
class ProgramState:
    """A program of a session: `status` is None while it runs; `bytes` are those of both outputs."""

    status: int | None
    ended_ns: int | None
    bytes: tuple[int, int]


class ProgramSession(ABC):
    """A path that does as it is asked; between two questions its clock stands still.

    Attributes:
        addresses: of the nodes, by name.
        start_unix_ns: the path's calendar when the session started.
        now_ns: virtual time since the session's start, as of the last answer.
        programs: by number.
        events: what became of each event, in the order in which they were planned.
        broken: nothing more can be asked.
    """

    addresses: dict[str, str]
    start_unix_ns: int
    now_ns: int
    programs: dict[int, ProgramState]
    events: list[EventResult]
    broken: bool

    @abstractmethod
    def ask(self, do: str, **words: Any) -> dict[str, Any]:
        """Call a function of the guest, and wait for its answer.

        Raises:
            RunFailed: the path broke, or stands still.
        """

    @abstractmethod
    def sampler(self, sampling: SocketSampling) -> dict[str, Any]:
        """Convert the sampling to the argument of `ask("sample", sampler=…)`."""

    @abstractmethod
    def check_sampled(self, folder: Path, answer: dict[str, Any]) -> None:
        """Check that the sampling came to its end, by the answer to `ask("sampled")`; `folder` is the run's.

        Raises:
            RunFailed: it did not.
        """


class ProgramWorld(World):
    """A world that also runs programs of the user's on its paths."""

    @abstractmethod
    def execute(
        self,
        plan: Plan,
        folder: Path,
        *,
        at: str,
        command: list[str],
        visible: Sequence[Path] = (),
        calibrate: bool = True,
        sampling: SocketSampling | None = None,
        report: Callable[[Progress], None] = lambda _: None,
        each_poll: Callable[[], None] = lambda: None,
        spun: Callable[[list[Spun]], None] = lambda _: None,
    ) -> int:
        """Run a program of the user's on the path; its output goes to log/stdout and log/stderr of the folder.

        Args:
            plan: the network.
            folder: of the run.
            at: node that runs the program.
            command: its words.
            visible: files and folders of this computer that it sees, also where the world has its own.
            calibrate: measure the path first.
            sampling: of all sockets and links meanwhile.
            report: told of the progress.
            each_poll: called several times a second.
            spun: told at the end of programs that spun, where the plan lets time pass for them.

        Returns:
            the program's exit status.

        Raises:
            RunFailed: the path broke.
        """

    @abstractmethod
    def shell(self, plan: Plan, folder: Path) -> None:
        """Open a prompt on the path, in real time, on this terminal.

        Raises:
            RunFailed: the path broke.
        """

    @abstractmethod
    def session(
        self, plan: Plan, folder: Path, *, visible: Sequence[Path] = (), memory_bytes: int | None = None
    ) -> AbstractContextManager[ProgramSession]:
        """A path that does one thing after the other as it is asked, until the block is left.

        Args:
            plan: the network; `changeable` where its links may change.
            folder: of the run.
            visible: more folders of this computer that programs see.
            memory_bytes: most memory of this computer that it takes; None: what such a plan takes.

        Raises:
            RunFailed: the path broke.
        """


def changeable(plan: Plan) -> Plan:
    """Return the plan for any traffic and any change of links: every direction has its queue.

    The plan proves where no queue can form for its own flows and events, and such links are passed in one step; a
    session's programs and events are not known before.
    """
    links = [
        replace(link, forward=replace(link.forward, can_queue=True), reverse=replace(link.reverse, can_queue=True))
        for link in plan.links
    ]
    return replace(plan, links=links)
