"""Starts the command `landspeed` by a fork of this process, which has imported what the command imports.

tests/support/command_process.py asks it: a socket is standard input, each packet asks for one process. What is forked
has the words, environment, folder and files that were asked for, and then runs the script that a user starts.
"""

import contextlib
import gc
import io
import json
import os
import select
import signal
import socket
import sys
import time
import types
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NoReturn

COMMAND = Path(sys.executable).parent / "landspeed"
PACKET = 1 << 20
FILES = 5  # standard input, output and error, the folder to be in, the socket for the answers
LATER = (
    *(
        "landspeed.runs.one_run",
        "landspeed.runs.scratch",
        "landspeed.runs.sweeps.variants",
        "landspeed.worlds.make_world",
    ),
    *("landspeed.results.query", "landspeed.scenario.importers.import_files", "landspeed.exporters.export", "html"),
    *(f"landspeed.worlds.real.{name}" for name in ("runner", "fleet", "rehearsal_gate", "unchanged")),
    "ansible_runner",
)
"""What commands import when they have begun."""


def import_all() -> set[str]:
    """Import what most commands do; the names of the variables that were looked up meanwhile."""
    read: set[str] = set()
    kind: Any = type(os.environ)
    look_up = kind.__getitem__

    def noted(self: Any, name: str) -> str:
        read.add(name)
        return look_up(self, name)

    kind.__getitem__ = noted
    main = import_module("landspeed.cli.main")
    from landspeed.cli.command_table import COMMANDS

    sys.meta_path.insert(0, main.ArrowAlone())  # it goes when pyarrow is imported
    for module, _ in COMMANDS.values():
        import_module(f"landspeed.cli.{module}")
    for group in ("landspeed.worlds", "landspeed.tools"):
        for point in entry_points(group=group):
            point.load()
    from landspeed.runs.preload import Imports

    later = Imports()  # those of the fork have not begun
    later.begin()
    later.wait()
    for name in LATER:
        import_module(name)
    kind.__getitem__ = look_up
    try_first(main)
    gc.collect()
    gc.freeze()
    return read


def try_first(main: Any) -> None:
    """Run a command here: forms, patterns and tables are made then for all forks."""
    with contextlib.redirect_stdout(io.StringIO()):
        main.main(["show", "first"])


def look_anew() -> None:
    """Forget which worlds and tools the packages have: there are others."""
    for each in vars(import_module("landspeed.worlds.registry")).values():
        if hasattr(each, "cache_clear"):
            each.cache_clear()


def become(job: dict[str, Any], files: list[int]) -> None:
    """In the fork: be as a process that was started with these words, variables and files."""
    for number, file in enumerate(files[:3]):
        os.dup2(file, number)
    os.fchdir(files[3])
    if job["session"]:
        os.setsid()
    for file in files:
        os.close(file)
    for name in set(os.environ) - set(job["variables"]):
        del os.environ[name]
    os.environ.update(job["variables"])
    time.tzset()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    Path("/proc/self/comm").write_text(COMMAND.name)
    folders = [str(Path(each).absolute()) for each in job["packages"]]
    sys.path[:] = [str(COMMAND.parent), *folders, *sys.path[1:]]
    if folders:
        look_anew()
    sys.argv[:] = [str(COMMAND), *job["words"]]
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        at_once = old.write_through  # PYTHONUNBUFFERED
        buffer = open(number, "wb" if number else "rb", 0 if at_once else -1, closefd=False)  # noqa: SIM115
        lines = number == 2 or buffer.isatty()
        new = io.TextIOWrapper(buffer, old.encoding, old.errors, line_buffering=lines, write_through=at_once)
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


def run() -> NoReturn:
    """What Python does with the script."""
    module = types.ModuleType("__main__")
    module.__file__ = str(COMMAND)
    sys.modules["__main__"] = module
    exec(compile(COMMAND.read_bytes(), COMMAND, "exec"), module.__dict__)
    sys.exit()


def serve(asked: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Fork for each packet, and tell who asked the process and its status; in a fork: what it is to do.

    None: who asks is gone.
    """
    running: dict[int, tuple[int, socket.socket]] = {}  # handle of a process → its id, and whom to tell
    while True:
        for ready in select.select([asked.fileno(), *running], [], [])[0]:
            if ready != asked.fileno():
                process, answers = running.pop(ready)
                _, status, used = os.wait4(process, 0)
                with answers, contextlib.suppress(OSError):
                    answers.send(json.dumps([status, used.ru_utime + used.ru_stime]).encode())
                os.close(ready)
                continue
            packet, files, _, _ = socket.recv_fds(asked, PACKET, FILES)
            if not packet:
                return None
            if not (process := os.fork()):
                for handle, (_, answers) in running.items():
                    os.close(handle)
                    answers.close()
                asked.close()
                return json.loads(packet), files
            answers = socket.socket(fileno=files.pop())
            for file in files:
                os.close(file)
            answers.send(str(process).encode())
            running[os.pidfd_open(process)] = process, answers


def begin() -> tuple[dict[str, Any], list[int]] | None:
    """Import, say what was looked up and is there now, and serve."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who asks
    asked = socket.socket(fileno=os.dup(0))
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    read = import_all()
    loaded = {name.partition(".")[0] for name in sys.modules}
    asked.send(json.dumps({"read": sorted(read), "loaded": sorted(loaded | set(sys.stdlib_module_names))}).encode())
    return serve(asked)


if job := begin():
    become(*job)
    run()
