"""Tab: commands, options and values; the scripts in real shells; the manual page."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from landspeed.cli.command_table import COMMANDS, GROUPS
from landspeed.cli.completion.answer import answer
from landspeed.cli.completion.command import SHELLS
from landspeed.cli.main import main
from landspeed.scenario.file.packaged import packaged_names
from setup.manual_page import page
from tests.support.command import COMMAND
from tests.support.terminal import Terminal

CASES = {
    "ru": {"run"},
    "kernel l": {"list"},
    "run fi": {"first"},
    "run first --se": {"--set", "--seed"},
    "run first --spin": {"--spin-cost"},
    "run first --world ": {"emu", "sim", "real"},
    "compare first --worlds emu,s": {"emu,sim"},
    "run first --clock r": {"real"},
    "run first --clock=r": {"--clock=real"},
    "run first --kernel 6": {"6.12", "6.8"},
    "run first --tool i": {"iperf3"},
    "run first --set tr": {"transfer."},
    "run first --set transfer.wi": {"transfer.window=", "transfer.window_exact="},
    "run first --set transfer.congestion_control=c": {"transfer.congestion_control=cubic"},
    "run first --set transfer.window_exact=": {"transfer.window_exact=true", "transfer.window_exact=false"},
    "run first --set transfer.send=s": {"transfer.send=sendfile", "transfer.send=splice"},
    "run first --set path.": {f"path.{number}." for number in range(4)},
    "run dsl-down --set path.": {f"path.{number}." for number in range(3)},
    "run dumbbell --set flows.": {"flows.0."},
    "run first --set path.2.rev": {"path.2.reverse."},
    "run first --set path.2.discipline=fq": {f"path.2.discipline={each}" for each in ("fq_codel", "fq_pie")},
    "run first --set hosts.at": {"hosts.athens."},
    "exec first --at ": {"amsterdam", "frankfurt", "milan", "bari", "athens"},
    "exec dsl-down --at e": {"exchange"},
    "probe first --at a": {"amsterdam", "athens"},
    "lesson slow": {"slow-start"},
    "scenarios dsl": {"dsl", "dsl-down"},
    "help transfer.win": {"transfer.window", "transfer.window_exact"},
    "find first --vary transf": {"transfer."},
    "completion f": {"fish"},
    "doctor ": set[str](),
    "no-such-command ": set[str](),
}


@pytest.mark.parametrize(("line", "wanted"), CASES.items())
def test_what_may_stand_there(line: str, wanted: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert set(answer(line.split(" "))) == wanted


def test_files_and_bundles_of_this_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("landspeed.cli.completion.answer.runs_dir", lambda: tmp_path / "runs")
    (tmp_path / "runs" / "first-1").mkdir(parents=True)
    (tmp_path / "mine.yaml").touch()
    (tmp_path / "notes").touch()
    assert set(answer(["run", ""])) == {*packaged_names(), "mine.yaml", "runs/"}
    assert set(answer(["run", "first", "--out", ""])) == {"mine.yaml", "notes", "runs/"}
    assert "runs/first-1" in answer(["report", "runs/f"])
    assert answer(["exec", "first", "--at", "athens", "--", "no"]) == ["notes"]
    assert answer(["new", "m"]) == ["mine.yaml"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "options", "begin"),
    [
        ("bash", ("--norc", "--noprofile", "-i"), "source <(landspeed completion bash)"),
        ("zsh", ("-f", "-i"), "autoload -U compinit; compinit -D -u; source <(landspeed completion zsh)"),
        ("fish", ("--no-config", "-i"), "landspeed completion fish | source"),
    ],
)
def test_tab_in_a_shell(program: str, options: tuple[str, ...], begin: str, tmp_path: Path) -> None:
    """Words with `=` and dots too, which bash would cut."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    path = f"{COMMAND.parent}:/usr/local/bin:/usr/bin:/bin"
    made = Terminal(
        *options, program=program, PATH=path, PS1="> ", TERM="dumb", HOME=str(tmp_path), XDG_RUNTIME_DIR=str(tmp_path)
    )
    try:
        made.type(f"{begin}; echo rea''dy\r")
        made.wait_for("ready")
        for typed, rest in (("run fir", "st"), ("run first --set transfer.win", "dow"), ("exec first --at mi", "lan")):
            made.type(f"landspeed {typed}\t")
            made.wait_for(rest)
            made.type("\x15")
        made.type("landspeed run first --set transfer.congestion_control=cub\t")
        made.wait_for("cubic")
    finally:
        made.close()


def test_a_script_for_each_shell(capsys: pytest.CaptureFixture[str]) -> None:
    for shell, script in SHELLS.items():
        assert main(["completion", shell]) == 0
        assert capsys.readouterr().out == script
        if shutil.which(shell):
            subprocess.run([shell, "-n"], input=script, text=True, check=True)


def test_the_manual_page_is_short_with_a_section_for_each_group() -> None:
    shown = page()
    assert len(re.findall(r"\S+", shown)) <= 2000
    sections = re.findall(r"^\.SH (.*)", shown, re.MULTILINE)
    assert [each for each in sections if each in {heading.upper() for heading in GROUPS}] == [g.upper() for g in GROUPS]
    for word in COMMANDS:
        assert re.search(rf"^\.SS landspeed {word.replace('-', '.+')}\b", shown, re.MULTILINE), word
    if shutil.which("man"):
        done = subprocess.run(["man", "--warnings", "-l", "-"], input=shown, text=True, capture_output=True, check=True)
        assert done.stderr == ""
