"""`landspeed run` and its neighbours as a user or a script calls them: words, output, exit status."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import landspeed, landspeed_here
from tests.support.emu_fixtures import FIRST, ROOT, scenario, wait_until, write_scenario
from tests.support.stopwatch import one_of_few, undisturbed
from tests.support.terminal import Terminal

pytestmark = pytest.mark.guest

SHORT = ("--set", "transfer.duration=2 s", "--set", "expect.from=1 s")
KEYS = {
    "scenario", "world", "clock", "seed", "goodput_bps", "steady_goodput_bps", "bytes", "duration_s", "wall_s",
    "rtt_ms", "retransmits", "streams", "score_bit_m_per_s", "limited_by", "verdicts", "passed", "complete", "bundle",
}  # fmt: skip


@pytest.fixture(scope="module")
def passed(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str, Path]:
    """One run of the first example as it is: its JSON, what it said, where its bundles are."""
    out = tmp_path_factory.mktemp("passed") / "made" / "on the way"
    done = landspeed("run", FIRST, "--json", "--out", out)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr, out


def test_json_has_what_scripts_rely_on(passed: tuple[dict[str, Any], str, Path]) -> None:
    result, _, out = passed
    assert set(result) >= KEYS
    assert "plan" not in result
    assert "guest" not in result
    assert (result["scenario"], result["world"], result["clock"], result["seed"]) == ("first", "emu", "virtual", 1)
    assert result["passed"] is result["complete"] is True
    assert result["error"] is None
    assert Path(result["bundle"]).parent == out
    assert result["goodput_bps"] == pytest.approx(8 * result["bytes"] / result["duration_s"], rel=1e-6)
    assert result["rtt_ms"] == pytest.approx(50, rel=1e-3)
    assert result["streams"][0]["goodput_bps"] == pytest.approx(result["goodput_bps"], rel=1e-6)
    assert result["score_bit_m_per_s"] == pytest.approx(result["goodput_bps"] * 2_264_000)
    assert result["limited_by"] == "line rate"
    assert {verdict["name"] for verdict in result["verdicts"]} >= {"calibration", "rtt", "delivery", "goodput"}


def test_the_bundle_says_how_to_repeat_it(passed: tuple[dict[str, Any], str, Path]) -> None:
    result, _, _ = passed
    record = json.loads((Path(result["bundle"]) / "result.json").read_text())
    assert record["command"][:2] == ["landspeed", "run"]
    assert record["command"][-2:] == ["--seed", "1"]
    guest, host = record["world_facts"]["guest"], record["world_facts"]["host"]
    assert guest["network_build_s"] > 0
    assert guest["kernel"].startswith("6.")
    assert len(guest["kernel_key"]) == 16
    assert guest["memory_touched_bytes"] > 50 << 20
    assert set(guest["addresses"]) == {"amsterdam", "frankfurt", "milan", "bari", "athens"}
    assert host["cores"] == os.cpu_count()
    assert not list(Path(result["bundle"]).glob("*.csv"))


def test_phases_are_told_on_standard_error_alone(passed: tuple[dict[str, Any], str, Path]) -> None:
    _, err, _ = passed
    assert "landspeed: booting the guest" in err
    assert "landspeed: transfer" in err
    assert "\x1b" not in err, "no colours where there is no terminal"


def test_quiet_says_nothing(tmp_path: Path) -> None:
    done = landspeed("run", FIRST, *SHORT, "--quiet", "--out", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(list(tmp_path.iterdir())) == 1


def test_a_table_is_shown_without_json(tmp_path: Path) -> None:
    done = landspeed("run", FIRST, *SHORT, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Goodput" in done.stdout
    assert "Result: passed" in done.stdout
    (bundle,) = tmp_path.iterdir()
    assert str(bundle) in done.stdout
    assert f"{bundle}/report.html" in done.stdout


def test_more_than_possible_fails_the_verdict(tmp_path: Path) -> None:
    done = landspeed("run", FIRST, *SHORT, "--set", "expect.goodput=2 Gbit/s", "--json", "--out", tmp_path)
    assert done.returncode == 1
    result = json.loads(done.stdout)
    assert result["complete"] is True
    assert result["passed"] is False
    (verdict,) = [each for each in result["verdicts"] if each["name"] == "goodput"]
    assert verdict["ok"] is False
    assert [each["ok"] for each in result["verdicts"] if each["name"] != "goodput"].count(False) == 0


def test_overrides_and_seed_reach_the_run_and_the_record(tmp_path: Path) -> None:
    more = ("--set", "transfer.streams=3", "--set", "transfer.congestion_control=reno", "--seed", "77")
    done = landspeed("run", FIRST, *SHORT, *more, "--json", "--out", tmp_path)
    result = json.loads(done.stdout)
    assert result["seed"] == 77
    assert [stream["stream"] for stream in result["streams"]] == [0, 1, 2]
    assert {stream["congestion_control"] for stream in result["streams"]} == {"reno"}
    assert result["command"][result["command"].index("transfer.streams=3") - 1 :][:2] == ["--set", "transfer.streams=3"]


def test_iperf3_makes_the_same_transfer(tmp_path: Path) -> None:
    done = landspeed("run", FIRST, *SHORT, "--tool", "iperf3", "--json", "--out", tmp_path)
    result = json.loads(done.stdout)
    assert result["complete"], done.stderr
    assert result["tool"] == "iperf3"
    assert set(result) >= KEYS
    assert result["goodput_bps"] == pytest.approx(800e6, rel=0.25)  # two seconds, slow start included
    assert result["bytes"] == pytest.approx(result["goodput_bps"] * result["duration_s"] / 8, rel=0.01)
    assert len(result["streams"]) == 1
    assert "--tool" in result["command"]
    bundle = Path(result["bundle"])
    assert (bundle / "samples.parquet").exists()
    assert (bundle / "links.parquet").exists()
    assert (bundle / "report.html").exists()


def test_the_real_clock_takes_its_time(tmp_path: Path) -> None:
    more = ("--set", "line_rate=100 Mbit/s", "--set", "transfer.duration=3 s", "--clock", "real")
    more += ("--set", "calibration.rate_tolerance=50 %", "--set", "calibration.rtt_tolerance=50 %")  # on a busy host

    def attempt(_: int) -> None:
        done = landspeed("run", FIRST, *more, "--json", "--out", tmp_path)
        result = json.loads(done.stdout)
        assert result["clock"] == "real"
        calibration = result["calibration"]
        assert calibration, done.stderr
        undisturbed(calibration["passed"], calibration["failures"])  # also 50 % is little where others run
        assert result["complete"], done.stderr
        assert result["transfer_wall_s"] >= 3

    one_of_few(attempt)


# --- Bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("--",), r"missing: COMMAND"),
        (("fly",), r"no command .fly."),
        (("run",), r"missing: FILE"),
        (("run", "missing.yaml"), r"missing\.yaml"),
        (("run", FIRST, "--set", "transfer.streams"), r"transfer\.streams"),
        (("run", FIRST, "--set", "transfer.streams=0"), r"transfer\.streams"),
        (("run", FIRST, "--set", "transfer.streems=4"), r"streems"),
        (("run", FIRST, "--set", "transfer.window=16"), r"16"),
        (("run", FIRST, "--set", "transfer.congestion_control=warp"), r"warp.*\n?.*"),
        (("run", FIRST, "--seed", "-1"), r"--seed"),
        (("run", FIRST, "--seed", "1.5"), r"'1\.5' is not a whole number from 0"),
        (("run", FIRST, "--seed", str(2**63)), r"is not a whole number from 0 to 2\^63 - 1"),
        (("run", FIRST, "--memory", "4"), r"--memory: .*4"),
        (("run", FIRST, "--memory", "lots"), r"--memory: .*lots"),
        (("run", FIRST, "--stall", "soon"), r"'soon' is not a number of seconds above 0"),
        (("run", FIRST, "--tool", "netcat"), r"no tool 'netcat'; there are engine, iperf3"),
        (("run", FIRST, "--clock", "atomic"), r".atomic. is none of its values; there are virtual, real"),
        (("report", "/nonexistent"), r"not a bundle"),
    ],
)
def test_bad_words_are_2_with_what_would_be_right(words: tuple[object, ...], wanted: str, tmp_path: Path) -> None:
    done = landspeed_here(*words, *(("--out", tmp_path / "out") if words[:1] == ("run",) else ()))
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.search(wanted, done.stderr), done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_errors_of_a_scenario_are_located(tmp_path: Path) -> None:
    """File, line, column, the line itself, and what would be right."""
    file = tmp_path / "wrong.yaml"
    file.write_text(FIRST.read_text().replace("one_way_delay: 6 ms", "one_way_delay: -6 ms"))
    place = next(number for number, line in enumerate(file.read_text().splitlines(), start=1) if "-6 ms" in line)
    for command in ("check", "show", "run"):
        done = landspeed_here(command, file)
        assert done.returncode == 2
        assert re.search(rf"{file}:{place}:\d+", done.stderr), done.stderr
        assert "-6 ms" in done.stderr
        assert "Traceback" not in done.stderr


def test_check_says_ok_or_which_is_not(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("format: 1\n")
    done = landspeed_here("check", FIRST, wrong)
    assert done.returncode == 2
    assert f"{FIRST}: ok" in done.stdout
    assert str(wrong) in done.stderr
    assert landspeed_here("check", *sorted((ROOT / "scenarios" / "records").glob("*.yaml"))).returncode == 0


# --- Missing tools ---------------------------------------------------------------------------------------------------


def test_iperf3_missing_is_told_before_anything_starts(tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": str(tmp_path)}
    done = landspeed("run", FIRST, "--tool", "iperf3", "--out", tmp_path / "out", env=environment)
    assert done.returncode == 2
    assert "iperf3 is not installed, or not in PATH; apt-get install iperf3" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("words", [("run", FIRST), ("exec", FIRST, "--at", "athens", "--", "true")])
def test_a_kernel_that_is_not_built_is_told_with_make_setup(tmp_path: Path, words: tuple[object, ...]) -> None:
    done = landspeed(*words, env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)}, cwd=tmp_path)
    assert done.returncode == 2
    assert re.search(r"Error: the virtual-time kernel [0-9a-f]{16} is not built; run `make setup`", done.stderr)
    assert list(tmp_path.iterdir()) == []


def test_an_engine_that_is_not_built_is_told_with_make_setup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from landspeed.cli.main import main
    from landspeed.worlds.emu import world

    for name in ("ENGINE_BINARY", "LINKWATCH"):
        with monkeypatch.context() as patch:
            patch.setattr(world, name, tmp_path / "not-there")
            assert main(["run", str(FIRST), "--out", str(tmp_path / "out")]) == 2
        assert f"{tmp_path}/not-there is not built; run `make setup`" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


# --- Results ---------------------------------------------------------------------------------------------------------


def test_results_lists_and_answers_sql(passed: tuple[dict[str, Any], str, Path]) -> None:
    result, _, out = passed
    listed = landspeed("results", "--runs", out)
    assert listed.returncode == 0
    assert Path(result["bundle"]).name in listed.stdout
    asked = landspeed("results", "--runs", out, "SELECT max(bytes) AS moved FROM samples WHERE \"end\" = 'receiver'")
    assert asked.returncode == 0
    # A row of a running transfer has what the kernel received; the result has what was read in time. They differ
    # by no more than what the reader waits for when the end is near (docs/reference/bundle.md).
    moved = int("".join(filter(str.isdigit, asked.stdout.split("moved")[1])))
    assert 0 <= moved - result["bytes"] <= max(result["bytes"] / 4096, 1 << 16)
    wrong = landspeed("results", "--runs", out, "SELECT nonsense FROM runs")
    assert wrong.returncode == 2
    assert "nonsense" in wrong.stderr
    assert "Traceback" not in wrong.stderr


def test_a_report_can_be_written_anew(passed: tuple[dict[str, Any], str, Path]) -> None:
    result, _, _ = passed
    report = Path(result["bundle"]) / "report.html"
    before = report.read_bytes()
    report.unlink()
    done = landspeed("report", result["bundle"])
    assert (done.returncode, done.stdout.strip()) == (0, str(report))
    assert report.read_bytes() == before


def test_a_reader_that_goes_away_is_no_trace(tmp_path: Path) -> None:
    """`landspeed show … | head -1`."""
    import subprocess

    from tests.support.command import COMMAND

    done = subprocess.run(
        ["sh", "-c", f"{COMMAND} show --json {FIRST} | head -1"], capture_output=True, text=True, check=False
    )
    assert done.stdout == "{\n"
    assert "Traceback" not in done.stderr


def test_a_scenario_of_a_users_own(tmp_path: Path) -> None:
    """Two hosts back to back, no router at all."""
    file = write_scenario(tmp_path, scenario([{"one_way_delay": "5 ms"}], nic="1 Gbit/s"))
    done = landspeed("run", file, "--json", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rtt_ms"] == pytest.approx(10, rel=0.01)


def test_on_a_terminal_it_is_drawn_while_it_runs_and_opened(tmp_path: Path) -> None:
    """A path's goodput on standard error; `--open` starts the browser that BROWSER names."""
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\necho "$1" >{opened}\n')
    browser.chmod(0o755)
    made = Terminal("run", FIRST, *SHORT, "--open", "--out", tmp_path / "runs", BROWSER=f"{browser} %s", COLUMNS="90")
    try:
        made.wait_for("1 Gbit/s ┤")
        made.wait_for("as sampled")
        made.wait_for("Result: ")
        assert made.process.wait(20) in (0, 1)
    finally:
        made.close()
    (bundle,) = (tmp_path / "runs").iterdir()
    wait_until(opened.is_file, "the browser")
    assert opened.read_text() == f"{(bundle / 'report.html').as_uri()}\n"
