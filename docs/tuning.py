"""Prints the table of docs/reference/host-settings.md: each tuning before and after, in virtual time."""

import tempfile
from pathlib import Path

import landspeed

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
WINDOW, LOSS = "transfer.window", "path.1.loss"
Changes = dict[str, str | bool]
# Setting, as it is without tuning, as `tune` sets it; the keys change the scenario to each.
ROWS: list[tuple[str, str, Changes, str, Changes]] = [
    ("net.core.rmem_max, wmem_max", "212992 B (Linux's default)", {WINDOW: "208KiB"}, "the plan's window", {}),
    ("net.ipv4.tcp_rmem, largest", "6 MiB: a window of 3 MiB", {WINDOW: "3MiB"}, "the plan's window", {}),
    ("MTU", "1500 B", {"mtu": "1500 B"}, "9000 B", {}),
    ("MTU, one packet of a million lost", "1500 B", {"mtu": "1500 B", LOSS: "0.0001 %"}, "9000 B", {LOSS: "0.0001 %"}),
    (
        "congestion control, one packet of 100 000 lost",
        "reno",
        {LOSS: "0.001 %", "transfer.congestion_control": "reno"},
        "bbr",
        {LOSS: "0.001 %", "transfer.congestion_control": "bbr"},
    ),
    (
        "queue discipline, first queue of 0.1 BDP",
        "fq_codel, as on most systems",
        {"queue": "0.1 BDP", "hosts.alpha.paced": False},
        "fq",
        {"queue": "0.1 BDP"},
    ),
    (
        "fq with a rate for each stream, first queue of 0.02 BDP",
        "fq alone",
        {"queue": "0.02 BDP"},
        "transfer.pacing of 0.98 Gbit/s over it",
        {"queue": "0.02 BDP", "transfer.pacing": "0.98 Gbit/s"},
    ),
]


def measure(runs: Path, changes: Changes) -> tuple[float, int]:
    """Goodput in Mbit/s over the whole run, and retransmitted packets."""
    scenario = landspeed.Scenario.build(SCENARIO)
    run = landspeed.run(scenario.with_(changes), runs_dir=runs, report=False)
    return (run.goodput_bps or 0) / 1e6, run.record.retransmits or 0


def main() -> None:
    """Print the table."""
    known: dict[str, tuple[float, int]] = {}
    print("| setting | without | Mbit/s | with `tune` | Mbit/s |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for setting, without, change, tuned, also in ROWS:
            for changes in (change, also):
                if str(changes) not in known:
                    known[str(changes)] = measure(Path(folder), changes)
            (slow, slow_again), (fast, fast_again) = known[str(change)], known[str(also)]
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
