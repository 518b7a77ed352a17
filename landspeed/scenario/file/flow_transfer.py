"""Transfer of a network's flow: its own keys, and the file's `transfer` for the rest."""

from __future__ import annotations

from landspeed.scenario.file.model import FlowSection, ScenarioFile, TransferSection

EITHER = (("bytes", "duration"), ("duration", "bytes"), ("congestion_control", "congestion_controls"))
"""A key that a flow sets, and the one of the file's that it takes the place of."""


def flow_transfer(scenario: ScenarioFile, flow: FlowSection) -> TransferSection:
    """Merge a flow's own keys with the file's `transfer`."""
    own = {key: getattr(flow, key) for key in flow.model_fields_set & TransferSection.model_fields.keys()}
    for one, other in EITHER:
        if own.get(one) is not None:
            own.setdefault(other, None)
    return scenario.transfer.model_copy(update=own)
