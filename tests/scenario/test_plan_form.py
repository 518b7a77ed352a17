"""The plan as JSON, read strictly; plans of old bundles; and what makes two plans the same work."""

import json
import subprocess
import sys
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.plan.direction import Direction
from landspeed.scenario.plan.limits import Physics
from landspeed.scenario.plan.plan import (
    Calibration,
    Contest,
    Event,
    Expect,
    Flow,
    Link,
    Node,
    Plan,
    PlanError,
    Transfer,
)
from landspeed.scenario.resolve.resolve import make_plan

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "scenarios" / "records" / "2004-06-25-geneva-pasadena.yaml"


def record_plan() -> Plan:
    return make_plan(load_scenario(RECORD, ["transfer.duration=20 s"]))


# --- JSON ------------------------------------------------------------------------------------------------------------


def test_json_and_back_is_the_same_to_the_byte() -> None:
    plan = record_plan()
    again = Plan.from_json(plan.to_json())
    assert again == plan and again.to_json(indent=1) == plan.to_json(indent=1) and again.sha256 == plan.sha256
    assert json.loads(plan.to_json()) == plan.to_dict()


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("sed",), 1, "plan: sed: there is no such key"),
        (("links", 2, "forward", "speed"), 1, "plan: links[2].forward.speed: there is no such key"),
        (
            ("flows", 0, "expect", "forward_traceroute", 3, "ttl"),
            1,
            "plan: flows[0].expect.forward_traceroute[3].ttl: there is no such key",
        ),
        (("links", 2, "forward", "rate_bps"), None, "plan: links[2].forward: Object missing required field `rate_bps`"),
        (("links", 2, "forward", "rate_bps"), "1 Gbit/s", "plan: links[2].forward.rate_bps: Expected `int`, got `str`"),
        (("links", 0, "reverse", "delay_ns"), 1.5, "plan: links[0].reverse.delay_ns: Expected `int`, got `float`"),
        (("flows", 0, "transfer", "streams"), True, "plan: flows[0].transfer.streams: Expected `int`, got `bool`"),
        (("nodes", 1, "kind"), "switch", "plan: nodes[1].kind: Invalid enum value 'switch'"),
        (("flows", 0, "physics", "limits"), {}, "plan: flows[0].physics.limits: Expected `array`, got `object`"),
        *(
            (
                ("schema_version",),
                other,
                f"plan: schema_version: {other}; this landspeed reads 4: make the plan again from its scenario",
            )
            for other in (3, 5)
        ),
    ],
)
def test_what_is_no_plan_is_named_by_its_key(path: tuple[str | int, ...], value: Any, said: str) -> None:
    data = record_plan().to_dict()
    part: Any = data
    for key in path[:-1]:
        part = part[key]
    if value is None:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    with pytest.raises(PlanError) as caught:
        Plan.from_dict(data)
    assert str(caught.value) == said


@pytest.mark.parametrize("text", ["", "{", "7", "[]", "null"])
def test_text_that_is_no_plan(text: str) -> None:
    with pytest.raises(PlanError, match=r"^plan: "):
        Plan.from_json(text)


def test_importing_the_plan_is_light() -> None:
    """Beside a few modules of the standard library only these are loaded: 8 ms, in the guest too."""
    script = (
        "import __future__, dataclasses, json, sys, typing; before = set(sys.modules);"
        "import landspeed.scenario.plan.plan;"
        "print(*sorted(set(sys.modules) - before))"
    )
    loaded = subprocess.check_output([sys.executable, "-c", script], text=True).split()
    assert loaded == [
        "landspeed",
        "landspeed.base",
        "landspeed.base.limits",
        "landspeed.base.version",
        "landspeed.scenario",
        "landspeed.scenario.plan",
        *(f"landspeed.scenario.plan.{name}" for name in ("direction", "limits", "plan", "recorded", "trace")),
    ]


# --- The same work ---------------------------------------------------------------------------------------------------

# Every field of the plan, decided: does it belong to the work? A new field must be put into one of the two.
WORK = {
    Plan: "seed kernel spin_cost_ns ip_version fidelity nodes links flows events calibration",
    Flow: "name source target route route_back second_route own_way start_ns transfer",
    Node: "name kind nic_rate_bps bus_rate_bps paced",
    Link: "index name a b mtu_bytes framing framing_bytes cells least_bytes forward reverse",
    Direction: (
        "delay_ns rate_bps queue_bytes packet_limit loss loss_burst loss_every corrupt duplicate reorder jitter_ns "
        "netem discipline parameters trace seed"
    ),
    Transfer: (
        "streams window_bytes window_exact initial_window_packets congestion_control congestion_controls bytes "
        "duration_ns receive send sample_interval_ns ecn accurate_ecn protect mptcp ping ping_interval_ns "
        "pacing_rate_bps start_stagger_ns protocol rate_bps packet_bytes active_ns idle_ns call"
    ),
    Event: "at_ns kind link direction packets duration_ns probability rate_bps delay_ns",
    Calibration: "rtt_tolerance rate_tolerance",
}
TOLD = {
    Plan: "schema_version scenario title scenario_file contest",
    Flow: "expect physics",
    Node: "place label address_note latitude_deg longitude_deg bus_fitted bus_why",
    Link: "distance_m",
    Direction: "can_queue",  # follows from the rest
    Transfer: "stall_ns",  # what moves until then is the same
    Event: "",
    Calibration: "",
}
PARTS = {"nodes": Node, "links": Link, "forward": Direction, "reverse": Direction, "transfer": Transfer}
PARTS |= {"events": Event, "calibration": Calibration, "flows": Flow}
WHOLE = {
    "flows",
    "nodes",
    "links",
    "forward",
    "reverse",
    "transfer",
    "events",
    "calibration",
    "expect",
    "contest",
    "physics",
}


def small_plan() -> Plan:
    plan = record_plan()
    event = Event(at_ns=5, kind="loss", link=1, direction="both", packets=3)
    return replace(plan, nodes=plan.nodes[:2], links=plan.links[:1], events=[event])


def other(value: Any) -> Any:
    """Another value than this."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return f"{value} or another"  # of no field's type perhaps: the hash does not ask


def changed(part: Any, path: tuple[str, ...]) -> Any:
    """The part with one field below it changed."""
    name, *rest = path
    value = getattr(part, name)
    if not rest:
        return replace(part, **{name: other(value)})
    if isinstance(value, list):
        return replace(part, **{name: [changed(value[0], tuple(rest)), *value[1:]]})
    return replace(part, **{name: changed(value, tuple(rest))})


def paths(kind: type) -> list[tuple[str, ...]]:
    """Every field of a part of the plan, and of the parts of the work in it."""
    found: list[tuple[str, ...]] = []
    for each in fields(kind):
        if each.name in PARTS:
            found += [(each.name, *rest) for rest in paths(PARTS[each.name])]
        elif each.name not in WHOLE:
            found.append((each.name,))
    return found


def kind_at(path: tuple[str, ...]) -> type:
    return PARTS[path[-2]] if len(path) > 1 else Plan


@pytest.mark.parametrize("kind", WORK)
def test_every_field_is_decided(kind: type) -> None:
    work, told = set(WORK[kind].split()), set(TOLD[kind].split())
    assert is_dataclass(kind) and not work & told
    assert {each.name for each in fields(kind)} == work | told


@pytest.mark.parametrize("path", paths(Plan), ids=".".join)
def test_the_hash_changes_with_the_work_and_with_nothing_else(path: tuple[str, ...]) -> None:
    plan = small_plan()
    same = changed(plan, path).sha256 == plan.sha256
    assert same == (path[-1] in TOLD[kind_at(path)].split()), ".".join(path)


def test_the_hash_leaves_out_what_was_recorded_and_what_theory_says() -> None:
    plan = record_plan()
    flow = plan.flow
    assert isinstance(plan.expect, Expect) and isinstance(plan.contest, Contest) and isinstance(plan.physics, Physics)
    for without in (
        replace(plan, flows=[replace(flow, expect=None)]),
        replace(plan, contest=None),
        replace(plan, flows=[replace(flow, physics=replace(plan.physics, limits=[]))]),
    ):
        assert without.sha256 == plan.sha256
    assert replace(plan, links=plan.links[:-1]).sha256 != plan.sha256
    assert replace(plan, events=[Event(at_ns=1, kind="down", link=0, direction="both")]).sha256 != plan.sha256
