"""Job of the guest: `job.json`, written by the host (world.py) and read by the guest (guest/agent.py)."""

# The guest imports this: dataclasses and typing are guest/stdlib_stand_ins there.
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowJob:
    """The two programs of one flow.

    Attributes:
        flow: its name in the plan.
        folder: for their logs, relative to the run's; empty: the run's own.
        receiver_command, sender_command: `{receiver}` and `{sender}` stand for addresses, `{key}` for a key's file.
        port: where the receiver listens.
        seconds: N: the sender begins at the N-th whole second after it starts; in virtual time.
        speaks_ns: None: it does so by itself, and says when its transfer begins; else it is started at that second, and
            its transfer begins so much later.
    """

    flow: str
    folder: str = ""
    receiver_command: list[str]
    sender_command: list[str]
    port: int
    seconds: int = 1
    speaks_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerJob:
    """Sampling of all sockets while programs run.

    Attributes:
        program: that does it (emu/linkwatch/sockwatch.c).
        interval_ns: of virtual time; 0: nothing is looked at.
        double_after: samples after which the interval doubles, again and again; 0: never.
        folder: for its files, relative to the run's.
    """

    program: str
    interval_ns: int
    double_after: int = 0
    folder: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One errand of a guest; which fields count follows from `mode`.

    Attributes:
        mode: transfer the plan's data, run a program of the user's, give a prompt, or do what the host asks for.
            Without a plan: run a script that builds its own network.
        clock: of the guest.
        spin_cost_ns: virtual time of a system call of a program that spins; 0: such a program stops the clock.
        every_hop: pass every router with every packet, also where nothing can queue.
        visible: folders of the host that stay visible, read-only, where the guest covers them.
        calibrate, with_queues: measure the path first, every queue too.
        flows: of a transfer.
        starter_command: starts the programs of all flows (guest/spawn.py); empty: each is started by itself.
        watch_command: reads the counters of every link meanwhile.
        evidence: captures, pings and settings around the transfer. `whole_captures`: to their end, at every node.
        moderate: let busy links wait as real cards do.
        at, command, cwd: the node, the words and the folder of a user's program.
        environment, time_limit_ns: of a script: more variables, and the virtual time after which it is ended; 0: never.
        modules: of the kernel, to be loaded in this order before it.
        sampler: looks at its sockets meanwhile; it is always there.
    """

    mode: Literal["transfer", "exec", "shell", "session", "script"]
    clock: Literal["virtual", "real"] = "virtual"
    spin_cost_ns: int = 0
    every_hop: bool = False
    visible: list[str] = field(default_factory=list[str])
    calibrate: bool = False
    with_queues: bool = False
    flows: list[FlowJob] = field(default_factory=list[FlowJob])
    starter_command: list[str] = field(default_factory=list[str])
    watch_command: list[str] = field(default_factory=list[str])
    evidence: bool = False
    whole_captures: bool = False
    moderate: bool = False
    at: str = ""
    command: list[str] = field(default_factory=list[str])
    cwd: str = "/"
    environment: dict[str, str] = field(default_factory=dict[str, str])
    time_limit_ns: int = 0
    modules: list[str] = field(default_factory=list[str])
    sampler: SamplerJob | None = None
