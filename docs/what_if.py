"""Runs the rows of docs/how-to/what-if.md and prints a table: .venv/bin/python docs/what_if.py first|record."""

import json
import sys
import tempfile
from pathlib import Path

import landspeed

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


def main() -> None:
    """Print the table that was asked for."""
    scenario = {"first": FIRST, "record": RECORD}[sys.argv[1]]
    print(f"| added to `landspeed run {scenario}` | goodput | from {FROM_S[scenario]} s on | retransmits | bound by |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="landspeed-figures-") as folder:
        for overrides in CHANGES[scenario]:
            run = landspeed.run(landspeed.load(ROOT / scenario, overrides), runs_dir=folder, report=False)
            curves = run.samples.curves
            rates = (run.goodput_bps or 0, (curves.goodput_bps(FROM_S[scenario]) if curves else None) or 0)
            cells = [f"`{as_typed(overrides)}`" if overrides else "nothing"]
            cells += [f"{rate / 1e6:.1f} Mbit/s" for rate in rates]
            print("| " + " | ".join([*cells, str(run.record.retransmits), str(run.limited_by)]) + " |", flush=True)


if __name__ == "__main__":
    main()
