"""The plan and the job as the host wrote them: it has checked every value, and the guest does not check them again.

What reads them strictly (base/json_form.py) takes longer to import than the network to build. What a plan says of
its scenario, and nothing in the guest asks for, is left out.
"""

from __future__ import annotations

import json
from typing import Any

from landspeed.scenario.plan.direction import Direction, Netem, QueueParameters
from landspeed.scenario.plan.plan import Calibration, Event, Flow, Link, Node, Plan, Transfer
from landspeed.scenario.plan.trace import Trace
from landspeed.worlds.emu.guest.job import FlowJob, Job, SamplerJob


def read_plan(text: bytes) -> Plan:
    """The plan of `plan.json`, without `contest`, and without `expect` and `physics` of its flows."""
    data: dict[str, Any] = json.loads(text)
    told = {name: data[name] for name in ("scenario", "title", "scenario_file", "seed", "ip_version", "fidelity")}
    return Plan(
        **told,
        nodes=[Node(**each) for each in data["nodes"]],
        links=[_link(each) for each in data["links"]],
        flows=[_flow(each) for each in data["flows"]],
        events=[Event(**each) for each in data["events"]],
        calibration=Calibration(**data["calibration"]),
    )


def read_job(text: bytes) -> Job:
    """The job of `job.json`."""
    data: dict[str, Any] = json.loads(text)
    flows: Any = [FlowJob(**each) for each in data["flows"]]
    sampler: Any = SamplerJob(**data["sampler"]) if data["sampler"] else None
    return Job(**{**data, "flows": flows, "sampler": sampler})


def _flow(data: dict[str, Any]) -> Flow:
    made: dict[str, Any] = {"transfer": Transfer(**data["transfer"]), "expect": None, "physics": None}
    return Flow(**{**data, **made})


def _link(data: dict[str, Any]) -> Link:
    ways: dict[str, Any] = {way: _direction(data[way]) for way in ("forward", "reverse")}
    return Link(**{**data, **ways})


def _direction(data: dict[str, Any]) -> Direction:
    made: dict[str, Any] = {
        "parameters": None if data["parameters"] is None else QueueParameters(**data["parameters"]),
        "netem": None if data["netem"] is None else Netem(**data["netem"]),
        "trace": None if data["trace"] is None else Trace(**data["trace"]),
    }
    return Direction(**{**data, **made})
