"""The simulated world's driver, against a program that keeps to the simulator's interface."""

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
from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.resolve.resolve import make_plan
from landspeed.worlds.sim import process, world
from landspeed.worlds.sim.doctor import examine_simulator
from tests.support.emu_fixtures import FIRST, scenario, wait_until, write_scenario
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
    assert f"model name\t: {result['world_facts']['host']['cpu']}\n" in Path("/proc/cpuinfo").read_text()
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


DOORS: dict[str, tuple[str, ...]] = {
    "check": ("check", str(FIRST), "--world", "sim"),
    "show": ("show", str(FIRST), "--world", "sim"),
    "run": RUN,
    "compare": ("compare", "--worlds", "sim,emu", str(FIRST)),
    "sweep": ("sweep", str(FIRST), "--world", "sim", "--set", "vary={transfer.streams: [1, 2]}"),
    "predict": ("predict", str(FIRST), "--world", "sim", "--bytes", "1TB"),
}


@pytest.mark.parametrize("door", DOORS)
def test_packets_that_overtake_many_are_refused_before_anything_runs(
    fake: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], door: str
) -> None:
    """At 1 Gbit/s 10 ms are 138 packets of 9038 bytes."""
    late = ("--set", "path.1.reorder=5 %", "--set", "path.1.one_way_delay=10 ms")
    assert cli.main([*DOORS[door], *late, *(("--out", str(tmp_path)) if door in ("run", "sweep") else ())]) == 2
    told = capsys.readouterr().err
    assert "link 2 lets a packet overtake 138 others: this world's TCP takes one that three others overtook" in told
    assert "for lost, where Linux waits for it (RFC 8985)" in told and "--world emu carries it" in told
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("keys", "refused"),
    [
        ({"reorder": "5 %"}, "packet overtake 16 others"),
        ({"reorder": "5 %", "one_way_delay": "369 us"}, ""),  # 2.999 packets of 123.04 us
        ({"reorder": "5 %", "one_way_delay": "370 us"}, "packet overtake 3 others"),
        ({"reverse": {"reorder": "1 %"}}, "packet overtake 16 others"),
        ({"reorder": "5 %", "reverse": {"reorder": "0 %"}}, "packet overtake 16 others"),
        ({"netem": "delay 10ms 1ms"}, "packet overtake 16 others"),  # jitter without order: from 9 to 11 ms
        ({"jitter": "1 ms"}, ""),
        ({"loss": "1 %", "duplicate": "1 %"}, ""),
    ],
)
def test_what_is_refused_is_counted_in_packets(tmp_path: Path, keys: dict[str, Any], refused: str) -> None:
    far, near = ({"one_way_delay": delay, "line_rate": "100 Mbit/s"} for delay in ("20 ms", "2 ms"))
    if "netem" in keys:
        del near["one_way_delay"]
    loaded = load_scenario(write_scenario(tmp_path, scenario([far, near | keys])))
    found = [problem.what for problem in world.SimWorld.problems(loaded, make_plan(loaded))]
    assert len(found) == bool(refused)
    assert all(refused in what for what in found)


def test_what_skips_a_large_part_of_the_round_trip_is_refused(tmp_path: Path) -> None:
    """0.3 ms are 2.4 packets, and a fiftieth of 15 ms."""
    near = {"one_way_delay": "0.3 ms", "line_rate": "100 Mbit/s", "reorder": "5 %"}
    for far, refused in (("7.2 ms", False), ("6.9 ms", True)):  # 0.2 ms more take the lines
        file = write_scenario(tmp_path, scenario([{"one_way_delay": far, "line_rate": "100 Mbit/s"}, near]))
        loaded = load_scenario(file)
        found = world.SimWorld.problems(loaded, make_plan(loaded))
        assert [problem.what.partition(":")[0] for problem in found] == refused * [
            "link 2 lets a packet skip 0.3 ms of the round trip"
        ]


def test_datagrams_may_overtake_as_they_like(tmp_path: Path) -> None:
    """What is refused is refused for the sake of TCP."""
    near = {"netem": "delay 10ms 1ms", "line_rate": "100 Mbit/s"}
    content = scenario([{"one_way_delay": "20 ms", "line_rate": "100 Mbit/s"}, near])
    content["transfer"] = {"protocol": "udp", "rate": "5 Mbit/s", "duration": "1 s"}
    loaded = load_scenario(write_scenario(tmp_path, content))
    assert world.SimWorld.problems(loaded, make_plan(loaded)) == []
