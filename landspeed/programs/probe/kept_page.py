"""The page of a probe, from what it found and kept."""

from __future__ import annotations

import shlex
from pathlib import Path

from landspeed.base.limits import IDLE
from landspeed.judge.sockets.answer import Answer
from landspeed.judge.sockets.datagrams import arrived
from landspeed.judge.sockets.series import SocketSamples
from landspeed.judge.sockets.socket_limits import HIDDEN
from landspeed.programs.conditions import LineCondition, ListeningCondition
from landspeed.programs.probe.one_case import CaseRun
from landspeed.programs.probe.probe import ProbePoint, ProbeResult
from landspeed.programs.probe.table import rows, sentences, spinning, title_of
from landspeed.report.probe_page import Part, arrival_picture, connection_pictures, goodput_picture, write_probe_page
from landspeed.report.svg_lines import LinePicture
from landspeed.results.own_logs import written_logs

PAGE = "probe.html"


def write_page(found: ProbeResult) -> Path:
    """Write `probe.html` into the probe's folder.

    Raises:
        OutputError: it cannot be written.
    """
    parts = [_part(found, each) for each in found.variants]
    errors = [
        f"at {each.case.rtt_ns / 1e6:g} ms: {each.error}"
        for variant in found.variants
        for each in variant.cases
        if each.error
    ]
    hidden = f"What the program computes cannot be seen here: {HIDDEN}."
    return write_probe_page(
        found.folder / PAGE,
        command=shlex.join(found.spec.command),
        repeated=repeating_command(found),
        parts=parts,
        errors=errors,
        logs=[
            f"{each.case.folder}/{file}"
            for variant in found.variants
            for each in variant.cases
            for file in written_logs(each.folder)
        ],
        hidden=hidden,
    )


def repeating_command(found: ProbeResult) -> str:
    """The words that repeat the probe."""
    spec = found.spec
    words = ["landspeed", "probe"]
    words += [spec.named] if spec.named else []
    for each in spec.servers:
        words += ["--serve", f"{each.node}={shlex.join(each.words)}"]
        if isinstance(each.until, ListeningCondition):
            words += ["--listen", f"{each.until.port}" + ("/udp" if each.until.protocol == "udp" else "")]
        elif isinstance(each.until, LineCondition):
            words += ["--ready-line", each.until.pattern]
        else:
            words += ["--ready-command", shlex.join(each.until.words)]
    words += ["--at", spec.at, "--seed", str(spec.seed)]
    words += ["--rtt", ",".join(f"{each / 1e6:g} ms" for each in spec.rtts_ns)]
    if spec.rates_bps != (None,):
        words += ["--rate", ",".join(f"{each} bit/s" for each in spec.rates_bps)]
    if spec.losses != (None,):
        words += ["--loss", ",".join(f"{each:g}" for each in spec.losses)]
    return shlex.join([*words, *found.option_words, "--", *spec.command])


def _part(found: ProbeResult, variant: ProbePoint) -> Part:
    known = [each.run for each in variant.cases if each.run is not None]
    drawn = [goodput_picture(variant.directions, known)] if known else []
    for answer in variant.directions:
        if answer.bound_by == IDLE:
            continue
        for case in variant.cases:
            if case.run is not None:
                drawn += _connection(found, answer, case)
    telling = sorted(variant.directions, key=lambda each: each.bound_by == IDLE)
    return Part(title_of(variant), [*sentences(variant, telling), *spinning(variant)], rows(variant),
                [each for each in drawn if each is not None])  # fmt: skip


def _connection(found: ProbeResult, answer: Answer, case: CaseRun) -> list[LinePicture | None]:
    """Draw the connection with most bytes, or all datagrams."""
    samples = SocketSamples(case.folder)
    title = f"{answer.source} → {answer.target}, {case.case.rtt_ns / 1e6:g} ms"
    plan = found.spec.path(case.case).plan(seed=found.spec.seed)
    datagrams = arrived(samples, plan, answer.source, answer.target)
    if datagrams is not None:
        return [arrival_picture(title, datagrams.times_s, datagrams.counts)]
    sendings = samples.between(answer.source, answer.target)
    return list(connection_pictures(title, sendings[0])) if sendings else []
