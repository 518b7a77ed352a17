"""`landspeed probe`: known windows and round trips are found, none where there is none, and faults are told.

All cases are in probe_cases.py (`make probe-cases`); here are the cheap ones.
"""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from landspeed.judge.sockets.ways import way_between
from landspeed.programs.conditions import listening
from landspeed.programs.errors import PathError, ProgramEnded, ProgramNotStarted, ProgramTimeout
from landspeed.programs.probe.folder import new_folder
from landspeed.programs.probe.kept_page import write_page
from landspeed.programs.probe.paths import at_rtt, usual_path
from landspeed.programs.probe.probe import probe
from landspeed.programs.probe.spec import Server, make_spec
from landspeed.results.bundle import OutputError
from landspeed.runs.scenario import Scenario
from tests.bench.probe_cases import PROGRAM, chatty, http_server, windowed
from tests.support.command import landspeed, landspeed_here

ROOT = Path(__file__).resolve().parents[2]
SERVER = Server("b", [*PROGRAM, "serve", "9000"], listening(9000))
SHORT = ("10 ms", "60 ms")
WINDOWS = (80_000, 80_000, 100_000)
WORDS = ["--serve", f"b={' '.join(PROGRAM)} serve 9000", "--listen", "9000", "--at", "a"]


# --- what is found ---------------------------------------------------------------------------------------------------


@pytest.mark.guest
@pytest.mark.parametrize(
    "case",
    [windowed(65_536, "sender"), windowed(262_144, "receiver"), windowed(262_144, "receiver", down=True), chatty(7)],
    ids=lambda case: case.name,
)
def test_known_windows_and_round_trips_are_found(case: Any, tmp_path: Path) -> None:
    found = case.run(tmp_path, SHORT)
    assert case.wrong(found) == []
    if case.window:
        answer = found.direction(*case.way)
        assert answer.window_error is not None and answer.window_error <= 0.02
        assert answer.kinds == ["application window"] * 2
        assert answer.effective_bytes == pytest.approx(case.window, rel=0.1)  # goodput × RTT, granted in eight pieces
        measured = zip(answer.goodput_bps, answer.allowed_bps, strict=True)
        assert all(goodput <= 1.03 * allowed for goodput, allowed in measured)  # the start takes its time


@pytest.mark.guest
def test_connections_side_by_side_are_told_one_by_one(tmp_path: Path) -> None:
    """Three windows, two alike: each is told, and their sum; what they allow together is what was carried."""
    calls = [[*PROGRAM, "call", "b", "9000", "--window", str(size), "--bytes", str(40 * size)] for size in WINDOWS]
    script = " & ".join(" ".join(each) for each in calls) + " & wait; echo {} > $QLOGDIR/c.sqlog"
    found = probe(["sh", "-c", script], [SERVER], at="a", rtts=["10 ms", "40 ms"], folder=tmp_path)
    answer = found.direction("a", "b")
    assert (answer.bound_by, answer.kinds) == ("application window", ["application window"] * 2)
    assert sorted(answer.windows_bytes) == pytest.approx(sorted(WINDOWS), rel=0.02)
    assert "3 connections at once: " in answer.explanation and "in all 260.000 kB" in answer.explanation
    assert answer.window_bytes == pytest.approx(max(WINDOWS), rel=0.02)
    allowed = [260_000 * 8 / (rtt_ms / 1e3) for rtt_ms in (10, 40)]
    assert answer.allowed_bps == pytest.approx(allowed, rel=0.1)
    links = re.findall(r'<a href="([^"]*)">', write_page(found).read_text())
    assert len(links) == 2 and [(tmp_path / each).read_text() for each in links] == ["{}\n"] * 2


@pytest.mark.guest
def test_no_window_is_found_where_there_is_none(tmp_path: Path) -> None:
    file = tmp_path / "data"
    with file.open("wb") as handle:
        handle.truncate(20_000_000)
    case = http_server(ROOT / "engine" / "build" / "landspeed-engine")
    found = case.run(tmp_path / "probe", ("0.5 ms", "50 ms"))
    assert case.wrong(found) == []
    assert "TCP's congestion window still grew" in found.direction("b", "a").explanation


@pytest.mark.guest
def test_the_same_seed_gives_the_same_samples_and_the_same_answer(tmp_path: Path) -> None:
    client = [*PROGRAM, "call", "b", "9000", "--window", "100000", "--bytes", "3000000"]
    rest = ["--rtt", "5 ms,20 ms", "--seed", "5", "--loss", "0.001 %", "--json"]
    told: list[str] = []
    kept: list[dict[str, bytes]] = []
    for name, jobs in (("one", "1"), ("two", "2")):
        done = landspeed("probe", *WORDS, *rest, "--jobs", jobs, "--out", str(tmp_path / name), "--", *client)
        assert done.returncode == 0, done.stderr
        told.append(done.stdout)
        files = [*sorted((tmp_path / name).rglob("*.parquet")), tmp_path / name / "probe.html"]
        kept.append({str(file.relative_to(tmp_path / name)): file.read_bytes() for file in files})
    assert told[0] == told[1]
    assert kept[0] == kept[1] and len(kept[0]) == 5
    answer = json.loads(told[0])
    assert (answer["command"], answer["rtts_ms"], answer["complete"]) == (client, [5.0, 20.0], True)
    ahead = answer["directions"][0]
    assert (ahead["from"], ahead["to"], ahead["bound_by"]) == ("a", "b", "application window")
    assert ahead["window_bytes"] == pytest.approx(100_000, rel=0.02)
    assert len(ahead["goodput_bps"]) == 2
    assert answer["loss"] == 1e-5


@pytest.mark.guest
def test_what_a_client_leaves_behind_is_waited_for(tmp_path: Path) -> None:
    call = " ".join([*PROGRAM, "call", "b", "9000", "--window", "50000", "--bytes", "500000"])
    script = f"({call}; sleep 1) & exit 0"
    found = probe(["sh", "-c", script], [SERVER], at="a", rtts=["20 ms"], folder=tmp_path)
    run = found.variants[0].cases[0]
    assert found.complete and "sleep" in run.left
    assert found.direction("a", "b").bytes[0] >= 500_000
    assert found.direction("a", "b").window_bytes == pytest.approx(50_000, rel=0.02)


@pytest.mark.guest
def test_a_client_that_catches_signals_and_writes_without_end_is_ended(tmp_path: Path) -> None:
    script = "trap '' TERM INT HUP; head -c 100000000 /dev/zero; while :; do sleep 1; done"
    done = landspeed(
        "probe", *WORDS, "--rtt", "100 ms", "--at-most", "20 s", "--out", str(tmp_path), "--", "sh", "-c", script
    )
    assert done.returncode == 1, done.stderr
    assert "at 100 ms: the client still ran after 20 s of virtual time, and was ended" in done.stderr
    assert json.loads((tmp_path / "probe.json").read_text())["complete"] is False
    assert sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file()) < 20_000_000


# --- faults ----------------------------------------------------------------------------------------------------------


@pytest.mark.guest
@pytest.mark.parametrize(
    ("server", "error", "said"),
    [
        (["sleep", "100"], ProgramTimeout, "nobody listens at all"),
        ([*PROGRAM, "serve", "9001"], ProgramTimeout, "somebody listens on tcp port 9001"),
        (["sh", "-c", "echo no such option; exit 3"], ProgramEnded, "no such option"),
        (["no-such-server"], ProgramNotStarted, "write its path"),
        ([str(ROOT / "README.md")], ProgramNotStarted, "chmod +x"),
        (["/tmp/landspeed-probe-server"], ProgramNotStarted, "write its path"),
    ],
)
def test_a_server_that_is_not_there_is_told_of(
    server: list[str], error: type[PathError], said: str, tmp_path: Path
) -> None:
    servers = [Server("b", server, listening(9000))]
    with pytest.raises(error) as raised:
        probe(["true"], servers, at="a", rtts=["1 ms"], folder=tmp_path, ready="2 s")
    assert said in str(raised.value)


@pytest.mark.guest
def test_a_client_for_another_machine_is_told_of(tmp_path: Path) -> None:
    foreign = tmp_path / "client"
    elf = bytearray(Path(sys.executable).resolve().read_bytes()[:4096])
    elf[18:20] = (183).to_bytes(2, "little")  # e_machine: AArch64
    foreign.write_bytes(elf)
    foreign.chmod(0o755)
    inside = ROOT / "build" / f"foreign-{os.getpid()}"  # the guest sees it there
    foreign.rename(inside)
    try:
        with pytest.raises(ProgramNotStarted, match="another machine"):
            probe([str(inside)], [SERVER], at="a", rtts=["1 ms"], folder=tmp_path / "probe")
    finally:
        inside.unlink()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no server is given"),
        (["--listen", "9000"], "write --serve before it"),
        (["--serve", "b"], "is not NODE=COMMAND"),
        (["--serve", "b='"], "No closing quotation"),
        (["--serve", "b=true"], "when is the server at b ready?"),
        (["--serve", "b=true", "--listen", "x"], "write a port"),
        (["--serve", "b=true", "--listen", "90000"], "not a port"),
        (["--serve", "b=true", "--listen", "9", "--ready-line", "x"], "such a word already"),
        (["--serve", "b=true", "--ready-line", "("], "not a regular expression"),
        (["--serve", "a=true", "--listen", "9"], "client and server are both at a"),
        (["--serve", "b=true", "--listen", "9", "--serve", "c=true", "--listen", "9"], "need a path of your own"),
        (["first", "--serve", "b=true", "--listen", "9"], "--at a: no such host; the path has amsterdam, athens"),
        (["nowhere.yaml", "--serve", "b=true", "--listen", "9"], "nowhere.yaml"),
        (["--serve", "b=true", "--listen", "9", "--rtt", "10"], "a time needs a unit"),
        (["--serve", "b=true", "--listen", "9", "--rtt", "1 h"], "is not an RTT of"),
        (["--serve", "b=true", "--listen", "9", "--rtt", ","], "no RTT is given"),
        (["--serve", "b=true", "--listen", "9", "--rate", "1"], "a rate needs a unit"),
        (["--serve", "b=true", "--listen", "9", "--loss", "2"], "is not a probability"),
        (["--serve", "b=true", "--listen", "9", "--at-most", "1"], "a time needs a unit"),
        (["--serve", "b=true", "--listen", "9", "--set", "seed=1"], "none is named"),
    ],
)
def test_wrong_words_are_bad_input(words: list[str], said: str) -> None:
    done = landspeed_here("probe", *words, "--at", "a", "--", "true")
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


@pytest.mark.slow
def test_no_client_is_bad_input() -> None:
    done = landspeed_here("probe", *WORDS)
    assert (done.returncode, "write it after --" in done.stderr) == (2, True), done.stderr


def test_a_folder_that_is_not_empty_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="is not empty"):
        new_folder(tmp_path, "client")
    with pytest.raises(OutputError, match="name another folder"):
        new_folder(tmp_path / "file" / "below", "client")


# --- paths -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["first", "transatlantic"])
def test_a_path_is_scaled_to_the_round_trip_time(name: str) -> None:
    scenario = Scenario.load(name)
    before = scenario.plan()
    ends = (before.flow.source, before.flow.target)
    plan = at_rtt(scenario, ends, 100_000_000, rate_bps=50_000_000, loss=1e-3).plan()
    delays = [(link.forward.delay_ns, link.reverse.delay_ns) for link in plan.links]
    assert sum(map(sum, delays)) == pytest.approx(100_000_000, abs=len(delays) * 2)
    shares = [link.forward.delay_ns / plan.links[0].forward.delay_ns for link in plan.links]
    assert shares == pytest.approx([link.forward.delay_ns / before.links[0].forward.delay_ns for link in before.links])
    assert min(link.forward.rate_bps for link in plan.links) == 50_000_000
    assert [link.forward.loss for link in plan.links].count(1e-3) == 1


def test_what_a_way_carries() -> None:
    plan = at_rtt(usual_path(["a", "b"]), ("a", "b"), 10_000_000).plan()
    way = way_between(plan, "a", "b")
    assert way.limit_bps == pytest.approx(1e10 * 1448 / 1538)
    full_ns, acknowledgment_ns = 2 * 1538 * 8 / 10, 2 * 90 * 8 / 10  # on two lines
    assert way.rtt_s == pytest.approx((10_000_000 + full_ns + acknowledgment_ns) / 1e9, abs=4e-9)
    with pytest.raises(LookupError, match="no way from a to c"):
        way_between(plan, "a", "c")


def test_cases_are_every_rate_and_loss() -> None:
    spec = make_spec(
        ["true"], [SERVER], at="a", rtts=["2 ms", "1 ms", "1 ms"], rates=["1 Gbit/s", "2 Gbit/s"], losses=["0", "1e-4"]
    )
    assert [(each.rtt_ns, each.rate_bps, each.loss) for each in spec.cases()][:3] == [
        (1_000_000, 10**9, 0.0),
        (2_000_000, 10**9, 0.0),
        (1_000_000, 10**9, 1e-4),
    ]
    assert len({each.folder for each in spec.cases()}) == 8
    assert [spec.interval_of(each) for each in spec.cases()[:2]] == [62_500, 125_000]
