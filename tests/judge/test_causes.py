"""Causes known by construction, in both worlds: what a run is told held it, and that no false cause is told."""

import json
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

import landspeed as ls
from landspeed.base.limits import ENGINE_WORDS
from tests.support.causes import CASES, Case, Change, content, of, write
from tests.support.causes_truth import TRUTH
from tests.support.command import landspeed_here
from tests.support.emu_fixtures import FIRST

MADE: dict[tuple[str, str], ls.Run] = {}
"""Runs that more than one case asks for, by their scenario and world."""


SHOW_LATER = {
    "reordering 1 %, Linux",
    "reordering 1 %, 200 ms, Reno",
    "cuts again and again",
}
"""Of the corpus: 20 s tell the others' causes; `tests.bench.causes` gives each of them 40 s."""


def shorter(case: Case) -> Change | None:
    """What a case of the corpus is without its second half, if nobody needs that."""
    if case not in CASES or case.name in SHOW_LATER or "duration" in case.change.get("transfer", {}):
        return None
    return of(duration="20 s")


def said(case: Case) -> str:
    """All that its run depends on."""
    return json.dumps(content(case, shorter(case)) | {"title": ""})


SAME: dict[str, list[str]] = {}
"""Scenario → names of its cases."""
for each in (*CASES, *TRUTH):
    SAME.setdefault(said(each), []).append(each.name)


def parameters(case: Case, world: str) -> ParameterSet:
    """A case in a world; one worker has all cases of the same run."""
    same = SAME[said(case)]
    marks = [pytest.mark.xdist_group(f"{world} {same[0]}")] if len(same) > 1 else []
    return pytest.param(case, world, id=f"{world} {case.name}", marks=marks)


RUNS = [parameters(case, world) for case in (*CASES, *TRUTH) for world in case.worlds]


def run_of(case: Case, world: str, folder: Path) -> ls.Run:
    """Its run, which is made once."""
    key = (said(case), world)
    if run := MADE.get(key):
        return run
    run = ls.run(write(folder, case, shorter(case)), world=world, runs_dir=folder, report=False)
    if len(SAME[said(case)]) > 1:
        MADE[key] = run
    return run


def engine_words(bundle: Path, flow: str | None) -> set[str]:
    """What the engine itself says of the streams of a run, or of one flow of it."""
    file = (bundle / "flows" / flow if flow else bundle) / "engine.json"
    return {stream["limited_by"] for stream in json.loads(file.read_text())["streams"]}


@pytest.mark.guest
@pytest.mark.parametrize(("case", "world"), RUNS)
def test_the_cause_that_was_built_in_is_told(case: Case, world: str, tmp_path: Path) -> None:
    """Each run of the corpus and of the sceptical tests (tests/support/causes*.py).

    `python -m tests.bench.causes` has their proofs, too, and the runs that are kept for checking: whoever changes the
    judge sees here whether he breaks it, and there whether he fitted it.

    The engine, which knows its own sockets and no line, says the same, or that it cannot tell.
    """
    run = run_of(case, world, tmp_path)
    found = next(flow for flow in run.record.flows if flow.name == case.flow) if case.flow else run.record
    assert found.limited_by == case.cause, found.limited_by_why
    assert 0.99 < sum(found.limit_shares.values()) < 1.01, found.limit_shares
    if world == "emu":
        told = engine_words(run.bundle, case.flow)
        assert told and told <= {case.cause, "unknown"}, told
        assert case.cause not in ENGINE_WORDS or case.flow or "events" in case.change or told == {case.cause}, told


@pytest.mark.guest
@pytest.mark.parametrize("world", ["sim", "emu"])
def test_more_streams_than_an_engine_takes_are_refused_in_both_worlds(world: str) -> None:
    found = landspeed_here("check", FIRST, "--world", world, "--set", "transfer.streams=129")
    assert found.returncode == 2 and "128" in found.stderr, found.stderr


ACKS = {"line_rate": "100 kbit/s", "queue": "10 kB"}


@pytest.mark.guest
@pytest.mark.parametrize("world", ["sim", "emu"])
def test_a_queue_of_the_receivers_own_line_is_honoured(world: str, tmp_path: Path) -> None:
    """Acknowledgments of 90 B with framing wait in 10 kB, and one is being sent.

    Linux counts 14 B of header with each, and 1514 B more for whatever is being sent.
    """
    path = [
        {"from": "a", "to": "r", "one_way_delay": "1 ms", "line_rate": "100 Mbit/s"},
        {"from": "r", "to": "b", "one_way_delay": "24 ms", "line_rate": "100 Mbit/s", "queue": "1 MB", "reverse": ACKS},
    ]
    hosts = {"a": {"role": "sender"}, "b": {"role": "receiver"}}
    content = {"format": 1, "name": "acks", "title": "A slow line back", "hosts": hosts, "path": path}
    asked = ls.Scenario.build(content | {"transfer": {"duration": "20 s"}})
    run = ls.run(asked, world=world, runs_dir=tmp_path, report=False)
    held = {"emu": (10_000 + 1514) // (52 + 14), "sim": 10_000 // 52 + 1}[world]
    assert run.record.rtt_loaded_median_ms == pytest.approx(50 + held * 90 * 8 / 100, rel=0.01)
    back = max(row["backlog_bytes"] for row in run.samples.links.to_pylist() if row["direction"] == "reverse")
    assert back == pytest.approx({"emu": 11_514, "sim": 10_000}[world], rel=0.01)


def test_a_queue_that_cannot_form_is_told_before_the_run() -> None:
    """A host whose interface is no faster than its line; and what stands in a host of which nothing is said."""
    on_line = ("--set", "path.3.reverse.queue=10 kB")
    assert landspeed_here("check", FIRST, *on_line).returncode == 0
    refused = landspeed_here("check", FIRST, *on_line, "--set", "hosts.athens.nic=1 Gbit/s")
    assert refused.returncode == 2
    assert "athens sends no faster than its line: its sockets wait, and no queue forms" in refused.stderr
    slow = landspeed_here("show", FIRST, "--set", "path.3.reverse.line_rate=1 Mbit/s", "--set", "hosts.athens.nic=null")
    assert "they wait in athens" in " ".join(slow.stdout.split())


def test_what_jitter_does_to_the_round_trip_is_told_before_the_run() -> None:
    shown = " ".join(landspeed_here("show", FIRST, "--set", "path.1.jitter=2 ms").stdout.split())
    assert "with jitter, at most 54.226 ms" in shown and "a busy line's mean grows" in shown
