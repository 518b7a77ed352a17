"""The command `landspeed` as a user starts it, run to its end; and without a process of its own."""

import contextlib
import io
import subprocess
from collections.abc import Sequence
from typing import Any

from landspeed.cli.main import main
from tests.support.command_process import COMMAND, run

DEADLINE_S = 400.0  # only what hangs takes so long, beside whatever else this machine does


def landspeed(*words: object, under: Sequence[object] = (), **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command to its end; `under` are the words of a program that starts it, such as `taskset`."""
    settings: dict[str, Any] = {"capture_output": True, "text": True, "timeout": DEADLINE_S, **options}
    return run([*under, COMMAND, *words], **settings)


def landspeed_here(*words: object) -> subprocess.CompletedProcess[str]:
    """Run the command in this process: what it only shows or refuses needs no new Python with all imports, 0.4 s."""
    asked = [str(word) for word in words]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(asked)
        except SystemExit as ended:  # argparse's way
            status = int(ended.code or 0)
    return subprocess.CompletedProcess(asked, status, out.getvalue(), err.getvalue())
