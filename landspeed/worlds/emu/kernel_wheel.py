"""The kernel of a wheel that the user has at hand, in place of a build: of the same recipe, with its hashes checked."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

from landspeed.worlds.emu.kernel_source import KernelError

WHEEL = "LANDSPEED_WHEEL"  # in the environment: path of a wheel
BUILT = "landspeed/data/emu/kernel/built/"  # in it (setup/wheel.sh)


def unpack_kernel(wheel: Path, key: str, into: Path) -> bool:
    """Unpack a wheel's kernel into a folder and say so. False: it is of another source or recipe, which is said too.

    Raises:
        KernelError: it is no wheel with a kernel, or a file differs from the wheel's list of hashes.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            its_key = json.loads(archive.read(f"{BUILT}kernel.json"))["key"]
            if its_key != key:
                print(f"kernel: {wheel} has {its_key}, of another source or recipe than {key}", flush=True)
                return False
            for name, content in checked_files(archive, BUILT):
                place = into / name.removeprefix(BUILT)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
        (into / "linux").chmod(0o755)
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise KernelError(f"{wheel} ({WHEEL}): no wheel of landspeed with a kernel: {error}") from error
    print(f"kernel: {key} taken from {wheel}, hashes checked", flush=True)
    return True


def checked_files(archive: zipfile.ZipFile, *prefixes: str) -> Iterator[tuple[str, bytes]]:
    """Read the files of a wheel whose names begin so, with their names.

    Raises:
        KernelError: one differs from the wheel's list of hashes.
        ValueError: it has no such list.
    """
    (record,) = [name for name in archive.namelist() if name.endswith(".dist-info/RECORD")]
    listed = {name: its_hash for name, its_hash, _ in csv.reader(archive.read(record).decode().splitlines())}
    for name, told in listed.items():
        if name.startswith(prefixes) and ".." not in Path(name).parts:
            content = archive.read(name)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
            if told != f"sha256={digest}":
                raise KernelError(
                    f"{archive.filename}: {name} differs from the wheel's RECORD; take another copy of it"
                )
            yield name, content
