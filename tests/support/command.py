"""The command `landspeed` as a user starts it, run to its end."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

COMMAND = Path(sys.executable).parent / "landspeed"
DEADLINE_S = 400.0  # only what hangs takes so long, beside whatever else this machine does


def landspeed(*words: object, under: Sequence[object] = (), **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command to its end; `under` are the words of a program that starts it, such as `taskset`."""
    settings: dict[str, Any] = {"capture_output": True, "text": True, "timeout": DEADLINE_S, **options}
    return subprocess.run([str(word) for word in (*under, COMMAND, *words)], check=False, **settings)
