"""The virtual-time kernel: found in the cache, or built once from the distribution's own Linux source.

The cache key is a hash of everything that shapes the result (source archive, options, patches), so a changed option
rebuilds and an unchanged one never does. Only the executable, its configuration and two symbol addresses are kept, and
the modules, which are built for those who ask (`landspeed mn`).
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from landspeed.base.places import ROOT, is_clone
from landspeed.worlds.built_programs import REINSTALL, program_trouble
from landspeed.worlds.emu.kernel_modules import MODULES, keep_modules, modules_beside
from landspeed.worlds.emu.kernel_objects import run_logged, write_trace
from landspeed.worlds.emu.kernel_source import (
    PACKAGES_IN,
    KernelError,
    Patch,
    Recipe,
    archives,
    cache_root,
    fitting,
    is_needed,
    numbers,
    package_version,
    series_of,
)
from landspeed.worlds.emu.kernel_wheel import WHEEL, unpack_kernel

RECIPE = ROOT / "emu" / "kernel"
PACKED = RECIPE / "built"  # a wheel brings its kernel along (setup/wheel.sh)
COMPILER = "cc.sh"  # in it: says which files are optimized in full
SOURCES = Path("/usr/src")
BUILD_STAMP = {"TIMESTAMP": "2026-01-01 00:00:00 UTC", "USER": "landspeed", "HOST": "landspeed", "VERSION": "1"}
# Read by the watchdog in the memory of the running kernel: its clock, and the name of the task it runs.
SYMBOLS = ("time_travel_time", "um_running_comm")
# How it runs programs: by ptrace, or by seccomp (not 0). Linux before 6.16 has ptrace alone.
TRACING_SYMBOL = "using_seccomp"
SPIN_SYMBOL = "time_travel_spin"  # of patch 0018, which older builds lack
DUALPI2_SYMBOL = "dualpi2_qdisc_ops"  # Linux 6.17
# Linux 7.0; of the sysctl among the texts of the program, as the compiler may leave no function of it.
ACCURATE_ECN_NAME = b"\0tcp_ecn_option\0"
TLS_NAME = b"\0tls-strp\0"  # of its parser among the texts of the program: a configuration without it has none
MPTCP_NAME = b"\0mptcp_pm\0"  # of its path manager among the texts of the program: a configuration without it has none
DEBUG_INFO = "CONFIG_DEBUG_INFO=y\n"
SECOND_CORE_SYMBOLS = ("stub_looks", "stub_core", "stub_turns", "stub_wakes")  # of patch 0029
MORE_SYMBOLS = (TRACING_SYMBOL, SPIN_SYMBOL, DUALPI2_SYMBOL, *SECOND_CORE_SYMBOLS)


@dataclass(frozen=True)
class Kernel:
    """A built kernel.

    Attributes:
        executable: the `linux` program.
        key: hash of source, options and patches.
        version: release, such as ``6.12.117``.
        symbols: address of each of `SYMBOLS` in the process, and of those of `MORE_SYMBOLS` that it has.
        source: package and version of the source; "" when it is not known.
        left_out: names of the patches for speed that did not fit.
        own: names of the patches that its user added to the recipe's.
        recipe: key of the recipe alone: `key`, where the user added none.
    """

    executable: Path
    key: str
    version: str
    symbols: dict[str, int]
    source: str = ""
    left_out: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    recipe: str = ""

    @property
    def name(self) -> str:
        """Release, and what was added to it: 6.12.117, 7.3.4+my-patch."""
        return "+".join((self.version, *self.own))

    @property
    def modules(self) -> list[Path]:
        """Files of its modules, each after those that it needs; none where they are not built."""
        return modules_beside(self.executable)

    @property
    def series(self) -> str:
        """6.12 of 6.12.117."""
        return ".".join(self.version.split(".")[:2])

    @property
    def can_seccomp(self) -> bool:
        """True if it can run programs without ptrace."""
        return TRACING_SYMBOL in self.symbols

    @property
    def can_spin(self) -> bool:
        """True if virtual time can move on for programs that spin."""
        return SPIN_SYMBOL in self.symbols

    @property
    def can_dualpi2(self) -> bool:
        """True if it has the queue discipline dualpi2."""
        return DUALPI2_SYMBOL in self.symbols

    @property
    def can_accurate_ecn(self) -> bool:
        """True if its TCP can negotiate accurate ECN."""
        return ACCURATE_ECN_NAME in self.executable.read_bytes()

    @property
    def can_tls(self) -> bool:
        """True if it can make and open the records of TLS."""
        return TLS_NAME in self.executable.read_bytes()

    @property
    def can_mptcp(self) -> bool:
        """True if it has multipath TCP."""
        return MPTCP_NAME in self.executable.read_bytes()


def fetched_sources() -> Path:
    """Folder of the sources that were brought without being installed."""
    return cache_root() / "sources"


def find_source(series: str | None = None) -> Path:
    """The source archive of a series; None: of the first installed one that the patches are known to fit.

    Raises:
        KernelError: it is not on this machine.
    """
    if series is not None:
        if archive := archives(SOURCES, fetched_sources()).get(series):
            return archive
        raise KernelError(f"no source of Linux {series} here; `landspeed kernel build {series}` downloads it")
    known = fitting(RECIPE)
    here = archives(SOURCES, SOURCES)
    if good := next((here[each] for each in known if each in here), None):
        return good
    others = ", ".join(sorted(here, key=numbers))
    found = f" (there is {others}; `landspeed kernel build VERSION` tries another one)" if others else ""
    raise KernelError(
        f"no Linux source in {SOURCES} of a release that the patches are known to fit: {', '.join(known)}{found}; "
        f"install the distribution's package ({PACKAGES_IN}), or run `make setup`"
    )


def kernel_key(archive: Path, own: Sequence[Patch] = ()) -> str:
    """Sixteen hex digits that change with source version, options or patches, also those that the user adds."""
    digest = hashlib.sha256(package_version(archive).encode())
    recipe = Recipe.of(RECIPE, series_of(archive.name) or "0", own)
    files = ((file.name, file.read_text(encoding="utf-8")) for file in (*recipe.configs, RECIPE / COMPILER))
    for name, text in (*files, *((patch.name, patch.text) for patch in recipe.patches)):
        digest.update(f"{name}\0{text}".encode())
    return digest.hexdigest()[:16]


def read_built(folder: Path) -> Kernel | None:
    """The kernel in a folder; None if there is none that can be executed."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        about = json.loads((folder / "kernel.json").read_text())
        executable = folder / "linux"
        if os.access(executable, os.X_OK):
            more = about.get("source", ""), tuple(about.get("left_out", ())), tuple(about.get("own", ()))
            key = about["key"]
            return Kernel(executable, key, about["version"], about["symbols"], *more, about.get("recipe", key))
    return None


def kernels_folder() -> Path:
    """Folder of the built kernels, each in a folder that its key names."""
    return cache_root() / "kernel"


def built_kernels() -> list[Kernel]:
    """List all kernels in the cache, of any recipe, the newest build of a series before its older ones."""
    found = [kernel for folder in kernels_folder().glob("*") if (kernel := read_built(folder))]
    return sorted(found, key=lambda each: (numbers(each.series), -each.executable.stat().st_mtime))


def kernel_with_modules() -> Kernel:
    """The kernel that `find_kernel` finds, with its modules, which are built if the cache has none.

    Raises:
        KernelError: no kernel, no source, or the build failed.
    """
    kernel = find_kernel()
    if kernel.modules:
        return kernel
    if not is_clone():
        raise KernelError(f"{kernel.executable.parent} has no modules; {REINSTALL}")
    with contextlib.redirect_stdout(sys.stderr):
        return build_kernel(modules=True)


def find_kernel() -> Kernel:
    """The built kernel of the present recipe, or the one of the wheel.

    Raises:
        KernelError: it has not been built, or cannot be executed where it is.
    """
    if not is_clone():
        return _packed_kernel()
    try:
        key = kernel_key(find_source())
    except KernelError:  # the source may be gone once the kernel is there
        known = fitting(RECIPE)
        if built := [kernel for kernel in built_kernels() if kernel.series in known and not kernel.own]:
            return min(built, key=lambda kernel: known.index(kernel.series))
        raise
    kernel = read_built(kernels_folder() / key)
    if kernel is None:
        raise KernelError(f"the virtual-time kernel {key} is not built; run `make setup`")
    return kernel


def _packed_kernel() -> Kernel:
    if (kernel := read_built(PACKED)) is None:
        raise KernelError(program_trouble(PACKED / "linux") or f"{PACKED}: kernel.json is damaged; {REINSTALL}")
    return kernel


@contextlib.contextmanager
def _locked(path: Path) -> Generator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)  # two set-ups at once: the second waits and finds it done
        yield


def _in_cache(folder: Path, *, modules: bool) -> Kernel | None:
    kernel = read_built(folder)
    if kernel is None or (modules and not kernel.modules):
        return None
    print(f"kernel: {kernel.key} (Linux {kernel.name}) is in the cache")
    return kernel


def build_kernel(series: str | None = None, *, modules: bool = False, own: Sequence[Patch] = ()) -> Kernel:
    """The kernel of the present recipe, built if neither cache nor `LANDSPEED_WHEEL` has it (minutes on two cores).

    Args:
        series: such as 6.12, whose source is on this machine; None: the one that `make setup` takes.
        modules: its modules too; where the kernel is there, they alone.
        own: patches that come after those of the recipe, and must fit.

    Raises:
        KernelError: no source, or the build failed; the message names the log.
    """
    archive = find_source(series)
    key = kernel_key(archive, own)
    root = kernels_folder()
    if kernel := _in_cache(root / key, modules=modules):  # nor is somebody else's build waited for
        return kernel
    with _locked(root / f"{key}.lock"):  # other recipes are built beside it
        if kernel := _in_cache(root / key, modules=modules):
            return kernel
        there = read_built(root / key) is not None
        targets = (MODULES,) if there else ("linux", MODULES)[: 1 + modules]
        scratch = Path(tempfile.mkdtemp(prefix="build-", dir=root))
        log = root / f"{key}.log"
        try:
            wheel = os.environ.get(WHEEL)
            if not (wheel and unpack_kernel(Path(wheel), key, scratch / "result")):
                print(f"kernel: building {key} from {archive.name} (log: {log})", flush=True)
                with log.open("a" if there else "w") as out:  # what the program is made of stays known
                    _build(archive, scratch, key, out, targets, own=own)
            part = MODULES if there else ""
            shutil.rmtree(root / key / part, ignore_errors=True)  # one that cannot be used
            (scratch / "result" / part).rename(root / key / part)
        except subprocess.CalledProcessError as error:
            tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
            raise KernelError(f"kernel build failed at {error.cmd!r}; the end of {log}:\n{tail}") from error
        except (OSError, EOFError, tarfile.TarError, lzma.LZMAError) as error:
            raise KernelError(f"{archive}: the kernel cannot be built, reading or writing failed: {error}") from error
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    if (kernel := read_built(root / key)) is None:
        raise KernelError(f"the virtual-time kernel {key} was built, and cannot be executed in {root / key}")
    return kernel


def _failure(*command: str, cwd: Path, text: str = "") -> str:
    """Return what a command printed that failed; "" if it did not."""
    done = subprocess.run(command, cwd=cwd, check=False, capture_output=True, input=text.encode())
    words = " ".join((done.stdout + done.stderr).decode(errors="replace").split())
    return (words or "no reason was given") if done.returncode else ""


def _build(
    archive: Path, scratch: Path, key: str, log: TextIO, targets: tuple[str, ...], *, own: Sequence[Patch]
) -> None:
    began: dict[str, float] = {}

    def run(*command: str, cwd: Path, check: bool = True) -> None:
        print("+", *command, file=log, flush=True)
        # The same recipe gives the same kernel everywhere.
        stamp = {f"KBUILD_BUILD_{name}": value for name, value in BUILD_STAMP.items()}
        if "linux" not in targets:  # what the program exports is not known then: a name that it lacks shows when loaded
            stamp["KBUILD_MODPOST_WARN"] = "1"
        began.update(run_logged(command, cwd, {**os.environ, **stamp}, log, check=check))

    with tarfile.open(archive) as tar:
        # The archive is the distribution's; Python 3.11.2, Debian 12's own, has no filters yet.
        needed = (member for member in tar if is_needed(member.name))
        if hasattr(tarfile, "tar_filter"):
            tar.extractall(scratch, needed, filter="tar")
        else:
            tar.extractall(scratch, needed)
    source = next(path for path in scratch.iterdir() if path.is_dir())
    series = series_of(archive.name) or "0"
    recipe = Recipe.of(RECIPE, series, own)
    left_out = apply_patches(recipe, series, source, log)
    output, result = scratch / "output", scratch / "result"
    output.mkdir()
    result.mkdir()
    compiler = Path(shutil.copy(RECIPE / COMPILER, scratch))
    compiler.chmod(0o755)
    make = ("make", "ARCH=um", f"CC={compiler}", f"O={output}", f"-j{os.cpu_count() or 2}")
    run(*make, "tinyconfig", cwd=source)
    merge = ("scripts/kconfig/merge_config.sh", "-m", "-O", str(output), f"{output}/.config")
    run(*merge, *map(str, recipe.configs), cwd=source)
    run(*make, "olddefconfig", cwd=source)
    config = (output / ".config").read_text()
    if refused := [line for line in recipe.options() if f"{line}\n" not in config]:
        raise KernelError(f"{archive.name} does not take these options: {', '.join(refused)}")
    first = ("kernel/groups.o", "net/sched/sch_drr.o")[: 1 + (MODULES in targets)]
    run(*make, *first, cwd=source, check=False)  # emu/kernel/cc.sh compiles the headers with them
    run(*make, *targets, cwd=source)
    write_trace(began, source, output, recipe.configs, log)
    if MODULES in targets:
        keep_modules(output, result, log)
    if "linux" not in targets:
        return
    names = subprocess.run(["nm", f"{output}/linux"], capture_output=True, text=True, check=True).stdout
    symbols = symbols_in(names)
    if missing := set(SYMBOLS) - set(symbols):
        raise KernelError(f"the built kernel lacks the symbols {sorted(missing)}")
    release = (output / "include/config/kernel.release").read_text().strip().rstrip("+")
    if DEBUG_INFO in config:  # somebody wants to see lines in gdb (docs/developing/debug-a-guest.md)
        shutil.copy(output / "linux", result)
    else:
        run("strip", "--strip-debug", "-o", str(result / "linux"), f"{output}/linux", cwd=source)
    shutil.copy(output / ".config", result / "config")
    about = {"key": key, "version": release, "symbols": symbols, "left_out": left_out}
    about |= {"source": package_version(archive), "own": [patch.stem for patch in own], "recipe": kernel_key(archive)}
    (result / "kernel.json").write_text(json.dumps(about))


def symbols_in(names: str) -> dict[str, int]:
    """Addresses of what the host reads in the memory of the running kernel, from what `nm` printed."""
    lines = (line.split() for line in names.splitlines() if line[:1] not in ("", " "))
    return {line[-1]: int(line[0], 16) for line in lines if line[-1] in (*SYMBOLS, *MORE_SYMBOLS)}


def apply_patches(recipe: Recipe, series: str, source: Path, log: TextIO) -> list[str]:
    """Patch a source. Returns the names of the patches for speed alone that do not fit it: it does without them.

    Raises:
        KernelError: another one does not fit.
    """
    left_out: list[str] = []
    for patch in recipe.patches:
        command = ("patch", "-p1", "--forward")
        print("+", *command, "<", patch.name, file=log, flush=True)
        if failed := _failure(*command, "--dry-run", cwd=source, text=patch.text):
            if patch.own:
                raise KernelError(f"{patch.name} does not fit Linux {series} with landspeed's patches: {failed}")
            if not patch.stem.endswith("-speed"):
                known = ", ".join(fitting(RECIPE))
                raise KernelError(f"{patch.name} does not fit Linux {series}; the patches are known to fit {known}")
            print(f"{patch.name} does not fit this source: left out", file=log, flush=True)
            left_out.append(patch.stem)
            continue
        subprocess.run(command, cwd=source, check=True, input=patch.text.encode(), stdout=log, stderr=subprocess.STDOUT)
    return left_out


if __name__ == "__main__":
    try:
        build_kernel(modules=sys.argv[1:] == ["modules"])
    except KernelError as problem:
        sys.exit(f"Error: {problem}")
