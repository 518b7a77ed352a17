"""The plan and the job as the host wrote them: it has checked every value, and the guest does not check them again.

What reads them strictly (scenarios/json_form.py) takes longer to import than the network to build. What a plan says of
its scenario, and nothing in the guest asks for, is left out.
"""

from __future__ import annotations

import json
from typing import Any, cast

from ...scenarios.plan import Calibration, Direction, Event, Link, Node, Plan, QueueParameters, Transfer
from ..job import Job


def read_plan(text: bytes) -> Plan:
    """The plan of `plan.json`, without `expect`, `contest` and `physics`."""
    data: dict[str, Any] = json.loads(text)
    told = {name: data[name] for name in ("scenario", "title", "scenario_file", "seed", "ip_version", "fidelity")}
    return Plan(
        **told,
        nodes=[Node(**each) for each in data["nodes"]],
        links=[_link(each) for each in data["links"]],
        transfer=Transfer(**data["transfer"]),
        events=[Event(**each) for each in data["events"]],
        calibration=Calibration(**data["calibration"]),
        physics=cast(Any, None),
    )


def read_job(text: bytes) -> Job:
    """The job of `job.json`."""
    return Job(**json.loads(text))


def _link(data: dict[str, Any]) -> Link:
    ways: dict[str, Any] = {way: _direction(data[way]) for way in ("forward", "reverse")}
    return Link(**{**data, **ways})


def _direction(data: dict[str, Any]) -> Direction:
    said: dict[str, Any] | None = data["parameters"]
    parameters: Any = None if said is None else QueueParameters(**said)
    return Direction(**{**data, "parameters": parameters})
