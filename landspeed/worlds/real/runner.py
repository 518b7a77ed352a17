"""Runs a playbook through ansible-runner and tells what happens, a line a task, errors with host and remedy."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Generator
from pathlib import Path
from typing import Any

from landspeed.base.json_form import object_of
from landspeed.base.log import Log
from landspeed.base.places import ROOT
from landspeed.worlds.real.errors import PlayFailed, RealError
from landspeed.worlds.real.explanations import ask_ssh, explain, words_lost

LOG = Log(__name__)
PLAYBOOKS = ROOT / "playbooks"
MARK = "LANDSPEED_PLAY"  # in the environment of all processes of a play
END_S = 20.0  # for a play to end its workers; then it is killed
BIN = PLAYBOOKS / "bin"
JUMP_LOG = "jump.log"
NO_WAY = "UNKNOWN port 65535"  # among ssh's words, whichever it finds, when what goes to the jump host has ended
NOT_FOR_SSH = ("--ask-become-pass", "--check")  # a task that only asks ssh would prompt, or be left out
WORK_PREFIX = "landspeed-real-"
REMOTE_TEMPORARY = "/tmp/landspeed-ansible"  # on hosts; `restore` removes all that begin so
PLAYS = ("preflight", "mesh", "advise", "tune", "deploy", "shape", "attempt", "stop", "collect", "restore", "site")


class PlaybookProgress:
    """Follows the events of one playbook.

    Attributes:
        failures: first failure of each host, as a sentence.
        changed: changes of each host, from the play's own account.
        words_lost: hosts of which Ansible does not know what ssh said.
        jump_log: what ssh says on its way to jump hosts, which the ssh that begins it cannot hear (bin/ssh).
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        """`say` prints a line."""
        self.failures: dict[str, str] = {}
        self.changed: dict[str, int] = {}
        self.words_lost: set[str] = set()
        self.jump_log: Path | None = None
        self._say = say

    def event(self, event: dict[str, Any]) -> None:
        """One event of ansible-runner."""
        kind, data = event.get("event", ""), event.get("event_data", {})
        host: str = data.get("host", "")
        result: dict[str, Any] = data.get("res", {}) or {}
        task = data.get("task", "")
        role = data.get("role", "")
        if kind == "playbook_on_stats":
            self.changed = {name: data.get("changed", {}).get(name, 0) for name in data.get("processed", {})}
        elif kind == "runner_retry":
            self._progress(host, result)
        elif kind == "runner_item_on_failed" and not data.get("ignore_errors"):
            text = explain(host, result, unreachable=False)
            self.failures[host] = f"{self.failures[host]}\n  {text}" if host in self.failures else text
        elif kind in ("runner_on_failed", "runner_on_unreachable") and not data.get("ignore_errors"):
            self.failures.setdefault(host, self.reason(host, result, unreachable=kind.endswith("unreachable")))
            if words_lost(result):
                self.words_lost.add(host)
            self._line(role, task, host, "FAILED")
        elif kind == "runner_on_ok":
            self._line(role, task, host, "changed" if result.get("changed") else "ok")
            self._details(task, result)

    def reason(self, host: str, result: dict[str, Any], *, unreachable: bool) -> str:
        """Say why a host failed; on the way to a jump host, by what ssh said there."""
        if NO_WAY in str(result.get("msg")) and self.jump_log and self.jump_log.exists():
            result = {**result, "msg": self.jump_log.read_text(errors="replace") or result["msg"]}
        return explain(host, result, unreachable=unreachable)

    def _line(self, role: str, task: str, host: str, state: str) -> None:
        if (
            task.startswith("Validating arguments against arg spec") and state == "ok"
        ):  # Ansible's own task of each role
            return
        self._say(f"{role + ': ' if role else ''}{task}: {host} {state}")

    def _details(self, task: str, result: dict[str, Any]) -> None:
        if task.startswith("Show ") and isinstance(result.get("msg"), list):
            for line in result["msg"]:
                self._say(f"    {line}")
        difference = object_of(result.get("diff"))
        if isinstance(difference.get("before"), str) and result.get("changed"):
            before, after = difference["before"].splitlines(), str(difference.get("after", "")).splitlines()
            if len(before) == len(after):
                for old, new in zip(before, after, strict=True):
                    if old.count(": ") == 1:
                        self._say(f"    {old} → {new.partition(': ')[2]}")

    def _progress(self, host: str, result: dict[str, Any]) -> None:
        live: dict[str, Any] = result.get("live") or {}
        if live:
            words = [f"{key} {value}" for key, value in live.items() if isinstance(value, (int, float, str))]
            self._say(f"    {host}: {', '.join(words[:6])}")


@contextlib.contextmanager
def work_folder() -> Generator[Path]:
    """A folder for what Ansible and its runner write down while they work.

    It is locked as long as this process lives: so folders of processes that were killed are known, and removed first,
    after what may have outlived its play there.

    Yields:
        the folder, which goes with the context.
    """
    for left in Path(tempfile.gettempdir()).glob(WORK_PREFIX + "*"):
        with contextlib.suppress(OSError):  # another one sweeps too
            descriptor = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(descriptor).st_uid == os.geteuid():
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _remove(left)
            finally:
                os.close(descriptor)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=WORK_PREFIX))
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if folder.exists():  # nobody took it for a dead one's before it was locked
            break
        os.close(descriptor)
    try:
        yield folder
    finally:
        _remove(folder)
        os.close(descriptor)


def run_play(
    play: str,
    inventory: Path,
    *,
    hosts: Collection[str],
    variables: dict[str, Any] | None = None,
    options: list[str] | None = None,
    say: Callable[[str], None] | None = None,
) -> PlaybookProgress:
    """Run a playbook of this folder.

    Args:
        play: its name without `.yml`.
        inventory: the inventory's folder.
        hosts: those that it has to reach.
        variables: extra variables; nothing secret.
        options: further words for ansible-playbook, such as --check.
        say: prints a line; None prints to standard error.

    Returns:
        what happened.

    Raises:
        PlayFailed: a task failed, or a host was not reached; the message has them all.
        RealError: the play could not be run.
        KeyboardInterrupt: interrupted; the play was ended.
    """
    import ansible_runner

    progress = PlaybookProgress(say or (lambda line: print(line, file=sys.stderr, flush=True)))
    interrupted: list[float] = []
    mark = ""

    def end(*_: Any) -> None:
        interrupted.append(time.monotonic())
        cancelled()

    def cancelled() -> bool:
        if interrupted and mark:
            _end_all(mark)
        return bool(interrupted) and time.monotonic() > interrupted[0] + END_S

    def follow(event: dict[str, Any]) -> None:
        try:
            progress.event(event)
        except OSError:  # nobody hears any more what is said
            end()

    # A play would outlive this process: the runner has it ignore that its terminal is gone. nohup(1) still holds.
    ending = [signal.SIGINT, signal.SIGTERM]
    ending += [signal.SIGHUP] if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN else []
    before = {each: signal.signal(each, end) for each in ending}
    try:
        with work_folder() as private, _short_name(private) as short:
            mark = str(private)
            progress.jump_log = private / JUMP_LOG
            words = [f"-e landspeed_{key}={_quoted(value)}" for key, value in (variables or {}).items()]
            LOG.info("play %s for %s, with %s", play, inventory, ", ".join(variables or {}) or "no variables")
            hosts_file = inventory.resolve() / "hosts.yml"
            environment = {
                "ANSIBLE_CONFIG": str(PLAYBOOKS / "ansible.cfg"),
                "ANSIBLE_LOCAL_TEMP": str(private / "tmp"),
                # One for each play: what is empty may go while another play begins (shell_plugins/landspeed_sh.py).
                "ANSIBLE_REMOTE_TMP": f"{REMOTE_TEMPORARY}-{private.name.removeprefix(WORK_PREFIX)}",
                # The runner switches it off unless it is said here; bin/ssh holds it against all others.
                "ANSIBLE_HOST_KEY_CHECKING": "true",
                # Whoever began a connection that is there already need not have checked the key.
                "ANSIBLE_SSH_CONTROL_PATH_DIR": mark,
                "ANSIBLE_SSH_CONTROL_PATH": f"{short}/%%C",
                "ANSIBLE_INVENTORY_UNPARSED_FAILED": "true",
                "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true",
                "ANSIBLE_DIFF_ALWAYS": "true",
                "ANSIBLE_NOCOLOR": "true",
                "TMPDIR": str(private),  # a module here that is ended leaves its files
                MARK: mark,
                "PATH": os.pathsep.join([str(BIN), str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
            }
            result = ansible_runner.run(
                private_data_dir=str(private),
                project_dir=str(PLAYBOOKS),
                playbook=f"{play}.yml",
                inventory=str(hosts_file),
                cmdline=" ".join([*words, *(options or [])]) or None,
                envvars=environment,
                event_handler=follow,
                cancel_callback=cancelled,
                quiet=True,
                suppress_env_files=True,
            )
            cancelled()  # a worker may have begun while the others were ended
            status = result.status
            if progress.words_lost and not interrupted:
                progress.jump_log.unlink(missing_ok=True)
                known = [word for word in options or [] if word not in NOT_FOR_SSH]
                as_before = os.environ | environment
                asked = ask_ssh(sorted(progress.words_lost), hosts_file, known, as_before, PLAYBOOKS)
                for host, told in asked.items():
                    progress.failures[host] = progress.reason(host, told, unreachable=True)
            out = result.stdout.read() if result.rc and not progress.failures else ""
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    if interrupted:
        raise KeyboardInterrupt
    if progress.failures:
        named = "attempt" if play == "fleet" else play  # by the word that begins it
        raise PlayFailed("\n  ".join([f"{named} failed", *progress.failures.values()]))
    if status != "successful":
        raise RealError(f"{play} could not be run: {_last_lines(out)}")
    if missed := sorted(set(hosts) - set(progress.changed)) or ([] if progress.changed else ["every host"]):
        remedy = (
            f"look whether {inventory / 'hosts.yml'} has them in their groups, as `landspeed real inventory` writes it"
        )
        raise PlayFailed(f"{play} failed\n  {', '.join(missed)}: not reached by any task of the play. Remedy: {remedy}")
    return progress


@contextlib.contextmanager
def _short_name(folder: Path) -> Generator[str]:
    """Make a short name of a folder for sockets: their paths have at most 107 bytes (unix(7)), and TMPDIR may be long.

    Yields:
        the name, which goes with the context.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/{os.getpid()}/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _remove(folder: Path) -> None:
    """Remove a play's folder; if it stays, or comes again, what survived the play and writes there is ended."""
    last = time.monotonic() + END_S
    shutil.rmtree(folder, ignore_errors=True)
    while (_end_all(str(folder)) or folder.exists()) and time.monotonic() < last:
        time.sleep(0.05)
        shutil.rmtree(folder, ignore_errors=True)


def _end_all(mark: str) -> int:
    """End every process of a play: its workers have sessions of their own, and outlive a play that is killed.

    Returns:
        how many there were; one that begins while others are looked at may come to light only the next time.
    """
    found = 0
    for number in filter(str.isdecimal, os.listdir("/proc")):  # noqa: PTH208, a glob fails where one ends meanwhile
        with contextlib.suppress(OSError):  # it is gone, or another's
            if f"{MARK}={mark}".encode() in Path("/proc", number, "environ").read_bytes().split(b"\0"):
                found += 1
                os.kill(int(number), signal.SIGTERM)
    return found


def _quoted(value: Any) -> str:
    text = str(value)
    return "'" + text.replace("'", "'\\''") + "'"


def _last_lines(text: str) -> str:
    return " ".join(line.strip() for line in text.splitlines()[-6:] if line.strip())
