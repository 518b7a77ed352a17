"""The simulator of a wheel that is at hand, in place of a build: of the same sources, with its hashes checked.

`simulator_wheel.py key` prints the key of the clone's sources, which setup/wheel.sh puts into the wheel;
`simulator_wheel.py take WHEEL` puts the wheel's program where a build would. Exit status 1: it cannot, which is said.
"""

import hashlib
import sys
import zipfile
from pathlib import Path

from landspeed.worlds.emu.kernel_source import KernelError
from landspeed.worlds.emu.kernel_wheel import checked_files

ROOT = Path(__file__).resolve().parents[1]
PROGRAM, KEY = "landspeed_sim/landspeed-sim", "landspeed_sim/sources"
PLACES = ("landspeed_sim/", "landspeed_sim.libs/")  # the program finds its libraries beside its own folder


def sources_key(root: Path = ROOT) -> str:
    """Hash of all that the simulator is built from, tests apart."""
    digest = hashlib.sha256()
    for file in sorted((root / "sim").rglob("*")):
        name = file.relative_to(root / "sim")
        if file.suffix in (".cc", ".h", ".build", ".py", ".inc") and not {"tests", "build"} & set(name.parts):
            digest.update(f"{name}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()[:16]


def take(wheel: Path, root: Path = ROOT) -> str:
    """Put a wheel's program where a build would; say what was done.

    Raises:
        KernelError: it is no such wheel, of other sources, or damaged.
    """
    into, wanted = root / "build" / "simulator", sources_key(root)
    try:
        with zipfile.ZipFile(wheel) as archive:
            its_key = archive.read(KEY).decode().strip()
            if its_key != wanted:
                raise KernelError(f"{wheel} has the simulator of other sources: {its_key}, not {wanted}")
            files = list(checked_files(archive, *PLACES))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise KernelError(f"{wheel}: no wheel of landspeed's simulator: {error}") from error
    for name, content in files:
        place = into / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    (into / PROGRAM).chmod(0o755)
    link = root / "sim" / "build" / "landspeed-sim"
    link.parent.mkdir(exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(into / PROGRAM)
    return f"simulator {wanted} taken from {wheel}, hashes checked"


def main(words: list[str]) -> int:
    """Print a key, or take a program."""
    if words == ["key"]:
        print(sources_key())
        return 0
    if words[:1] != ["take"] or len(words) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        print(f"setup: {take(Path(words[1]))}")
    except KernelError as error:
        print(f"setup: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
