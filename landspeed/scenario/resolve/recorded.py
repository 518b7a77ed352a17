"""Scenario → Plan: what was recorded, and what the documents say on the contest's rules."""

from __future__ import annotations

from landspeed.scenario.file.model import ScenarioFile, TransferSection
from landspeed.scenario.file.model_recorded import ExpectSection as ScenarioExpect
from landspeed.scenario.plan.recorded import Contest, Expect, PreviousRecord, RecordedHop


def expected(scenario: ScenarioFile, wanted: ScenarioExpect | None, transfer: TransferSection) -> Expect | None:
    """The recorded or wanted result of a transfer."""
    if wanted is None:
        return None
    # Bytes and duration are compared only if the run moves the recorded amount (--set transfer.duration=20s does not).
    same_bytes = transfer.bytes is not None and transfer.bytes == wanted.bytes
    same_time = transfer.duration is not None and transfer.duration == wanted.duration
    whole = same_bytes or same_time
    return Expect(
        goodput_bps=wanted.goodput,
        goodput_tolerance=wanted.tolerance,
        goodput_from_s=(wanted.from_ or 0) / 1e9,
        bytes=wanted.bytes if whole else None,
        duration_ns=wanted.duration if whole else None,
        rtt_ns=wanted.rtt,
        retransmits=wanted.retransmits,
        streams_goodput_bps=wanted.streams_goodput,
        distance_m=wanted.distance,
        score_bit_m_per_s=wanted.score,
        source=wanted.source,
        measured=wanted.measured,
        host_limits_fitted=any(host.bus and host.bus.fitted for host in scenario.hosts.values()),
        forward_traceroute=_recorded(wanted, "forward_traceroute"),
        reverse_traceroute=_recorded(wanted, "reverse_traceroute"),
    )


def contest_facts(scenario: ScenarioFile) -> Contest | None:
    """Collect the facts of the scenario's documents for the contest's rules."""
    facts = scenario.contest
    if facts is None:
        return None
    before = facts.previous
    previous = before and PreviousRecord(
        score_bit_m_per_s=before.score, improvement=before.improvement, what=before.what
    )
    return Contest(
        date=facts.date,
        basis=facts.basis,
        networks=facts.networks,
        payload=facts.payload,
        bound_by=facts.bound_by,
        bound_why=facts.bound_why,
        previous=previous,
    )


def _recorded(wanted: ScenarioExpect, which: str) -> list[RecordedHop]:
    return [
        RecordedHop(label=hop.label, rtt_ms=[ms for ms, _ in hop.rtt], below=any(below for _, below in hop.rtt))
        for hop in getattr(wanted, which)
    ]
