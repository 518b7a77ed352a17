"""Answer of the guest at its end (guest.json), or written by then (measured.json), typed."""

from __future__ import annotations

from pydantic import Field

from landspeed.results.calibration_result import CalibrationResult
from landspeed.results.facts import GuestFacts, Spun
from landspeed.results.record import EventResult
from landspeed.results.tool_result import Open


class FlowStatus(Open):
    """Status of the two programs of a flow."""

    started_unix_ns: int | None = None  # when the sender was started, of one that does not tell


class TransferStatus(Open):
    """The programs of each flow, by its name."""

    flows: dict[str, FlowStatus] = Field(default_factory=dict[str, FlowStatus])


class ScriptStatus(Open):
    """Facts of a script: the virtual time that it took, and how many files it wrote."""

    virtual_s: float = 0.0
    files: int = 0


class GuestAnswer(Open):
    """The guest's own account of a run; what its job does not make is null or empty."""

    error: str | None = None  # why its job failed
    effective: GuestFacts = Field(default_factory=GuestFacts)  # its settings, as the kernel tells them
    calibrations: dict[str, CalibrationResult] = Field(default_factory=dict[str, CalibrationResult])  # by flow
    qdiscs: dict[str, str] = Field(default_factory=dict[str, str])  # after the transfer
    events: list[EventResult] = Field(default_factory=list[EventResult])
    statuses: TransferStatus = Field(default_factory=TransferStatus)
    status: int | None = None  # of the user's program
    script: ScriptStatus = Field(default_factory=ScriptStatus)  # of the user's script
    sampler: int | None = None  # exit status of the sampler of sockets
    spun: list[Spun] = Field(default_factory=list[Spun])  # of the user's programs

    @property
    def failures(self) -> list[str]:
        """Failures of the calibration, each with its flow where there are several."""
        each_flow = self.calibrations.items()
        return [f"{name}: {why}" if len(each_flow) > 1 else why for name, each in each_flow for why in each.failures]
