"""A session: the host asks one thing after the other, and virtual time passes only while one of them is waited for.

Each `do_…` is one thing that the host may ask (the other side: worlds/emu/session.py); what it returns is the answer.
Whatever it does takes no virtual time but for 256 ns for each reading of the clock, and how many of those there are
follows from what was asked, never from when. So the same questions in the same order give the same session.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from landspeed.results import own_logs
from landspeed.worlds.emu.guest import clock
from landspeed.worlds.emu.guest.files import OUT, mount_visible
from landspeed.worlds.emu.guest.link_events import LinkEvents
from landspeed.worlds.emu.guest.session.conditions import has_line, listening, orphans, unsent
from landspeed.worlds.emu.guest.session.loop import Loop
from landspeed.worlds.emu.guest.session.packet_ring import PacketRing
from landspeed.worlds.emu.guest.session.request_fifo import RequestFifo
from landspeed.worlds.emu.guest.session.session_programs import SessionProgram
from landspeed.worlds.emu.guest.spin_cost import let_time_pass, spun

if TYPE_CHECKING:
    from landspeed.worlds.emu.guest.joined_links import JoinedLinks
    from landspeed.worlds.emu.guest.link_samplers import Sampler
    from landspeed.worlds.emu.guest.network.network import Network
    from landspeed.worlds.emu.guest.network.nodes import GuestNode

FIRST_S = 2.0  # iputils' ping takes a clock in its first second for one that it has not read yet
FIRST_LOOK_NS, LAST_LOOK_NS = 1_000_000, 50_000_000  # how often a condition is looked at
CLOSING_NS = 5_000_000_000
AT_ONCE_NS = 1_000_000  # what is asked takes a little time itself: the beginning, or now, is not past for that
FOLDERS = ("programs", "captures", "shared")


def run_session(network: Network, runs: list[JoinedLinks], spin_cost_ns: int = 0) -> None:
    """Do what the host asks until it wants no more; `runs` are the links that are passed in one step."""
    let_time_pass(spin_cost_ns)
    Session(network, runs).run()


class Session:
    """One conversation with the host."""

    def __init__(self, network: Network, runs: list[JoinedLinks]) -> None:
        """Import and prepare everything before time counts."""
        self._network, self._runs = network, runs
        self._sampler: Sampler | None = None
        self._door = RequestFifo()
        self._link_events = LinkEvents(network)
        self._loop = Loop(self._link_events)
        self._programs: dict[int, SessionProgram] = {}
        self._nodes: dict[int, GuestNode] = {}  # where each runs
        self._tries = 0
        for folder in FOLDERS:
            os.makedirs(f"{OUT}/{folder}", exist_ok=True)  # noqa: PTH103
        self._captures = {name: PacketRing(network.node(name), self._device(name)) for name in self._ends()}
        self._environment = {
            **os.environ,
            **{
                f"LANDSPEED_{name.upper().replace('-', '_')}": network.address(i)
                for i, name in enumerate(network.names)
            },
            **own_logs.environment(OUT),
        }
        clock.sleep_until(round(FIRST_S * 1e9))
        clock.start_afresh()
        self._link_events.start_ns = clock.now_ns() // 1_000_000_000 * 1_000_000_000

    def run(self) -> None:
        """Answer until the host says that it was all."""
        said: dict[str, Any] = {
            "addresses": dict(zip(self._network.names, self._addresses(), strict=True)),
            "start_unix_ns": self._start_unix_ns(),
        }
        going = True
        while going:
            self._door.answer(said | self._state())
            ask = self._door.wait()
            going = ask["do"] != "end"
            try:
                said = getattr(self, f"do_{ask['do']}")(**ask["words"]) or {}
            except Exception as error:  # whatever it is, the host must hear of it
                # saves 1.8 ms where it is not needed
                import traceback

                traceback.print_exc(file=sys.stdout)
                said = {"broken": f"{type(error).__name__}: {error}"}
        self._door.answer(said | self._state())

    def _ends(self) -> list[str]:
        flow = self._network.plan.flow
        return [flow.source, flow.target]

    def _device(self, name: str) -> str:
        return self._network.interfaces(self._network.position[name])[0]

    def _start_unix_ns(self) -> int:
        return time.time_ns() - clock.now_ns() + self._link_events.start_ns

    def _addresses(self) -> list[str]:
        return [self._network.address(position) for position in range(len(self._network.names))]

    def _state(self) -> dict[str, Any]:
        return {
            "now_ns": clock.now_ns() - self._link_events.start_ns,
            "programs": {number: self._told(each) for number, each in self._programs.items()},
            "events": self._link_events.records,
        }

    def _told(self, program: SessionProgram) -> dict[str, Any]:
        state = program.state()
        if state["ended_ns"] is not None:
            state["ended_ns"] -= self._link_events.start_ns
        return state

    # --- what the host may ask ---------------------------------------------------------------------------------------

    def do_popen(
        self,
        *,
        number: int,
        node: str,
        words: list[str],
        cwd: str,
        environment: dict[str, str],
        stdin: str,
        visible: list[str],
    ) -> dict[str, Any]:
        """Start a program; no time passes. `visible`: files of the host that it is to see."""
        at = self._network.node(node)
        try:
            mount_visible(visible)
            os.chdir(cwd)
            self._programs[number] = SessionProgram(
                number, words, at, self._environment | environment, self._loop, stdin=stdin or os.devnull
            )
        except OSError as error:
            return _refused(error, words[0])
        self._nodes[number] = at
        return {}

    def do_wait(self, number: int, limit_ns: int) -> dict[str, Any]:
        """Wait until a program has ended."""
        program = self._programs[number]
        return {"met": self._pass(self._after(limit_ns), lambda: program.status is not None)}

    def do_wait_line(self, number: int, pattern: str, limit_ns: int) -> dict[str, Any]:
        """Wait until a program has written a line, or has ended."""
        program = self._programs[number]

        def seen() -> bool:
            return has_line(program, pattern)

        self._pass(self._after(limit_ns), lambda: seen() or program.status is not None)
        return {"met": seen()}

    def do_wait_listening(self, number: int, protocol: str, port: int, limit_ns: int) -> dict[str, Any]:
        """Wait until a socket at the program's node listens, or the program has ended."""
        program, node = self._programs[number], self._nodes[number]

        def look() -> bool:
            return (protocol, port) in listening(node)

        met = self._look_now_and_then(limit_ns, look, lambda: program.status is not None)
        return {"met": met, "listening": [] if met else listening(node)}

    def do_wait_success(self, number: int, words: list[str], limit_ns: int) -> dict[str, Any]:
        """Wait until a command at the program's node exits with 0, or the program has ended."""
        program, node = self._programs[number], self._nodes[number]
        until_ns = self._after(limit_ns)
        last: list[int | None] = [None]

        def look() -> bool:
            self._tries += 1
            tried = SessionProgram(-self._tries, words, node, self._environment, self._loop)
            self._pass(until_ns, lambda: tried.status is not None)
            if tried.status is None:
                tried.send_signal(9)
            tried.finish()
            last[0] = tried.status
            return tried.status == 0

        try:
            met = self._look_now_and_then(limit_ns, look, lambda: program.status is not None)
        except OSError as error:
            return _refused(error, words[0])
        return {"met": met, "last": last[0]}

    def do_signal(self, number: int, signal: int) -> None:
        """Send a signal to a program and its children; no time passes."""
        self._programs[number].send_signal(signal)

    def do_at(self, event: dict[str, Any]) -> dict[str, Any]:
        """Plan an event, which counts from the session's start."""
        # saves 44 ms where it is not needed
        from landspeed.scenario.plan.plan import Event

        planned = Event(**event)
        if planned.at_ns < (now_ns := clock.now_ns() - self._link_events.start_ns) - AT_ONCE_NS:
            return {"past_ns": now_ns}
        self._link_events.add(planned)
        while (due_ns := self._link_events.due_ns) is not None and due_ns <= now_ns + self._link_events.start_ns:
            self._link_events.happen()
        return {"event": len(self._link_events.records) - 1}

    def do_advance(self, duration_ns: int) -> None:
        """Let time pass."""
        self._pass(self._after(duration_ns), lambda: False)

    def do_keep(self) -> None:
        """Write what was captured at both ends; no time passes."""
        for name, capture in self._captures.items():
            capture.write(f"captures/{name}.ring")

    def do_sample(self, sampler: dict[str, Any]) -> dict[str, Any]:
        """Look at all sockets from the next whole second on (job.SamplerJob), which is waited for.

        As long as nothing was started, the session's time begins there.
        """
        # saves 15 ms where it is not needed
        from landspeed.worlds.emu.guest.job import SamplerJob
        from landspeed.worlds.emu.guest.link_samplers import Sampler

        self._sampler = Sampler(self._network, self._runs, SamplerJob(**sampler))
        if self._programs:
            self._pass(self._sampler.begin_ns, lambda: False)
        else:
            clock.sleep_until(self._sampler.begin_ns)
            self._link_events.start_ns = self._sampler.begin_ns
        clock.reseed()
        begin_ns = self._sampler.begin_ns
        return {"begin_ns": begin_ns - self._link_events.start_ns, "start_unix_ns": self._start_unix_ns()}

    def do_sampled(self) -> dict[str, Any]:
        """Stop the sampler."""
        sampler, self._sampler = self._sampler, None
        return {"sampler": sampler.stop() if sampler else 0}

    def do_spun(self) -> dict[str, Any]:
        """List the programs that spun, if time passes for them (job.Job)."""
        return {"spun": spun(self._network)}

    def do_wait_sent(self, limit_ns: int) -> dict[str, Any]:
        """Wait until no TCP socket of any host has data that is not acknowledged."""
        hosts = [self._network.nodes[i] for i in range(len(self._network.names)) if self._network.is_host(i)]
        return {"met": self._look_now_and_then(limit_ns, lambda: not any(map(unsent, hosts)), lambda: False)}

    def do_wait_left(self, number: int, limit_ns: int) -> dict[str, Any]:
        """Wait until the processes that an ended program left behind have ended; name them."""
        others = {each.pid for each in self._programs.values() if each.number != number}
        others |= {self._sampler.pid} if self._sampler else set()
        names: list[str] = []

        def look() -> bool:
            left = orphans(others)
            names.extend(name for name in left.values() if name not in names)
            return not left

        met = self._look_now_and_then(limit_ns, look, lambda: False)
        if not met:
            for pid in orphans(others):
                os.kill(pid, 9)
        return {"met": met, "left": names}

    def do_end(self) -> None:
        """End what still runs, and write down what is known."""
        self.do_sampled()
        running = [each for each in self._programs.values() if each.status is None]
        for number in (15, 9):
            for each in running:
                if each.status is None:
                    each.send_signal(number)
            self._pass(self._after(CLOSING_NS), lambda: all(each.status is not None for each in running))
        for each in self._programs.values():
            each.send_signal(9)  # what it left behind
            each.finish()
        self._link_events.end()

    # --- how -----------------------------------------------------------------------------------------------------

    def _after(self, duration_ns: int) -> int:
        return clock.now_ns() + duration_ns

    def _pass(self, until_ns: int, met: Callable[[], bool]) -> bool:
        """Let time pass until a condition is met, at most until a time; whether it is met."""
        while not met():
            if self._loop.step(until_ns):
                return met()
        return True

    def _look_now_and_then(self, limit_ns: int, look: Callable[[], bool], enough: Callable[[], bool]) -> bool:
        """Look at a condition at growing intervals; whether it was met."""
        until_ns, wait_ns = self._after(limit_ns), FIRST_LOOK_NS
        while not look():
            if enough() or clock.now_ns() >= until_ns:
                return False
            self._pass(min(self._after(wait_ns), until_ns), enough)
            wait_ns = min(2 * wait_ns, LAST_LOOK_NS)
        return True


def _refused(error: OSError, program: str) -> dict[str, Any]:
    return {"refused": error.errno, "why": error.strerror, "what": error.filename or program}
