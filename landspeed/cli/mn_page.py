"""Page of a Mininet script: what it printed, each net in words, and what its connections and links did."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from landspeed.base.text import bytes_text
from landspeed.base.units_text import rate_text
from landspeed.judge.sockets.series import SentSeries, SocketSamples
from landspeed.report.probe_page import COLOURS, Part, connection_pictures, write_script_page
from landspeed.report.svg_lines import Axis, LinePicture, PlottedLine, draw

MOST_DRAWN = 12  # connections, and links, of a net: those with most bytes
HEAD = ["connection", "program", "begins", "bytes", "goodput", "retransmitted", "RTT (mean)"]
TIME = Axis("time", "s")


def write_page(folder: Path, words: Sequence[str], nets: Sequence[tuple[dict[str, Any], list[str], Path]]) -> Path:
    """Write `report.html` into a script's run folder.

    Args:
        folder: of the run.
        words: of the command line.
        nets: of each net its `net.json`, its links in words, and the folder of its samples.

    Raises:
        SamplesError: its samples cannot be read.
        OutputError: it cannot be written.
    """
    outputs = [
        (title, (folder / "log" / name).read_text(errors="replace"))
        for name, title in (("stdout", "What it printed"), ("stderr", "What it printed as errors"))
    ]
    parts = [_part(f"Net {number}", *net) for number, net in enumerate(nets, 1)]
    command = shlex.join(["landspeed", "mn", *words])
    return write_script_page(folder / "report.html", command=command, outputs=[o for o in outputs if o[1]], parts=parts)


def _part(title: str, told: dict[str, Any], explained: list[str], folder: Path) -> Part:
    samples = SocketSamples(folder)
    sendings = sorted(samples.sendings, key=lambda each: -each.bytes)
    drawn: list[LinePicture | None] = []
    for each in sendings[:MOST_DRAWN]:
        name = _name(each)
        drawn += [*connection_pictures(name, each), _round_trips(name, each)]
    links: list[tuple[int, list[LinePicture | None]]] = [
        _link(samples, number, [end["node"] for end in link["ends"]]) for number, link in enumerate(told["links"])
    ]
    busiest = sorted(links, key=lambda each: -each[0])[:MOST_DRAWN]
    drawn += [picture for passed, pictures in busiest if passed for picture in pictures]
    return Part(title, explained, [HEAD, *map(_row, sendings)], [each for each in drawn if each is not None])


def _name(sending: SentSeries) -> str:
    target = sending.target or sending.sender.remote[0]
    return f"{sending.source}:{sending.sender.local[1]} → {target}:{sending.sender.remote[1]}"


def _row(sending: SentSeries) -> list[str]:
    took_s = sending.ends_s - sending.begins_s
    trips = [each for each in sending.rows["srtt_us"] if each]
    return [
        _name(sending),
        sending.sender.program or "",
        f"{sending.begins_s:.2f} s",
        bytes_text(sending.bytes),
        rate_text(8 * sending.bytes / took_s) if took_s > 0 else "",
        bytes_text(sending.rows["bytes_retransmitted"][-1]),
        f"{sum(trips) / len(trips) / 1000:.3f} ms" if trips else "",
    ]


def _round_trips(name: str, sending: SentSeries) -> LinePicture | None:
    points = [
        (max(at - sending.begins_s, 0.0), trip / 1e6)
        for at, trip in zip(sending.times_s, sending.rows["srtt_us"], strict=True)
        if trip
    ]
    return draw(f"{name}: RTT", TIME, Axis("smoothed RTT", "s"), [PlottedLine("RTT", COLOURS[0], points, step=True)])


def _link(samples: SocketSamples, number: int, nodes: Sequence[str]) -> tuple[int, list[LinePicture | None]]:
    """Bytes of both directions, and pictures of rate and queue."""
    rates: list[PlottedLine] = []
    queues: list[PlottedLine] = []
    passed = 0
    for way, (direction, colour) in enumerate(zip(("forward", "reverse"), COLOURS[:2], strict=True)):
        table: Any = samples.link(number, direction)
        rows: dict[str, list[Any]] = table.to_pydict()
        name = f"{nodes[way]} → {nodes[1 - way]}"
        times: list[float] = [each / 1e9 for each in rows["time_ns"]]
        if not times:
            continue
        passed += rows["bytes"][-1] - rows["bytes"][0]
        rates.append(
            PlottedLine(name, colour, [p for p in zip(times, rows["rate_bps"], strict=True) if p[1] is not None])
        )
        held = [float(each) for each in rows["backlog_bytes"]]
        queues.append(PlottedLine(name, colour, list(zip(times, held, strict=True)), step=True))
    title = f"{nodes[0]} – {nodes[1]}"
    return passed, [
        draw(f"{title}: rate", TIME, Axis("rate", "bit/s"), rates),
        draw(f"{title}: waiting or under way", TIME, Axis("bytes", "B"), queues),
    ]
