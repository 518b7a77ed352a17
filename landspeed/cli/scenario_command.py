"""The commands `scenarios`, `check`, `show`, `schema`: about scenario files."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

from landspeed.base.errors import ScenarioError
from landspeed.cli.arguments import with_overrides, with_world
from landspeed.cli.errors import BAD_INPUT, UsageError, say, warn


def add_check(made: argparse.ArgumentParser) -> None:
    """Arguments of `check`."""
    made.add_argument("files", nargs="+", type=Path, metavar="FILE", help="scenario files")
    with_world(made)
    with_overrides(made, seed=False)


def do_check(parsed: argparse.Namespace) -> int:
    """Every file, whether or not another one is wrong."""
    from landspeed.scenario.file.vary import load_variants
    from landspeed.worlds.registry import plan_for, world_type

    world = world_type(parsed.world)
    status = 0
    for file in parsed.files:
        try:
            plans = [plan_for(loaded, parsed.world) for _, loaded in load_variants(file, parsed.overrides)]
            many = f", {len(plans)} combinations" if len(plans) > 1 else ""
            print(f"{file}: ok ({plans[0].title}{many})")
            if prices := [price for plan in plans if (price := world.price(plan))]:
                whole = replace(max(prices, key=lambda each: each.memory_bytes), wall_s=sum(p.wall_s for p in prices))
                print(f"{file}: a run takes {whole.words}" if len(plans) == 1 else f"{file}: they take {whole.words}")
            warn(f"{file}: {warning}" for plan in plans for warning in world.all_warnings(plan))
        except ScenarioError as error:
            status = say(error, BAD_INPUT)
    return status


def add_show(made: argparse.ArgumentParser) -> None:
    """Arguments of `show`."""
    made.add_argument("file", type=Path, metavar="FILE", help="scenario file, or a name of `landspeed scenarios`")
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
    console = Console() if sys.stdout.isatty() or "COLUMNS" in os.environ else Console(width=160)
    for values, plan in plans:
        if values:
            console.rule(", ".join(f"{key} {value}" for key, value in values.items()))
        console.print(render_plan(plan, notes(plan)))
    return 0


def add_scenarios(made: argparse.ArgumentParser) -> None:
    """Arguments of `scenarios`."""
    made.add_argument("name", nargs="?", metavar="NAME", help="say more of this one (default: list all of them)")
    shown = made.add_mutually_exclusive_group()
    shown.add_argument("--yaml", action="store_true", help="print its file")
    shown.add_argument(
        "--copy",
        nargs="?",
        type=Path,
        const=Path(),
        metavar="DIR",
        help="copy its file, and the traces that it reads, into this folder (default: the present one)",
    )
    shown.add_argument("--json", action="store_true", help="a JSON list on standard output")


def do_scenarios(parsed: argparse.Namespace) -> int:
    """List all of them; or say of one where it is, print it, copy it."""
    if parsed.name is not None:
        return _one_scenario(parsed)
    if parsed.yaml or parsed.copy is not None:
        word = "--yaml" if parsed.yaml else "--copy"
        raise UsageError(f"{word} needs the name of a scenario, such as: landspeed scenarios first {word}")
    from landspeed.scenario.file.packaged import packaged_names

    names = packaged_names()
    titles = dict(zip(names, map(_title, names), strict=True))
    if parsed.json:
        print(json.dumps([{"name": name, "title": title} for name, title in titles.items()], indent=1))
        return 0
    width = max(map(len, titles))
    for name, title in titles.items():
        print(f"{name:<{width}}  {title}")
    return 0


def _one_scenario(parsed: argparse.Namespace) -> int:
    from landspeed.base.near import meant_or_all
    from landspeed.scenario.file.packaged import copied_files, file_named, packaged_names

    file = file_named(parsed.name)
    if file is None:
        raise UsageError(
            f"no scenario '{parsed.name}' comes with landspeed; {meant_or_all(parsed.name, packaged_names())}"
        )
    if parsed.json:
        print(json.dumps([{"name": file.stem, "title": _title(file), "file": str(file)}], indent=1))
    elif parsed.yaml:
        print(copied_files(file)[file.name], end="")
    elif parsed.copy is not None:
        for name, text in copied_files(file).items():
            write_new(parsed.copy / name, text)
            print(f"Written: {parsed.copy / name}")
    else:
        print(f"{file.stem}: {_title(file)}\nFile: {file}")
        print(f"landspeed show {file.stem} says more of it; extends: {file.stem} begins a scenario of your own with it")
    return 0


def _title(file: Path | str) -> str:
    from landspeed.scenario.file.vary import load_variants

    return load_variants(Path(file))[0][1].scenario.title


def write_new(file: Path, text: str) -> None:
    """Write a file of the user's that is not there yet. Raises UsageError."""
    try:
        with file.open("x", encoding="utf-8") as target:
            target.write(text)
    except FileExistsError:
        raise UsageError(f"{file} is there already; remove it, or name another place") from None
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}; name a place where you may write") from None


def add_schema(made: argparse.ArgumentParser) -> None:
    """Add no arguments."""


def do_schema(_parsed: argparse.Namespace) -> int:
    """Print the schema for editors."""
    from landspeed.scenario.file.schema import schema_text

    print(schema_text(), end="")
    return 0
