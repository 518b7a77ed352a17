"""Start, use and remove a lab of three servers. `make lab` and `make lab-down` run this; tests use the class.

python tests/lab/lab.py up        boot sender, receiver, shaper; print how to use them
python tests/lab/lab.py up N      boot sender1 … senderN and receiver1 … receiverN instead, without a shaper (N: 1 to 4)
python tests/lab/lab.py down      remove all of it
python tests/lab/lab.py run …     run a command on the operator's machine of the lab
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from landspeed.base.places import ROOT
from landspeed.worlds.emu.kernel_build import KernelError, find_kernel
from landspeed.worlds.emu.kernel_choice import tracing_words
from tests.lab.supervisor import CGROUPS, DATA, FLEET, MANAGEMENT, NSPAWN_HOSTS
from tests.lab.tree import OPERATOR, SUITE, VISITOR, TreeError, find_or_make_tree, lab_cache

BOOT_DEADLINE_S = 120.0
SUPERVISOR = Path(__file__).resolve().parent / "supervisor.py"
MODULES = ROOT / "playbooks" / "plugins" / "module_utils"
STATES = "/var/cache/landspeed-states"  # on a server


class LabError(Exception):
    """The lab cannot be had; the message says what to do."""


@dataclass
class Lab:
    """A running lab.

    Attributes:
        folder: keys, ssh_config, the servers' consoles.
        pid: its first process; the lab ends with it.
    """

    folder: Path
    pid: int

    @classmethod
    def up(
        cls,
        name: str,
        hosts: Sequence[str] = NSPAWN_HOSTS,
        suites: Mapping[str, str] = MappingProxyType({}),
        *,
        shaper: bool = True,
    ) -> Lab:
        """Boot a lab and wait until every server answers ssh.

        Args:
            name: another one than that of any other lab that runs.
            hosts: its servers; between others than a sender and a receiver there is no shaper.
            suites: of servers that are no Debian 12 (tree.COMPONENTS).
            shaper: whether there is one; else the wire itself routes.

        Raises:
            LabError, TreeError, KernelError: something is missing or a server did not come up.
        """
        if os.geteuid() != 0:
            raise LabError("the lab needs root (network namespaces, systemd-nspawn, taps): run it with sudo")
        for tool in ("systemd-nspawn", "mmdebstrap", "ip", "nsenter", "ssh", "ssh-keygen"):
            if not shutil.which(tool):
                raise LabError(f"{tool} is missing; run `setup/setup.sh test`")
        folder = lab_cache() / "running" / name
        if _alive(folder):
            raise LabError(f"the lab {name} is running already; `make lab-down` removes it")
        _remove(folder)
        trees = {host: str(find_or_make_tree(suites.get(host, SUITE))) for host in (*hosts, "shaper")}
        kernel = _shaper_kernel() if shaper and tuple(hosts) == NSPAWN_HOSTS else []
        folder.mkdir(parents=True, mode=0o700)
        _make_keys(folder, hosts)
        job = {"trees": trees, "kernel": kernel, "group": _group(folder), "users": [OPERATOR, VISITOR]}
        job["hosts"] = [*hosts]
        (folder / "lab.json").write_text(json.dumps(job))
        words = ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "--mount-proc"]
        with (folder / "supervisor.log").open("wb") as log:
            outer = subprocess.Popen(
                [*words, sys.executable, str(SUPERVISOR), str(folder)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        (folder / "pid").write_text(str(outer.pid))
        lab = cls(folder, outer.pid)
        try:
            lab._wait(outer)
        except BaseException:
            lab.down()
            raise
        return lab

    @classmethod
    def find(cls, name: str) -> Lab:
        """The running lab of a name.

        Raises:
            LabError: there is none.
        """
        folder = lab_cache() / "running" / name
        if not _alive(folder):
            raise LabError("no lab is running; `make lab` starts one")
        return cls(folder, int((folder / "pid").read_text()))

    def down(self) -> None:
        """End every process of the lab and remove its folder and control groups."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)  # --kill-child: the PID namespace's first process, and all with it
        deadline = time.monotonic() + 20
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        while _processes(_group(self.folder)) and time.monotonic() < deadline:
            time.sleep(0.05)
        _remove(self.folder)

    @property
    def hosts(self) -> list[str]:
        """Names of the servers."""
        job = json.loads((self.folder / "lab.json").read_text())
        return [*job["hosts"], *(["shaper"] if job["kernel"] else [])]

    def operator_command(self, *words: str) -> list[str]:
        """The command that runs these words on the operator's machine."""
        return ["nsenter", "--target", self._first(), "--net", "--", *words]

    def run(self, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a command on the operator's machine."""
        return subprocess.run(
            self.operator_command(*words),
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            **options,
        )

    def ssh(self, host: str, command: str, *, user: str = OPERATOR) -> subprocess.CompletedProcess[str]:
        """Run a shell command on a server."""
        return self.run("ssh", "-F", str(self.folder / "ssh_config"), "-l", user, host, command)

    def root(self, host: str, command: str) -> str:
        """Output of a shell command as root on a server; fails when it fails."""
        done = self.ssh(host, "sudo sh -c " + _quote(command))
        if done.returncode:
            raise LabError(f"{host}: {command}: {done.stdout}{done.stderr}")
        return done.stdout

    def wire(self, command: str) -> None:
        """Run a shell command where the cables are: bridges lan-a and lan-b, and their ports."""
        namespace = Path("/proc") / self._first() / "root/run/netns/wire"
        subprocess.run(["nsenter", f"--net={namespace}", "sh", "-c", command], check=True, capture_output=True)

    def cut_power(self, host: str) -> None:
        """Kill all that runs on a server, and boot it again; wait until it answers."""
        before = self.root(host, "cat /proc/sys/kernel/random/boot_id")
        (self.folder / f"{host}.again").touch()
        for hierarchy in CGROUPS:
            for file in (hierarchy / _group(self.folder) / host).rglob("cgroup.procs"):
                for pid in file.read_text().split():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(pid), signal.SIGKILL)
        deadline = time.monotonic() + BOOT_DEADLINE_S
        while self.ssh(host, "cat /proc/sys/kernel/random/boot_id").stdout in ("", before):
            if time.monotonic() > deadline:
                raise LabError(f"{host} did not boot again:\n{self._logs()}")
            time.sleep(0.3)

    def fill_disk(self, host: str, *, full: bool) -> None:
        """Leave a server's disk no free byte, or give it back what it had."""
        place = f"/run/lab/{host}/memory"
        found = os.statvfs(f"/proc/{self._first()}/root{place}")
        size = (found.f_blocks - found.f_bfree) * found.f_frsize if full else "50%"
        words = ["nsenter", "--target", self._first(), "--mount", "mount", "-o", f"remount,size={size}", place]
        subprocess.run(words, check=True, capture_output=True)

    def keep(self, name: str, *, bring: bool = False) -> None:
        """Keep the servers' states by a name, or bring them back without the plays that made them (server_state.py)."""
        for host in self.hosts:
            place = self.place(host, STATES)
            if not place.exists():
                shutil.copytree(MODULES, place / MODULES.relative_to(ROOT))
                shutil.copy(SUPERVISOR.with_name("server_state.py"), place)
            self.root(host, f"python3 -B {STATES}/server_state.py {'bring' if bring else 'keep'} {name}")

    def place(self, host: str, path: str) -> Path:
        """A file or folder of a server, as this machine sees it."""
        return Path(f"/proc/{self._first()}/root/run/lab/{host}/root{path}")

    def _first(self) -> str:
        return Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()[0]

    def _wait(self, outer: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + BOOT_DEADLINE_S
        waiting = set(self.hosts)
        while waiting:
            if outer.poll() is not None or time.monotonic() > deadline:
                raise LabError(f"the lab did not boot ({', '.join(sorted(waiting))} missing):\n{self._logs()}")
            if (self.folder / "booting").exists():
                waiting = {host for host in waiting if self.ssh(host, "true").returncode}
            if waiting:
                time.sleep(0.3)

    def _logs(self) -> str:
        return "\n".join(
            f"--- {log.name}\n" + "\n".join(log.read_text(errors="replace").splitlines()[-12:])
            for log in sorted(self.folder.glob("*.log"))
        )


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _shaper_kernel() -> list[str]:
    """Words that start the shaper's kernel; none with LANDSPEED_LAB_SHAPER=0, where the wire itself routes."""
    if os.environ.get("LANDSPEED_LAB_SHAPER") == "0":
        return []
    kernel = find_kernel()
    return [str(kernel.executable), *tracing_words(kernel, "auto")]


def _make_keys(folder: Path, hosts: Sequence[str]) -> None:
    for name in ("operator", *(f"host_{host}" for host in (*hosts, "shaper"))):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "landspeed-lab", "-f", str(folder / name)], check=True
        )
    known = [
        f"{host},{address} {(folder / f'host_{host}.pub').read_text().strip()}"
        for host, address in MANAGEMENT.items()
        if host in (*hosts, "shaper")
    ]
    (folder / "known_hosts").write_text("\n".join(known) + "\n")
    lines = ["Host *", f"  IdentityFile {folder}/operator", f"  UserKnownHostsFile {folder}/known_hosts"]
    lines += [
        f"  User {OPERATOR}",
        "  IdentitiesOnly yes",
        "  KexAlgorithms curve25519-sha256",  # of a login with ssh's first choice, sntrup761, the keys are four fifths
        "  StrictHostKeyChecking yes",
        "  ConnectTimeout 5",
        "  ServerAliveInterval 10",
        "  LogLevel ERROR",
    ]
    lines += [f"Host {host}\n  HostName {address}" for host, address in MANAGEMENT.items()]
    (folder / "ssh_config").write_text("\n".join(lines) + "\n")


def _group(folder: Path) -> str:
    return f"landspeed-lab-{folder.name}"


def _processes(group: str) -> bool:
    places = (hierarchy / group for hierarchy in CGROUPS)
    return any(file.read_text().strip() for place in places for file in place.rglob("cgroup.procs"))


def _alive(folder: Path) -> bool:
    with contextlib.suppress(OSError, ValueError):
        pid = int((folder / "pid").read_text())
        return str(folder).encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def _remove(folder: Path) -> None:
    for hierarchy in CGROUPS:
        place = hierarchy / _group(folder)
        for group in sorted((path for path in place.rglob("*") if path.is_dir()), reverse=True):
            group.rmdir()
        if place.exists():
            place.rmdir()
    shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """The command."""
    try:
        action = sys.argv[1] if len(sys.argv) > 1 else ""
        if action == "up":
            pairs = sys.argv[2] if len(sys.argv) > 2 else "0"
            hosts = [host for host in FLEET if host[-1] <= pairs] or [*NSPAWN_HOSTS]
            lab = Lab.up("lab", hosts)
            shown = " ".join([sys.executable, __file__, "run"])
            print(f"{', '.join(lab.hosts)} are up; you are {OPERATOR} there. Their addresses on the path:")
            for host in hosts:
                print(f"  {host} {DATA[host][0]}")
            print("On the operator's machine of the lab:")
            print(f"  {shown} ssh -F {lab.folder}/ssh_config {hosts[0]}")
            print(f"  {shown} bash")
            print("make lab-down removes it.")
        elif action == "down":
            folder = lab_cache() / "running" / "lab"
            if _alive(folder):
                Lab.find("lab").down()
            _remove(folder)
        elif action == "run" and len(sys.argv) > 2:
            return subprocess.run(Lab.find("lab").operator_command(*sys.argv[2:]), check=False).returncode
        else:
            print(__doc__, file=sys.stderr)
            return 2
    except (LabError, TreeError, KernelError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
