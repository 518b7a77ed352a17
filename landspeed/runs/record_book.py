"""`landspeed record-book`: rehearse every record, side by side over the cores, and write the book.

It can be stopped and started again: a record whose newest bundle is complete, and of the same plan, kernel and version,
is not run a second time.
"""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from landspeed.base.errors import LandspeedError
from landspeed.base.failures import RunInterrupted
from landspeed.base.places import ROOT
from landspeed.base.progress import Progress
from landspeed.base.version import __version__
from landspeed.report.book_page import BookEntry, book_json, render_book
from landspeed.report.submission import write_submission
from landspeed.results.bundle import OutputError, list_bundles, load_record
from landspeed.results.record import RunRecord
from landspeed.runs.one_run import run_plan
from landspeed.scenario.file.load import LoadedScenario, load_scenario
from landspeed.scenario.plan.duration import expected_duration_s
from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.make_world import make_world
from landspeed.worlds.registry import plan_for
from landspeed.worlds.world import World

RECORDS = ROOT / "scenarios" / "records"
SIMULATED_S, SIMULATED_BITS = 60.0, 4e11
"""A record is simulated for so long, or until so much is delivered: a simulated packet costs time whatever the rate."""


@dataclass
class BookOptions:
    """Options of the record book.

    Attributes:
        runs: folder of the bundles, kept and used again.
        out: folder that gets record-book.html, record-book.json (what the page needs of the runs) and the submissions.
        jobs: runs at once.
        bases: which groups (`contest.basis`) to rehearse.
        names: only these scenarios; empty: all of those groups.
        fresh: run all anew.
        evidence: captures, ping, traceroute and submission page of each.
        at_most_s: rehearse longer transfers for this much of the run's clock only; the book says so.
        rehearse: False: only write the book from the bundles that there are.
    """

    runs: Path
    out: Path
    jobs: int
    bases: tuple[str, ...] = ("documents", "public", "what if")
    names: tuple[str, ...] = ()
    fresh: bool = False
    evidence: bool = True
    at_most_s: float | None = None
    rehearse: bool = True


@dataclass(frozen=True)
class BookJob:
    """A record, what is laid over it, and whether it is simulated or emulated."""

    loaded: LoadedScenario
    plan: Plan
    simulated: bool = False

    @classmethod
    def of(cls, file: Path, *overrides: str, world: str = "emu") -> BookJob:
        """The job of a record's file with overrides."""
        loaded = load_scenario(file, overrides)
        return cls(loaded, plan_for(loaded, world), world == "sim")

    @property
    def overrides(self) -> tuple[str, ...]:
        """Overrides that are applied to the file."""
        return self.loaded.overrides

    def world(self, options: BookOptions) -> World:
        """The world that it is for, with its options."""
        return make_world("sim", collapse=True) if self.simulated else make_world("emu", evidence=options.evidence)


def record_plans(names: tuple[str, ...] = (), bases: tuple[str, ...] = ()) -> dict[Path, Plan]:
    """Plans of the records that belong into the book, by file.

    Raises:
        ValueError: a name is not that of a record.
    """
    found: dict[Path, Plan] = {}
    for file in sorted(RECORDS.glob("*.yaml")):
        plan = BookJob.of(file).plan
        if plan.contest is not None and (not bases or plan.contest.basis in bases):
            found[file] = plan
    known = [plan.scenario for plan in found.values()]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"no record {', '.join(unknown)}; there are {', '.join(known)}")
    return {file: plan for file, plan in found.items() if not names or plan.scenario in names}


def shortened(file: Path, plan: Plan, at_most_s: float) -> BookJob:
    """The record for so many seconds of its clock, if it takes longer."""
    return (
        BookJob.of(file)
        if expected_duration_s(plan) <= at_most_s
        else BookJob.of(file, f"transfer.duration={at_most_s:g} s")
    )


def simulated(file: Path, plan: Plan) -> BookJob:
    """The record for the first while of its transfer, in the simulated world."""
    job = shortened(file, plan, min(SIMULATED_S, SIMULATED_BITS / plan.physics.expected_goodput_bps))
    return BookJob.of(file, *job.overrides, "expect=null", world="sim")  # a part of a record has no verdict


def make_book(options: BookOptions, say: Callable[[str], None]) -> int:
    """Rehearse what is missing and write the book.

    Returns:
        exit status: 1 if a record is missing or failed.

    Raises:
        ValueError: an unknown record was asked for.
        OutputError: the book cannot be written.
    """
    started = time.monotonic()
    plans = record_plans(options.names, options.bases)
    emu, sim = make_world("emu"), make_world("sim")
    jobs = [
        shortened(file, plan, options.at_most_s) if options.at_most_s else BookJob.of(file)
        for file, plan in plans.items()
        if options.fresh or _newest(options.runs, plan, emu) is None
    ]
    missing = [job for job in jobs if options.fresh or _newest(options.runs, job.plan, emu) is None]
    if sim.build_id():  # without ns-3 the book is made without that column
        asked = [simulated(file, plan) for file, plan in plans.items()]
        missing += [job for job in asked if options.fresh or _newest(options.runs, job.plan, sim) is None]
    if options.rehearse and missing:
        count = sum(not job.simulated for job in missing)
        say(f"{count} of {len(plans)} records to rehearse, {len(missing) - count} to simulate, {options.jobs} at once")
        _rehearse(missing, options, say)
    everything = record_plans()
    entries = [_entry(file, plan, options, emu, sim) for file, plan in everything.items()]
    facts = _facts(options, entries, time.monotonic() - started if missing else None)
    pages = {"record-book.html": render_book(entries, facts), "record-book.json": book_json(entries, facts)}
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        for name, text in pages.items():
            (options.out / name).write_text(text, encoding="utf-8")
            say(str(options.out / name))
    except OSError as error:
        raise OutputError(f"cannot write the book into {options.out}: {error.strerror}") from error
    chosen = {plan.scenario for plan in plans.values()}
    runs = [entry.emulated for entry in entries if entry.plan.scenario in chosen]
    return 0 if all(run is not None and run.passed for run in runs) else 1


def _rehearse(jobs: list[BookJob], options: BookOptions, say: Callable[[str], None]) -> None:
    """Run them, the longest first; a run that fails does not stop the others. Ctrl-C ends those under way."""
    stopped = threading.Event()

    def tell(_: Progress) -> None:
        if stopped.is_set():
            raise RunInterrupted("interrupted")

    def one(job: BookJob) -> None:
        if stopped.is_set():
            return
        began = time.monotonic()
        word = "done"
        try:
            run = run_plan(job.world(options), job.loaded, job.plan, options.runs, progress=tell)
            if run.status:
                word = f"FAILED: {run.error or 'see its report, ' + str(run.report_file)}"
        except LandspeedError as error:
            word = f"FAILED: {error}"
        what = "simulation " if job.simulated else ""
        say(f"{job.plan.scenario}: {what}{word}, {time.monotonic() - began:.0f} s")

    with ThreadPoolExecutor(max_workers=options.jobs) as pool:
        try:
            list(pool.map(one, sorted(jobs, key=lambda job: -_cost(job.plan))))
        except BaseException:
            stopped.set()
            raise


def _cost(plan: Plan) -> float:
    """Estimate the cost of a run: bytes times hops."""
    seconds = (plan.transfer.duration_ns or 0) / 1e9
    return (plan.transfer.bytes or plan.physics.expected_goodput_bps / 8 * seconds) * len(plan.links)


def _newest(runs: Path, plan: Plan, world: World) -> tuple[Path, RunRecord] | None:
    """The newest complete bundle of this very plan, made by this build of the world."""
    found = None
    for bundle in list_bundles(runs):
        if not bundle.name.startswith(plan.scenario):
            continue
        try:
            record = load_record(bundle)
        except ValueError:
            continue
        if record.scenario != plan.scenario or not record.complete or record.plan is None:
            continue
        same = record.plan.sha256 == plan.sha256
        if not same or not world.made(record) or record.versions.get("landspeed") != __version__:
            continue
        if found is None or (record.started or "") >= (found[1].started or ""):
            found = (bundle, record)
    return found


def _entry(file: Path, plan: Plan, options: BookOptions, emu: World, sim: World) -> BookEntry:
    emulated = _newest(options.runs, plan, emu)
    parallel = _newest(options.runs, simulated(file, plan).plan, sim) if sim.build_id() else None
    if emulated is None and options.at_most_s:  # a whole run is better than a part of one
        emulated = _newest(options.runs, shortened(file, plan, options.at_most_s).plan, emu)
    page = options.out / "submissions" / f"{plan.scenario}.html"
    if emulated is not None and options.evidence:
        if not (emulated[0] / "submission.html").is_file():
            write_submission(emulated[0], pdf=False)
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_bytes((emulated[0] / "submission.html").read_bytes())
    shown = page.relative_to(options.out).as_posix() if page.is_file() else None
    return BookEntry(plan, emulated[1] if emulated else None, parallel[1] if parallel else None, shown)


def _command(options: BookOptions) -> str:
    words = ["landspeed", "record-book", *(f"--basis '{basis}'" for basis in options.bases), *options.names]
    words += ["--write-only"] if not options.rehearse else []
    words += [f"--at-most {options.at_most_s:g}"] if options.at_most_s else []
    return " ".join(words)


def _facts(options: BookOptions, entries: list[BookEntry], took_s: float | None) -> dict[str, str]:
    facts = {"Made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"), "Command": _command(options)}
    if any(entry.simulated for entry in entries):
        facts["Simulated"] = (
            f"in ns-3, links that cannot queue joined, the first {SIMULATED_S:g} s"
            f" (or {SIMULATED_BITS / 8e9:g} GB) of each transfer"
        )
    known = [entry.emulated for entry in entries if entry.emulated is not None]
    if known:
        newest = max(known, key=lambda record: record.started or "")
        rehearsed = sorted({(record.started or "")[:10] for record in known})
        facts["Rehearsed"] = " to ".join(dict.fromkeys((rehearsed[0], rehearsed[-1])))
        versions = newest.versions
        facts["Versions"] = ", ".join(f"{name} {text}" for name, text in sorted(versions.items()))
        facts["Kernel"] = newest.guest.kernel_key or "–"
        dated = [e.emulated for e in entries if e.emulated and e.plan.contest and e.plan.contest.basis == "documents"]
        total = sum(record.wall_s or 0 for record in dated)
        facts["Wall time"] = f"{total:.0f} s for the {len(dated)} with documents, added up"
        if took_s is not None:
            facts["Wall time"] += f"; this command took {took_s:.0f} s with {options.jobs} runs at once"
    load = ", ".join(f"{each:.0f}" for each in os.getloadavg())
    facts["Host"] = f"{os.cpu_count()} cores, {platform.machine()}, Linux {platform.release()}; load average {load}"
    return facts
