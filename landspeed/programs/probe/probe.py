"""`landspeed.probe`: what any program does to a long path, and what holds it back."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from landspeed.base.files import write_atomically
from landspeed.judge.sockets.answer import Answer, answers
from landspeed.judge.sockets.socket_limits import HIDDEN
from landspeed.programs.probe.folder import new_folder
from landspeed.programs.probe.one_case import CaseRun, run_case
from landspeed.programs.probe.spec import USUAL_RTTS, Case, Server, Spec, make_spec
from landspeed.runs.scenario import Scenario
from landspeed.worlds.make_world import make_world
from landspeed.worlds.options import repeating_words

RESULT = "probe.json"


@dataclass(frozen=True)
class ProbePoint:
    """Results at one rate and one loss.

    Attributes:
        rate_bps, loss: as asked; None: the path's own.
        cases: the runs, in the order of their RTTs.
        directions: an answer for each.
    """

    rate_bps: int | None
    loss: float | None
    cases: list[CaseRun]
    directions: list[Answer]

    @property
    def complete(self) -> bool:
        """True if the client ended well in every run."""
        return all(each.error is None for each in self.cases)

    def to_plain(self) -> dict[str, Any]:
        """Return the results as JSON values."""
        return {
            "rate_bps": self.rate_bps,
            "loss": self.loss,
            "rtts_ms": [each.case.rtt_ns / 1e6 for each in self.cases],
            "complete": self.complete,
            "directions": [_direction(each) for each in self.directions],
            "runs": [_run(each) for each in self.cases],
        }


@dataclass(frozen=True)
class ProbeResult:
    """Results of a probe.

    Attributes:
        spec: what was asked.
        folder: with `probe.json` and a folder for each run.
        variants: for each rate and loss, the first ones first.
        option_words: of the command line, for those options of the world that change what is found.
    """

    spec: Spec
    folder: Path
    variants: list[ProbePoint]
    option_words: Sequence[str] = ()

    @property
    def complete(self) -> bool:
        """True if the client ended well in every run."""
        return all(each.complete for each in self.variants)

    @property
    def directions(self) -> list[Answer]:
        """The answers at the first rate and loss."""
        return self.variants[0].directions

    def direction(self, source: str, target: str) -> Answer:
        """The answer of one direction.

        Raises:
            KeyError: nothing is known of it.
        """
        for each in self.directions:
            if (each.source, each.target) == (source, target):
                return each
        raise KeyError(f"{source} → {target}")

    def to_plain(self) -> dict[str, Any]:
        """One object. The same seed and programs give the same one, to the byte: no time and no place is in it."""
        first = self.variants[0].to_plain()
        return {
            "command": list(self.spec.command),
            "at": self.spec.at,
            "servers": [
                {"node": each.node, "command": list(each.words), "until": str(each.until)} for each in self.spec.servers
            ],
            "path": self.spec.named,
            "seed": self.spec.seed,
            **first,
            "complete": self.complete,
            "hidden": f"The program's own computing: {HIDDEN}.",
            "variants": [each.to_plain() for each in self.variants[1:]],
        }

    def to_json(self) -> str:
        """`to_plain` as text."""
        return json.dumps(self.to_plain(), indent=1, ensure_ascii=False) + "\n"


def probe(
    command: Sequence[str],
    servers: Sequence[Server],
    *,
    at: str,
    path: str | Path | Scenario | None = None,
    rtts: Sequence[str] = USUAL_RTTS,
    rates: Sequence[str] = (),
    losses: Sequence[str] = (),
    seed: int | None = None,
    timeout: str = "1 h",
    ready: str = "30 s",
    folder: str | Path | None = None,
    jobs: int | None = None,
    progress: Callable[[CaseRun], None] | None = None,
    **options: Any,
) -> ProbeResult:
    """Run a client over several round-trip times, and say for each direction what holds it back.

        found = landspeed.probe(
            ["curl", "-so", "/dev/null", "http://b:9000/file"],
            [landspeed.Server("b", ["python3", "-m", "http.server", "9000"], landspeed.listening(9000))],
            at="a",
        )
        found.direction("b", "a").bound_by

    Args:
        command: the client.
        servers: started before it, each until it is ready.
        at: the client's node.
        path: a scenario's file, its packaged name, or a `Scenario`; None: two hosts, 10 Gbit/s. Its delays are scaled.
        rtts: between the client's node and the first server's, such as "50 ms".
        rates, losses: of the slowest link between them; each combination is one more variant.
        seed: of everything random; None takes the scenario's. The same seed gives the same answer, to the byte.
        timeout: of virtual time, for one run of the client; after it the client is ended.
        ready: of virtual time, within which each server is ready.
        folder: for samples and output; None takes `results/probes` of a clone, else one in the user's data folder.
        jobs: runs at once; None: as many as cores that this process may use.
        progress: told of each run that ended.
        options: of the emulated world.

    Raises:
        ProbeError, PathError, ScenarioError: bad input; the message says what would be right.
        NotReady: this host lacks something.
        OutputError: the folder cannot be written.
    """
    interval_ns: int | None = options.pop("interval_ns", None)
    spec = make_spec(
        command, servers, at=at, path=path, rtts=rtts, rates=rates, losses=losses, seed=seed, timeout=timeout,
        ready=ready, interval_ns=interval_ns,
    )  # fmt: skip
    home = new_folder(Path(folder) if folder is not None else None, spec.command[0])
    runs = _run_all(spec, home, jobs, progress or _nobody, options)
    variants: list[ProbePoint] = []
    for rate in spec.rates_bps:
        for loss in spec.losses:
            own = [each for each in runs if (each.case.rate_bps, each.case.loss) == (rate, loss)]
            known = [each.run for each in own if each.run is not None]
            variants.append(ProbePoint(rate, loss, own, answers(known) if known else []))
    found = ProbeResult(spec, home, variants, repeating_words(make_world("emu", **options).options))
    write_atomically(home / RESULT, found.to_json().encode())
    return found


def _run_all(
    spec: Spec, home: Path, jobs: int | None, tell: Callable[[CaseRun], None], options: dict[str, Any]
) -> list[CaseRun]:
    """Every case, several at once; an error of one ends those that have not begun."""
    cases = spec.cases()

    def work(case: Case) -> CaseRun:
        done = run_case(spec, case, home / case.folder, options)
        tell(done)
        return done

    with ThreadPoolExecutor(jobs or len(os.sched_getaffinity(0))) as pool:
        # The first alone: whatever is wrong with the programs is said once, before the others are started.
        first = pool.submit(work, cases[0]).result() if cases else None
        try:
            others = list(pool.map(work, cases[1:]))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [first, *others] if first is not None else []


def forget(found: ProbeResult) -> None:
    """Remove what a probe kept."""
    shutil.rmtree(found.folder)


def _direction(answer: Answer) -> dict[str, Any]:
    return {
        "from": answer.source,
        "to": answer.target,
        "bound_by": answer.bound_by,
        "window_bytes": None if answer.window_bytes is None else round(answer.window_bytes),
        "windows_bytes": [round(each) for each in answer.windows_bytes],
        "window_error": None if answer.window_error is None else round(answer.window_error, 6),
        "window_at": answer.window_at,
        "effective_window_bytes": _whole(answer.effective_bytes),
        "round_trips": None if answer.round_trips is None else round(answer.round_trips, 3),
        "goodput_bps": [_whole(each) for each in answer.goodput_bps],
        "allowed_bps": [_whole(each) for each in answer.allowed_bps],
        "bytes": answer.bytes,
        "bound_by_rtt": answer.kinds,
        "limit_shares": answer.shares,
        "limit_phases": [[phase.model_dump() for phase in each] for each in answer.phases],
        "explanation": answer.explanation,
    }


def _run(run: CaseRun) -> dict[str, Any]:
    elapsed = run.run.elapsed_s if run.run else None
    return {
        "rtt_ms": run.case.rtt_ns / 1e6,
        "status": run.status,
        "elapsed_s": None if elapsed is None else round(elapsed, 9),
        "left": run.left,
        **({"spun": [each.model_dump() for each in run.spun]} if run.spun else {}),
        "error": run.error,
    }


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _nobody(_: CaseRun) -> None:
    """Ignore the progress; nobody asked for it."""
