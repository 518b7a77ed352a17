"""Does with damaged bundles what the command does with them, in a process of its own.

A reader that crashes ends only that process.

Each line of input is a list in JSON: words for the command. Each line of output says what came of it.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import traceback

from landspeed.cli.main import main


def outcome(words: list[str]) -> dict[str, object]:
    """Exit status (null: it ended in a traceback), and what was printed."""
    out, err = io.StringIO(), io.StringIO()
    status: int | None = None
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(words)
    except Exception:
        err.write(traceback.format_exc())
    return {"status": status, "out": out.getvalue(), "err": err.getvalue()}


for line in sys.stdin:
    print(json.dumps(outcome(json.loads(line))), flush=True)
