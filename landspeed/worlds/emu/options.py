"""The options of the emulated world."""

from __future__ import annotations

from dataclasses import dataclass

from landspeed.worlds.emu import watchdog as watch
from landspeed.worlds.emu.cores import parse_core
from landspeed.worlds.emu.memory import parse_memory
from landspeed.worlds.emu.spin_cost import cost_text, parse_cost
from landspeed.worlds.options import option, parse_seconds


@dataclass(frozen=True, kw_only=True)
class EmuOptions:
    """Options of this world."""

    clock: str = option(
        "virtual", "clock of the run (default: virtual)", choices=("virtual", "real"), words=("exec", "mn", "probe")
    )
    tool: str = option("engine", "program that makes the transfer (default: engine)", metavar="NAME")
    memory: int | None = option(
        None,
        "memory of the guest, such as 4GiB (default: an estimate from the plan)",
        parse=parse_memory,
        metavar="SIZE",
        repeated=False,
        words=("exec", "mn", "probe"),
    )
    queues: bool = option(False, "measure every queue, too: fill it until it overflows", repeated=False)
    evidence: bool = option(
        False, "keep captures (pcap, for Wireshark), ping and traceroute, and write the submission page"
    )
    capture: str = option(
        "first",
        "captures with --evidence: the first 20 MB at both ends, or whole at every node, with one-way delays "
        "(default: first)",
        choices=("first", "full"),
        repeated=False,
    )
    exact_timers: bool = option(False, "deliver each packet at its own instant, even with hundreds in flight (slower)")
    every_hop: bool = option(
        False,
        "handle every packet at every router, even where nothing can queue (slower)",
        words=("exec", "shell", "probe"),
    )
    stall: float = option(
        watch.STALL_WALL_S,
        "end the run when virtual time has stood still for so many seconds (default: 20)",
        parse=parse_seconds,
        metavar="SECONDS",
        repeated=False,
        words=("exec", "mn", "probe"),
    )
    spin_cost: int | None = option(
        None,
        "let virtual time pass for programs that spin: this time for each of their system calls, such as 1us "
        "(default: they end the run)",
        parse=parse_cost,
        text=cost_text,
        metavar="TIME",
        words=("exec", "mn", "probe"),
    )
    kernel: str | None = option(
        None,
        "Linux of the guest: series, release, build or path of one (default: the scenario's, or that of `make setup`; "
        "`landspeed kernel list` shows them)",
        metavar="VERSION|PATH",
        words=("exec", "shell", "probe"),
    )
    tracing: str = option(
        "auto",
        "how the guest's kernel runs programs (default: auto, by seccomp where it and the host can)",
        choices=("auto", "seccomp", "ptrace"),
        repeated=False,
        words=("exec", "mn", "shell", "probe"),
    )
    core: int | str | None = option(
        None,
        "core of the host that the guest runs on (default: the least busy one); any: the host's scheduler chooses",
        parse=parse_core,
        metavar="N|any",
        repeated=False,
        words=("exec", "mn", "shell", "probe"),
    )

    @property
    def captures_whole(self) -> bool:
        """Return whether every node captures, to the last packet."""
        return self.capture == "full"

    @property
    def gathers(self) -> bool:
        """Return whether evidence is gathered."""
        return self.evidence or self.captures_whole

    @property
    def is_usual(self) -> bool:
        """Return whether a run takes what such a plan takes without options."""
        names = ("clock", "tool", "queues", "evidence", "capture", "exact_timers", "every_hop", "spin_cost", "kernel")
        return all(getattr(self, name) == getattr(EmuOptions(), name) for name in names)
