"""A path in a test's hands: its nodes, its clock, and what shall happen to its links."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path as File
from typing import TYPE_CHECKING, Any, TypeVar

from landspeed.programs.calls import Call
from landspeed.programs.conditions import Condition
from landspeed.programs.errors import LandspeedWarning, PathError, ProgramNotStarted, ProgramTimeout
from landspeed.programs.events import PathEvents, plain
from landspeed.programs.live_path import LivePath
from landspeed.programs.node_program import Program
from landspeed.programs.sampling import SocketSampler
from landspeed.programs.story import event_lines, place_words, time_text
from landspeed.programs.visible_files import SHARED, named_files, refusal
from landspeed.results.facts import Spun
from landspeed.runs.scenario import Scenario
from landspeed.worlds.program_world import DOUBLE_AFTER

if TYPE_CHECKING:
    from landspeed.judge.sockets.series import SocketSamples
    from landspeed.judge.sockets.socket_limits import Bound
    from landspeed.results.facts import Spun
    from landspeed.scenario.plan.plan import Plan
    from landspeed.worlds.program_world import ProgramSession

TIMEOUT = "10 min"  # of virtual time: no call lets it pass without end
Words = Sequence[str | os.PathLike[str]]
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class PathNode:
    """A node of a path, where programs run.

    Attributes:
        name: in the scenario; every program of the path finds the node by it, too.
        address: its own.
    """

    path: NetworkPath
    name: str
    address: str

    def popen(
        self,
        words: Words,
        *,
        until: Condition | None = None,
        limit: str = "30 s",
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        input: str | bytes | None = None,
    ) -> Program:
        """Start a program here, and return. Virtual time passes only while this waits for `until`.

        Args:
            words: program and arguments. It is found as on this computer, sees its files and cannot change them.
            until: condition that must hold before this returns: `listening(9000)`, `line("ready")`, `succeeds([…])`.
            limit: longest time on the path's clock to wait for `until`.
            env: variables besides those that every program of the path has; `LANDSPEED_NAME` is a node's address.
            cwd: its folder; None: this process's.
            input: its standard input; None: nothing.

        Raises:
            ProgramNotStarted: it does not exist, is not executable, or is for another machine.
            ProgramEnded, ProgramTimeout: of `until`.
        """
        __tracebackhide__ = True  # for pytest: what went wrong is in the message
        program = self.path.start(self, words, env=env, cwd=cwd, input=input)
        return program.wait_for(until, limit) if until is not None else program

    def run(
        self,
        words: Words,
        *,
        timeout: str = TIMEOUT,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        input: str | bytes | None = None,
    ) -> Program:
        """Run a program here to its end, and let virtual time pass meanwhile. The arguments are those of `popen`.

        Raises:
            ProgramNotStarted: it does not exist, is not executable, or is for another machine.
            ProgramTimeout: it still ran after `timeout` of the path's clock, and was ended.
        """
        __tracebackhide__ = True  # for pytest: what went wrong is in the message
        program = self.path.start(self, words, env=env, cwd=cwd, input=input)
        try:
            return program.wait(timeout)
        except ProgramTimeout:
            program.stop()
            raise

    def python(self, function: Callable[..., _Result], *arguments: Any, timeout: str = TIMEOUT) -> _Result:
        """Call a function here, in a separate Python process, and return its result.

        The function, its arguments and its result must be picklable. Nothing else of this process exists there: neither
        its variables nor its fixtures; and changes by the function stay there.

        Raises:
            Exception: whatever the function raises, with its traceback there as a note.
            PathError: the function cannot be called there.
        """
        __tracebackhide__ = True  # for pytest: what went wrong is in the message
        call = Call(self.path.folder / "programs", function, arguments)
        return call.result(self.run(call.words, env=call.environment, timeout=timeout))


class NetworkPath(LivePath):
    """A path whose clock stands still, except while a call waits for something.

    Attributes:
        scenario: its scenario.
        plan: its figures.
        folder: the run's folder on this computer; `shared` is the part of it for programs.
        ends: names of the two nodes at which packets are captured.
        sender, receiver: these nodes; of a network, those of the first flow.
        programs: all that were started.
    """

    def __init__(self, scenario: Scenario, plan: Plan, session: ProgramSession, folder: File) -> None:
        """Attach to a session that has begun."""
        super().__init__(plan, session, folder)
        self.scenario = scenario
        self._starts = 0
        self._sampling = SocketSampler(self)
        self.programs: list[Program] = []
        self.nodes = {name: PathNode(self, name, address) for name, address in session.addresses.items()}
        self.ends = [plan.flow.source, plan.flow.target]
        self.sender, self.receiver = self.nodes[plan.flow.source], self.nodes[plan.flow.target]

    @cached_property
    def _planned(self) -> PathEvents:
        return PathEvents(self.scenario)

    @property
    def seed(self) -> int:
        """Seed of all random numbers."""
        return self.plan.seed

    @property
    def shared(self) -> File:
        """A folder that programs may write to, where they find it as /run/landspeed/shared."""
        return self.folder / "shared"

    @property
    def spun(self) -> list[Spun]:
        """Programs that spun so far, where, and the virtual time that passed for it; empty without `spin_cost`."""

        told: list[Any] = self.ask("spun")["spun"] if self.plan.spin_cost_ns else []
        return [Spun.model_validate(each) for each in told]

    @property
    def story(self) -> list[str]:
        """Events so far, one line each, with the virtual time."""
        return self._story.lines(self.plan, self.session.events)

    def node(self, name: str) -> PathNode:
        """The node of a name.

        Raises:
            PathError: there is none; the message lists them.
        """
        __tracebackhide__ = True  # for pytest: what went wrong is in the message
        if name not in self.nodes:
            raise PathError(f"no node {name!r}; there are {', '.join(self.nodes)}")
        return self.nodes[name]

    __getitem__ = node

    def at(self, when: str, *, link: str | tuple[str, str] | None = None, **what: Any) -> None:
        """Plan an event of a link, at a time of the path's clock, counted from when the path was handed over.

        Virtual time passes only in calls that wait. So plan an event before the `run` during which it happens.

            path.at("30 s", link="denver-seattle", down="2 s")
            path.at("5 s", from_="a", to="r", loss="3 packets")
            path.at("8 s", link="a-r", line_rate="10 Mbit/s", for_="4 s")

        Args:
            when: such as "30 s".
            link: its two nodes with a "-" between, or its name: both directions. `from_` and `to` name one.
            what: an entry of a scenario's `events`; `for_` stands for its `for`.

        Raises:
            PathError: that time is past, or there is no such link.
            ScenarioError: what the entry says cannot be.
        """
        __tracebackhide__ = True  # for pytest: what went wrong is in the message
        due_ns = self.duration(when)
        event = self._planned.add(when, link, what)
        if "past_ns" in (answer := self.ask("at", event=plain(event))):
            raise self._past(when)
        self.events.append(event)
        place = place_words(self.plan, self.session.events[int(answer["event"])])
        self.note(f"planned for {time_text(due_ns)}: {place}: {event.kind}")

    def advance(self, duration: str) -> None:
        """Let this much virtual time pass."""
        self.ask("advance", duration_ns=self.duration(duration))

    def python(self, function: Callable[..., _Result], *arguments: Any, timeout: str = TIMEOUT) -> _Result:
        """Call a picklable function at the sender; see `Node.python`."""
        return self.sender.python(function, *arguments, timeout=timeout)

    def sample(self, interval: str = "10 ms", *, double_after: int = DOUBLE_AFTER) -> None:
        """Look at every socket and every link from the next whole second of the guest's clock on, which is waited for.

        Programs run as they would without it. `samples` and `bound_by` end it. Before a program was started, the path's
        clock begins anew at that second.

        Args:
            interval: of virtual time.
            double_after: samples after which the interval doubles, again and again; 0: never.
        """
        self._sampling.begin(self.duration(interval), double_after)

    def samples(self) -> SocketSamples:
        """The samples since `sample`, which ends: files `sockets.parquet` and `links.parquet` of the run's folder.

        Raises:
            RunFailed: the sampling failed; the message says why.
            PathError: no samples were asked for.
        """
        return self._sampling.end()

    def bound_by(self, which: Program | PathNode | tuple[str, str]) -> Bound:
        """Find what limited the traffic (`kind`: loss, line rate, application window, …), with the figures that say so.

        Args:
            which: a program, or a node: the direction between it and another node in which most was sent; or two names
                of nodes: from the first to the second.

        Raises:
            PathError: no samples were asked for, or there is no such node.
            RunFailed: the sockets could not be sampled.
        """
        __tracebackhide__ = True
        if isinstance(which, tuple):
            source, target = (self.node(each).name for each in which)
            return self._sampling.bound_by((source, target))
        return self._sampling.bound_by(which.node if isinstance(which, Program) else which.name)

    @property
    def sampled_plan(self) -> Plan:
        """The plan that belongs to the samples: its events count from the first of them."""
        return self._sampling.plan

    @property
    def is_sampled(self) -> bool:
        """True if there are samples, or will be."""
        return self._sampling.wanted

    def wait_sent(self, timeout: str = "60 s") -> bool:
        """Let time pass until all that was given to TCP is acknowledged; whether it was, within so long."""
        return bool(self.ask("wait_sent", limit_ns=self.duration(timeout))["met"])

    # --- for Node --------------------------------------------------------------------------------------------------

    def start(
        self,
        node: PathNode,
        words: Words,
        *,
        env: Mapping[str, str] | None,
        cwd: str | os.PathLike[str] | None,
        input: str | bytes | None,
    ) -> Program:
        """Start a program at a node.

        Raises:
            ProgramNotStarted: with what to do.
        """
        __tracebackhide__ = True  # for pytest: what went wrong is in the message
        if isinstance(words, str) or not words:
            raise PathError(f"{words!r} is not a command: write its words as a list, such as ['ping', '-c', '3', 'b']")
        text = [os.fspath(word) for word in words]
        self._starts += 1
        folder, number = os.fspath(cwd or File.cwd()), self._starts
        stdin = ""
        if input is not None:
            stdin = f"/run/landspeed/programs/{number}.in"
            data = input.encode() if isinstance(input, str) else input
            (self.folder / "programs" / f"{number}.in").write_bytes(data)
        environment = {"LANDSPEED_SHARED": SHARED, **(env or {})}
        program = Program(self, number, node.name, text)
        self.note(f"{node.name}: program {number} starts: {program.command}")
        answer = self.ask(
            "popen",
            number=number,
            node=node.name,
            words=text,
            cwd=folder,
            environment=environment,
            stdin=stdin,
            visible=[str(each) for each in named_files(text, File(folder))],
        )
        if "refused" in answer:
            self.note(f"{node.name}: {answer['what']}: {answer['why']}")
            raise ProgramNotStarted(refusal(answer, text, folder))
        self.programs.append(program)
        self._nodes_of[number] = node.name
        return program

    def _past(self, when: str) -> PathError:
        now = time_text(self.session.now_ns)
        return PathError(
            f"path.at({when!r}): the path's clock is at {now} already. Times count from when the path was handed over, "
            "and pass only in calls that wait: plan what shall happen before the call during which it happens"
        )

    def end(self) -> None:
        """End all programs. Warns of events whose time has not come."""
        self.ask("end")
        for now_ns, text in event_lines(self.plan, self.session.events[len(self.plan.events) :]):
            if text.endswith("has not happened"):
                ended = time_text(self.session.now_ns)
                said = f"{text}: it is planned for {time_text(now_ns)}, and the path's clock ended at {ended}"
                warnings.warn(said, LandspeedWarning, stacklevel=5)
