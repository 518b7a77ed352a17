"""The virtual-time kernel: found in the cache, or built once from the distribution's own Linux source.

The cache key is a hash of everything that shapes the result (source archive, options, patches), so a changed option
rebuilds and an unchanged one never does. Only the executable, its configuration and two symbol addresses are kept.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from ..results.failure import NotReady
from ..results.places import is_clone
from ..worlds.programs import REINSTALL, program_trouble

RECIPE = Path(__file__).resolve().parent / "kernel"
PACKED = RECIPE / "built"  # a wheel brings its kernel along (setup/wheel.sh)
SOURCES = Path("/usr/src")
OLDEST = (6, 6)
BUILD_STAMP = {"TIMESTAMP": "2026-01-01 00:00:00 UTC", "USER": "landspeed", "HOST": "landspeed", "VERSION": "1"}
CONFIGURING = ("Kconfig", "Makefile", "Kbuild", "Build")  # these files name each other, across all of the tree
OTHERS = (  # hardware that is not in this machine, and what is read and not built
    "Documentation/", "samples/", "sound/", "tools/perf/", "tools/testing/", "drivers/accel/", "drivers/clk/",
    "drivers/crypto/", "drivers/gpu/", "drivers/hid/", "drivers/hwmon/", "drivers/iio/", "drivers/infiniband/",
    "drivers/input/", "drivers/media/", "drivers/mfd/", "drivers/mmc/", "drivers/mtd/", "drivers/net/ethernet/",
    "drivers/net/wireless/", "drivers/phy/", "drivers/pinctrl/", "drivers/platform/", "drivers/power/", "drivers/scsi/",
    "drivers/soc/", "drivers/staging/", "drivers/usb/", "drivers/video/fbdev/", "fs/btrfs/", "fs/ext4/", "fs/xfs/",
)  # fmt: skip
# Read by the watchdog in the memory of the running kernel: its clock, and the name of the task it runs.
SYMBOLS = ("time_travel_time", "um_running_comm")


class KernelError(NotReady):
    """The kernel is missing or cannot be built; the message says what to do."""


@dataclass(frozen=True)
class Kernel:
    """A built kernel.

    Attributes:
        executable: the `linux` program.
        key: hash of source, options and patches.
        version: release, such as ``6.12.117``.
        symbols: address of each of `SYMBOLS` in the process.
    """

    executable: Path
    key: str
    version: str
    symbols: dict[str, int]


def cache_root() -> Path:
    """Folder for what is built once (XDG Base Directory Specification)."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "landspeed"


def find_source() -> Path:
    """Newest Linux source archive of the distribution, at least `OLDEST`."""
    found: list[tuple[tuple[int, ...], Path]] = []
    for archive in SOURCES.glob("**/linux-source-*.tar.*"):
        match = re.search(r"linux-source-(\d+)\.(\d+)", archive.name)
        if match and (version := (int(match[1]), int(match[2]))) >= OLDEST:
            found.append((version, archive))
    if not found:
        raise KernelError(
            f"no Linux source ≥ 6.6 in {SOURCES}; install the distribution's package "
            "(Debian 12 and 13: linux-source-6.12, Ubuntu 24.04: linux-source-6.8.0), or run `make setup`"
        )
    return max(found)[1]


def _package_version(archive: Path) -> str:
    """Version of the package of the archive's name; without dpkg, size and time of the file stand in."""
    package = archive.name.partition(".tar")[0]
    with contextlib.suppress(FileNotFoundError):
        shown = subprocess.run(["/usr/bin/dpkg-query", "-W", package], capture_output=True, text=True, check=False)
        if shown.returncode == 0:
            return shown.stdout.strip()
    stat = archive.stat()
    return f"{archive.name} {stat.st_size} {stat.st_mtime_ns}"


def kernel_key(archive: Path) -> str:
    """Sixteen hex digits that change with source version, options or patches."""
    digest = hashlib.sha256(_package_version(archive).encode())
    for part in [RECIPE / "config", *sorted((RECIPE / "patches").glob("*.patch"))]:
        digest.update(part.name.encode() + b"\0" + part.read_bytes())
    return digest.hexdigest()[:16]


def _read_built(folder: Path) -> Kernel | None:
    with contextlib.suppress(OSError, ValueError, KeyError):
        about = json.loads((folder / "kernel.json").read_text())
        executable = folder / "linux"
        if os.access(executable, os.X_OK):
            return Kernel(executable, about["key"], about["version"], about["symbols"])
    return None


def find_kernel() -> Kernel:
    """The built kernel of the present recipe, or the one of the wheel.

    Raises:
        KernelError: it has not been built, or cannot be executed where it is.
    """
    if not is_clone():
        return _packed_kernel()
    root = cache_root() / "kernel"
    try:
        key = kernel_key(find_source())
    except KernelError:  # the source may be gone once the kernel is there
        built = [kernel for folder in root.glob("*") if (kernel := _read_built(folder))]
        if built:
            return max(built, key=lambda kernel: kernel.executable.stat().st_mtime)
        raise
    kernel = _read_built(root / key)
    if kernel is None:
        raise KernelError(f"the virtual-time kernel {key} is not built; run `make setup`")
    return kernel


def _packed_kernel() -> Kernel:
    if (kernel := _read_built(PACKED)) is None:
        raise KernelError(program_trouble(PACKED / "linux") or f"{PACKED}: kernel.json is damaged; {REINSTALL}")
    return kernel


@contextlib.contextmanager
def _locked(path: Path) -> Generator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)  # two set-ups at once: the second waits and finds it done
        yield


def _in_cache(folder: Path) -> Kernel | None:
    if kernel := _read_built(folder):
        print(f"kernel: {kernel.key} (Linux {kernel.version}) is in the cache")
    return kernel


def build_kernel() -> Kernel:
    """The kernel of the present recipe, built if the cache has none (about three minutes on two cores).

    Raises:
        KernelError: no source, or the build failed; the message names the log.
    """
    archive = find_source()
    key = kernel_key(archive)
    root = cache_root() / "kernel"
    if kernel := _in_cache(root / key):  # nor is somebody else's build waited for
        return kernel
    with _locked(root / f"{key}.lock"):  # other recipes are built beside it
        if kernel := _in_cache(root / key):
            return kernel
        scratch = Path(tempfile.mkdtemp(prefix="build-", dir=root))
        log = root / f"{key}.log"
        try:
            print(f"kernel: building {key} from {archive.name} (log: {log})", flush=True)
            with log.open("w") as out:
                _build(archive, scratch, key, out)
            shutil.rmtree(root / key, ignore_errors=True)  # one that cannot be used
            (scratch / "result").rename(root / key)
        except subprocess.CalledProcessError as error:
            tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
            raise KernelError(f"kernel build failed at {error.cmd!r}; the end of {log}:\n{tail}") from error
        except (OSError, EOFError, tarfile.TarError, lzma.LZMAError) as error:
            raise KernelError(f"{archive}: the kernel cannot be built, reading or writing failed: {error}") from error
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return find_kernel()


def _fails(*command: str, cwd: Path) -> bool:
    return subprocess.run(command, cwd=cwd, check=False, capture_output=True, stdin=subprocess.DEVNULL).returncode != 0


def is_needed(member: str) -> bool:
    """Whether a file of the source archive can have a part in this kernel: two thirds of them cannot."""
    _, _, path = member.partition("/")
    if path.rpartition("/")[2].startswith(CONFIGURING):
        return True
    folder, _, rest = path.partition("/")
    return not path.startswith(OTHERS) and (folder != "arch" or rest.partition("/")[0] in ("", "Kconfig", "um", "x86"))


def _build(archive: Path, scratch: Path, key: str, log: TextIO) -> None:
    def run(*command: str, cwd: Path) -> None:
        print("+", *command, file=log, flush=True)
        # The kernel's name and date go into its random numbers: the same recipe gives the same ones everywhere.
        stamp = {f"KBUILD_BUILD_{name}": value for name, value in BUILD_STAMP.items()}
        subprocess.run(
            command,
            cwd=cwd,
            check=True,
            env={**os.environ, **stamp},
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )

    with tarfile.open(archive) as tar:
        # The archive is the distribution's; Python 3.11.2, Debian 12's own, has no filters yet.
        needed = (member for member in tar if is_needed(member.name))
        if hasattr(tarfile, "tar_filter"):
            tar.extractall(scratch, needed, filter="tar")
        else:
            tar.extractall(scratch, needed)
    source = next(path for path in scratch.iterdir() if path.is_dir())
    for patch in sorted((RECIPE / "patches").glob("*.patch")):
        command = ("patch", "-p1", "--forward", "-i", str(patch))
        # A patch for speed alone is written for one release of Linux; others do without it.
        if patch.stem.endswith("-speed") and _fails(*command, "--dry-run", cwd=source):
            print(f"{patch.name} does not fit this source: left out", file=log, flush=True)
            continue
        run(*command, cwd=source)
    output, result = scratch / "output", scratch / "result"
    output.mkdir()
    result.mkdir()
    make = ("make", "ARCH=um", f"O={output}", f"-j{os.cpu_count() or 2}")
    run(*make, "tinyconfig", cwd=source)
    run(
        "scripts/kconfig/merge_config.sh",
        "-m",
        "-O",
        str(output),
        f"{output}/.config",
        str(RECIPE / "config"),
        cwd=source,
    )
    run(*make, "olddefconfig", cwd=source)
    config = (output / ".config").read_text()
    wanted = [line for line in (RECIPE / "config").read_text().splitlines() if line.startswith("CONFIG_")]
    if refused := [line for line in wanted if f"{line}\n" not in config]:
        raise KernelError(f"{archive.name} does not take these options: {', '.join(refused)}")
    run(*make, "linux", cwd=source)
    names = subprocess.run(["nm", f"{output}/linux"], capture_output=True, text=True, check=True).stdout
    symbols = {
        name: int(address, 16)
        for address, _, name in (line.split() for line in names.splitlines() if line[0] != " ")
        if name in SYMBOLS
    }
    if missing := set(SYMBOLS) - set(symbols):
        raise KernelError(f"the built kernel lacks the symbols {sorted(missing)}")
    release = (output / "include/config/kernel.release").read_text().strip().rstrip("+")
    run("strip", "--strip-debug", "-o", str(result / "linux"), f"{output}/linux", cwd=source)
    shutil.copy(output / ".config", result / "config")
    (result / "kernel.json").write_text(json.dumps({"key": key, "version": release, "symbols": symbols}))


if __name__ == "__main__":
    try:
        build_kernel()
    except KernelError as problem:
        sys.exit(f"Error: {problem}")
