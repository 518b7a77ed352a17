"""The command `predict`: how long a transfer of many bytes takes."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landspeed.cli import values
from landspeed.cli.arguments import chosen_worlds, given_options, with_output, with_overrides, with_world_options
from landspeed.cli.errors import UsageError
from landspeed.cli.parser import Parser
from landspeed.cli.sweep_command import SweepReporter, silent

if TYPE_CHECKING:
    from landspeed.runs.sweeps.predict import Predictions


def add_predict(made: Parser) -> None:
    """Arguments of `predict`."""
    made.add_argument("file", type=Path, metavar="FILE", help="scenario file; --bytes replaces its duration or bytes")
    made.add_argument("--bytes", required=True, metavar="SIZE", help="how much to send, such as 100TB")
    made.add_argument("--host-limit", metavar="RATE", help="highest goodput of the sending host, such as 38Gbit/s")
    made.add_argument(
        "--choose",
        action="append",
        default=[],
        metavar="KEY=VALUE,…",
        help="compare these values, such as transfer.congestion_control=cubic,bbr; if repeated: every combination",
    )
    made.add_argument("--seeds", type=values.count, default=5, metavar="N", help="seeds of each choice (default: 5)")
    made.add_argument(
        "--at-most",
        type=values.seconds,
        default=120.0,
        metavar="SECONDS",
        help="longest transfer to find the steady rate, in virtual time (default: 120)",
    )
    made.add_argument("--worlds", default="emu", metavar="NAME,…", help="worlds to use, such as emu,sim (default: emu)")
    made.add_argument("--out", type=Path, metavar="DIR", help="folder of the runs (default: results/sweeps/NAME)")
    made.add_argument("--jobs", type=values.count, metavar="N", help="runs at once (default: cores)")
    with_output(made)
    with_overrides(made, seed=False)
    with_world_options(made, "run")


def do_predict(parsed: argparse.Namespace) -> int:
    """Runs what is needed, and says how long it takes."""
    from landspeed.base.places import sweeps_dir
    from landspeed.runs.sweeps.predict import parse_choices, predict_completion
    from landspeed.runs.sweeps.sweep import SweepOptions
    from landspeed.scenario.file.vary import read_space

    names = [name.strip() for name in parsed.worlds.split(",")]
    if len(set(names)) < len(names):
        raise UsageError(f"--worlds {parsed.worlds}: write each world once, with commas")
    options = given_options(parsed)
    worlds = [(world, _own(world, options)) for world in chosen_worlds(names, options)]
    folder = parsed.out or sweeps_dir() / f"predict-{read_space(parsed.file, parsed.overrides).name}"

    made = predict_completion(
        parsed.file,
        parsed.overrides,
        worlds,
        SweepOptions(folder, parsed.jobs),
        amount=values.size(parsed.bytes, "--bytes"),
        choose=parse_choices(parsed.choose),
        host_limit_bps=None if parsed.host_limit is None else values.rate(parsed.host_limit, "--host-limit"),
        seeds=parsed.seeds,
        at_most_s=parsed.at_most,
        progress=silent if parsed.quiet else SweepReporter(),
    )
    if parsed.json:
        print(json.dumps(_as_json(made), indent=1, ensure_ascii=False))
    elif not parsed.quiet:
        _show(made)
    return 0


def _own(world: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Select the options that the world has."""
    from landspeed.worlds.options import options_of

    return {name: value for name, value in given.items() if name in options_of(world.Options)}


def _show(made: Predictions) -> None:
    """First what is not known, then a row for each choice, then what was extrapolated."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from landspeed.base.text import DASH, bytes_text, long_duration_text, rate_text

    console = Console() if sys.stdout.isatty() else Console(width=160)
    console.out(made.unknown, highlight=False)
    console.out(f"To send {bytes_text(made.amount)}:", highlight=False)
    table = Table(box=box.SIMPLE_HEAD, header_style="bold")
    several = len({each.choice.world for each in made.predictions}) > 1
    for key in made.predictions[0].choice.values:
        table.add_column(key)
    if several:
        table.add_column("world")
    for name in ("p5", "p50", "p95", "steady at", "RTT under load"):
        table.add_column(name, justify="right")
    table.add_column("bound by")
    for each in made.predictions:
        shown = [long_duration_text(each.percentile_s(share)) for share in (5, 50, 95)]
        table.add_row(
            *each.choice.values.values(),
            *([each.choice.world] if several else []),
            *shown,
            rate_text(each.rate_bps),
            DASH if each.rtt_loaded_ms is None else f"{each.rtt_loaded_ms:.4g} ms",
            each.bound_by,
        )
    console.print(table)
    for each in made.predictions:
        queue = (
            ""
            if each.full_queue_ms is None
            else f"; with the queue full, a round trip takes {each.full_queue_ms:.4g} ms"
        )
        console.out(f"{each.choice}: {each.how}{queue}.", highlight=False)
    console.out(f"p5, p50, p95: over {len(made.predictions[0].seeds)} seeds.", highlight=False)


def _as_json(made: Predictions) -> dict[str, Any]:
    return {
        "bytes": made.amount,
        "unknown": made.unknown,
        "predictions": [
            {
                "choice": each.choice.values,
                "world": each.choice.world,
                "p5_s": each.percentile_s(5),
                "p50_s": each.percentile_s(50),
                "p95_s": each.percentile_s(95),
                "durations_s": dict(zip(map(str, each.seeds), each.durations_s, strict=True)),
                "steady_bps": each.rate_bps,
                "steady": each.steady,
                "start_s": each.start_s,
                "start_bytes": each.start_bytes,
                "measured_s": each.measured_s,
                "measured_bytes": each.measured_bytes,
                "extrapolated": each.extrapolated,
                "rtt_loaded_median_ms": each.rtt_loaded_ms,
                "rtt_full_queue_ms": each.full_queue_ms,
                "bound_by": each.bound_by,
            }
            for each in made.predictions
        ],
    }
