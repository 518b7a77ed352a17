"""The command `explore`: a page with sliders, theory and measured runs, as a file or served."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landspeed.cli import values
from landspeed.cli.arguments import chosen_worlds, given_options, with_overrides, with_world, with_world_options
from landspeed.cli.errors import FAILED, UsageError
from landspeed.cli.parser import Parser
from landspeed.cli.sweep_command import SweepReporter

if TYPE_CHECKING:
    from landspeed.explore.measured_runs import Collection
    from landspeed.explore.setting import Slider

MOST_PORT = 65_535


def add_explore(made: Parser) -> None:
    """Arguments of `explore`."""
    made.add_argument("file", type=Path, nargs="?", metavar="SCENARIO", help="start the sliders at its values")
    with_overrides(made, seed=False)
    made.add_argument(
        "--out", type=Path, metavar="FILE", help="the page (default: explore.html in the folder of the runs)"
    )
    made.add_argument("--runs", type=Path, metavar="DIR", help="folder where runs are kept")
    made.add_argument("--spread", type=values.count, metavar="N", help="runs spread over all settings (default: 240)")
    made.add_argument("--no-runs", action="store_true", help="run nothing: the page has what was measured before")
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
    from landspeed.explore.setting import sliders, values_of
    from landspeed.runs.scenario import Scenario

    _check(parsed)
    options = given_options(parsed)
    (world,) = chosen_worlds([parsed.world], options)
    title, start = "", dict[str, Any]()
    if parsed.file is not None:
        scenario = Scenario.load(parsed.file, parsed.overrides)
        plan = scenario.plan()
        if not plan.is_path:
            raise UsageError(f"{parsed.file} is a network; explore shows one path: name a scenario with `path:`")
        title, start = scenario.title, values_of(plan)
    chosen = sliders(start)
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
    if parsed.spread is not None and (parsed.serve or parsed.no_runs):
        raise UsageError(f"--spread makes runs; leave it out, or {'--serve' if parsed.serve else '--no-runs'}")
    if parsed.overrides and parsed.file is None:
        raise UsageError("--set changes a scenario; name one")


def _write(parsed: argparse.Namespace, chosen: tuple[Slider, ...], collection: Collection, title: str) -> int:
    from landspeed.base.failures import RunFailed
    from landspeed.explore.grid import SPREAD, settings_around, settings_spread
    from landspeed.explore.slider_page import page_data, write_page

    status = 0
    if not parsed.no_runs:
        try:
            around = settings_around(chosen)
            spread = settings_spread(chosen, around, SPREAD if parsed.spread is None else parsed.spread)
            collection.run(
                collection.able(around + spread), parsed.jobs, (lambda _: None) if parsed.quiet else SweepReporter()
            )
        except RunFailed as error:
            print(f"Error: {error}", file=sys.stderr)
            status = FAILED
    folder = collection.store.folder
    data = page_data(chosen, collection.known(), title=title, served=False, cache=folder)
    page = write_page(parsed.out or folder / "explore.html", data)
    print(page)
    if parsed.open:
        webbrowser.open(page.resolve().as_uri())
    return status


def _serve(parsed: argparse.Namespace, chosen: tuple[Slider, ...], collection: Collection, title: str) -> int:
    from landspeed.explore.run_queue import RunQueue
    from landspeed.explore.server import listening, serve
    from landspeed.explore.slider_page import make_page, page_data
    from landspeed.runs.sweeps.workers import usual_jobs

    door = listening(parsed.port or 0)
    page = make_page(page_data(chosen, collection.known(), title=title, served=True, cache=collection.store.folder))

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
