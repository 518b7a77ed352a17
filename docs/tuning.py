"""Each tuning before and after, in virtual time: the table of docs/tuning.md. Run: .venv/bin/python docs/tuning.py"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

COMMAND = Path(sys.executable).parent / "landspeed"
SCENARIO = {
    "format": 1,
    "name": "tuning",
    "title": "1 Gbit/s over 264 ms",
    "mtu": "9000 B",
    "line_rate": "1 Gbit/s",
    "queue": "1 BDP",
    "hosts": {"alpha": {"role": "sender", "nic": "10 Gbit/s"}, "omega": {"role": "receiver", "nic": "10 Gbit/s"}},
    "path": [
        {"from": "alpha", "to": "r1", "one_way_delay": "1 ms", "line_rate": "10 Gbit/s"},
        {"from": "r1", "to": "omega", "one_way_delay": "131 ms"},
    ],
    "transfer": {"streams": 1, "congestion_control": "cubic", "duration": "60 s", "window": "34 MB"},
}
# Setting, as it is without tuning, as `tune` sets it; the words change the scenario to each.
ROWS = [
    ("net.core.rmem_max, wmem_max", "212992 B (Linux's default)", ["transfer.window=208KiB"], "the plan's window", []),
    ("net.ipv4.tcp_rmem, largest", "6 MiB: a window of 3 MiB", ["transfer.window=3MiB"], "the plan's window", []),
    ("MTU", "1500 B", ["mtu=1500 B"], "9000 B", []),
    (
        "MTU, one packet of a million lost",
        "1500 B",
        ["mtu=1500 B", "path.1.loss=0.0001 %"],
        "9000 B",
        ["path.1.loss=0.0001 %"],
    ),
    (
        "congestion control, one packet of 100 000 lost",
        "reno",
        ["path.1.loss=0.001 %", "transfer.congestion_control=reno"],
        "bbr",
        ["path.1.loss=0.001 %", "transfer.congestion_control=bbr"],
    ),
    (
        "fq with pacing, first queue of 0.02 BDP",
        "no pacing",
        ["queue=0.02 BDP"],
        "transfer.pacing of 0.98 Gbit/s over it",
        ["queue=0.02 BDP", "transfer.pacing=0.98 Gbit/s"],
    ),
]


def measure(scenario: Path, runs: Path, changes: list[str]) -> tuple[float, int]:
    """Goodput in Mbit/s over the whole run, and retransmitted packets."""
    words = [word for change in changes for word in ("--set", change)]
    done = subprocess.run(
        [COMMAND, "run", scenario, "--out", runs, "--json", "--quiet", *words],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    record = json.loads(done.stdout)
    return record["goodput_bps"] / 1e6, record["retransmits"]


def main() -> None:
    """Print the table."""
    known: dict[tuple[str, ...], tuple[float, int]] = {}
    print("| setting | without | Mbit/s | with `tune` | Mbit/s |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "tuning.yaml"
        scenario.write_text(json.dumps(SCENARIO))
        for setting, without, change, tuned, also in ROWS:
            for changes in (change, also):
                if tuple(changes) not in known:
                    known[tuple(changes)] = measure(scenario, Path(folder) / "runs", changes)
            (slow, slow_again), (fast, fast_again) = known[tuple(change)], known[tuple(also)]
            cells = (
                setting,
                without,
                f"{slow:.1f} ({slow_again} sent again)",
                tuned,
                f"{fast:.1f} ({fast_again} sent again)",
            )
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
