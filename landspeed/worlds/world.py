"""A world: what makes a run of a plan. Its class says what it is, what it can and what it needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from landspeed.base.failures import NotPossible
from landspeed.scenario.file.capabilities import Capabilities
from landspeed.scenario.resolve.unusual import unusual

if TYPE_CHECKING:
    from landspeed.base.errors import Problem
    from landspeed.base.finding import Finding
    from landspeed.base.progress import Progress
    from landspeed.results.bundle import BundleWriter
    from landspeed.results.record import RunRecord
    from landspeed.scenario.file.load import LoadedScenario
    from landspeed.scenario.plan.plan import Plan


@dataclass(frozen=True, kw_only=True)
class NoOptions:
    """The options of a world that has none."""


@dataclass(frozen=True)
class Price:
    """Price of a run: wall seconds, bytes of memory; whether the time is learned from runs on this machine."""

    wall_s: float
    memory_bytes: int
    learned: bool

    @property
    def words(self) -> str:
        """Say it in words: `about 1.2 s and 0.09 GiB here`."""
        return f"{self.note[1]} and {self.memory_bytes / 2**30:.2f} GiB here"

    @property
    def note(self) -> tuple[str, str, str]:
        """Name, value and remark of the time, as `show` has them."""
        text = f"{self.wall_s:.2g} s" if self.wall_s < 99.5 else f"{self.wall_s / 60:.2g} min"
        remark = "learned from runs on this machine" if self.learned else "roughly: none was made here yet"
        return "Wall time of a run", f"about {text}", remark


class World(ABC):
    """A world is a subclass, named in the entry points `landspeed.worlds` of its package.

    Attributes:
        name: as in `--world NAME` and in records: lower-case letters, digits and dashes.
        summary: what it is, in a few words, for `--help`.
        runs: whether it can run a plan without anything else.
        capabilities: the optional features that it supports.
        Options: a frozen dataclass of `option(...)` fields (options.py); every field has a default.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    runs: ClassVar[bool] = True
    capabilities: ClassVar[Capabilities] = Capabilities()
    Options: ClassVar[type[Any]] = NoOptions

    def __init__(self, options: Any = None) -> None:
        """A world with these options, or with all of them at their defaults."""
        self.options: Any = self.Options() if options is None else options

    @classmethod
    def problems(cls, loaded: LoadedScenario, plan: Plan | None) -> list[Problem]:  # noqa: ARG003 (for subclasses)
        """List what else of a scenario this world cannot do, beyond its capabilities; located in the file.

        `plan` is None where the scenario has faults in any world, which are told beside these.
        """
        return []

    @classmethod
    def doctor(cls) -> list[Finding]:
        """Check what this world needs of the host; change nothing."""
        return []

    @classmethod
    def notes(cls, plan: Plan) -> list[tuple[str, str, str]]:  # noqa: ARG003 (for subclasses)
        """List what this world adds to the output of `landspeed show`: name, value, remark."""
        return []

    @classmethod
    def price(cls, plan: Plan) -> Price | None:  # noqa: ARG003 (for subclasses)
        """Say what a run of the plan will take on this machine; None: this world does not know."""
        return None

    def remember(self, plan: Plan, wall_s: float) -> None:  # noqa: B027 (a world may learn nothing)
        """Learn what a run took that went to its end, for `price`."""

    @classmethod
    def warnings(cls, plan: Plan) -> list[str]:  # noqa: ARG003 (for subclasses)
        """List where this world is known to differ from real hosts on such a plan: `check` and `run` say it first."""
        return []

    @classmethod
    def all_warnings(cls, plan: Plan) -> list[str]:
        """List what is unusual in the plan, and then the world's own warnings."""
        return [*unusual(plan), *cls.warnings(plan)]

    def said_first(self, plan: Plan) -> list[str]:  # noqa: ARG002 (for subclasses)
        """List what the options that were given cost: `run` says it first."""
        return []

    def with_options(self, plan: Plan) -> Plan:
        """Return the plan with the options that change the work; unchanged if none do.

        Raises:
            NotReady: an option asks for what is not here.
        """
        return plan

    @property
    def clock(self) -> str:
        """The clock of its runs: "virtual" or "real"."""
        return "virtual"

    def check(self, plan: Plan) -> None:  # noqa: B027 (a world may need nothing)
        """Check before the run whatever can be known then.

        Raises:
            NotReady: this host cannot run the plan; the message says what is missing, and what to do.
        """

    def build_id(self, plan: Plan | None = None) -> str:  # noqa: ARG002 (for subclasses)
        """Identifies this build, so that results of two builds are not mixed; "" when it is not known.

        Args:
            plan: that is to be run, which may ask for a build of its own; None: what runs where none is asked for.

        Raises:
            NotReady: what the plan asks for is not here.
        """
        return ""

    def memory_bytes(self, plan: Plan) -> int:  # noqa: ARG002 (for subclasses)
        """The most memory of the host that a run of the plan takes, as far as it is known; 0: very little."""
        return 0

    def made(self, record: RunRecord) -> bool:  # noqa: ARG002 (for subclasses)
        """Return whether this very build made a run, as far as its record tells; False if it cannot tell.

        Raises:
            NotReady: this build is not here.
        """
        return False

    @abstractmethod
    def run(self, plan: Plan, bundle: BundleWriter, report: Callable[[Progress], None]) -> RunRecord:
        """Make the transfer.

        Args:
            plan: the work.
            bundle: where everything goes; `bundle.record` has what is known at the start and is filled in.
            report: called with the progress several times a second; an exception from it must end the run cleanly.

        Returns:
            the record, not yet judged.

        Raises:
            RunFailed: it failed; the bundle has what was measured.
        """


class UnknownWorld(NotPossible):
    """Unknown name of a world; the message lists those that exist."""
