"""Programs of Debian's packages that a test opens files with: unpacked beside the build, so that no service starts."""

import subprocess
import tempfile
from pathlib import Path

from tests.support.places import ROOT

UNPACKED = ROOT / "build" / "debian"


def debian_program(package: str, name: str) -> Path:
    """A program of a package, which is fetched once.

    Raises:
        CalledProcessError: apt has no such package.
    """
    program = UNPACKED / package / "usr" / "bin" / name
    if not program.exists():
        UNPACKED.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=UNPACKED) as folder:
            subprocess.run(["apt-get", "-q", "download", package], cwd=folder, check=True, capture_output=True)
            (file,) = Path(folder).glob("*.deb")
            subprocess.run(["dpkg-deb", "-x", file, Path(folder) / "all"], check=True)
            (Path(folder) / "all").rename(UNPACKED / package)
    return program
