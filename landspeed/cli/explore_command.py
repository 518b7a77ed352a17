"""The command `explore`: a page with sliders, theory and measured runs, as a file or served."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from landspeed.cli import values
from landspeed.cli.arguments import chosen_worlds, given_options, with_overrides, with_world, with_world_options
from landspeed.cli.errors import FAILED, UsageError
from landspeed.cli.parser import Parser
from landspeed.cli.sweep_command import SweepReporter

if TYPE_CHECKING:
    from landspeed.explore.measured_runs import Collection
    from landspeed.explore.setting import Setting, Slider
    from landspeed.scenario.plan.plan import Plan

MOST_PORT = 65_535


class ShownFlow(NamedTuple):
    """A flow of a plan, and its path alone."""

    plan: Plan
    name: str
    path: Plan


def add_explore(made: Parser) -> None:
    """Arguments of `explore`."""
    made.add_argument("file", type=Path, nargs="?", metavar="SCENARIO", help="start the sliders at its values")
    with_overrides(made, seed=False)
    made.add_argument(
        "--out", type=Path, metavar="FILE", help="the page (default: explore.html in the folder of the runs)"
    )
    made.add_argument("--runs", type=Path, metavar="DIR", help="folder where runs are kept")
    made.add_argument("--flow", metavar="NAME", help="of a network: the flow whose path is shown (default: the first)")
    made.add_argument("--measure", action="store_true", help="make runs, too; without it, only their price is told")
    made.add_argument("--spread", type=values.count, metavar="N", help="runs spread over all settings (default: 240)")
    made.add_argument(
        "--jobs", type=values.count, metavar="N", help="runs at once (default: as many as there are cores)"
    )
    made.add_argument("--open", action="store_true", help="open the page in the browser")
    made.add_argument("--serve", action="store_true", help="serve the page on loopback; a button then makes runs")
    made.add_argument("--port", type=int, metavar="N", help="with --serve: the port (default: a free one)")
    made.add_argument("--quiet", action="store_true", help="no progress")
    with_world(made)
    with_world_options(made)


def do_explore(parsed: argparse.Namespace) -> int:
    """Writes the page, or serves it."""
    from landspeed.explore.measured_runs import Collection
    from landspeed.explore.setting import sliders, slowest_link, values_of
    from landspeed.runs.scenario import Scenario

    _check(parsed)
    options = given_options(parsed)
    (world,) = chosen_worlds([parsed.world], options)
    title, start, slowest = "", dict[str, Any](), "path.N"
    if parsed.file is not None:
        scenario = Scenario.load(parsed.file, parsed.overrides)
        flow, title = shown_flow(scenario.plan(), parsed), scenario.title
        route = next(each.route for each in flow.plan.flows if each.name == flow.name)
        slowest = f"{scenario.loaded.scenario.links_key}.{route[slowest_link(flow.path).index]}"
        title, start = title if flow.plan.is_path else f"{title}, flow {flow.name}", values_of(flow.path)
    chosen = sliders(start, slowest)
    collection = Collection(world, parsed.runs, options)
    if parsed.serve:
        return _serve(parsed, chosen, collection, title)
    return _write(parsed, chosen, collection, title)


def _check(parsed: argparse.Namespace) -> None:
    if parsed.port is not None and not parsed.serve:
        raise UsageError("--port belongs to --serve; add --serve, or leave --port out")
    if parsed.port is not None and not 0 <= parsed.port <= MOST_PORT:
        raise UsageError(f"--port {parsed.port}: write a number from 1 to {MOST_PORT}, or leave it out")
    if parsed.serve and parsed.out is not None:
        raise UsageError("--serve writes no file; leave out --out, or --serve")
    if parsed.measure and parsed.serve:
        raise UsageError("--serve runs what the page asks for; leave out --measure, or --serve")
    if parsed.spread is not None and not parsed.measure:
        raise UsageError("--spread chooses what is measured; add --measure, or leave --spread out")
    if parsed.flow is not None and parsed.file is None:
        raise UsageError("--flow is of a network; name its scenario")
    if parsed.overrides and parsed.file is None:
        raise UsageError("--set changes a scenario; name one")


def _write(parsed: argparse.Namespace, chosen: tuple[Slider, ...], collection: Collection, title: str) -> int:
    from landspeed.explore.grid import SPREAD, settings_around, settings_spread
    from landspeed.explore.slider_page import page_data, write_page

    around = settings_around(chosen)
    spread = settings_spread(chosen, around, SPREAD if parsed.spread is None else parsed.spread)
    wanted, status = collection.able(around + spread), 0
    if not parsed.quiet:
        print(f"landspeed: {_price(collection, wanted, parsed)}", file=sys.stderr, flush=True)
    if parsed.measure:
        status = _measure(collection, wanted, parsed)
    folder = collection.store.folder
    data = page_data(chosen, collection.known(), title=title, served=False)
    page = write_page(parsed.out or folder / "explore.html", data)
    print(page)
    if parsed.open:
        webbrowser.open(page.resolve().as_uri())
    return status


def shown_flow(plan: Plan, parsed: argparse.Namespace) -> ShownFlow:
    """The flow whose path is shown."""
    from landspeed.scenario.plan.flow_path import path_of

    names = [flow.name for flow in plan.flows]
    if parsed.flow is not None and (plan.is_path or parsed.flow not in names):
        right = "leave --flow out: it is one path" if plan.is_path else f"choose one of {', '.join(names)}"
        raise UsageError(f"--flow {parsed.flow}: {parsed.file} has no such flow; {right}")
    flow = next(each for each in plan.flows if parsed.flow in (None, each.name))
    if parsed.flow is None and len(names) > 1 and not parsed.quiet:
        rest = f"--flow NAME shows another of {', '.join(names)}"
        print(f"landspeed: the path of flow {flow.name}, without the others; {rest}", file=sys.stderr)
    return ShownFlow(plan, flow.name, path_of(plan, flow))


def _price(collection: Collection, wanted: list[Setting], parsed: argparse.Namespace) -> str:
    """Price of a measured page: runs that are known, and those that are not, with their time."""
    from landspeed.explore.measured_runs import seconds_of
    from landspeed.runs.sweeps.workers import usual_jobs

    missing, jobs = collection.missing(wanted), parsed.jobs or usual_jobs()
    known = f"{len(wanted) - len(missing)} of {len(wanted)} runs are known"
    if not missing:
        return known
    time = f"{max(1, round(seconds_of(missing) / jobs / 60))} min"
    cores = f"{jobs} at once"
    if parsed.measure:
        return f"{known}; the other {len(missing)} take about {time}, {cores}; Ctrl-C ends them and keeps what ran"
    return f"the page has theory; {known}: --measure makes the other {len(missing)}, in about {time}, {cores}"


def _measure(collection: Collection, wanted: list[Setting], parsed: argparse.Namespace) -> int:
    """Make the runs; what was made before a fault or Ctrl-C is kept and shown."""
    from landspeed.base.failures import RunFailed

    try:
        collection.run(wanted, parsed.jobs, (lambda _: None) if parsed.quiet else SweepReporter())
    except RunFailed as error:
        print(f"Error: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        left = len(collection.missing(wanted))
        print(
            f"Error: interrupted; {len(wanted) - left} of {len(wanted)} runs are kept in {collection.store.folder}, "
            "and the page has them; the same command makes the rest",
            file=sys.stderr,
        )
        return FAILED
    return 0


def _serve(parsed: argparse.Namespace, chosen: tuple[Slider, ...], collection: Collection, title: str) -> int:
    from landspeed.explore.run_queue import RunQueue
    from landspeed.explore.server import listening, serve
    from landspeed.explore.slider_page import make_page, page_data
    from landspeed.runs.sweeps.workers import usual_jobs

    door = listening(parsed.port or 0)
    page = make_page(page_data(chosen, collection.known(), title=title, served=True))

    def ready(address: str) -> None:
        print(address, flush=True)
        if not parsed.quiet:
            print("landspeed: serving the page; Ctrl-C ends the server and its runs", file=sys.stderr, flush=True)
        if parsed.open:
            webbrowser.open(address)

    async def going() -> None:
        await serve(page, RunQueue(chosen, collection, parsed.jobs or usual_jobs()), door, ready)

    with contextlib.suppress(KeyboardInterrupt):  # that is how it is ended
        asyncio.run(going())
    return 0
