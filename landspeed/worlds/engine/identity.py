"""Identity of the engine's build."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path


def engine_build(binary: Path) -> str | None:
    """The hash of the sources that the engine was built from, as it tells itself; None when it is not built."""
    try:
        said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    match = re.search(r"\(build ([0-9a-f]+)\)", said)
    return match[1] if match else None
