"""A run that was made: what is known of it, its samples, its pictures. The library returns it and notebooks show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landspeed.results.bundle import load_record
from landspeed.results.check import Check
from landspeed.results.record import QueueDelay, RunRecord
from landspeed.scenario.plan.plan import Plan

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import pyarrow as pa

    from landspeed.report.chart_parts import Chart
    from landspeed.results.samples_reader import Samples

FAILED = 1


@dataclass(frozen=True)
class Run:
    """A run, and its result.

    Attributes:
        record: the judged record, with every figure of `result.json`; of a run that failed, what there is.
        bundle: its folder.
        interrupted: the user ended it, and all runs that would have followed.
    """

    record: RunRecord = field(repr=False)
    bundle: Path
    interrupted: bool = False

    @classmethod
    def load(cls, bundle: str | Path) -> Run:
        """The run of a bundle.

        Raises:
            BundleError: the folder is none, or its result.json cannot be read; the message says where.
        """
        return cls(load_record(Path(bundle)), Path(bundle))

    @property
    def complete(self) -> bool:
        """True if it ran to its end."""
        return self.record.complete

    @property
    def error(self) -> str | None:
        """Error that ended the run; None if it ran to its end."""
        return self.record.error

    @property
    def passed(self) -> bool:
        """True if it is complete and no verdict failed."""
        return self.record.complete and bool(self.record.passed)

    @property
    def status(self) -> int:
        """Exit status: 0 passed, 1 a verdict failed, or the run broke or was interrupted."""
        return 0 if self.passed else FAILED

    @property
    def goodput_bps(self) -> float | None:
        """Payload that the receiving program read, over the whole transfer, in bit/s."""
        return self.record.goodput_bps

    @property
    def steady_goodput_bps(self) -> float | None:
        """Goodput from the tenth second on; None for a shorter run."""
        return self.record.steady_goodput_bps

    @property
    def completion_s(self) -> float | None:
        """Time from the first SYN until the last byte was read; None for a transfer without `bytes`."""
        return self.record.completion_s

    @property
    def completion_from_start_s(self) -> float | None:
        """Time from the moment at which the sender could send until the last byte was read."""
        return self.record.completion_from_start_s

    @property
    def rtt_ms(self) -> float | None:
        """Round-trip time of the idle path, calibrated."""
        return self.record.rtt_ms

    @property
    def rtt_loaded_median_ms(self) -> float | None:
        """Round-trip time under load: the median of what TCP measured from the tenth second on, or in the second half.

        `record` has more percentiles, and `queue_delays` what packets waited in each queue.
        """
        return self.record.rtt_loaded_median_ms

    @property
    def rtt_loaded_p99_ms(self) -> float | None:
        """RTT under load at the 99th percentile."""
        return self.record.rtt_loaded_p99_ms

    @property
    def ping_loaded_median_ms(self) -> float | None:
        """Round-trip time of echoes beside the transfer, under load: the median; None without `transfer.ping`."""
        return self.record.ping_loaded_median_ms

    @property
    def ping_loaded_p99_ms(self) -> float | None:
        """Round trip under load, 99th percentile."""
        return self.record.ping_loaded_p99_ms

    @property
    def rpm(self) -> float | None:
        """Round trips a minute under load, of echoes and of TCP; None without `transfer.ping`."""
        return self.record.rpm

    @property
    def queue_delays(self) -> list[QueueDelay]:
        """Queueing delay in each queue that held packets."""
        return self.record.queue_delays

    @property
    def limited_by(self) -> str | None:
        """Limit of the run: window, bus, line rate, pacing, loss, …"""
        return self.record.limited_by

    @property
    def limited_by_why(self) -> str | None:
        """The figures that say so, in a sentence."""
        return self.record.limited_by_why

    @property
    def verdicts(self) -> list[Check]:
        """Each verdict: what was measured, and what was wanted."""
        return self.record.verdicts

    @property
    def seed(self) -> int:
        """Seed of all random numbers of the run."""
        return self.record.seed

    @cached_property
    def plan(self) -> Plan | None:
        """The work; None for a run that died before it had one."""
        return self.record.plan

    @cached_property
    def samples(self) -> Samples:
        """Time series of the streams and links: `.to_pandas()`, `.to_arrow()`, `.sender`, `.receiver`."""
        # saves 15 ms where it is not needed
        from landspeed.results.samples_reader import Samples

        return Samples(self.bundle)

    @property
    def links(self) -> pa.Table:
        """Time series of the links: rate, queue, drops by link and direction."""
        return self.samples.links

    @property
    def charts(self) -> list[str]:
        """Names of the charts that `plot` can draw."""
        return [chart.key for chart in self._charts]

    def plot(self, chart: str = "goodput") -> go.Figure:
        """A chart of the report as a Plotly figure.

        Args:
            chart: one of `charts`.

        Raises:
            ValueError: this run has no such chart.
        """
        # saves 1.6 ms where it is not needed
        from landspeed.report.plotly_figure import plotly_figure

        found = next((each for each in self._charts if each.key == chart), None)
        if found is None:
            raise ValueError(f"no chart '{chart}' of this run; there are {', '.join(self.charts) or 'none'}")
        return plotly_figure(found)

    @cached_property
    def _charts(self) -> list[Chart]:
        # saves 53 ms where it is not needed
        from landspeed.report.charts import make_charts
        from landspeed.report.network_report import network_charts

        if self.plan is None:
            return []
        if self.plan.is_path:
            return make_charts(self.samples, self.record, self.plan)
        return network_charts(self.samples, self.record)

    @property
    def report_file(self) -> Path:
        """Path of its report, whether it exists or not."""
        return self.bundle / "report.html"

    def report(self, scenario: Mapping[str, Any] | None = None) -> Path:
        """Write report.html (again) and return its path.

        Args:
            scenario: content of the run's scenario, where it is known; else the bundle's copy is read.

        Raises:
            OutputError: it cannot be written.
        """
        # saves 42 ms where it is not needed
        from landspeed.report.run_report import write_report

        return write_report(self.bundle, scenario)

    def submission(self, *, pdf: bool = True) -> list[Path]:
        """Write the run up as a record team would: page and PDF.

        Raises:
            ValueError: the run has no plan or no result.
        """
        # saves 115 ms where it is not needed
        from landspeed.report.submission import write_submission

        return write_submission(self.bundle, pdf=pdf)

    def __str__(self) -> str:
        # saves 6 ms where it is not needed
        from landspeed.report.summary import summary_lines

        return "\n".join(summary_lines(self.record, self.bundle, None))

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        # saves 19 ms where it is not needed
        from landspeed.report.summary import summary_lines

        rows = [line.partition(": ") for line in summary_lines(self.record, self.bundle, None)[1:]]
        cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, _, value in rows)
        return f"<table><caption>{escape(self.record.title or self.record.scenario)}</caption>{cells}</table>"
