"""Which build of the C and C++ programs the tests drive, and what a sanitizer in it reports.

    LANDSPEED_ENGINE_BUILD=asan|tsan|coverage   the transfer engine (`make sanitize`, `make coverage-engine`)
    LANDSPEED_SIM_BUILD=asan                    the simulator

Without a word it is the build that users have. A report of a sanitizer fails the test in which it was written, also
when nobody reads what the process says; one that comes later fails the whole.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = ["-Db_sanitize=address,undefined", "-Db_lundef=false"]
# ns-3 of the distribution knows no sanitizer: its classes have no types that `vptr` could look up.
SIMULATOR = [*ADDRESS, "-Dcpp_args=-fno-sanitize=vptr", "--buildtype=debugoptimized"]
LINES_ALONE = ["-Doptimization=1", "-Ddebug=false", "-Dc_args=-g1"]
# What each word means in each room: a folder beside the users' own, and how it is made.
OPTIONS = {
    "engine": {
        # Built in half of the time that -O2 -g takes, and as fast to run: what they check is most of the work. Reports
        # name lines, which is all that they need of what -g writes.
        "asan": [ADDRESS[0], *LINES_ALONE],
        "tsan": ["-Db_sanitize=thread", *LINES_ALONE],
        # Threads count what they run without losing counts of each other.
        "coverage": ["-Db_coverage=true", "-Dc_args=-fprofile-update=atomic"],
    },
    "sim": {"asan": SIMULATOR},
    "emu/launch": {"asan": ADDRESS[:1]},
    "emu/linkwatch": {"asan": ADDRESS[:1]},
}
SANITIZERS = ("asan", "tsan")
REPORTS = "LANDSPEED_SANITIZER_REPORTS"  # the folder, for the workers too


def chosen(room: str) -> str:
    """The build of a room: "" for the users' own, or a word of OPTIONS."""
    word = os.environ.get(f"LANDSPEED_{room.partition('/')[0].upper()}_BUILD", "")
    if word and word not in OPTIONS[room]:
        raise pytest.UsageError(f"{room} has no build {word!r}; it has {', '.join(OPTIONS[room])}")
    return word


def sanitized(room: str = "engine") -> bool:
    """Whether the build of that room finds faults: it is slow, and takes much memory."""
    return chosen(room) in SANITIZERS


def patience(room: str = "engine") -> int:
    """How many times as long as the users' build it may take."""
    if not chosen(room):
        return 1
    return 12 if room == "sim" else 4  # ns-3's templates are compiled into the simulator, with all their checks


def build(folder: Path, source: Path, *options: str) -> None:
    """Build with meson in `folder` what has changed there; of workers that ask at once one does it."""
    folder.mkdir(exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        if not (folder / "build.ninja").exists():
            _must("meson", "setup", str(folder), str(source), *options)
        _must("ninja", "-C", str(folder))
    finally:
        os.close(handle)


def _must(*words: str) -> None:
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def build_of(room: str, word: str | None = None) -> Path:
    """The folder of a room's build, of the sources as they are now; the chosen one when no word is given."""
    word = chosen(room) if word is None else word
    folder = ROOT / room / (f"build-{word}" if word else "build")
    build(folder, ROOT / room, *(OPTIONS[room][word] if word else []))
    return folder


def preloaded(library: Path) -> str:
    """A library for LD_PRELOAD; a sanitizer's own has to come first."""
    name = {"asan": "libasan.so", "tsan": "libtsan.so"}.get(chosen("engine"))
    if name is None:
        return str(library)
    words = ["gcc", f"-print-file-name={name}"]
    own = subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()
    return f"{own}:{library}"


# --- Reports ---------------------------------------------------------------------------------------------------------


def begin_reports() -> None:
    """From now on what is started writes its reports into a folder; for the process that runs or spreads the tests."""
    if REPORTS in os.environ or not any(os.environ.get(f"LANDSPEED_{room}_BUILD") for room in ("ENGINE", "SIM", "EMU")):
        return
    folder = Path(tempfile.mkdtemp(prefix="landspeed-reports-"))
    folder.chmod(0o1777)  # ordinary users' processes are among the tested
    os.environ[REPORTS] = str(folder)


def use_reports(worker: str) -> None:
    """What is started by this worker writes there, into a folder of its own."""
    if REPORTS not in os.environ:
        return
    folder = Path(os.environ[REPORTS], worker)
    folder.mkdir(exist_ok=True)
    folder.chmod(0o1777)
    common = f"log_path={folder}/report"
    settings = {
        # No detect_stack_use_after_return: GCC below 13.3 puts vectors of 64 bytes where their alignment is not (bug
        # 110027), and the engine's payload is made with such.
        "ASAN": f"{common}:detect_leaks=1:detect_stack_use_after_return=0:strict_string_checks=1",
        "UBSAN": f"{common}:halt_on_error=1:print_stacktrace=1",
        "TSAN": f"{common}:halt_on_error=0:second_deadlock_stack=1",
    }
    os.environ.update({f"{name}_OPTIONS": value for name, value in settings.items()})
    os.environ["GCOV_ERROR_FILE"] = os.devnull  # an ordinary user cannot write counters, and need not say so


def _reports(folder: Path) -> str:
    return "\n".join(f"{file}:\n{file.read_text(errors='replace')}" for file in sorted(folder.rglob("report.*")))


def new_reports(worker: str) -> str:
    """What sanitizers have reported to this worker since it asked last."""
    if REPORTS not in os.environ:
        return ""
    folder = Path(os.environ[REPORTS], worker)
    found = _reports(folder)
    for file in folder.glob("report.*"):
        file.unlink()
    return found


def end_reports() -> str:
    """What was reported after the tests; the folder goes."""
    if REPORTS not in os.environ:
        return ""
    folder = Path(os.environ.pop(REPORTS))
    found = _reports(folder)
    shutil.rmtree(folder)
    return found
