"""The simulated world's driver, against a program that keeps to the simulator's interface."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from landspeed.base.progress import Progress
from landspeed.cli import main as cli
from landspeed.results.bundle import load_record
from landspeed.worlds.sim import process, world
from landspeed.worlds.sim.doctor import examine_simulator
from tests.support.emu_fixtures import FIRST, wait_until
from tests.support.places import PROGRAMS

FAKE = PROGRAMS / "fake_simulator.py"
SHORT = ("--set", "transfer.duration=2 s", "--set", "expect=null")
RUN = ("run", str(FIRST), "--world", "sim", *SHORT)


@dataclass(frozen=True, kw_only=True)
class FakeOptions(world.SimOptions):
    """The fake in the simulator's place."""

    program: Path = FAKE


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The fake in the simulator's place."""
    monkeypatch.setattr(world.SimWorld, "Options", FakeOptions)
    return monkeypatch


def only_bundle(folder: Path) -> Path:
    (bundle,) = folder.iterdir()
    return bundle


@pytest.mark.slow
def test_a_simulated_run_makes_the_same_bundle(
    fake: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*RUN, "--collapse", "--event-scheduler", "heap", "--json", "--quiet", "--out", str(tmp_path)]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["world"], result["tool"], result["complete"], result["passed"]) == ("sim", "ns-3", True, True)
    assert result["goodput_bps"] == 400_000_000
    assert result["bytes"] == 100_000_000
    assert result["versions"]["ns-3"] == "3.fake"
    assert result["world_facts"]["simulator"]["words"] == ["--collapse", "--scheduler", "heap"]
    words = ["--world", "sim", "--collapse", "--event-scheduler", "heap", "--seed", "1"]
    assert result["command"][-len(words) :] == words
    bundle = only_bundle(tmp_path)
    found = {path.name for path in bundle.iterdir()}
    assert found == {
        "log",
        "plan.json",
        "result.json",
        "samples.parquet",
        "links.parquet",
        "report.html",
        "scenario.yaml",
    }
    samples = parquet.read_table(bundle / "samples.parquet", filters=[("end", "=", "receiver")])
    assert samples["goodput_bps"].to_pylist() == pytest.approx([4e8] * 20)
    assert load_record(bundle).plan is not None
    assert "ns-3" in (bundle / "report.html").read_text()


@pytest.mark.slow
def test_a_simulator_that_dies_keeps_what_it_wrote(
    fake: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.setenv("FAKE", "die")
    assert cli.main([*RUN, "--quiet", "--out", str(tmp_path)]) == 1
    assert "the simulation broke: landspeed-sim: out of ideas" in capsys.readouterr().err
    bundle = only_bundle(tmp_path)
    assert load_record(bundle).complete is False
    samples = parquet.read_table(bundle / "samples.parquet", filters=[("end", "=", "receiver")])
    assert len(samples) == 10
    assert not (bundle / "sim").exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_it_keeps_what_was_simulated(
    number: signal.Signals, fake: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
    fake.setenv("FAKE", "hang")
    seen: list[Progress] = []
    follow = process.Simulation.follow

    def watched(self: process.Simulation, report: Any) -> int:
        def both(progress: Progress) -> None:
            seen.append(progress)
            report(progress)
            if progress.transfer_s == 1.0:
                os.kill(os.getpid(), number)

        return follow(self, both)

    fake.setattr(process.Simulation, "follow", watched)
    assert cli.main([*RUN, "--quiet", "--out", str(tmp_path)]) == 1
    assert "interrupted" in capsys.readouterr().err
    record = load_record(only_bundle(tmp_path))
    assert (record.complete, record.error) == (False, "interrupted")
    assert record.bytes == 50_000_000  # of the program's own result, written after the signal
    assert seen[-1].goodput_bps == 400_000_000
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
def test_a_simulator_that_does_not_stop_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "STOP_S", 0.2)
    script = tmp_path / "deaf"
    script.write_text("#!/bin/sh\ntrap '' TERM\necho '{\"time_s\": 1}'\nwhile :; do sleep 0.05; done\n")
    script.chmod(0o755)
    simulation = process.Simulation([str(script)], tmp_path / "log")
    assert simulation.process.stdout is not None
    simulation.process.stdout.readline()
    simulation.stop()
    assert simulation.process.returncode == -signal.SIGKILL


def test_the_simulator_ends_with_its_parent(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        simulation = process.Simulation(["sleep", "600"], tmp_path / "log")
        os.write(writer, str(simulation.process.pid).encode())
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    sleeper = Path("/proc") / os.read(reader, 20).decode()
    wait_until(lambda: not sleeper.exists() or " Z " in (sleeper / "stat").read_text(), "the end of the simulator")
    os.close(reader)
    os.close(writer)


def test_lines_that_are_no_progress_are_passed_over() -> None:
    progress = Progress()
    for line in (b"ns-3 says hello\n", b"[]\n", b"3\n", b'{"wall_s": 3}\n', b'{"time_s": null}\n'):
        assert not process._read(line, progress)
    assert process._read(b'{"time_s": 2.5, "wall_s": 5, "goodput_bps": 1e9}\n', progress)
    assert (progress.transfer_s, progress.transfer_wall_s, progress.goodput_bps) == (2.5, 5.0, 1e9)


def test_without_the_simulator_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @dataclass(frozen=True, kw_only=True)
    class NoSimulator(world.SimOptions):
        program: Path = tmp_path / "no"

    monkeypatch.setattr(world.SimWorld, "Options", NoSimulator)
    assert cli.main([*RUN, "--out", str(tmp_path / "runs")]) == 2
    assert "is not there" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()
    assert "libns3-dev" in world.MISSING
    assert "make setup" in world.MISSING


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--world", "sim", "--clock", "real"), "--clock works only with --world emu"),
        (("--world", "sim", "--tool", "iperf3"), "--tool works only with --world emu"),
        (("--world", "sim", "--memory", "4GiB"), "--memory works only with --world emu"),
        (("--collapse",), "--collapse works only with --world sim"),
        (("--event-scheduler", "heap"), "--event-scheduler works only with --world sim"),
    ],
)
def test_an_option_of_another_world_is_refused(
    words: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["run", str(FIRST), *words, "--out", str(tmp_path / "runs")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_doctor_says_what_is_missing_and_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NS3_HOME", raising=False)
    missing = examine_simulator(tmp_path / "no", headers=tmp_path)
    assert missing.state == "warn"
    assert "libns3-dev" in missing.remedy
    (tmp_path / "ns3.37").mkdir()
    assert examine_simulator(tmp_path / "no", headers=tmp_path).remedy == "make setup"
    assert examine_simulator(FAKE).state == "ok"


@pytest.mark.slow
def test_the_path_is_held_against_the_plan(
    fake: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.setenv("FAKE", "off")
    assert cli.main([*RUN, "--quiet", "--json", "--out", str(tmp_path)]) == 1
    result = json.loads(capsys.readouterr().out)
    calibration = result["calibration"]
    assert calibration["passed"] is False
    assert calibration["rtt_expected_ms"] == pytest.approx(50, abs=0.01)
    assert calibration["failures"] == [
        "RTT to athens is 50.500 ms, the plan says 50.006 ms",
        "RTT to amsterdam is 50.500 ms, the plan says 50.006 ms",
    ]
    assert result["passed"] is False


@pytest.mark.slow
def test_events_are_recorded_as_far_as_the_simulation_came(
    fake: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = "between: [frankfurt, milan]"
    events = f"events=[{{at: 500 ms, loss: 3 packets, {where}}}, {{at: 1900 ms, down: 1 s, {where}}}]"
    assert cli.main([*RUN, "--set", events, "--quiet", "--json", "--out", str(tmp_path)]) == 0
    first, second = json.loads(capsys.readouterr().out)["events"]
    assert (first["kind"], first["link"], first["direction"]) == ("loss", 1, "both")
    assert (first["planned_s"], first["at_s"], first["packets_lost"]) == (0.5, 0.5, 3)
    assert (second["at_s"], second["until_s"]) == (1.9, None)


def test_reordering_is_warned_of_before_the_run(
    fake: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By `check`, and by `run` before it runs; not where nothing is reordered, and not of Linux."""
    late = ("--set", "path.1.reorder=5 %")
    assert cli.main(["check", str(FIRST), "--world", "sim", *late]) == 0
    checked = capsys.readouterr()
    assert "ok (" in checked.out
    assert checked.err == f"Warning: {FIRST}: {world.LATE_IS_LOST}\n"
    for words in (["--world", "sim"], ["--world", "emu", *late]):
        assert cli.main(["check", str(FIRST), *words]) == 0
    assert capsys.readouterr().err == ""
    assert cli.main([*RUN, *late, "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().err.startswith(f"Warning: {world.LATE_IS_LOST}\n")
    assert cli.main(["show", str(FIRST), "--world", "sim", *late]) == 0
    assert "slower than Linux" in capsys.readouterr().out
