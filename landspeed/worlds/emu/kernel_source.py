"""Sources of Linux: which releases the patches fit, which archives are here, and what apt can bring.

A release of the distribution is a package `linux-source-X.Y` with one archive in it; `X.Y` is called its series. It is
taken from /usr/src where it is installed, else from the cache, where it is brought without installing anything. Where
apt's own sources do not have it, the suites beside them in the same archive are asked (`SUITES_BESIDE`), with lists of
packages that lie in the cache too: nothing of the machine's own set-up is changed.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from landspeed.base.failures import NotReady

OLDEST = (6, 6)
SUITES_BESIDE = ("bookworm-backports", "trixie-backports")  # of Debian's archive: where its newer releases are
PACKAGE = re.compile(r"linux-source-(\d+\.\d+)(?:\.0)?$")
CONFIGURING = ("Kconfig", "Makefile", "Kbuild", "Build")  # these files name each other, across all of the tree
OTHERS = (  # hardware that is not in this machine, and what is read and not built
    "Documentation/", "samples/", "sound/", "tools/perf/", "tools/testing/", "drivers/accel/", "drivers/clk/",
    "drivers/crypto/", "drivers/gpu/", "drivers/hid/", "drivers/hwmon/", "drivers/iio/", "drivers/infiniband/",
    "drivers/input/", "drivers/media/", "drivers/mfd/", "drivers/mmc/", "drivers/mtd/", "drivers/net/ethernet/",
    "drivers/net/wireless/", "drivers/phy/", "drivers/pinctrl/", "drivers/platform/", "drivers/power/", "drivers/scsi/",
    "drivers/soc/", "drivers/staging/", "drivers/usb/", "drivers/video/fbdev/", "fs/btrfs/", "fs/ext4/", "fs/xfs/",
)  # fmt: skip
DPKG_STATUS = Path("/var/lib/dpkg/status")
PACKAGES_IN = "Debian 12 and 13: linux-source-6.12, Ubuntu 24.04: linux-source-6.8.0"


class KernelError(NotReady):
    """The kernel is missing or cannot be built; the message says what to do."""


def cache_root() -> Path:
    """Folder for what is built once (XDG Base Directory Specification)."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "landspeed"


def numbers(version: str) -> tuple[int, ...]:
    """6.12.117 as numbers, so that 6.9 is less than 6.12."""
    return tuple(int(each) for each in re.findall(r"\d+", version))


def series_of(name: str) -> str | None:
    """X.Y of a package's or an archive's name; None for other names."""
    found = PACKAGE.match(name.partition(".tar")[0])
    return found[1] if found else None


def fitting(recipe: Path) -> list[str]:
    """The series that the patches are known to fit, the preferred one first."""
    lines = (recipe / "releases").read_text().splitlines()
    return [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]


HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


def with_changes(text: str, changes: str, name: str) -> str:
    """A text after what `diff -U0` of it and another one says: the other one.

    Raises:
        KernelError: the text has not what is taken from it; the message has the name.
    """
    lines, made, at = text.splitlines(keepends=True), list[str](), 0
    _, *hunks = re.split(r"^(?=@@ )", changes, flags=re.MULTILINE)
    for hunk in hunks:
        head, *body = hunk.splitlines(keepends=True)
        if (place := HUNK.match(head)) is None:
            raise KernelError(f"{name}: {head.strip()!r} is no line of `diff -U0`")
        old = [line[1:] for line in body if line[0] == "-"]
        begin = int(place[1]) - (place[2] != "0")  # of lines that are only added, the one before them is named
        if lines[begin : begin + len(old)] != old:
            raise KernelError(f"{name}: line {begin + 1} of the general patch has changed; make this one of it again")
        made += lines[at:begin] + [line[1:] for line in body if line[0] == "+"]
        at = begin + len(old)
    return "".join(made + lines[at:])


@dataclass(frozen=True)
class Patch:
    """A patch of a recipe, or one that the user adds to it: its file's name and text."""

    name: str
    text: str
    own: bool = False

    @property
    def stem(self) -> str:
        """File name without the ending."""
        return self.name.removesuffix(".diff").removesuffix(".patch")

    @classmethod
    def added(cls, file: Path) -> Patch:
        """One that the user adds: what `git diff` or `git format-patch` writes.

        Raises:
            KernelError: it cannot be read, is no patch, or has a name that a kernel cannot be called by.
        """
        try:
            made = cls(file.name, file.read_text(encoding="utf-8"), own=True)
        except (OSError, UnicodeDecodeError) as error:
            raise KernelError(f"{file}: the patch cannot be read: {error}") from None
        if not re.search(r"^@@ -", made.text, re.MULTILINE):
            raise KernelError(f"{file} is no patch: it has no line that begins with '@@ -'")
        if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", made.stem):
            raise KernelError(
                f"{file}: give it a name of letters, digits, '-', '_' and '.': the kernel is called by it"
            )
        return made


@dataclass(frozen=True)
class Recipe:
    """Recipe of a kernel: patches in their order, and files of options, the later ones over the earlier.

    The folder `series/X.Y` is for that series and all later ones, up to the next such folder. `NAME.patch.diff` there
    is how the patch differs from the general one (`diff -U0 patches/NAME.patch …`). A patch that no general one has the
    name of is more; an empty one says that this series does without it.
    """

    patches: list[Patch]
    configs: list[Path]

    @classmethod
    def of(cls, recipe: Path, series: str, own: Sequence[Patch] = ()) -> Recipe:
        """The recipe for a series, and patches of the user's own after it.

        Raises:
            KernelError: the general patch has changed, and what differs from it is not said anew.
        """
        patches = _texts(recipe / "patches", "*.patch")
        configs = [recipe / "config", recipe / "config-mininet"]
        folders = [each for each in recipe.glob("series/*") if numbers(each.name) <= numbers(series)]
        if folders:
            nearest = max(folders, key=lambda folder: numbers(folder.name))
            for name, changes in _texts(nearest, "*.patch.diff").items():
                general = name.removesuffix(".diff")
                patches[general] = with_changes(patches.get(general, ""), changes, f"series/{nearest.name}/{name}")
            patches |= _texts(nearest, "*.patch")
            configs += [each for each in (nearest / "config",) if each.exists()]
        return cls([*(Patch(name, patches[name]) for name in sorted(patches) if patches[name]), *own], configs)

    def options(self) -> list[str]:
        """The lines `CONFIG_…=…` that the built kernel must have. What only Mininet scripts want, a series may lack."""
        wanted: dict[str, str] = {}
        needed = [config for config in self.configs if config.name != "config-mininet"]
        for line in (line for config in needed for line in config.read_text().splitlines()):
            if match := re.match(r"(# )?(CONFIG_\w+)( is not set$|=)", line):
                wanted[match[2]] = line
        return [line for line in wanted.values() if not line.startswith("#")]


def _texts(folder: Path, pattern: str) -> dict[str, str]:
    return {each.name: each.read_text(encoding="utf-8") for each in folder.glob(pattern)}


def is_needed(member: str) -> bool:
    """Return whether a file of the source archive can be part of this kernel: two thirds of them cannot."""
    _, _, path = member.partition("/")
    if path.rpartition("/")[2].startswith(CONFIGURING):
        return True
    folder, _, rest = path.partition("/")
    return not path.startswith(OTHERS) and (folder != "arch" or rest.partition("/")[0] in ("", "Kconfig", "um", "x86"))


def archives(installed: Path, fetched: Path) -> dict[str, Path]:
    """Series → archive of every source from `OLDEST` on that is on this machine; installed ones come first."""
    found: dict[str, Path] = {}
    for folder in (fetched, installed):
        for archive in folder.glob("**/linux-source-*.tar.*"):
            series = series_of(archive.name)
            if series and numbers(series) >= OLDEST and archive.suffix != ".version":
                found[series] = archive
    return found


def package_version(archive: Path) -> str:
    """Package and version of an archive; where dpkg does not know it, size and time of the file stand in."""
    with contextlib.suppress(OSError):
        return _version_file(archive).read_text().strip()
    package = archive.name.partition(".tar")[0]
    with contextlib.suppress(OSError):
        known = DPKG_STATUS.read_bytes().partition(f"\nPackage: {package}\n".encode())[2].partition(b"\n\n")[0]
        if version := re.search(rb"^Version: (\S+)$", known, re.MULTILINE):
            return f"{package}\t{version[1].decode()}"  # as `dpkg-query -W` has it, whose start takes 20 ms of each run
    stat = archive.stat()
    return f"{archive.name} {stat.st_size} {stat.st_mtime_ns}"


def _version_file(archive: Path) -> Path:
    return archive.with_name(archive.name + ".version")


# --- apt -------------------------------------------------------------------------------------------------------------


class Apt:
    """Kernel sources from apt: from the machine's own suites, and from newer ones beside them."""

    def __init__(self, folder: Path) -> None:
        """`folder` is for lists and packages of the suites beside; it is made when it is needed."""
        self.folder = folder
        self._beside = folder / "apt.conf"

    def packages(self) -> dict[str, str]:
        """Series → package name, of all that apt knows now; the lists are not brought up to date."""
        found: dict[str, str] = {}
        for beside in (True, False):
            names = self._run("apt-cache", "pkgnames", "linux-source-", beside=beside).split()
            for name in sorted(names):
                if (series := series_of(name)) and numbers(series) >= OLDEST:
                    found[series] = name
        return found

    def look_beside(self) -> bool:
        """Fetch the lists of the suites beside. False: there are none, or they cannot be had."""
        lines = self._sources_beside()
        if not lines:
            return False
        for each in ("lists/partial", "archives/partial"):
            (self.folder / each).mkdir(parents=True, exist_ok=True)
        (self.folder / "beside.list").write_text(lines)
        self._beside.write_text(
            f'Dir::Etc::sourcelist "{self.folder}/beside.list";\n'
            'Dir::Etc::sourceparts "-";\n'
            f'Dir::State::lists "{self.folder}/lists";\n'
            f'Dir::Cache "{self.folder}";\n'
            f'Dir::Cache::archives "{self.folder}/archives";\n'
            'Acquire::Languages "none";\n'
            'APT::Sandbox::User "";\n'  # what lies in a user's own cache is fetched as that user
        )
        self._run("apt-get", "-q", "update", beside=True, check=True)
        return True

    def _sources_beside(self) -> str:
        """Lines of sources.list: the suites beside, in the archives of Debian that the machine's own apt uses."""
        form = "$(ORIGIN)|$(LABEL)|$(REPO_URI)|$(OPTION_SIGNED-BY)$(SIGNED_BY)|$(COMPONENT)"
        told = self._run("apt-get", "indextargets", "--format", form, "Created-By: Packages", beside=False)
        for line in told.splitlines():
            origin, label, uri, _, component = line.split("|")
            if (origin, label, component) == ("Debian", "Debian", "main"):
                keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
                signed = f"[signed-by={keys}] " if Path(keys).exists() else ""
                return "".join(f"deb {signed}{uri} {suite} main\n" for suite in SUITES_BESIDE)
        return ""

    def fetch(self, series: str, into: Path) -> Path:
        """Bring the archive of a series into a folder, with a note of its version beside it.

        Raises:
            KernelError: no package of that name can be had, or fetching failed; the message has apt's words.
        """
        package = self.packages().get(series)
        if package is None and self.look_beside():
            package = self.packages().get(series)
        if package is None:
            known = ", ".join(sorted(self.packages(), key=numbers)) or "none"
            raise KernelError(f"no source of Linux {series}: apt has {known}; `apt-get update` may find more")
        beside = package not in self._run("apt-cache", "pkgnames", package, beside=False).split()
        into.mkdir(parents=True, exist_ok=True)
        scratch = into / f"fetching-{os.getpid()}"
        scratch.mkdir()
        try:
            self._run("apt-get", "-q", "download", package, beside=beside, check=True, cwd=scratch)
            (deb,) = scratch.glob("*.deb")
            self._run("dpkg-deb", "-x", str(deb), str(scratch / "x"), beside=False, check=True)
            version = self._run("dpkg-deb", "-f", str(deb), "Version", beside=False, check=True).strip()
            (found,) = scratch.glob("x/usr/src/**/linux-source-*.tar.*")
            archive = into / found.name
            _version_file(archive).write_text(f"{package}\t{version}\n")
            return found.rename(archive)
        except (OSError, ValueError) as error:
            raise KernelError(f"{package}: fetching its source failed: {error}") from error
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _run(self, *command: str, beside: bool, check: bool = False, cwd: Path | None = None) -> str:
        """Run a command and return its output; "" if there is no such program or it fails, unless `check`."""
        if beside and not self._beside.exists():
            return ""
        more = {"APT_CONFIG": str(self._beside)} if beside else {}
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                check=False,
                cwd=cwd,
                env={**os.environ, "LC_ALL": "C", **more},
                stdin=subprocess.DEVNULL,
            )
        except FileNotFoundError:
            if check:
                raise KernelError(
                    f"{command[0]} is not here, and apt is needed to download sources; put the source into /usr/src"
                ) from None
            return ""
        if done.returncode and check:
            raise KernelError(f"`{' '.join(command)}` failed: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout if done.returncode == 0 else ""
