"""The command forked by a server is the command that a user starts: tests/support/command_process.py."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from landspeed.base.version import __version__
from tests.support.command_in_shells import command_for_shells
from tests.support.command_process import COMMAND, USED_S, CommandProcess, Server, may_fork, run, server, start
from tests.support.emu_fixtures import FIRST
from tests.support.places import ROOT
from tests.support.toy_world import environment, make_site

SIM = ("run", FIRST, "--world", "sim", "--set", "transfer.duration=1 s", "--quiet")
TOY = ("run", FIRST, "--world", "toy", "--quiet")


def forks(**options: Any) -> bool:
    """Whether the command would be forked with these options."""
    return may_fork([str(COMMAND)], options)


def both(*words: object, **options: Any) -> subprocess.CompletedProcess[Any]:
    """What a new Python and a fork say, which is the same."""
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    texts = [str(COMMAND), *map(str, words)]
    given = settings.pop("input", None)
    assert may_fork(texts, settings)
    new = subprocess.run(texts, input=given, timeout=300, check=False, **settings)
    forked = run(texts, input=given, timeout=300, **settings)
    assert (forked.returncode, forked.stdout, forked.stderr) == (new.returncode, new.stdout, new.stderr)
    return forked


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ((), 0),
        (("--version",), 0),
        (("show", "--json", FIRST), 0),
        (("help", "loss"), 0),
        (("nonsense",), 2),
        (("show", "no-such"), 2),
        (("completion", "--answer", "fish", "run", "fi"), 0),
        (("results", "--runs", "."), 0),
    ],
)
def test_output_and_status_are_the_same(words: tuple[object, ...], status: int, tmp_path: Path) -> None:
    assert both(*words, cwd=tmp_path).returncode == status


def test_standard_input_and_output_are_those_that_are_given(tmp_path: Path) -> None:
    done = both("show", "/dev/stdin", input=FIRST.read_text(), text=True, stderr=subprocess.STDOUT, cwd=FIRST.parent)
    assert (done.returncode, done.stderr) == (0, None)
    with FIRST.open() as scenario:
        assert run([COMMAND, "show", "/dev/stdin"], stdin=scenario, stdout=subprocess.PIPE, cwd=FIRST.parent).stdout
    with (tmp_path / "out").open("w") as out:
        out.write("before\n")
        out.flush()
        run([COMMAND, "--version"], stdout=out, check=True)
    assert (tmp_path / "out").read_text().splitlines() == ["before", f"landspeed {__version__}"]


def test_variables_are_the_users(tmp_path: Path) -> None:
    """Those that are read when it runs, and that one is no more there."""
    (tmp_path / "config" / "landspeed").mkdir(parents=True)
    (tmp_path / "config" / "landspeed" / "config.toml").write_text('run.seed = "7"\n')
    more = {"COLUMNS": "60", "TZ": "Asia/Tokyo", "XDG_CONFIG_HOME": "config", "NO_COLOR": "1"}
    few = {each: text for each, text in os.environ.items() if server().needs(each)}
    assert "run.seed" in both("config", cwd=tmp_path, env=os.environ | more, text=True).stdout
    both("show", FIRST, cwd=tmp_path, env=few | more | {"LANDSPEED_LOG": "debug"})


def test_a_run_keeps_the_same(tmp_path: Path) -> None:
    """Of the simulator, to the byte."""
    kept: list[dict[str, bytes]] = []
    for kind, begin in (("new", subprocess.run), ("forked", run)):
        begin([str(COMMAND), *map(str, SIM), "--out", str(tmp_path / kind)], stdout=subprocess.DEVNULL)
        (bundle,) = (tmp_path / kind).glob("first-*")
        kept.append({each: (bundle / each).read_bytes() for each in ("samples.parquet", "links.parquet", "plan.json")})
    assert kept[0] == kept[1]


@pytest.fixture
def toy_site(tmp_path: Path) -> Path:
    """A world that is somebody else's package."""
    return make_site(tmp_path / "site")


def held(folder: Path, site: Path, kind: Callable[..., subprocess.Popen[Any]]) -> subprocess.Popen[Any]:
    """A run that waits for what never comes, and has begun to."""
    log = folder / "log"
    log.write_text("")
    words = [str(COMMAND), *map(str, TOY), "--hold", str(folder / "never"), "--log", str(log), "--out", str(folder)]
    process = kind(words, env=environment(site), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not log.read_text():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, signal.SIGUSR1])
def test_a_signal_does_the_same(number: signal.Signals, tmp_path: Path, toy_site: Path) -> None:
    told: list[Any] = []
    for kind in (subprocess.Popen, start):
        with held(tmp_path, toy_site, kind) as process:
            assert isinstance(process, CommandProcess) == (kind is start)
            assert (tmp_path / "log").read_text().split()[0] == str(process.pid)
            process.send_signal(number)
            told.append((*process.communicate(timeout=60), process.returncode))
    assert told[0] == told[1]
    assert (told[0][2] == -number) == (number in (signal.SIGKILL, signal.SIGUSR1))


def test_a_session_of_its_own(tmp_path: Path, toy_site: Path) -> None:
    with held(tmp_path, toy_site, partial(start, start_new_session=True)) as process:
        assert os.getsid(process.pid) == process.pid != os.getsid(0)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(60) == 1


def test_a_deadline_ends_it(tmp_path: Path, toy_site: Path) -> None:
    own = server().process.pid
    with pytest.raises(subprocess.TimeoutExpired):
        run([COMMAND, *TOY, "--hold", tmp_path / "never"], cwd=tmp_path, env=environment(toy_site), timeout=0.1)
    assert not Path(f"/proc/{own}/task/{own}/children").read_text()


def test_where_a_new_python_would_differ_it_is_one(tmp_path: Path) -> None:
    """Each is put back, and with it the server's use."""
    assert forks()
    for option in ({"preexec_fn": os.getpid}, {"pass_fds": (0,)}, {"process_group": 0}, {"shell": True}):
        assert not forks(**option)
    assert not may_fork(["taskset", str(COMMAND)], {})
    (tmp_path / "rich.py").touch()
    for variable in ({"PYTHONUTF8": "1"}, {"PYTHONPATH": str(tmp_path)}, {"LC_ALL": "C"}, {"HOME": str(tmp_path)}):
        assert not forks(env=os.environ | variable)
    before = os.umask(0o077)
    assert not forks()
    os.umask(before)
    handler = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    assert not forks()
    signal.signal(signal.SIGHUP, handler)
    assert forks()


@pytest.mark.parametrize(
    ("script", "forks"),
    [
        ("{} show no-such 2>&1 | sed s/no/NO/", 1),
        ("COLUMNS=70 {} show /dev/stdin <first.yaml; {} --version >&2; exit 5", 2),
        ("cd ../records && {} check ../examples/first.yaml && {} show", 2),
        ("(umask 77; {} --version); PYTHONUTF8=1 {} --version", 0),
    ],
)
def test_a_shell_gets_the_same(script: str, forks: int) -> None:
    def says(command: str) -> tuple[int, bytes, bytes]:
        words = ["bash", "-c", script.replace("{}", command)]
        done = subprocess.run(words, cwd=FIRST.parent, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        return done.returncode, done.stdout, done.stderr

    before = len(USED_S)
    with command_for_shells(server()) as command:
        assert says(command) == says(str(COMMAND))
    assert len(USED_S) - before == forks


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_to_what_a_shell_started_does_the_same(number: signal.Signals, tmp_path: Path, toy_site: Path) -> None:
    told: list[Any] = []

    def by_shell(words: list[str], **options: Any) -> subprocess.Popen[Any]:
        return subprocess.Popen(["bash", "-c", f'exec {command} "$@"', *words], **options)

    with command_for_shells(server()) as command:
        for kind in (subprocess.Popen, by_shell):
            with held(tmp_path, toy_site, kind) as process:
                process.send_signal(number)
                told.append((*process.communicate(timeout=60), process.returncode))
    assert told[0] == told[1]


@pytest.mark.root
def test_a_server_that_another_program_starts(tmp_path: Path, toy_site: Path) -> None:
    """The command is where that program puts the server, as a new process is; with the context the server ends."""

    def net(process: int | str) -> Path:
        return Path(f"/proc/{process}/ns/net").readlink()

    with Server({}, under=["unshare", "--net"]) as there:
        with held(tmp_path, toy_site, partial(start, by=there)) as process:
            assert isinstance(process, CommandProcess)
            assert net("self") != net(process.pid) == net(there.process.pid)
            process.kill()
        words, variables = [COMMAND, "show", FIRST], os.environ | {"PYTHONUTF8": "1"}
        assert not may_fork([str(COMMAND)], {"env": variables}, there)
        forked, new = (run(words, by=there, env=each, capture_output=True) for each in (os.environ, variables))
        assert forked.returncode == 0 and (forked.stdout, forked.stderr) == (new.stdout, new.stderr)
    assert there.process.returncode == 0


def test_the_server_ends_with_who_asks_it() -> None:
    script = (
        "import os, signal; from tests.support.command_process import *; print(server().process.pid, flush=True);"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    said = subprocess.run([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    end = time.monotonic() + 60
    while (place := Path("/proc", said.stdout.strip())).exists():
        assert time.monotonic() < end, (place / "status").read_text()
        time.sleep(0.01)
