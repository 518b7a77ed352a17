"""Facts of the machinery that made a run, a model for each world. Worlds of other packages keep what they like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from landspeed.base.json_form import is_object
from landspeed.base.text import grouped
from landspeed.results.tool_result import Open


class HostFacts(Open):
    """The machine that ran the command."""

    kernel: str | None = None
    cores: int | None = None
    allowed_cores: list[int] = Field(default_factory=list[int])  # that the command might use
    cpu: str | None = None


class Spun(Open):
    """A program that spun while it waited, and what virtual time passed for that (`--spin-cost`)."""

    node: str
    program: str
    passed_ns: int
    calls: int  # system calls that took time


def spun_text(spun: Sequence[Spun]) -> str:
    """`0.050 s for python3 at a (49 960 system calls); …`: virtual time that passed for programs that spin."""
    return "; ".join(
        f"{each.passed_ns / 1e9:.6g} s for {each.program} at {each.node} ({grouped(each.calls)} system calls)"
        for each in spun
    )


class GuestFacts(Open):
    """The guest of the emulated world, as it was found; everything is null or empty when it never got so far."""

    kernel: str | None = None
    kernel_key: str | None = None  # of the kernel's build
    tracing: str | None = None  # how its kernel ran programs: "ptrace" or "seccomp"
    memory_bytes: int | None = None  # what it was given
    memory_touched_bytes: int | None = None  # what it used of it
    memory_beside_bytes: int | None = None  # what its process used beside it
    huge_pages: bool | None = None
    network_build_s: float | None = None  # wall time
    host_cores: list[int] = Field(default_factory=list[int])  # of the host that it ran on, the last one last
    moderation_ns: int | None = None  # how late a busy link may hand packets on
    spin_cost_ns: int | None = None  # of a system call of a program that spins; null: such a program stops the clock
    spun: list[Spun] = Field(default_factory=list[Spun])  # programs that did
    joined: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])  # links passed in one step
    addresses: dict[str, str] = Field(default_factory=dict[str, str])  # node → IP address
    qdiscs: dict[str, str] = Field(default_factory=dict[str, str])  # node → what `tc` shows after the transfer
    sysctls: dict[str, dict[str, str]] = Field(default_factory=dict[str, dict[str, str]])  # node, or "all" → settings
    offloads: dict[str, dict[str, bool]] = Field(default_factory=dict[str, dict[str, bool]])  # HOST:INTERFACE → on
    captured_packets: dict[str, int] = Field(default_factory=dict[str, int])  # end → packets in its capture


class EmuFacts(Open):
    """The emulated world."""

    world: Literal["emu"] = "emu"
    host: HostFacts = Field(default_factory=HostFacts)
    guest: GuestFacts = Field(default_factory=GuestFacts)


class SimulatorFacts(Open):
    """Facts that the simulator reports of itself."""

    ns3_version: str | None = None
    scheduler: str | None = None
    collapse: bool | None = None
    fidelity_asked: str | None = None
    events: int | None = None  # of the simulation, not of the plan
    simulated_s: float | None = None
    wall_s: float | None = None
    cpu_s: float | None = None
    lanes: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])


class SimFacts(Open):
    """The simulated world."""

    world: Literal["sim"] = "sim"
    host: HostFacts = Field(default_factory=HostFacts)
    simulator: SimulatorFacts = Field(default_factory=SimulatorFacts)


class RealHost(Open):
    """A server at one end: its name, what preflight found, its network interface, what could not be set."""

    name: str | None = None
    findings: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    nic: dict[str, Any] = Field(default_factory=dict[str, Any])
    unavailable: list[str] = Field(default_factory=list[str])  # settings that it does not have or did not take


class RealPath(Open):
    """The path as pings found it right before the attempt."""

    rtt_ms: float | None = None
    path_mtu_bytes: int | None = None


class GateFacts(Open):
    """Reason that let the attempt through: a rehearsal with this build of the engine, or a reason to go without one."""

    bundle: str | None = None
    engine_build: str | None = None
    unrehearsed: str | None = None


class RealFacts(Open):
    """Real servers. `hosts` is by end: "sender", "receiver"."""

    world: Literal["real"] = "real"
    attempt: str | None = None
    rehearsal: GateFacts = Field(default_factory=GateFacts)
    path: RealPath = Field(default_factory=RealPath)
    hosts: dict[str, RealHost] = Field(default_factory=dict[str, RealHost])


class OtherFacts(Open):
    """A world of somebody else: whatever it tells."""

    world: str | None = None


def _kind(value: Any) -> str:
    world = value.get("world") if is_object(value) else getattr(value, "world", None)
    return world if world in ("emu", "sim", "real") else "other"


WorldFacts = Annotated[
    Annotated[EmuFacts, Tag("emu")]
    | Annotated[SimFacts, Tag("sim")]
    | Annotated[RealFacts, Tag("real")]
    | Annotated[OtherFacts, Tag("other")],
    Discriminator(_kind),
]
"""The facts of a run; which model it is follows from `world`."""
