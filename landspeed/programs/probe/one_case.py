"""One run of a probe: the servers, the client, and what was seen of their sockets, at one round-trip time."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from landspeed.base.failures import RunFailed
from landspeed.judge.sockets.answer import ProbeRun
from landspeed.judge.sockets.direction import bound_by
from landspeed.judge.sockets.series import SocketSamples
from landspeed.judge.sockets.socket_limits import Bound
from landspeed.judge.sockets.ways import Way, way_between
from landspeed.programs.errors import PathError, ProgramTimeout
from landspeed.programs.library import path
from landspeed.programs.node_program import Program
from landspeed.programs.path import NetworkPath as Held
from landspeed.programs.probe.spec import Case, Spec
from landspeed.results.facts import Spun
from landspeed.scenario.plan.plan import Plan

DOUBLE_AFTER = 2048  # samples: 128 round trips at a sixteenth each, then 128 more at an eighth
KEPT_BYTES = 1 << 20
LAST_WORDS_BYTES = 2000


@dataclass(frozen=True)
class CaseRun:
    """Result of one case.

    Attributes:
        case: the path.
        run: what was judged; None when it could not be.
        status: the client's exit status, or minus a signal; None when it never ended.
        error: why it is not complete; None when it is.
        folder: with `sockets.parquet`, `links.parquet` and the programs' output.
        left: programs that the client left behind and that were waited for.
        spun: programs for which virtual time passed that spun.
    """

    case: Case
    folder: Path
    run: ProbeRun | None = None
    status: int | None = None
    error: str | None = None
    left: list[str] = field(default_factory=list[str])
    spun: list[Spun] = field(default_factory=list[Spun])


def run_case(spec: Spec, case: Case, folder: Path, options: dict[str, Any]) -> CaseRun:
    """Run the client over one path, in a guest of its own.

    Raises:
        NotReady: this host lacks something.
        PathError: a program is not there, or cannot be run.
    """
    folder.mkdir(parents=True, exist_ok=True)
    scenario = spec.path(case)
    try:
        with path(scenario, seed=spec.seed, folder=folder, fixed=True, **options) as held:
            for server in spec.servers:
                held.node(server.node).popen(server.words, until=server.until, limit=spec.ready)
            held.sample(f"{spec.interval_of(case)} ns", double_after=DOUBLE_AFTER)
            client = held.node(spec.at).popen(spec.command)
            error, left = _until_end(spec, held, client)
            held.wait_sent()
            samples, plan, spun = held.samples(), held.sampled_plan, held.spun
    except RunFailed as error:
        return CaseRun(case, folder, error=str(error))
    _trim(folder / "programs")
    elapsed_s = client.elapsed_s if error is None else None
    run = ProbeRun(case.rtt_ns / 1e6, elapsed_s, *_bounds(spec, plan, samples))
    if error is None and client.returncode:
        error = f"the client ended with {_status_words(client.returncode)}{_last_words(client)}"
    return CaseRun(case, folder, run, client.returncode, error, left, spun)


def _until_end(spec: Spec, held: Held, client: Program) -> tuple[str | None, list[str]]:
    """Wait for the client, and for what it left running; what went wrong, and what it left."""
    try:
        client.wait(spec.timeout)
    except ProgramTimeout:
        client.stop()
        return f"the client still ran after {spec.timeout} of virtual time, and was ended{_last_words(client)}", []
    answer = held.ask("wait_left", number=client.number, limit_ns=held.duration(spec.timeout))
    left = [str(each) for each in answer["left"]]
    if not answer["met"]:
        return f"what the client left behind ({', '.join(left)}) still ran after {spec.timeout}, and was ended", left
    return None, left


def _bounds(
    spec: Spec, plan: Plan, samples: SocketSamples
) -> tuple[dict[tuple[str, str], Bound], dict[tuple[str, str], Way]]:
    bounds: dict[tuple[str, str], Bound] = {}
    ways: dict[tuple[str, str], Way] = {}
    for other in spec.others:
        for source, target in ((spec.at, other), (other, spec.at)):
            ways[source, target] = way_between(plan, source, target)
            bounds[source, target] = bound_by(samples, plan, source, target)
    return bounds, ways


def _trim(folder: Path) -> None:
    """Keep the first megabyte of each output: there are as many as round-trip times."""
    for file in sorted(folder.glob("*.*")):
        if file.stat().st_size > KEPT_BYTES:
            with file.open("r+b") as handle:
                handle.truncate(KEPT_BYTES)
                handle.seek(0, 2)
                handle.write(b"\n[landspeed left out the rest]\n")


def _status_words(status: int) -> str:
    return f"exit status {status}" if status >= 0 else f"signal {-status}"


def _last_words(client: Program) -> str:
    lines: list[str] = []
    for name in ("out", "err"):
        file = client.output_file(name)
        if file.exists():
            with file.open("rb") as handle:
                handle.seek(max(file.stat().st_size - LAST_WORDS_BYTES, 0))
                lines += handle.read().decode(errors="replace").splitlines()[-5:]
    return "; its last words:\n  " + "\n  ".join(lines) if lines else "; it wrote nothing"


__all__ = ["CaseRun", "PathError", "run_case"]
