"""`landspeed new`: what it writes passes check and runs; what cannot be is told with what would be right."""

from pathlib import Path

import pytest

from landspeed.cli.main import main
from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.file.template import QUESTIONS
from landspeed.worlds.registry import plan_for
from tests.support.command import landspeed
from tests.support.terminal import Terminal

HOME = ("--rate", "50 Mbit/s", "--back", "10 Mbit/s", "--rtt", "30 ms", "--queue", "256 kB", "--loss", "0.01 %")


def test_what_it_writes_is_what_was_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "home.yaml"
    assert main(["new", str(tmp_path / "home"), *HOME, "--streams", "4", "--congestion-control", "bbr"]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"Written: {file} (From sender to receiver, 50 Mbit/s, 10 Mbit/s back over 30 ms)\n")
    plan = plan_for(load_scenario(file), "emu")
    slow = plan.links[1]
    assert (slow.forward.rate_bps, slow.reverse.rate_bps) == (50e6, 10e6)
    assert sum(link.forward.delay_ns + link.reverse.delay_ns for link in plan.links) == 30e6
    assert (slow.forward.loss, slow.reverse.loss) == (1e-4, 1e-4)
    assert plan.transfer.streams == 4
    assert plan.transfer.congestion_control == "bbr"
    assert main(["check", str(file)]) == 0
    assert "\n#   goodput: 45.0 Mbit/s\n" in file.read_text()  # a goal that this line can meet
    lines = [line for line in file.read_text().splitlines() if " # " in line and line.lstrip()[0] not in "#{"]
    assert {line.index(" # ") for line in lines if "{" not in line} == {25}, "comments stand in a column"


def test_it_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.yaml").write_text("precious")
    assert main(["new", str(tmp_path / "mine.yaml")]) == 2
    assert "is there already" in capsys.readouterr().err
    assert (tmp_path / "mine.yaml").read_text() == "precious"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--rate", "1 GB/s"), "write 8 Gbit/s"),
        (("--rtt", "50"), "write 50 ms"),
        (("--rtt", "10 ns"), "write 1 us to 1000 s"),
        (("--queue", "1000"), "write 1.5 MB (1000 packets of 1500 B)"),
        (("--congestion-control", "bbr3"), "did you mean bbr?"),
        (("--streams", "none"), "streams"),
        (("--duration", "10"), "write 10 s"),
    ],
)
def test_what_cannot_be_is_told(
    words: tuple[str, ...], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", str(tmp_path / "mine"), *words]) == 2
    assert told in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_it_asks_on_a_terminal_until_each_answer_is_right(tmp_path: Path) -> None:
    terminal = Terminal("new", tmp_path / "mine.yaml")
    try:
        for each in QUESTIONS:
            terminal.wait_for(f"{each.text}")
            terminal.wait_for(": ")
            if each.option == "rate":
                terminal.type("1 GB/s\r")
                terminal.wait_for("write 8 Gbit/s")
                terminal.wait_for(": ")
            terminal.type({"rate": "8 Gbit/s", "duration": "2 s"}.get(each.option, "") + "\r")
        terminal.wait_for("Written: ")
        assert terminal.process.wait(20) == 0
    finally:
        terminal.close()
    assert load_scenario(tmp_path / "mine.yaml").scenario.transfer.duration == 2 * 10**9


@pytest.mark.guest
def test_what_it_writes_runs(tmp_path: Path) -> None:
    made = landspeed("new", "mine", "--duration", "2 s", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    done = landspeed("run", "mine.yaml", "--out", tmp_path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Result: completed" in done.stdout
