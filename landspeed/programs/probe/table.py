"""Table of a probe's results for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from landspeed.base.limits import IDLE
from landspeed.base.text import DASH, bytes_text, rate_text
from landspeed.judge.sockets.answer import Answer
from landspeed.programs.probe.probe import ProbePoint, ProbeResult
from landspeed.results.facts import spun_text


def tables(found: ProbeResult) -> list[str]:
    """A text for each rate and loss."""
    return [_table(found, variant) for variant in found.variants]


def title_of(variant: ProbePoint) -> str:
    """Name the variant's rate and loss; empty for the path's own."""
    words = [f"line rate {rate_text(variant.rate_bps)}"] if variant.rate_bps is not None else []
    words += [f"loss {variant.loss * 100:g} %"] if variant.loss is not None else []
    return ", ".join(words)


def sentences(variant: ProbePoint, directions: Sequence[Answer]) -> list[str]:
    """A sentence for each direction; what a client did that failed in every run is said to be that."""
    failed = ", until the client failed" if all(each.error for each in variant.cases) else ""
    return [sentence(each, failed) for each in directions]


def sentence(answer: Answer, when: str = "") -> str:
    """One direction in one sentence."""
    way = f"{answer.source} → {answer.target}{when}"
    what = answer.bound_by if answer.bound_by == IDLE else f"bound by {answer.bound_by}"
    if answer.window_bytes is not None:
        error = f" (± {answer.window_error * 100:.2g} %)" if answer.window_error and answer.window_error >= 1e-6 else ""
        what += f" of {bytes_text(answer.window_bytes)}{error}"
        what += f" in each of {count} connections" if (count := len(answer.windows_bytes)) > 1 else ""
    if answer.round_trips is not None:
        what += f", {answer.round_trips:.1f} of them"
    return f"{way}: {what}: {answer.explanation}"


def spinning(variant: ProbePoint) -> list[str]:
    """A sentence for each RTT at which virtual time passed for programs that spun."""
    return [
        f"at {each.case.rtt_ns / 1e6:g} ms virtual time passed for programs that spin: {spun_text(each.spun)}"
        for each in variant.cases
        if each.spun
    ]


def rows(variant: ProbePoint) -> list[list[str]]:
    """Head and a row for each RTT: time, and goodput and the word of each direction."""
    directions = variant.directions
    found = [["RTT", "time", *(each for answer in directions for each in (f"{answer.source} → {answer.target}", ""))]]
    for number, case in enumerate(variant.cases):
        elapsed = case.run.elapsed_s if case.run else None
        row = [f"{case.case.rtt_ns / 1e6:g} ms", DASH if elapsed is None else f"{elapsed:.3f} s"]
        judged = [each for each in variant.cases[:number] if each.run is not None]
        for answer in directions:
            if case.run is None:
                row += [DASH, ""]
                continue
            at = len(judged)
            row += [rate_text(answer.goodput_bps[at]), answer.kinds[at]]
        found.append(row)
    return found


def _table(found: ProbeResult, variant: ProbePoint) -> str:
    cells = rows(variant)
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    lines = [
        "  ".join(
            cell.rjust(width) if column < 2 or column % 2 == 0 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    head = [title_of(variant)] if len(found.variants) > 1 else []
    return "\n".join([*head, *lines, *sentences(variant, variant.directions), *spinning(variant)])
