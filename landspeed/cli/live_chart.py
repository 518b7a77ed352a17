"""Live chart of a run's goodput in a terminal, drawn again while the run goes on (`demo`, `run`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from landspeed.base.progress import Progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

    from landspeed.runs.run import Run
    from landspeed.scenario.plan.plan import Plan

PLAIN_COLUMNS = 100


class LiveChart:
    """Chart of goodput over time: drawn at each piece of news on a terminal, written once at the end elsewhere."""

    def __init__(self, console: Console, until_s: float, top_bps: float) -> None:
        """Prepare the chart; draw nothing yet."""
        self._console, self._until_s, self._top_bps = console, until_s, top_bps
        self._series: list[tuple[float, float]] = []
        self._words = ""
        self._live: Live | None = None

    @classmethod
    def of(cls, plan: Plan, console: Console) -> LiveChart:
        """Chart for a path's transfer, as long and as high as theory expects it."""
        from landspeed.report.terminal_chart import round_top
        from landspeed.scenario.plan.duration import expected_duration_s

        return cls(console, expected_duration_s(plan), round_top(plan.physics.expected_goodput_bps))

    def __enter__(self) -> LiveChart:
        """Begin to draw."""
        if self._console.is_terminal:
            from rich.live import Live

            self._live = Live(console=self._console, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the live display; the chart stays."""
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
            self._draw("as sampled")
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
