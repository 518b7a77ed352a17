"""Measures the figures of README's "ask what if" anew and prints its tables: .venv/bin/python docs/figures.py."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FIRST = "scenarios/examples/first.yaml"
RECORD = "scenarios/records/2004-06-25-geneva-pasadena.yaml"
CHANGES = {
    FIRST: [
        [],
        ["transfer.window=1 MB"],
        ["path.2.loss=0.01 %"],
        ["queue=0.05 BDP"],
        ["transfer.streams=4"],
        ["mtu=1500 B"],
        ["transfer.congestion_control=bbr"],
    ],
    RECORD: [
        ["transfer.duration=60 s", "transfer.streams=1"],
        ["transfer.duration=60 s", "hosts.geneva.bus=null"],
    ],
}
FROM_S = {FIRST: 5, RECORD: 10}  # goodput from here on is shown too


def as_typed(overrides: list[str]) -> str:
    """The options as one writes them: only the value is quoted, and only where it has a space."""
    pairs = [override.partition("=") for override in overrides]
    return " ".join(f"--set {key}={json.dumps(value) if ' ' in value else value}" for key, _, value in pairs)


def run(scenario: str, overrides: list[str], out: Path) -> dict[str, Any]:
    """The run's JSON object."""
    words = [str(ROOT / ".venv/bin/landspeed"), "run", scenario, "--json", "--quiet", "--out", str(out)]
    words += [word for override in overrides for word in ("--set", override)]
    print("+", shlex.join(words), file=sys.stderr, flush=True)
    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    result = json.loads(done.stdout)
    if not result["complete"]:
        raise RuntimeError(result["error"])
    return result


def steady_bps(result: dict[str, Any], from_s: float) -> float:
    """Goodput from `from_s` on, as the judge computes it."""
    from landspeed.results.series import receiver_curves

    curves = receiver_curves(Path(result["bundle"]))
    return (curves.goodput_bps(from_s) if curves else None) or 0.0


def main() -> None:
    """Print a table for each scenario."""
    with tempfile.TemporaryDirectory(prefix="landspeed-figures-") as folder:
        for scenario, changes in CHANGES.items():
            print(f"\n| added to `landspeed run {scenario}` | goodput | from {FROM_S[scenario]} s on | ", end="")
            print("retransmits | bound by |\n|---|---|---|---|---|")
            for overrides in changes:
                result = run(scenario, overrides, Path(folder))
                rates = (result["goodput_bps"], steady_bps(result, FROM_S[scenario]))
                cells = [f"`{as_typed(overrides)}`" if overrides else "nothing"]
                cells += [f"{rate / 1e6:.1f} Mbit/s" for rate in rates]
                print("| " + " | ".join([*cells, str(result["retransmits"]), result["limited_by"]]) + " |", flush=True)


if __name__ == "__main__":
    main()
