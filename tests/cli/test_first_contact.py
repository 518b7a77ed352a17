"""What somebody meets who has never seen landspeed: the first words, the packaged scenarios, the demo, the doctor."""

import platform
import re
import shlex
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from landspeed.cli.command_table import COMMANDS, make_parser
from landspeed.cli.demo_command import NEXT
from landspeed.cli.main import FIRST_WORDS, main, split_program
from landspeed.report.terminal_chart import chart_lines, column_means, round_top
from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.file.packaged import packaged_names
from landspeed.worlds.distribution import how_to_install
from tests.support.command import landspeed
from tests.support.emu_fixtures import FIRST


def parsed(command: str) -> None:
    """The command line takes these words, and knows the scenario."""
    own, _ = split_program(shlex.split(command)[1:])
    arguments = make_parser(own[0]).parse_args(own)
    if "file" in arguments:
        load_scenario(arguments.file, arguments.overrides)


def test_without_words_it_says_in_ten_lines_what_it_can(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert max(map(len, lines)) <= 110
    told = [re.split(r" {2,}", line.strip())[0] for line in FIRST_WORDS.splitlines() if line.startswith("  landspeed")]
    assert len(told) == 8
    for command in told:
        assert command.split()[1] in COMMANDS
        if command.split()[1] != "real":
            parsed(command)


def test_what_a_signal_did_before_it_does_afterwards(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A program that calls `main` keeps its own handlers; SIGHUP that is ignored stays so meanwhile."""
    own, heeded = (signal.SIGTERM, signal.SIGHUP), list[object]()
    monkeypatch.setattr(
        "landspeed.cli.scenario_command.do_check", lambda _: heeded.extend(map(signal.getsignal, own)) or 0
    )
    before = [signal.signal(number, handler) for number, handler in zip(own, (_handler, signal.SIG_IGN), strict=True)]
    try:
        assert main(["check", "first"]) == 0
        assert heeded[0] not in (_handler, signal.SIG_DFL)
        assert heeded[1] is signal.SIG_IGN
        assert list(map(signal.getsignal, own)) == [_handler, signal.SIG_IGN]
        monkeypatch.setattr("landspeed.cli.scenario_command.do_check", lambda _: signal.raise_signal(signal.SIGTERM))
        assert main(["check", "first"]) == 1
        assert "interrupted" in capsys.readouterr().err
        with pytest.raises(SystemExit):
            main(["check", "--no-such"])
        assert signal.getsignal(signal.SIGTERM) is _handler
    finally:
        for number, handler in zip(own, before, strict=True):
            signal.signal(number, handler)


def _handler(_number: int, _frame: object) -> None:
    raise AssertionError("it was called")


def test_it_can_be_called_in_a_thread() -> None:
    """Where Python lets nobody set a handler."""
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(main, ["check", "first"]).result() == 0


@pytest.mark.slow
def test_every_packaged_scenario_is_found_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    names = packaged_names()
    assert {"first", "2004-06-25-geneva-pasadena"} <= set(names)
    assert len(set(names)) == len(names)
    assert main(["scenarios"]) == 0
    shown = capsys.readouterr().out
    for name in names:
        assert re.search(rf"^{name} ", shown, re.MULTILINE)
    assert main(["check", *names]) == 0
    assert load_scenario(Path("first")).tree.plain() == load_scenario(FIRST).tree.plain()


def test_a_file_of_the_users_own_goes_before_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("first").mkdir()
    assert main(["check", "first"]) == 0  # a folder is no scenario
    Path("first").rmdir()
    Path("first").write_text(FIRST.read_text().replace("duration: 10 s", "duration: 3 s"))
    assert load_scenario(Path("first")).scenario.transfer.duration == 3 * 10**9
    capsys.readouterr()
    assert main(["check", "frist"]) == 2
    assert "did you mean first?" in capsys.readouterr().err


def test_what_the_machine_lacks_leads_to_the_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    """No kernel here (conftest.py). A world or a core that does not exist is no fault of the machine's."""
    assert main(["run", "first"]) == 2
    err = capsys.readouterr().err
    assert "kernel" in err
    assert err.endswith("`landspeed doctor` says more\n")
    for words in (["--world", "moon"], ["--core", "9999"], ["--tool", "pigeon"]):
        assert main(["run", "first", *words]) == 2
        assert "doctor" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("told", "tc", "mnexec"),
    [
        ({"ID": "debian"}, "apt-get install iproute2", "apt-get install mininet"),
        ({"ID": "ubuntu", "ID_LIKE": "debian"}, "apt-get install iproute2", "apt-get install mininet"),
        ({"ID": "fedora"}, "dnf install iproute-tc", "no package has mnexec here"),
        ({"ID": "rocky", "ID_LIKE": "rhel centos fedora"}, "dnf install iproute-tc", "no package has mnexec here"),
        ({"ID": "arch"}, "pacman -S iproute2", "no package has mnexec here"),
    ],
)
def test_a_remedy_is_in_the_words_of_the_distribution(
    told: dict[str, str], tc: str, mnexec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: told)
    assert how_to_install("tc") == tc
    assert how_to_install("mnexec") == mnexec
    assert how_to_install("tc", "mnexec").startswith(tc.split(maxsplit=1)[0])


def test_an_unknown_distribution_is_told_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: {"ID": "templeos"})
    assert how_to_install("tc", "ping") == (
        "Debian, Ubuntu: apt-get install iproute2 iputils-ping; Fedora: dnf install iproute-tc iputils; "
        "Arch: pacman -S iproute2 iputils"
    )


def test_columns_are_means_over_equal_times() -> None:
    """1 for a second, then 3: columns of half a second, and of two thirds."""
    series = [(1.0, 1.0), (2.0, 3.0)]
    assert column_means(series, 2.0, 4) == pytest.approx([1, 1, 3, 3])
    assert column_means(series, 2.0, 3) == pytest.approx([1, 2, 3])
    assert column_means(series, 4.0, 4) == [1, 3, None, None]
    assert column_means([], 1.0, 2) == [None, None]


def test_the_chart_is_as_high_as_the_rate() -> None:
    series = [(1.0, 25e6), (2.0, 100e6), (3.0, 200e6)]
    lines = chart_lines(series, until_s=4, top_bps=100e6, width=15 + 40, height=4)
    heights = [sum(line[15:].ljust(40)[column] == "█" for line in lines[:4]) for column in range(40)]
    assert heights == [1] * 10 + [4] * 20 + [0] * 10  # 25 of 100, 100, 200 cut at 100, nothing yet
    assert lines[0].startswith("   100 Mbit/s ┤")
    assert lines[-1].endswith("4 s")
    assert {len(line) <= 55 for line in lines} == {True}
    assert [round_top(bps) for bps in (990e6, 1e9, 1.01e9, 39e9, 81e3)] == [1e9, 1e9, 1.2e9, 40e9, 100e3]


@pytest.mark.guest
def test_the_demo_ends_with_what_bound_it_and_what_to_try(tmp_path: Path) -> None:
    done = landspeed("demo", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert "1 Gbit/s ┤" in done.stdout
    assert re.search(r"^Bound by line rate: goodput in the second half was 990\.\d\d Mbit/s", done.stdout, re.MULTILINE)
    (bundle,) = tmp_path.iterdir()
    assert str(bundle / "report.html") in done.stdout
    for command, _ in NEXT:
        assert f"  {command} " in done.stdout
        parsed(command)


@pytest.mark.guest
@pytest.mark.parametrize(("command", "wanted"), [(NEXT[0][0], "Bound by: window"), (NEXT[1][0], "Bound by: loss")])
def test_what_it_proposes_changes_what_binds(command: str, wanted: str, tmp_path: Path) -> None:
    """Both fail what the file expects: that is the lesson."""
    done = landspeed(*shlex.split(command)[1:], "--out", tmp_path)
    assert done.returncode == 1
    assert wanted in done.stdout
