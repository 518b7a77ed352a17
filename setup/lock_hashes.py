"""The hashes of the files that `make setup` can ask for: `python -m setup.lock_hashes LIST…` drops the others.

landspeed promises x86-64 Linux and the Python of Debian 12 and 13 and Ubuntu 24.04. Of each package pip takes one wheel
there, or the sources where there is none; pip-compile writes the hashes of all files for all machines. The index that
pip is configured for says which hash is of which file.
"""

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import canonicalize_version, parse_wheel_filename

PYTHONS = ((3, 11), (3, 12), (3, 13))
"""Of Debian 12, of Ubuntu 24.04, of Debian 13."""
GLIBC_MINOR = 36
"""Of Debian 12, the oldest."""
PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in range(GLIBC_MINOR, 16, -1)]
PLATFORMS += ["manylinux2014_x86_64", "manylinux_2_12_x86_64", "manylinux2010_x86_64", "manylinux_2_5_x86_64"]
PLATFORMS += ["manylinux1_x86_64", "linux_x86_64"]
PIN = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>\S+)")
HASH = re.compile(r"\s+--hash=sha256:(?P<digest>[0-9a-f]{64})(?: \\)?")


def tags_of(python: tuple[int, int]) -> list[Tag]:
    """The tags of wheels that this Python takes, the preferred one first."""
    interpreter = f"cp{python[0]}{python[1]}"
    return [*cpython_tags(python, platforms=PLATFORMS), *compatible_tags(python, interpreter, PLATFORMS)]


def chosen_files(names: Iterable[str]) -> set[str]:
    """Of the files of one release, those that pip takes on one of `PYTHONS`: wheels, or the sources for want of one."""
    wheels = {name: parse_wheel_filename(name)[3] for name in names if name.endswith(".whl")}
    chosen: set[str] = set()
    for python in PYTHONS:
        rank = {tag: place for place, tag in enumerate(tags_of(python))}
        fitting = {
            name: min(rank[tag] for tag in tags if tag in rank) for name, tags in wheels.items() if tags & rank.keys()
        }
        best = min(fitting, key=lambda name: (fitting[name], name), default=None)
        chosen |= {best} if best else {name for name in names if not name.endswith(".whl")}
    return chosen


def with_hashes(text: str, files: dict[str, dict[str, str]]) -> str:
    """A list of requirements without the hashes of files that nobody takes.

    Args:
        text: as pip-compile writes it.
        files: name==version → file name → its SHA-256.

    Raises:
        SystemExit: pip would find no file of a requirement.
    """
    kept: list[str] = []
    digests: set[str] = set()
    for line in text.splitlines():
        if pin := PIN.match(line):
            found = files[pin[0]]
            digests = {found[name] for name in chosen_files(found)}
            if not digests:
                raise SystemExit(f"{pin[0]}: the index has neither a wheel for {PLATFORMS[0]} nor the sources")
        if not (digest := HASH.fullmatch(line)):
            kept.append(line)
        elif digest["digest"] in digests:
            kept.append(f"    --hash=sha256:{digest['digest']} \\")
    return re.sub(r" \\(\n(?!    --hash))", r"\1", "\n".join(kept) + "\n")


def files_of(pins: Iterable[tuple[str, str]]) -> dict[str, dict[str, str]]:
    """name==version → file name → SHA-256, as the index says."""
    from piptools.repositories import PyPIRepository  # pyright: ignore[reportMissingImports]  (`make lock` installs it)

    files: dict[str, dict[str, str]] = {}
    repository = PyPIRepository([], cache_dir=str(Path("build/stamps/pip-tools").absolute()))
    with repository.allow_all_wheels():
        for name, version in pins:
            files[f"{name}=={version}"] = {
                candidate.link.filename: candidate.link.hash
                for candidate in repository.find_all_candidates(name)
                if canonicalize_version(str(candidate.version)) == canonicalize_version(version)
                and candidate.link.hash_name == "sha256"
                and candidate.link.hash
            }
    return files


def main() -> None:
    """Rewrite each list."""
    for path in map(Path, sys.argv[1:]):
        text = path.read_text(encoding="utf-8")
        pins = [(pin["name"], pin["version"]) for line in text.splitlines() if (pin := PIN.match(line))]
        path.write_text(with_hashes(text, files_of(pins)), encoding="utf-8")


if __name__ == "__main__":
    main()
