"""The lab for tests: one for the session, the command run on its operator's machine, and full dumps of a server."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import stat
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from landspeed.worlds.real.runner import PLAYBOOKS
from tests.lab.lab import Lab
from tests.support.command_process import COMMAND, Server, run, start

ADDRESS = {"sender": "10.78.1.2", "receiver": "10.78.2.2"}
CALLBACKS = Path(__file__).parent / "callbacks"
PLAY_DEADLINE_S = 400
STOOD_STILL = "; the box stood still for"  # modules/landspeed_rates.py: stalls explain what it found
STALLED_PLAYS = 2  # a play of which that is said is run so many times more
LATE_TIMERS = "50 ms"  # of the lab's box: a guest in real time whose processor others use too

# Everything that a play could have changed, as text. Left out: what changes by itself (counters, ages, the shadow
# files' backups that every user change writes), what only exists while somebody looks, and which port of the wire a
# cable's other end is, which a power cut makes anew.
DUMP = r"""
export LC_ALL=C
echo "## sysctl"; sysctl -a 2>/dev/null | grep -vE 'conntrack_count|\.stable_secret|ip_local_port' |
    grep -vE '^fs\.(dentry-state|file-nr|inode-|aio-nr|quota)|^kernel\.(ns_last_pid|pty\.nr|random|perf_event_max)'
echo "## links"; ip -d -o link show | sed -E 's/ qlen [0-9]*//; s/@if[0-9]+|link-netnsid [0-9]+//g'
echo "## addresses and routes"; ip -o addr show; ip route show; ip -6 route show | grep -v '^fe80'
ip rule show; ip -6 rule show; ip netns list
echo "## qdiscs"; tc -d qdisc show
for dev in $(ls /sys/class/net); do
    echo "## $dev"; ethtool -k $dev
    case $dev in vec*) continue;; esac  # its driver panics when it is asked for rings
    ethtool -g $dev; ethtool -c $dev; ethtool -a $dev
done 2>/dev/null
grep -H . /sys/class/net/*/queues/*/?ps_cpus /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null
echo "## firewall"; nft list ruleset 2>/dev/null
echo "## units"
if [ -d /run/systemd/system ]; then
    for list in list-unit-files "list-units --all landspeed*"; do  # a busy systemd is asked again
        systemctl $list --no-legend || systemctl $list --no-legend || echo "systemctl: no answer"
    done
fi
echo "## files"
find /etc /usr/local /var/lib/landspeed /opt /root -xdev ! -name '*-' ! -name '.pwd.lock' \
    \( -type f -o -type l -o -type d \) -printf '%p %m %u %g %y %l\n' 2>/dev/null | sort
find /etc /usr/local -xdev -type f ! -name '*-' -exec sha256sum {} + | sort -k2
ls -A /tmp | grep -v systemd-private
true
"""


def modules_kept(folder: Path) -> dict[str, str]:
    """Variables of plays of the same modules: one packs a module, and the others find it in the folder."""
    plugin = {"ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS), "ANSIBLE_CALLBACKS_ENABLED": "kept_modules"}
    return {"LANDSPEED_PACKED_MODULES": str(folder), **plugin}


@dataclass
class Servers:
    """The lab's servers and an inventory of them.

    Attributes:
        lab: the running lab.
        folder: of this session's files.
        inventory: of `scenario`.
        scenario: the file.
        runs: folder of bundles.
        temporary: where the command and its plays put what they need while they work, and nothing when they do not.
        operator: forks the command on the operator's machine, which comes to the same (command_process.py).
    """

    lab: Lab
    folder: Path
    inventory: Path
    scenario: Path
    runs: Path
    temporary: Path
    operator: Server

    @property
    def _environment(self) -> dict[str, str]:
        """Of the command. Logins are shared within this lab only: a second one's servers have the same names."""
        here = {"TMPDIR": str(self.temporary), "ANSIBLE_SSH_CONTROL_PATH_DIR": str(self.lab.folder / "cp")}
        return {**os.environ, **here, **modules_kept(self.folder / "packed-modules")}

    def landspeed(self, *words: str, deadline_s: float = PLAY_DEADLINE_S) -> subprocess.CompletedProcess[str]:
        """Run the command on the operator's machine."""
        settings: dict[str, Any] = {"capture_output": True, "text": True, "stdin": subprocess.DEVNULL}
        return run([COMMAND, *words], by=self.operator, timeout=deadline_s, env=self._environment, **settings)

    def play(self, name: str, *words: str, inventory: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a play; deploy, attempt, collect and site look for rehearsals in this session's bundles."""
        target = inventory or self.inventory
        vault = self.folder / "vault-password"
        has_key = (target / "group_vars" / "all" / "vault.yml").exists()
        more = ["--vault-password-file", str(vault)] if has_key else []
        return self.landspeed("real", name, str(target), "--runs", str(self.runs), *more, *words)

    def plain(self, name: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a play with Ansible alone, as one can, too."""
        vault = ["--vault-password-file", str(self.folder / "vault-password")]
        command = [str(COMMAND.parent / "ansible-playbook"), "-i", str(self.inventory / "hosts.yml"), *vault, *words]
        return self.lab.run(*command, f"{name}.yml", cwd=PLAYBOOKS, env=self._environment, timeout=PLAY_DEADLINE_S)

    def measured(self, name: str, *words: str, again: Callable[[], object] | None = None, plain: bool = False) -> Any:
        """Run a play that measures in real time; one in which the box stood still says nothing, and is run again.

        Args:
            name: of the play.
            words: for it.
            again: what is done before it is run again.
            plain: with Ansible alone.

        Returns:
            the play, as it ended at last.
        """
        said: list[str] = []
        for left in range(STALLED_PLAYS, -1, -1):
            done = (self.plain if plain else self.play)(name, *words)
            said = re.findall(f".*{STOOD_STILL}.*", done.stderr + done.stdout) if done.returncode else []
            if not said:
                return done
            if left and again is not None:
                again()
        return pytest.skip(f"the machine's, not the lab's: {said[0].strip()}")

    def must(self, name: str, *words: str) -> dict[str, int]:
        """Run a play that has to work.

        Returns:
            changes of each host.
        """
        done = self.measured(name, *words)
        assert done.returncode == 0, done.stdout + done.stderr
        return changes(name, done.stdout)

    def host(self, role: str, **more: str) -> str:
        """A server as a word for `landspeed real inventory`."""
        options = {"ssh_config": str(self.lab.folder / "ssh_config"), **more}
        if role in ADDRESS:
            options.setdefault("address", ADDRESS[role])
        login = options.pop("login", f"otto@{role}")
        return ",".join([login, *(f"{key}={value}" for key, value in options.items())])

    def make_inventory(self, out: Path, *more: str, **hosts: str) -> Path:
        """Write an inventory of the lab."""
        names = {role: self.host(role) for role in self.lab.hosts} | hosts
        words = [word for role, text in names.items() for word in (f"--{role}", text)]
        words += ["--late-timers", LATE_TIMERS]
        made = self.landspeed("real", "inventory", str(self.scenario), "--out", str(out), "--again", *words, *more)
        assert made.returncode == 0, made.stderr
        return out

    def dump(self) -> dict[str, str]:
        """Everything of every server that a play could change."""
        with ThreadPoolExecutor() as pool:
            return dict(
                zip(self.lab.hosts, pool.map(lambda host: self.lab.root(host, DUMP), self.lab.hosts), strict=True)
            )

    def kill_during(self, name: str, line: str, *words: str) -> str:
        """Start a play and `kill -9` it with all its processes when it says the line.

        Returns:
            all that it said.
        """
        process = self.start(name, *words)
        try:
            said = read_until(process, line)
        finally:
            kill_session(process.pid)
            rest, _ = process.communicate()
        assert process.returncode == -signal.SIGKILL, said + rest
        return said + rest

    def start(self, name: str, *words: str) -> subprocess.Popen[str]:
        """Start a play; what it says on both its outputs comes by `stdout`."""
        has_key = (self.inventory / "group_vars" / "all" / "vault.yml").exists()
        vault = ["--vault-password-file", str(self.folder / "vault-password")] if has_key else []
        return start(
            [COMMAND, "real", name, self.inventory, "--runs", self.runs, *vault, *words],
            self.operator,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env=self._environment,
        )


def read_until(process: subprocess.Popen[str], line: str) -> str:
    """What a play says, up to a line that has these words; fails when it ends without."""
    assert process.stdout is not None
    said = []
    for text in process.stdout:
        said.append(text)
        if line in text:
            return "".join(said)
    raise AssertionError(f"{line!r} was not said:\n{''.join(said)}")


def _content(file: str) -> bytes:
    with open(file, "rb") as opened:  # noqa: PTH123 (as below)
        return opened.read()


class SecretWatch(threading.Thread):
    """Looks for a secret in the command line and environment of every process, and in the files of a folder.

    What has not changed since it looked there is not read again: a process' words, a file's time.
    """

    def __init__(self, secret: str, folder: Path) -> None:
        """It begins with `with`."""
        super().__init__(daemon=True)
        self.secret = secret.encode()
        self.folder = folder
        self.looks = 0
        self.found: list[str] = []
        self._end = threading.Event()
        self._words: dict[str, bytes] = {}
        self._files: dict[str, tuple[int, ...]] = {}

    def run(self) -> None:
        """Look until the end."""
        while not self._end.wait(0.3):
            self.looks += 1
            processes = [each for each in os.listdir("/proc") if each.isdigit()]  # noqa: PTH208 (thousands of times)
            self._words = {each: self._look_at_process(f"/proc/{each}", self._words.get(each)) for each in processes}
            for folder, _, names in os.walk(self.folder):
                for name in names:
                    with contextlib.suppress(OSError):
                        self._look_at_file(f"{folder}/{name}")

    def _look_at_process(self, place: str, before: bytes | None) -> bytes:
        """Its words; none are a kernel's thread's, or of one that has ended."""
        with contextlib.suppress(OSError):
            words = _content(f"{place}/cmdline")
            if words and words != before:
                for name, content in (("cmdline", words), ("environ", _content(f"{place}/environ"))):
                    if self.secret in content:
                        self.found.append(f"{name} of {_content(f'{place}/comm').decode().strip()}")
            return words
        return b""  # not to be read now: looked at again

    def _look_at_file(self, file: str) -> None:
        about = os.stat(file, follow_symlinks=False)  # noqa: PTH116 (as above)
        now = (about.st_ino, about.st_size, about.st_mtime_ns)
        if stat.S_ISREG(about.st_mode) and self._files.get(file) != now:
            self._files[file] = now
            if self.secret in _content(file):
                self.found.append(file)

    def __enter__(self) -> SecretWatch:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self.join()


def kill_session(session: int) -> None:
    """`kill -9` of every process of a session; ansible-runner gives its play a session of its own, below it."""
    family = {session}
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
    grown = True
    while grown:
        grown = False
        for pid, parent in parents.items():
            if parent in family and pid not in family:
                family.add(pid)
                grown = True
    for pid in family:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def changes(name: str, out: str) -> dict[str, int]:
    """The last line of a play, such as `tune: receiver 1 changed, sender 1 changed`."""
    line = next(text for text in out.splitlines() if text.startswith(f"{name}: "))
    parts = line.partition(": ")[2].split(", ")
    return {part.split()[0]: int(part.split()[1]) for part in parts}


def lab_scenario(*, duration: str = "6 s", rate: str = "100 Mbit/s") -> dict[str, Any]:
    """132 ms each way over three links, two streams.

    No window is asked for: autotuning grows to what `tune` allows (tcp_rmem), while net.core.rmem_max is not the
    servers' own in a network namespace. Paced below the line's rate nothing is lost, so that two attempts are alike.
    """
    return {
        "format": 1,
        "name": "lab",
        "title": "A path of 264 ms in the lab",
        "mtu": "9000 B",
        "line_rate": rate,
        "queue": "1 BDP",
        "hosts": {"alpha": {"role": "sender", "nic": "10 Gbit/s"}, "omega": {"role": "receiver", "nic": "10 Gbit/s"}},
        "path": [
            {"from": "alpha", "to": "r1", "one_way_delay": "60 ms", "line_rate": "10 Gbit/s"},
            {"from": "r1", "to": "r2", "one_way_delay": "71 ms"},
            {"from": "r2", "to": "omega", "one_way_delay": "1 ms", "line_rate": "10 Gbit/s"},
        ],
        "transfer": {
            "streams": 2,
            "congestion_control": "reno",
            "duration": duration,
            "receive": "verify",
            "pacing": "45 Mbit/s",
        },
    }


def write_lab_scenario(file: Path, **options: str) -> Path:
    """The lab's scenario as a file."""
    file.write_text(json.dumps(lab_scenario(**options)))
    return file
