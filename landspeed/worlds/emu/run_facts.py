"""Facts of a run: found on the host, in the files that the guest left, and put into the record."""

from __future__ import annotations

import time
from typing import Any

from landspeed.base.log import Log
from landspeed.results.facts import EmuFacts, GuestFacts
from landspeed.results.flow_result import FlowResult
from landspeed.results.record import CalibrationResult, RunRecord
from landspeed.scenario.plan.flow_path import SECOND_ROUTE
from landspeed.worlds.emu.guest_answer import GuestAnswer
from landspeed.worlds.emu.watchdog import GuestOutcome

LOG = Log(__name__)


def tell_calibration(guest: GuestAnswer) -> None:
    """Log the verdict, and each check with its figures."""
    LOG.info("calibration: %s", "; ".join(guest.failures) or "passed")
    for check in (check for each in guest.calibrations.values() for check in each.checks):
        LOG.debug("calibration: %s", check.text)


def with_guest(record: RunRecord, *found: GuestFacts) -> EmuFacts:
    """The record's facts with those of the guest that were found."""
    facts = record.world_facts
    assert isinstance(facts, EmuFacts)
    told = {name: getattr(each, name) for each in found for name in each.model_fields_set}
    return facts.model_copy(update={"guest": facts.guest.model_copy(update=told)})


def with_facts(record: RunRecord, outcome: GuestOutcome, started: float) -> RunRecord:
    """The record with what the guest was found to be and to measure, as far as it came."""
    walls = outcome.phase_wall_s
    found: dict[str, Any] = {
        "build_s": walls.get("boot", 0.0) + walls.get("build", 0.0),
        "calibrate_s": walls.get("calibrate"),
        "transfer_wall_s": walls.get("transfer"),
        "wall_s": time.monotonic() - started,
        "world_facts": with_guest(
            record,
            GuestFacts(
                memory_touched_bytes=outcome.memory_touched_bytes,
                memory_beside_bytes=outcome.memory_beside_bytes,
                huge_pages=outcome.huge_pages,
                tracing=outcome.tracing,
                network_build_s=walls.get("build"),
                host_cores=outcome.cores,
            ),
            outcome.guest.effective,
        ),
    }
    if measured := outcome.guest.calibrations:
        found["flows"] = [_calibrated(flow, measured) for flow in record.flows]
        tell_calibration(outcome.guest)
    return record.model_copy(update=found)


def _calibrated(flow: FlowResult, measured: dict[str, CalibrationResult]) -> FlowResult:
    own = measured[flow.name]
    second = measured.get(flow.name + SECOND_ROUTE)
    return flow.model_copy(update={"calibration": own, "second_calibration": second, "rtt_ms": own.rtt_ms})
