"""The word for a first look: demo."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from landspeed.base.progress import Progress
from landspeed.cli.arguments import runs_folder
from landspeed.cli.errors import FAILED

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

    from landspeed.runs.run import Run

SCENARIO = "first"
PLAIN_COLUMNS = 100
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
    from landspeed.report.terminal_chart import round_top
    from landspeed.runs.sweeps.variants import plan_variants

    (world,) = chosen_worlds(["emu"], {})
    (variant,) = plan_variants(Path(SCENARIO), (), world)
    plan = variant.plan
    console = Console() if sys.stdout.isatty() else Console(width=PLAIN_COLUMNS)
    print(f"{plan.title}: {len(plan.links)} links, one TCP connection of a real Linux kernel, in virtual time")
    until_s, top_bps = (plan.transfer.duration_ns or 0) / 1e9, round_top(plan.physics.expected_goodput_bps)
    with _Picture(console, until_s, top_bps) as shown:
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
        f"RTT {record.rtt_ms:.3f} ms, {record.retransmits} retransmits.",
        f"Bound by {run.limited_by}: {run.limited_by_why}.",
        f"Report, for a browser: {run.report_file}",
        "",
        "Three things to try:",
        *(f"  {words:<57}{what}" for words, what in NEXT),
    ]
    for line in lines:
        console.out(line, highlight=False)


class _Picture:
    """Goodput over time: drawn again at each piece of news on a terminal, written once at the end elsewhere."""

    def __init__(self, console: Console, until_s: float, top_bps: float) -> None:
        """Prepare the picture; draw nothing yet."""
        self._console, self._until_s, self._top_bps = console, until_s, top_bps
        self._series: list[tuple[float, float]] = []
        self._words = ""
        self._live: Live | None = None

    def __enter__(self) -> _Picture:
        """Begin to draw."""
        if self._console.is_terminal:
            from rich.live import Live

            self._live = Live(console=self._console, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the live display; the picture stays."""
        if self._live is not None:
            self._live.stop()

    def __call__(self, progress: Progress) -> None:
        """News of the run."""
        if progress.moves and (not self._series or progress.transfer_s > self._series[-1][0]):
            self._series.append((progress.transfer_s, progress.goodput_bps))
        elif progress.words == self._words:
            return
        self._words = progress.words
        if self._live is not None:
            self._draw(progress.figures if progress.moves else progress.words)

    def finish(self, run: Run) -> None:
        """The whole of it, as it was sampled."""
        self._series = list(run.samples.goodput())
        if self._live is not None:
            self._draw("as sampled every 0.1 s")
        else:
            for line in self._lines():
                self._console.out(line, highlight=False)

    def _lines(self) -> list[str]:
        from landspeed.report.terminal_chart import chart_lines

        width = min(self._console.width, PLAIN_COLUMNS)
        return chart_lines(self._series, until_s=self._until_s, top_bps=self._top_bps, width=width)

    def _draw(self, caption: str) -> None:
        from rich.text import Text

        assert self._live is not None
        self._live.update(Text("\n".join([*self._lines(), caption]), style="cyan"), refresh=True)
