"""The programs that look at links and sockets meanwhile (emu/linkwatch), and what they are told to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from landspeed.worlds.emu.guest import clock
from landspeed.worlds.emu.guest.files import OUT
from landspeed.worlds.emu.guest.network.network import Network
from landspeed.worlds.emu.guest.shaping.joined import device_name
from landspeed.worlds.emu.guest.shaping.link_qdiscs import shaped_device
from landspeed.worlds.emu.guest.spawn import SpawnedProgram

if TYPE_CHECKING:
    from landspeed.worlds.emu.guest.job import SamplerJob
    from landspeed.worlds.emu.guest.joined_links import JoinedLinks

SECOND_NS = 1_000_000_000
LOADING_NS = SECOND_NS  # in real time, until it is ready


def link_words(network: Network, runs: list[JoinedLinks]) -> list[str]:
    """A word for each direction of each link; `runs` are the links that are passed in one step."""
    short = {
        place: (enters, network.interface(enters, device_name(number)), line)
        for number, run in enumerate(runs)
        for enters, _ in (network.end(*run.arrives),)
        for line, place in enumerate(run.places)
    }
    words: list[str] = []
    for link in network.plan.links:
        for number, forward in enumerate((True, False)):
            position, device = shaped_device(network, link.index, forward=forward)
            word = f"{link.index},{number},{_place(network, position)},{network.interface(position, device)}"
            if (link.index, forward) in short:
                enters, interface, line = short[link.index, forward]
                word += f",{_place(network, enters)},{interface},{line}"
            words.append(word)
    return words


class Sampler:
    """Looks at every socket of all nodes, and at the links, from the next whole second of the clock on.

    No program can tell that it is there: it takes no virtual time, draws no random number after that second, and has
    its turns outside of the scheduler's shares (emu/linkwatch/sockwatch.c). That a process was started at all does
    change the random numbers; so without samples (an interval of 0) one is started that ends at once.

    Attributes:
        begin_ns: that second on the monotonic clock, from which the samples count; then the program may start.
    """

    def __init__(self, network: Network, runs: list[JoinedLinks], job: SamplerJob, *, real_clock: bool = False) -> None:
        """Start it; wait for `begin_ns` with `clock.start_afresh` then, or in real time with `clock.sleep_until`."""
        now_ns = clock.now_ns()
        self.begin_ns = now_ns + LOADING_NS if real_clock else (now_ns // SECOND_NS + 1) * SECOND_NS
        words = [job.program, str(job.interval_ns), str(job.double_after), str(self.begin_ns), f"{OUT}/{job.folder}"]
        words += [_place(network, position) for position in range(len(network.names))]
        words += ["--", *link_words(network, runs)]
        if not job.interval_ns:
            words = [job.program, "--nothing"]
        with open(f"{OUT}/log/sockwatch.log", "wb") as log:  # noqa: PTH123
            self._program = SpawnedProgram(words, log.fileno())
        self.pid = self._program.pid

    def stop(self) -> int:
        """End it, when it has written what it saw; its exit status."""
        self._program.send_signal(15)
        return self._program.wait()


def _place(network: Network, position: int) -> str:
    return f"/run/netns/{network.names[position]}"
