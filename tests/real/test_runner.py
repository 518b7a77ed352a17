"""A play and the process that runs it: the folder of its files, who ends with whom, what is left when one is killed."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from landspeed.worlds.real.runner import MARK, WORK_PREFIX, PlaybookProgress, work_folder
from playbooks.shell_plugins.landspeed_sh import PREFIX, ShellModule
from tests.support.emu_fixtures import wait_until


def test_the_folder_of_a_killed_process_is_removed_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A living one's stays, and one of another name."""
    script = "import sys; from landspeed.worlds.real.runner import work_folder\n"
    script += "with work_folder() as folder: print(folder, flush=True); sys.stdin.read()"
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    (tmp_path / "other").mkdir()
    started = [
        subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    folders = []
    for process in started:
        assert process.stdout is not None
        folders.append(Path(process.stdout.readline().strip()))
    dead, living = started
    dead.kill()
    dead.communicate()
    (folders[0] / "event.json").touch()
    with work_folder() as own:
        assert {file.name for file in tmp_path.iterdir()} == {own.name, folders[1].name, "other"}
    living.communicate()
    assert [file.name for file in tmp_path.iterdir()] == ["other"]


def test_who_outlived_a_killed_play_does_not_keep_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that writes there on and on; one of another play goes on."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / f"{WORK_PREFIX}left"
    # Its folder may go between the two: `:` would end the shell then, `true` does not (POSIX, special built-ins).
    writing = 'while mkdir -p "$0/tmp"; do n=$((n + 1)); true >"$0/tmp/$n"; done 2>/dev/null; sleep 60'
    workers = []
    for folder in (left, tmp_path / "other"):
        folder.mkdir()
        words = ["sh", "-c", writing, str(folder)]
        workers.append(subprocess.Popen(words, env={**os.environ, MARK: str(folder)}, start_new_session=True))
        wait_until(lambda folder=folder: list(folder.glob("tmp/*")), "the worker to write")
    try:
        with work_folder() as own:
            assert {file.name for file in tmp_path.iterdir()} == {own.name, "other"}
        assert workers[0].wait(60) == -signal.SIGTERM
        assert workers[1].poll() is None
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


@pytest.mark.slow
def test_commands_that_begin_at_once_leave_each_other_their_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def begin(_: int) -> None:
        with work_folder() as folder:
            (folder / "event.json").touch()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(begin, range(1000)))
    assert not list(tmp_path.iterdir())


@pytest.mark.slow  # Ansible
@pytest.mark.parametrize("end", ["SIGINT", "SIGHUP", "SIGTERM", "SIGKILL", "nobody listens"])
def test_a_play_ends_with_its_command(tmp_path: Path, end: str) -> None:
    """Also when the terminal goes away, or whoever reads what it says."""
    held = tmp_path / "held"
    held.touch()
    here = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"hosts": {"here": here}}}))
    tasks = [
        {"name": "Begin", "command": "true"},
        {"name": "Go on", "command": "true"},
        {"name": "Hold", "command": f"sh -c 'while [ -e {held} ]; do sleep 0.1; done'"},
    ]
    (tmp_path / "preflight.yml").write_text(json.dumps([{"hosts": "here", "gather_facts": False, "tasks": tasks}]))
    script = (
        "import sys; from pathlib import Path; from landspeed.worlds.real import runner; folder = Path(sys.argv[1])\n"
    )
    script += "runner.PLAYBOOKS, runner.REMOTE_TEMPORARY = folder, str(folder / 'landspeed-ansible')\n"
    script += "runner.run_play('preflight', folder, hosts=['here'])"
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", script, tmp_path],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(scratch)},
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("Begin" if end == "nobody listens" else "Go on"):
                break
        else:
            pytest.fail("the play never began")
        wait_until(lambda: end != "SIGKILL" or _with_word("sh -c", str(held)), "the task to begin")
        if end == "nobody listens":
            process.stderr.close()
        else:
            process.send_signal(getattr(signal, end))
        assert process.wait(timeout=60) != 0
        wait_until(lambda: not _with_word("ansible-playbook", str(tmp_path)), "the play to end", 60)
        if end != "SIGKILL":  # what that leaves is removed by the next command
            assert not list(scratch.iterdir())
    finally:
        held.unlink()
        process.kill()


def _with_word(*words: str) -> list[str]:
    """Command lines of the processes that have all these words."""
    found = []
    for number in filter(str.isdecimal, os.listdir("/proc")):  # noqa: PTH208
        with contextlib.suppress(OSError):
            line = Path("/proc", number, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            found += [line] if all(word in line for word in words) else []
    return found


def test_a_folder_on_a_host_goes_without_its_dev_null(tmp_path: Path) -> None:
    """With its last file, and not before; a host's users may not all write to /dev/null."""
    base = tmp_path / f"{PREFIX}-x y"
    tasks = [base / name for name in ("ansible-tmp-1", "ansible-tmp-2")]
    for task in tasks:
        (task / "deep").mkdir(parents=True)
    shell = ShellModule()
    for task in tasks:
        assert base.is_dir()
        command = shell.remove(str(task), recurse=True)
        assert "/dev/null" not in command
        done = subprocess.run(["sh", "-c", f"{command} && echo so"], capture_output=True, text=True, check=True)
        assert (done.stdout, done.stderr) == ("so\n", "")
        assert not task.exists()
    assert list(tmp_path.iterdir()) == []
    assert "rmdir" not in shell.remove(str(tmp_path / "others" / "task"))


@pytest.mark.parametrize(
    "words",
    [
        "kex_exchange_identification: Connection closed by remote host\r\nConnection closed by UNKNOWN port 65535",
        "banner exchange: Connection to UNKNOWN port 65535: Broken pipe",
    ],
)
def test_what_a_jump_host_says_is_told_whichever_words_ssh_finds(tmp_path: Path, words: str) -> None:
    """They differ by whether ssh wrote first or the way there ended first."""
    progress = PlaybookProgress(lambda _: None)
    progress.jump_log = tmp_path / "jump.log"
    progress.jump_log.write_text("No ED25519 host key is known for gate and you …\nHost key verification failed.\r\n")
    data = {"host": "sender", "res": {"msg": f"Failed to connect to the host via ssh: {words}", "unreachable": True}}
    progress.event({"event": "runner_on_unreachable", "event_data": data})
    assert progress.failures["sender"].startswith("sender: host key verification failed: the key of gate is not known")
