"""Choice of a run's kernel: that of `make setup`, another release of the cache, or one by its path."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from landspeed.base.places import is_clone
from landspeed.worlds.emu import kernel_build as build
from landspeed.worlds.emu.kernel_build import SYMBOLS, Kernel
from landspeed.worlds.emu.kernel_source import Apt, KernelError, Patch, archives, cache_root, fitting, numbers

VERSION = re.compile(r"\d+\.\d+(\.\d+)?$")
WITH_PATCHES = re.compile(r"\d+\.\d+(\.\d+)?\+[\w.+-]+$")
KEY = re.compile(r"[0-9a-f]{6,16}$")


def choose(word: str | None) -> Kernel:
    """A kernel by what the user calls it.

    Args:
        word: a series (6.12), a release (6.12.117), either with the patches that its user added (7.3+mine), the first
            digits of a build's key, a path of a kernel or of the folder in which `landspeed kernel build` left one.
            None: that of `make setup`.

    Raises:
        KernelError: it is not there; the message lists those that are.
    """
    if word is None:
        return build.find_kernel()
    if os.sep in word:
        return _at(Path(word).expanduser())
    if VERSION.match(word) or WITH_PATCHES.match(word):
        if kernel := _of_version(word):
            return kernel
    elif KEY.match(word):
        found = [kernel for kernel in available() if kernel.key.startswith(word)]
        if len(found) == 1:
            return found[0]
    raise KernelError(f"no kernel '{word}' here; there are {in_words(available())}{_how_to_build(word)}")


def _how_to_build(word: str) -> str:
    """The command that makes what was asked for; "" if it is no version."""
    if not (VERSION.match(word) or WITH_PATCHES.match(word)):
        return ""
    version, _, own = word.partition("+")
    patches = "".join(f" --patch {name}.patch" for name in own.split("+") if name)
    return f"; `landspeed kernel build {'.'.join(version.split('.')[:2])}{patches}` makes it"


def in_words(kernels: list[Kernel]) -> str:
    """Names and keys, for messages."""
    return ", ".join(f"{kernel.name} ({kernel.key})" for kernel in kernels) or "none"


def available() -> list[Kernel]:
    """Every kernel that a version or a key can name: that of the wheel, and all of the cache."""
    packed = [] if is_clone() else [kernel for kernel in (build.read_built(build.PACKED),) if kernel]
    return packed + build.built_kernels()


def _of_version(word: str) -> Kernel | None:
    """The newest build of the present recipe where its source is known, else the newest one of that version."""
    version = word.partition("+")[0]
    found = [kernel for kernel in available() if _is_named(word, kernel)]
    archive = archives(build.SOURCES, build.fetched_sources()).get(".".join(version.split(".")[:2]))
    if is_clone() and archive:
        key = build.kernel_key(archive)
        if present := [kernel for kernel in found if kernel.recipe == key]:
            return present[0]
        if version.count(".") == 1:  # builds of other recipes are there for those who name them whole
            return None
    return found[0] if found else None


def _is_named(word: str, kernel: Kernel) -> bool:
    """Return whether a series or a release, with what was added to it, is this kernel's."""
    version, _, own = word.partition("+")
    return version in (kernel.series, kernel.version) and own == "+".join(kernel.own)


def _at(path: Path) -> Kernel:
    """A kernel that lies somewhere: with the description of its build beside it, or told from the file itself."""
    folder = path if path.is_dir() else path.parent
    if (path.is_dir() or path.name == "linux") and (kernel := build.read_built(folder)):
        return kernel
    if path.is_dir() or not os.access(path, os.X_OK):
        raise KernelError(f"no kernel at {path}; there are {in_words(available())}")
    trouble = f"{path} is not a User-Mode Linux with landspeed's patches"
    try:
        ask = [path.resolve(), "--version"]
        shown = subprocess.run(ask, check=False, capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL)
        names = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        raise KernelError(f"{path}: `nm` is needed to read it (package binutils)") from None
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError) as error:
        raise KernelError(f"{trouble}: {error}") from None
    version = shown.stdout.strip().rstrip("+")
    symbols = build.symbols_in(names)
    if missing := [name for name in SYMBOLS if name not in symbols] or not numbers(version):
        raise KernelError(f"{trouble}: it lacks {missing if isinstance(missing, list) else 'a version'}")
    return Kernel(path.resolve(), hashlib.sha256(path.read_bytes()).hexdigest()[:16], version, symbols)


def tracing_words(kernel: Kernel, how: str) -> list[str]:
    """Words of the kernel's command line that choose how it runs programs.

    Args:
        kernel: the kernel.
        how: "auto": by seccomp where the kernel and the host can, else by ptrace; "ptrace"; "seccomp".

    Raises:
        KernelError: seccomp is asked of a kernel that has it not.
    """
    if how == "seccomp" and not kernel.can_seccomp:
        able = in_words([each for each in available() if each.can_seccomp])
        raise KernelError(f"Linux {kernel.name} ({kernel.key}) cannot run programs by seccomp; these can: {able}")
    words = {"auto": "seccomp=auto", "seccomp": "seccomp=on", "ptrace": "seccomp=off"}
    return [words[how]] if kernel.can_seccomp else []


# --- `landspeed kernel` ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KernelRow:
    """A line of `landspeed kernel list`.

    Attributes:
        series: such as 6.12.
        fits: whether the patches are known to fit it.
        kernel: what is built of it; None: nothing is.
        present: whether that is of the present recipe.
        default: whether a run takes it that asks for none.
        source: where its source is: "" for nowhere known.
    """

    series: str
    fits: bool
    kernel: Kernel | None = None
    present: bool = False
    default: bool = False
    source: str = ""


def _apt() -> Apt:
    return Apt(cache_root() / "apt")


def listed(*, update: bool = False) -> list[KernelRow]:
    """List the built kernels and those that could be built: sources on this machine, and packages that apt knows of.

    Args:
        update: fetch the lists of packages of the distribution's newer suites first.
    """
    try:
        usual = build.find_kernel().key
    except KernelError:
        usual = ""
    known = fitting(build.RECIPE) if is_clone() else []
    here = archives(build.SOURCES, build.fetched_sources()) if is_clone() else {}
    keys = {series: build.kernel_key(archive) for series, archive in here.items()}
    lines: list[KernelRow] = []
    for kernel in available():
        series = kernel.series
        present = keys.get(series) == kernel.recipe
        source = str(here.get(series, "")) if present else kernel.source
        lines.append(KernelRow(series, series in known, kernel, present, kernel.key == usual, source))
    done = {line.series for line in lines if line.present and line.kernel and not line.kernel.own}
    lines += [KernelRow(each, each in known, source=str(here[each])) for each in here if each not in done]
    apt = _apt()
    if update and is_clone():
        apt.look_beside()
    packages = apt.packages() if is_clone() else {}
    seen = {line.series for line in lines}
    lines += [
        KernelRow(each, each in known, source=f"package {packages[each]}") for each in packages if each not in seen
    ]
    return sorted(lines, key=lambda line: (numbers(line.series), not line.present))


def make(series: str, patches: Sequence[Path] = ()) -> Kernel:
    """Bring the source of a series if it is not here, and build it if that has not been done.

    Args:
        series: such as 6.12.
        patches: files to apply after landspeed's own patches, in this order; all must fit.

    Raises:
        KernelError: there is no such source, a patch is none or does not fit, or the build failed.
    """
    if not is_clone():
        raise KernelError("kernels are built in a clone of landspeed: a wheel has one kernel, and takes others by path")
    if not re.match(r"\d+\.\d+$", series):
        raise KernelError(f"'{series}' is not a series of Linux; write two numbers, such as 6.12")
    own = [Patch.added(file) for file in patches]
    if len({patch.stem for patch in own}) < len(own):
        raise KernelError("two of the patches have the same name, and the kernel is called by them: rename one")
    if series not in archives(build.SOURCES, build.fetched_sources()):
        print(f"kernel: fetching the source of Linux {series}", flush=True)
        _apt().fetch(series, build.fetched_sources())
    return build.build_kernel(series, own=own)


def remove(word: str) -> list[Path]:
    """Remove builds of a series, a release or a key from the cache, and with a series its source if it was brought.

    Raises:
        KernelError: there is none.
    """
    found = [
        each
        for each in build.built_kernels()
        if word in (each.series, each.version) or _is_named(word, each) or _is_key(word, each)
    ]
    gone = [kernel.executable.parent for kernel in found]
    gone += [path for path in build.fetched_sources().glob(f"linux-source-{word}.tar.*") if VERSION.match(word)]
    if not gone:
        raise KernelError(f"no kernel '{word}' in the cache; there are {in_words(build.built_kernels())}")
    for path in gone:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    return gone


def _is_key(word: str, kernel: Kernel) -> bool:
    return bool(KEY.match(word)) and kernel.key.startswith(word)
