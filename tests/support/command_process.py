"""A process of the command `landspeed`, without the time that a new Python takes for all imports.

Each pytest worker asks a server of its own (programs/command_server.py), which has imported the package, to fork. What
is forked is what subprocess would have started: words, variables, folder, files, output, exit status, death by a signal
and a deadline are the same (tests/cli/test_command_process.py). Where they would not be, there is a new Python: with
other rights, cores, namespaces or limits than the server began with, with variables that Python, a library's loader or
an import reads, with a package of the user's in the place of one that is loaded, or where lines are counted.
"""

import ctypes
import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Self

COMMAND = Path(sys.executable).parent / "landspeed"
SERVER = Path(__file__).parent / "programs" / "command_server.py"
PACKET = 1 << 20
OPTIONS = {"cwd", "env", "stdin", "stdout", "stderr", "text", "start_new_session"}
"""What of subprocess.Popen's the server can do."""
PACKAGES = "PYTHONPATH"
AT_START = ("PYTHON", "COVERAGE", "LD_", "LC_", "LANG", "MALLOC", "GLIBC", "OMP_", "OPENBLAS", "ARROW", "NPY", "NUMPY")
"""How the names of variables begin that are read before Python reads a program, or by what is not Python."""
USED_S: list[float] = []
"""Processor seconds of each process that was forked and has ended; they are no children of this one."""
HANDED_ON = ("Umask", "Uid", "Gid", "Groups", "SigBlk", "SigIgn", "Cap", "NoNewPrivs", "Seccomp", "Cpus_", "Mems_")
"""Lines of /proc/self/status on what a process has of the one that starts it."""


def handed_on(process: int = 0) -> list[str]:
    """What a process (0: this thread) has of the one that starts it, words, variables, folder and files aside."""
    own = Path("/proc", str(process or "thread-self"))
    lines = [line for line in (own / "status").read_text().splitlines() if line.startswith(HANDED_ON)]
    places = [str(each.readlink()) for each in (*sorted((own / "ns").iterdir()), own / "root")]
    priority = os.getpriority(os.PRIO_PROCESS, process)
    numbers = [os.getsid(process), os.getpgid(process), priority, os.sched_getscheduler(process)]
    return [*lines, *places, *map(str, numbers), (own / "limits").read_text(), (own / "cgroup").read_text()]


def variables_of(options: Mapping[str, Any]) -> Mapping[str, str]:
    """The variables that a new process has: if none are given, those of this one, with what a library in C has set."""
    if (given := options.get("env")) is not None:
        return given
    found = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
    lines: list[bytes] = []
    while line := found[len(lines)]:
        lines.append(line)
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in (line.partition(b"=") for line in lines)}


class Server:
    """A server of this worker, which ends with it, or with a context."""

    def __init__(self, more: Mapping[str, str], under: Sequence[str] = ()) -> None:
        """Start it with this process' variables and more, and wait until it has imported all.

        `under` are the words of a program that starts it and then is it, such as `nsenter`; they start the command too.
        """
        self.under = under
        self.used_s: list[float] = []
        self._began = handed_on()
        self._variables = {name: value for name, value in {**os.environ, **more}.items() if name != PACKAGES}
        self._asked, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                [*under, sys.executable, SERVER],
                cwd="/",
                env=self._variables,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
            )
        told = json.loads(self._asked.recv(PACKET))
        self._read, self._loaded = set(told["read"]), set(told["loaded"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End it; what it forked goes on."""
        self._asked.close()
        self.process.wait()
        USED_S.append(-sum(self.used_s))  # it was counted with this child now

    def needs(self, name: str) -> bool:
        """Whether a variable did its work when the server began."""
        return name != PACKAGES and (name.startswith(AT_START) or name in self._read)

    def serves(self, variables: Mapping[str, str], process: int = 0) -> bool:
        """Whether a fork of it is as a new process would be that this one (0: this thread) starts."""
        names = {each for each in variables.keys() | self._variables.keys() if self.needs(each)}
        if any(variables.get(each) != self._variables.get(each) for each in names):
            return False
        return not self._loaded & _modules(variables) and handed_on(process) == self._began

    def fork(self, job: dict[str, Any], files: Sequence[int]) -> tuple[int, socket.socket]:
        """Id of a new process, and the socket on which its status comes; its folder is the last of the files."""
        answers, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            socket.send_fds(self._asked, [json.dumps(job).encode()], [*files, theirs.fileno()])
        return int(answers.recv(PACKET)), answers


def _modules(variables: Mapping[str, str]) -> set[str]:
    """Names of the modules that are in the user's folders for packages."""
    folders = [Path(each) for each in packages_of(variables)]
    return {file.name.partition(".")[0] for each in folders if each.is_dir() for file in each.iterdir()}


def packages_of(variables: Mapping[str, str]) -> list[str]:
    """The user's folders for packages."""
    return [each for each in variables.get(PACKAGES, "").split(os.pathsep) if each]


@cache
def server(locale: str = "") -> Server:
    """That of this worker with its own locale, or another."""
    return Server({"LC_ALL": locale} if locale else {})


class CommandProcess(subprocess.Popen[Any]):
    """As subprocess.Popen starts the command; the server forks it and waits for it."""

    _answers: socket.socket

    def __init__(self, words: Sequence[str], by: Server, **options: Any) -> None:
        """With the server that forks it."""
        self._server = by
        super().__init__(words, **options)

    def _execute_child(self, args: Sequence[str], *others: Any) -> None:
        cwd, variables, pipes = others[4], variables_of({"env": others[5]}), others[9:15]
        given = [number if file == -1 else file for number, file in enumerate((pipes[0], pipes[3], pipes[5]))]
        folder = os.open(cwd or ".", os.O_RDONLY | os.O_DIRECTORY)
        try:
            job = {"words": args[1:], "variables": dict(variables), "packages": packages_of(variables)}
            self.pid, self._answers = self._server.fork(job | {"session": others[20]}, [*given, folder])
        finally:
            os.close(folder)
        own: Any = self
        own._child_created = True
        own._close_pipe_fds(*pipes)

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if wait_flags & os.WNOHANG and not select.select([self._answers], [], [], 0)[0]:
            return 0, 0
        with self._answers:
            status, used_s = json.loads(self._answers.recv(PACKET))
        USED_S.append(used_s)
        self._server.used_s.append(used_s)
        return self.pid, status

    def _internal_poll(self, _deadstate: int | None = None) -> int | None:
        above: Any = super()
        return above._internal_poll(_deadstate, lambda _, flags: self._try_wait(flags))


def may_fork(words: Sequence[str], options: Mapping[str, Any], by: Server | None = None) -> bool:
    """Whether a fork comes to the same as a new process with these words and options of subprocess.Popen."""
    return words[0] == str(COMMAND) and options.keys() <= OPTIONS and (by or server()).serves(variables_of(options))


def start(words: Sequence[object], by: Server | None = None, **options: Any) -> subprocess.Popen[Any]:
    """As subprocess.Popen, which it is unless a fork comes to the same: by this worker's server, or another."""
    texts = [str(word) for word in words]
    if may_fork(texts, options, by):
        return CommandProcess(texts, by or server(), **options)
    return subprocess.Popen([*(by.under if by else ()), *texts], **options)


def run(
    words: Sequence[object],
    *,
    by: Server | None = None,
    input: str | bytes | None = None,
    capture_output: bool = False,
    timeout: float | None = None,
    check: bool = False,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """As subprocess.run; `by` as for `start`."""
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if input is not None:
        options["stdin"] = subprocess.PIPE
    with start(words, by, **options) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(process.args, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done
