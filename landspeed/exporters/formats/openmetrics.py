"""OpenMetrics with times, for Prometheus: `promtool tsdb create-blocks-from openmetrics` puts them into its database.

Prometheus keeps milliseconds: of several samples in one, the last stays.
"""

from __future__ import annotations

from collections.abc import Iterator

from landspeed.exporters.exporter import Exported, Exporter

TCP = {
    "bytes": ("landspeed_tcp_bytes", "counter", "bytes", "Bytes read by the receiver or acknowledged to the sender."),
    "retransmits": ("landspeed_tcp_retransmits", "counter", "", "Packets sent again."),
    "cwnd_packets": ("landspeed_tcp_cwnd_packets", "gauge", "packets", "Congestion window."),
    "srtt_us": ("landspeed_tcp_rtt_seconds", "gauge", "seconds", "Smoothed round-trip time."),
    "goodput_bps": ("landspeed_tcp_goodput_bits_per_second", "gauge", "", "Goodput of each interval."),
}
LINK = {
    "bytes": ("landspeed_link_bytes", "counter", "bytes", "Bytes sent by a link's direction."),
    "drops": ("landspeed_link_drops", "counter", "", "Packets dropped at its queue."),
    "marks": ("landspeed_link_marks", "counter", "", "Packets marked instead of dropped."),
    "backlog_bytes": ("landspeed_link_backlog_bytes", "gauge", "bytes", "Bytes that wait."),
}


def _write(exported: Exported) -> dict[str, str | bytes]:
    return {".openmetrics": "".join(_lines(exported)) + "# EOF\n"}


def _lines(exported: Exported) -> Iterator[str]:
    run = exported.bundle.name if exported.bundle else exported.name
    common = f'run="{_escaped(run)}",scenario="{_escaped(exported.name)}",world="{_escaped(exported.measured.world)}"'
    for column, (name, kind, unit, text) in TCP.items():
        yield from _head(name, kind, unit, text)
        for end in ("receiver", "sender"):
            rows = exported.samples.rows(end, "flow", "stream", "time_ns", column)
            labelled = ((f'end="{end}",flow="{_escaped(flow)}",stream="{stream}"', time, value)
                        for flow, stream, time, value in rows)  # fmt: skip
            yield from _series(
                exported.start_unix_ns,
                f"{name}_total" if kind == "counter" else name,
                common,
                labelled,
                1e-6 if column == "srtt_us" else 1,
            )
    for column, (name, kind, unit, text) in LINK.items():
        yield from _head(name, kind, unit, text)
        rows = exported.samples.rows("links", "link", "direction", "time_ns", column)
        labelled = ((f'link="{link}",direction="{direction}"', time, value) for link, direction, time, value in rows)
        yield from _series(exported.start_unix_ns, f"{name}_total" if kind == "counter" else name, common, labelled, 1)


def _head(name: str, kind: str, unit: str, text: str) -> Iterator[str]:
    yield f"# TYPE {name} {kind}\n"
    if unit and name.endswith(f"_{unit}"):
        yield f"# UNIT {name} {unit}\n"
    yield f"# HELP {name} {text}\n"


def _series(
    start_unix_ns: int, metric: str, common: str, rows: Iterator[tuple[str, int, float | None]], factor: float
) -> Iterator[str]:
    """Samples of one metric; rows of one millisecond of one series are one, the last."""
    waiting: tuple[str, int, float] | None = None
    for labels, time_ns, value in rows:
        if value is None or time_ns < 0:
            continue
        ms = (start_unix_ns + time_ns) // 10**6
        if waiting and waiting[:2] != (labels, ms):
            yield _line(metric, common, waiting)
        waiting = (labels, ms, value * factor)
    if waiting:
        yield _line(metric, common, waiting)


def _line(metric: str, common: str, row: tuple[str, int, float]) -> str:
    labels, ms, value = row
    return f"{metric}{{{common},{labels}}} {value:.12g} {ms // 1000}.{ms % 1000:03d}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


EXPORTER = Exporter(
    "openmetrics", "samples with their times for Prometheus", "run", _write,
    "promtool tsdb create-blocks-from openmetrics FILE",
)  # fmt: skip
