"""Transfer of a network's flow: its own keys, and the file's `transfer` for the rest."""

from __future__ import annotations

from typing import Any

from landspeed.scenario.file.model import FlowSection, ScenarioFile, TransferSection

EITHER = (
    ("bytes", "duration"),
    ("duration", "bytes"),
    ("congestion_control", "congestion_controls"),
    ("call", "rate"),
    ("call", "packet"),
    ("rate", "call"),
)
"""A key that a flow sets, and the one of the file's that it takes the place of."""
OF_BOTH = ("duration", "sample_interval", "ping", "stall")
"""Keys that flows of TCP and of datagrams have."""
OF_DATAGRAMS = ("rate", "packet", "active", "idle", "call")
OF_TCP = tuple(key for key in TransferSection.model_fields if key not in ("protocol", *OF_BOTH, *OF_DATAGRAMS))


def flow_transfer(scenario: ScenarioFile, flow: FlowSection) -> TransferSection:
    """Merge a flow's own keys with the file's `transfer`; of another protocol's, with those that both have."""
    own = {key: getattr(flow, key) for key in flow.model_fields_set & TransferSection.model_fields.keys()}
    file: TransferSection = scenario.transfer
    if own.get("protocol", file.protocol) != file.protocol:
        kept: dict[str, Any] = {key: getattr(file, key) for key in OF_BOTH if key in file.model_fields_set}
        file = TransferSection.model_construct(_fields_set=set(kept), **kept)
    for one, other in EITHER:
        if own.get(one) is not None:
            own.setdefault(other, None)
    return file.model_copy(update=own)
