"""A probe, or a Mininet script, as one self-contained page: what was found on top, and what each connection did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from landspeed.base.files import write_atomically
from landspeed.base.limits import IDLE
from landspeed.judge.sockets.answer import Answer, ProbeRun
from landspeed.judge.sockets.series import SentSeries
from landspeed.judge.sockets.ways import Way
from landspeed.report import svg_lines as pictures
from landspeed.report.page_parts import environment, template_text
from landspeed.report.svg_lines import Axis, LinePicture, PlottedLine, draw
from landspeed.results.bundle import OutputError
from landspeed.scenario.theory.physics import INITIAL_WINDOW_PACKETS

COLOURS = ("--series-1", "--series-2", "--series-3", "--series-5")
CURVE_POINTS = 60
MSS_BYTES = 1448


@dataclass(frozen=True)
class Part:
    """Results at one rate and loss.

    Attributes:
        title: of them; empty where there is one.
        answers: a sentence for each direction, the one that tells most first.
        rows: head and a row for each RTT.
        pictures: goodput against RTT, then two for each connection.
    """

    title: str
    answers: list[str]
    rows: list[list[str]]
    pictures: list[LinePicture]


def write_probe_page(
    target: Path,
    *,
    command: str,
    repeated: str,
    parts: Sequence[Part],
    errors: Sequence[str],
    logs: Sequence[str],
    hidden: str,
) -> Path:
    """Write the page.

    Args:
        target: the file.
        command: the client, as it is typed.
        repeated: the command that repeats the probe.
        parts: for each rate and loss.
        errors: of runs that are not complete.
        logs: files of TLS keys and qlog that the programs wrote, relative to the page.
        hidden: what a probe cannot see.

    Raises:
        OutputError: it cannot be written.
    """
    values = {"command": command, "repeated": repeated, "parts": parts, "errors": errors}
    values |= {"logs": logs, "hidden": hidden}
    return _write(target, "probe.html.j2", values)


def write_script_page(target: Path, *, command: str, outputs: Sequence[tuple[str, str]], parts: Sequence[Part]) -> Path:
    """Write the page of a Mininet script.

    Args:
        target: the file.
        command: its words.
        outputs: (title, text) of each.
        parts: for each net that it started; `answers` are its links in words, `rows` its connections.

    Raises:
        OutputError: it cannot be written.
    """
    return _write(target, "script.html.j2", {"command": command, "outputs": outputs, "parts": parts})


def _write(target: Path, template: str, values: dict[str, Any]) -> Path:
    from markupsafe import Markup

    style = Markup(template_text("report.css"))
    text = environment().get_template(template).render(**values, chart=pictures, style=style)
    try:
        write_atomically(target, text.encode())
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}") from error
    return target


def goodput_picture(answers: Sequence[Answer], runs: Sequence[ProbeRun]) -> LinePicture | None:
    """Goodput against RTT: measured, what the window allows, and what TCP alone would do with as many bytes."""
    lines: list[PlottedLine] = []
    for number, answer in enumerate(each for each in answers if each.bound_by != IDLE):
        way = (answer.source, answer.target)
        name, colour = f"{answer.source} → {answer.target}", COLOURS[number % len(COLOURS)]
        known = [(run.ways[way], rate) for run, rate in zip(runs, answer.goodput_bps, strict=True) if rate]
        if not known:
            continue
        curve = _between([each.rtt_s for each, _ in known])
        limit = known[0][0].limit_bps
        if answer.effective_bytes is not None:
            together = answer.windows_bytes or (1.0,)
            window = answer.effective_bytes * 8 * sum(together) / max(together)
            overhead = max(answer.overhead_s, 0.0)
            points = [(rtt, min(window / (rtt + overhead), limit)) for rtt in curve]
            lines.append(PlottedLine(f"{name}: window ÷ RTT", colour, points))
        most = max(answer.bytes)
        alone = [(rtt, tcp_alone_bps(most, Way(rtt, limit))) for rtt in curve]
        lines.append(PlottedLine(f"{name}: TCP alone (computed)", colour, alone, dash="2 4"))
        lines.append(PlottedLine(f"{name}: measured", colour, [(each.rtt_s, rate) for each, rate in known], dash=None))
    title = "Goodput against round-trip time"
    return draw(title, Axis("RTT", "s", logarithmic=True), Axis("goodput", "bit/s", logarithmic=True), lines)


def tcp_alone_bps(count: int, way: Way) -> float:
    """Goodput of so many bytes by TCP that doubles its window each round trip from ten packets (RFC 6928) to the path's
    capacity, without a loss; the last byte's acknowledgment is waited for."""
    capacity = way.limit_bps / 8 * way.rtt_s
    window, sent, passed = float(INITIAL_WINDOW_PACKETS * MSS_BYTES), 0.0, 0.0
    while sent < count and window < capacity:
        sent, window, passed = sent + min(window, count - sent), 2 * window, passed + way.rtt_s
    if sent < count:
        passed += (count - sent) * 8 / way.limit_bps + way.rtt_s
    return count * 8 / passed


def connection_pictures(title: str, sending: SentSeries) -> list[LinePicture]:
    """Time and sequence, and bytes in flight beside what TCP allowed, of one direction of a connection."""
    times, rows = [max(at - sending.begins_s, 0.0) for at in sending.times_s], sending.rows
    at = Axis("time", "s")
    sequence = draw(
        f"{title}: sequence",
        at,
        Axis("bytes", "B"),
        [
            PlottedLine("sent", COLOURS[0], list(zip(times, map(float, sending.sent), strict=True)), step=True),
            PlottedLine(
                "acknowledged", COLOURS[1], list(zip(times, map(float, sending.acked), strict=True)), step=True
            ),
        ],
    )
    cwnd = [float(a * b) for a, b in zip(rows["cwnd_packets"], rows["mss_bytes"], strict=True)]
    most = 1.6 * max(sending.in_flight)  # TCP may allow a thousand times as much
    allowed = [(t, min(a, float(b))) for t, a, b in zip(times, cwnd, rows["snd_wnd_bytes"], strict=True)]
    flight = draw(
        f"{title}: in flight",
        at,
        Axis("bytes", "B"),
        [
            PlottedLine("TCP would allow", COLOURS[2], [(t, min(v, most)) for t, v in allowed], dash="2 4", step=True),
            PlottedLine(
                "in flight", COLOURS[0], list(zip(times, map(float, sending.in_flight), strict=True)), step=True
            ),
        ],
    )
    return [each for each in (sequence, flight) if each is not None]


def arrival_picture(title: str, times_s: Sequence[float], counts: Sequence[float]) -> LinePicture | None:
    """Draw the arrival of the datagrams."""
    points = list(zip(times_s, counts, strict=True))
    return draw(
        f"{title}: datagrams", Axis("time", "s"), Axis("bytes", "B"), [PlottedLine("arrived", COLOURS[0], points)]
    )


def _between(rtts: Sequence[float]) -> list[float]:
    low, high = min(rtts), max(rtts)
    if low == high:
        low, high = low / 2, high * 2
    return [low * (high / low) ** (number / (CURVE_POINTS - 1)) for number in range(CURVE_POINTS)]
