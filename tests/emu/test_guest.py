"""The guest is shut off from the host: what it may write, who may run it, where a clone may lie."""

import os
import pwd
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import landspeed
from tests.support.emu_fixtures import FIRST, ROOT, busy_host, execute, plan_of, scenario, wait_until
from tests.support.own_clone import copied_clone, in_clone

pytestmark = pytest.mark.guest
PLAIN = scenario([{"one_way_delay": "1 ms"}] * 2)
USER = f"landspeed-{os.getpid()}"  # two workers may each need one at a time


def test_nothing_of_the_host_can_be_written_but_the_folder_of_the_run(tmp_path: Path) -> None:
    script = """
        for place in "$1" /root / /usr /etc /var /home /opt; do touch "$place/landspeed-was-here" 2>&1; done
        for place in /tmp /run /dev/shm /var/tmp /run/landspeed; do
            touch "$place/landspeed-was-here" || echo "no $place"
        done
        for place in /tmp /run /dev/shm; do findmnt -no FSTYPE $place; done
    """
    shown = execute(plan_of(tmp_path, PLAIN), tmp_path, "sh", "-c", script, "sh", str(Path.home()))
    assert "no /" not in shown.out
    assert shown.out.split()[-3:] == ["tmpfs"] * 3
    assert shown.out.count("Read-only file system") >= 6, shown.out
    assert (tmp_path / "landspeed-was-here").exists()
    for place in (
        Path.home(),
        *map(Path, ("/root", "/", "/usr", "/etc", "/var", "/home", "/opt", "/tmp", "/run", "/dev/shm")),
    ):
        assert not (place / "landspeed-was-here").exists(), place


def test_the_guest_sees_none_of_the_hosts_processes_and_networks(tmp_path: Path) -> None:
    shown = execute(plan_of(tmp_path, PLAIN), tmp_path, "sh", "-c", "ps -eo args= ; ip -br link; hostname")
    assert str(os.getpid()) not in [line.split()[0] for line in shown.out.splitlines() if line]
    assert "pytest" not in shown.out
    assert {line.split("@")[0].split()[0] for line in shown.out.splitlines() if "UP" in line or "UNKNOWN" in line} <= {
        "lo",
        "eth1",
    }
    assert shown.out.splitlines()[-1] == "landspeed"


def test_programs_get_the_addresses_and_the_folder_they_were_called_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Environment, names, working folder: also below /tmp, which the guest has of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_text("mine\n")
    script = "pwd; cat data; echo $LANDSPEED_OMEGA; getent hosts omega r1 localhost"
    out = tmp_path / "out"
    out.mkdir()
    shown = execute(plan_of(out, PLAIN), out, "sh", "-c", script)
    assert shown.status == 0, shown.err
    words = shown.out.split()
    assert words[:3] == [str(tmp_path), "mine", "10.0.0.6"]
    assert "omega" in words
    assert "r1" in words


# --- As an ordinary user, from a clone of its own --------------------------------------------------------------------


@pytest.fixture(scope="module")
def clone() -> Iterator[Path]:
    """A clone below /tmp with a Python environment of its own, and the kernel in a cache beside it.

    Its path has a space and a letter that is not ASCII, and the environment is a link, as it may be anywhere. It lies
    beside pytest's folders: each pytest that begins, a test's own too, closes those to all other users.
    """
    base = Path(tempfile.mkdtemp(prefix="a clöne"))
    base.chmod(0o755)
    yield copied_clone(base)
    shutil.rmtree(base, ignore_errors=True)


@pytest.mark.exact
def test_a_clone_below_tmp_works(clone: Path, tmp_path: Path) -> None:
    """The guest has a /tmp of its own; the clone, its Python and the working folder stay visible there.

    And it measures what this clone does, to the byte, although its path is another, its Python perhaps too, and nothing
    is compiled there: BBR's phase is drawn, and packets of 1500 B with moderation show a shift of nanoseconds.
    """
    words = ["run", "scenarios/examples/first.yaml", "--set", "transfer.duration=1500 ms", "--set", "mtu=1500 B"]
    words += ["--set", "transfer.streams=2", "--set", 'transfer.congestion_controls=["bbr", "cubic"]', "--out"]
    done = in_clone(clone, *words, tmp_path / "theirs")
    assert (done.returncode, done.stderr.count("Error")) in {(0, 0), (1, 0)}, done.stderr
    assert landspeed(*words, tmp_path / "ours", cwd=ROOT).returncode == done.returncode
    (theirs,), (ours,) = ((tmp_path / whose).glob("first-*") for whose in ("theirs", "ours"))
    for name in ("samples.parquet", "links.parquet"):
        assert (theirs / name).read_bytes() == (ours / name).read_bytes()


@pytest.fixture
def user() -> Iterator[str]:
    """An ordinary user of the host, made for the test when it runs as root."""
    if os.geteuid() != 0:
        yield ""
        return
    subprocess.run(["useradd", "--no-create-home", "--home-dir", "/nonexistent", USER], check=True)
    try:
        yield USER
    finally:
        wait_until(
            lambda: subprocess.run(["userdel", USER], check=False).returncode == 0, "the user to have no process"
        )


def test_an_ordinary_user_gets_of_a_mininet_script_what_root_gets(clone: Path, user: str) -> None:
    """The same bytes, alone and beside a busy machine (ten times: `python -m tests.bench.bench_mininet`)."""
    out = clone.parent / "mn"
    out.mkdir()
    if user:
        shutil.chown(out, user)
    words = ("mn", "--quiet", "--out", out, clone / "docs/examples/mininet/bufferbloat.py")
    done = [in_clone(clone, *words, user=user or None)]
    with busy_host():
        done.append(in_clone(clone, *words, user=user or None))
    done.append(in_clone(clone, *words))
    assert [each.returncode for each in done] == [0, 0, 0], done[0].stderr
    assert {(each.stdout, each.stderr) for each in done} == {(done[0].stdout, done[0].stderr)}
    rates = [float(each) for each in re.findall(r"goodput ([\d.]+)", done[0].stdout)]
    assert rates == pytest.approx([9.564, 9.564], rel=0.02)  # 10 Mbit/s × 1448 / 1514
    uid = pwd.getpwnam(user).pw_uid if user else os.getuid()
    assert {run.stat().st_uid for run in out.iterdir()} == {uid, os.getuid()}


def test_an_ordinary_user_can_run_and_owns_the_results(clone: Path, user: str) -> None:
    out = clone.parent / "out"
    out.mkdir()
    if user:
        shutil.chown(out, user)
    words = ("run", clone / "scenarios/examples/first.yaml", "--set", "transfer.duration=1 s", "--out", out)
    done = in_clone(clone, *words, user=user or None)
    assert "Error" not in done.stderr
    (bundle,) = out.iterdir()
    assert (bundle / "samples.parquet").is_file()
    uid = pwd.getpwnam(user).pw_uid if user else os.getuid()
    assert {path.stat().st_uid for path in bundle.rglob("*")} == {uid}
    shown = in_clone(clone, "exec", FIRST, "--at", "athens", "--", "ping", "-c", "1", "amsterdam", user=user or None)
    if user and str(FIRST).startswith("/root"):
        assert shown.returncode == 2  # it may not even read the scenario: an error, not a trace
        assert "Traceback" not in shown.stderr
    else:
        assert shown.returncode == 0, shown.stderr
    shown = in_clone(
        clone,
        "exec",
        clone / "scenarios/examples/first.yaml",
        "--at",
        "athens",
        "--",
        "ping",
        "-c",
        "1",
        "amsterdam",
        user=user or None,
    )
    assert shown.returncode == 0, shown.stderr
    assert "1 received" in shown.stdout


def test_an_ordinary_user_cannot_write_where_it_may_not(clone: Path, user: str) -> None:
    if not user:
        user = pwd.getpwuid(os.getuid()).pw_name
    done = in_clone(clone, "run", clone / "scenarios/examples/first.yaml", user=user)
    assert done.returncode == 2
    assert "no permission to write there; give another folder with --out" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_run_leaves_the_tree_it_runs_from_as_it_was(tmp_path: Path) -> None:
    """Nothing new beside the bundle: not even compiled Python of the guest."""

    def listing() -> set[str]:
        return {
            str(path)
            for folder in ("emu", "scenarios")
            for path in (ROOT / folder).rglob("*")
            if "__pycache__" not in str(path)
        }

    before = listing()
    done = landspeed("run", FIRST, "--set", "transfer.duration=1 s", "--quiet", "--out", tmp_path)
    assert done.returncode in {0, 1}
    assert listing() == before
