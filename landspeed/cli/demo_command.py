"""The command `demo`: a first look at a run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from landspeed.cli.arguments import runs_folder
from landspeed.cli.errors import FAILED
from landspeed.cli.live_chart import PLAIN_COLUMNS, LiveChart

if TYPE_CHECKING:
    from rich.console import Console

    from landspeed.runs.run import Run

SCENARIO = "first"
NEXT = (
    ('landspeed run first --set transfer.window="1 MB"', "a small window: what binds it now?"),
    ('landspeed run first --set path.1.loss="0.01 %"', "a line that loses one packet in 10 000"),
    ("landspeed exec first --at amsterdam -- ping -c 3 athens", "any program of yours, on the same path"),
)


def add_demo(made: argparse.ArgumentParser) -> None:
    """Arguments of `demo`."""
    made.add_argument("--out", type=Path, metavar="DIR", help="folder for the bundle (default: that of `run`)")


def do_demo(parsed: argparse.Namespace) -> int:
    """One run, drawn while it goes on where a terminal is, and told in lines elsewhere."""
    from rich.console import Console

    from landspeed.cli.arguments import chosen_worlds
    from landspeed.runs.sweeps.variants import plan_variants

    (world,) = chosen_worlds(["emu"], {})
    (variant,) = plan_variants(Path(SCENARIO), (), world)
    plan = variant.plan
    console = Console() if sys.stdout.isatty() else Console(width=PLAIN_COLUMNS)
    print(f"{plan.title}: {len(plan.links)} links, one TCP connection of a real Linux kernel, in virtual time")
    with LiveChart.of(plan, console) as shown:
        run = variant.run(runs_folder(parsed.out), progress=shown)
        if run.complete:
            shown.finish(run)
    if not run.complete:
        print(f"Error: {run.error}", file=sys.stderr)
        return FAILED
    _tell(console, run)
    return run.status


def _tell(console: Console, run: Run) -> None:
    from landspeed.base.text import rate_text

    record = run.record
    whole, wall_s = rate_text(run.goodput_bps), record.wall_s or 0.0
    lines = [
        "",
        f"{record.duration_s:.1f} s of the path took {wall_s:.1f} s here: {whole} over the whole transfer, "
        f"{record.retransmits} retransmits.",
        f"Round trip: {record.rtt_ms:.3f} ms idle, {record.rtt_loaded_median_ms or 0:.3f} ms under load (median).",
        f"Bound by {run.limited_by}: {run.limited_by_why}.",
        f"Report, for a browser: {run.report_file}",
        "",
        "Three things to try:",
        *(f"  {words:<57}{what}" for words, what in NEXT),
    ]
    for line in lines:
        console.out(line, highlight=False)
