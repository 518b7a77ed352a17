"""Records of paths, made of figures by their names."""

from typing import Any

from landspeed.results.flow_result import Figures, FlowResult
from landspeed.results.record import RunRecord
from landspeed.scenario.plan.plan import PATH_FLOW


def path_record(scenario: str, **fields: Any) -> RunRecord:
    """The record of a path's run; what a flow has of the fields is that of its one flow."""
    own = {name: fields.pop(name) for name in Figures.model_fields if name in fields}
    flow = {"name": PATH_FLOW, "source": "alpha", "target": "omega", "start_s": 0.0, "begins_s": 0.0}
    return RunRecord.model_validate({"scenario": scenario, "flows": [FlowResult.model_validate(flow | own)], **fields})
