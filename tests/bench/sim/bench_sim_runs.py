"""Runs of the command that are measured: what bench_sim.py and bench_sim_cost.py share."""

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.bench.bench import COMMAND


def run(scenario: Path, *words: str, out: Path, world: str = "sim") -> tuple[dict[str, Any], float]:
    """A run's JSON, and the processor seconds that it took with all its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [str(COMMAND), "run", str(scenario), "--world", world, "--json", "--quiet", "--out", str(out), *words]
    print("+", " ".join(command), file=sys.stderr, flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = json.loads(done.stdout)
    if not result["complete"]:
        raise RuntimeError(result["error"])
    return result, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
