"""The commands `scenarios`, `check`, `show`, `schema`: about scenario files."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from landspeed.base.errors import ScenarioError
from landspeed.cli.arguments import with_overrides, with_world
from landspeed.cli.errors import BAD_INPUT, say


def add_check(made: argparse.ArgumentParser) -> None:
    """Arguments of `check`."""
    made.add_argument("files", nargs="+", type=Path, metavar="FILE", help="scenario files")
    with_world(made)
    with_overrides(made, seed=False)


def do_check(parsed: argparse.Namespace) -> int:
    """Every file, whether or not another one is wrong."""
    from landspeed.scenario.file.vary import load_variants
    from landspeed.worlds.registry import plan_for, world_type

    world_type(parsed.world)
    status = 0
    for file in parsed.files:
        try:
            plans = [plan_for(loaded, parsed.world) for _, loaded in load_variants(file, parsed.overrides)]
            many = f", {len(plans)} combinations" if len(plans) > 1 else ""
            print(f"{file}: ok ({plans[0].title}{many})")
        except ScenarioError as error:
            status = say(error, BAD_INPUT)
    return status


def add_show(made: argparse.ArgumentParser) -> None:
    """Arguments of `show`."""
    made.add_argument("file", type=Path, metavar="FILE", help="scenario file")
    with_world(made)
    made.add_argument("--json", action="store_true", help="print the plan as JSON")
    with_overrides(made)


def do_show(parsed: argparse.Namespace) -> int:
    """The plan of each combination."""
    from landspeed.scenario.file.vary import load_variants
    from landspeed.worlds.registry import plan_for

    plans = [
        (values, plan_for(loaded, parsed.world, parsed.seed))
        for values, loaded in load_variants(parsed.file, parsed.overrides)
    ]
    if parsed.json:
        shown = [plan.to_dict() for _, plan in plans]
        print(json.dumps(shown if plans[0][0] else shown[0], indent=1))
        return 0
    from rich.console import Console

    from landspeed.report.plan_view import render_plan
    from landspeed.worlds.registry import world_type

    notes = world_type(parsed.world).notes
    for values, plan in plans:
        if values:
            Console().rule(", ".join(f"{key} {value}" for key, value in values.items()))
        Console().print(render_plan(plan, notes(plan)))
    return 0


def add_scenarios(made: argparse.ArgumentParser) -> None:
    """Arguments of `scenarios`."""
    made.add_argument("--json", action="store_true", help="a JSON list on standard output")


def do_scenarios(parsed: argparse.Namespace) -> int:
    """Name and title of each."""
    from landspeed.scenario.file.packaged import packaged_names
    from landspeed.scenario.file.vary import load_variants

    titles = {name: load_variants(Path(name))[0][1].scenario.title for name in packaged_names()}
    if parsed.json:
        print(json.dumps([{"name": name, "title": title} for name, title in titles.items()], indent=1))
        return 0
    width = max(map(len, titles))
    for name, title in titles.items():
        print(f"{name:<{width}}  {title}")
    return 0


def add_schema(made: argparse.ArgumentParser) -> None:
    """Add no arguments."""


def do_schema(_parsed: argparse.Namespace) -> int:
    """Print the schema for editors."""
    from landspeed.scenario.file.schema import schema_text

    print(schema_text(), end="")
    return 0
