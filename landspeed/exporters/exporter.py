"""Exporters: each turns a plan, or a run's bundle, into files of another program of the field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from landspeed.base.errors import LandspeedError
from landspeed.results.record import RunRecord
from landspeed.results.samples_reader import Samples
from landspeed.scenario.plan.plan import Plan


class ExportError(LandspeedError):
    """Refusal of a form: the message says why it cannot be said there, and what can."""

    exit_status = 2


@dataclass(frozen=True)
class Exported:
    """A plan to export, and what its run measured where there is one.

    Attributes:
        name: of the scenario; files are named after it.
        plan: the work.
        record: of the run; None of a scenario that was not run.
        bundle: the run's folder; None likewise.
    """

    name: str
    plan: Plan
    record: RunRecord | None = None
    bundle: Path | None = None

    @cached_property
    def measured(self) -> RunRecord:
        """The record of the run.

        Raises:
            ExportError: nothing was run.
        """
        if self.record is None:
            raise ExportError(f"{self.name}: a scenario has no measurements; give the folder of a run (landspeed run)")
        return self.record

    @cached_property
    def samples(self) -> Samples:
        """The samples of the run.

        Raises:
            ExportError: nothing was run.
        """
        if self.bundle is None:
            raise ExportError(f"{self.name}: a scenario has no samples; give the folder of a run (landspeed run)")
        return Samples(self.bundle)

    @property
    def start_unix_ns(self) -> int:
        """The run's start on the clock that its samples count from; 0 if its tool told none."""
        return self.measured.tool_result.start_unix_ns or 0


@dataclass(frozen=True)
class Exporter:
    """A form of another program.

    Attributes:
        word: its word on the command line and in Python.
        what: it makes, for lists, such as "a Mininet script".
        of: "plan" where a scenario is enough; "run" where it takes what was measured.
        write: suffix of a file → its content. A suffix is put behind the scenario's name.
        opens: a command that opens the first file, with FILE for its name.
    """

    word: str
    what: str
    of: Literal["plan", "run"]
    write: Callable[[Exported], dict[str, str | bytes]]
    opens: str
