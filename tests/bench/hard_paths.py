"""Random paths of what is hard to calibrate: each is right, so the emulated world must calibrate each.

Lines of up to 1 Tbit/s at any MTU, token buckets of a few packets, reordering of 30 % and more, queues of one frame,
jitter up to the delay, slow ACK lines, queues at hosts, losses, duplicates, outages; several of them on one path.

    python -m tests.bench.hard_paths                      # 200 paths
    python -m tests.bench.hard_paths --seed 2 --times 24  # others, kept for checking
    python -m tests.bench.hard_paths --number N           # one of them by its number

It prints a line for each path that is refused, and how many were not. test_hard_paths.py tries a few.
"""

import argparse
import itertools
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.bench.random_paths import EXAMPLES, Choice, numbers
from tests.support.command import landspeed
from tests.support.emu_fixtures import write_scenario

FASTEST_BPS, SLOWEST_BPS = 1e12, 100e3
MOST_DELAY_US = 300_000
FRAME_BYTES = 14  # a queue counts the Ethernet header, too
BUCKET_BYTES = 100  # a token bucket holds a packet with its framing
DEADLINE_S = 300.0


def scenario_of(number: int) -> dict[str, Any]:
    """1 to 8 links, most of which have something that is hard to measure."""
    choose = Choice(number)
    ip = choose.choice([4, 4, 6])
    mtu: int = choose.choice([1500, 1500, 9000, 1280 if ip == 6 else 576])
    count = choose.randint(1, 8)
    base_bps = choose.logarithmic(*choose.choice([(200e9, FASTEST_BPS), (10 * SLOWEST_BPS, 200e9)]))
    whole_us = choose.logarithmic(10, MOST_DELAY_US)
    names = ["alpha", *(f"r{place}" for place in range(1, count)), "omega"]
    links = [
        {"from": a, "to": b, **link_of(choose, base_bps, whole_us / count, mtu, from_router=a != "alpha")}
        for a, b in itertools.pairwise(names)
    ]
    if choose.one_in(3):
        links[-1]["reverse"] = ack_line(choose, base_bps, mtu)
    down = {"at": "1 s", "between": [names[0], names[1]], "down": f"{choose.logarithmic(0.01, 20):.3f} s"}
    return {
        "format": 1,
        "name": "hard",
        "title": f"Hard path {number}",
        "ip": ip,
        "mtu": f"{mtu} B",
        "hosts": {"alpha": {"role": "sender"}, "omega": {"role": "receiver"}},
        "path": links,
        "transfer": {"bytes": "10 kB"},
        "events": [down] if choose.one_in(4) else [],
        "seed": number,
    }


def link_of(choose: Choice, base_bps: float, delay_us: float, mtu: int, *, from_router: bool) -> dict[str, Any]:
    """A link; only a router has a queue and a discipline."""
    delay_us = max(1, round(delay_us * choose.uniform(0.2, 1.8)))
    rate_bps = min(max(base_bps * choose.choice([0.1, 0.5, 1, 1, 1]), SLOWEST_BPS), FASTEST_BPS)
    link: dict[str, Any] = {
        "one_way_delay": f"{delay_us} us",
        "line_rate": f"{rate_bps / 1e3:.0f} kbit/s",
        "framing": choose.choice(["ethernet", "ethernet", "pos"]),
    }
    if from_router and choose.one_in(3):
        least = mtu + BUCKET_BYTES
        bucket = {
            "rate": f"{rate_bps * choose.choice([0.1, 0.5, 0.9]) / 1e3:.0f} kbit/s",
            "burst": f"{round(least * choose.logarithmic(1, 64))} B",
        }
        link |= {"queue": f"{100 * mtu} B", "discipline": {"tbf": bucket}}
    elif from_router and choose.one_in(3):
        link["queue"] = f"{mtu + FRAME_BYTES} B"
    for key, one_in, least, most in (("reorder", 5, 30, 90), ("loss", 6, 0.01, 5), ("duplicate", 8, 0.1, 10)):
        if choose.one_in(one_in):
            link[key] = f"{choose.logarithmic(least, most)} %"
    if choose.one_in(5):
        link["jitter"] = f"{delay_us * choose.logarithmic(0.01, 1):.3f} us"
    return link


def ack_line(choose: Choice, base_bps: float, mtu: int) -> dict[str, Any]:
    """The receiver's own line, a thousandth of the way there at the least, with a queue at the host."""
    rate_bps = max(base_bps / choose.logarithmic(2, 1000), SLOWEST_BPS)
    queue = choose.choice([mtu + FRAME_BYTES, 10 * mtu, 100 * mtu])
    return {"line_rate": f"{rate_bps / 1e3:.0f} kbit/s", "queue": f"{queue} B", "discipline": "fifo"}


def fault(number: int, folder: Path) -> str:
    """What the emulated world has against a path; empty if it calibrates and the few bytes come over."""
    file = write_scenario(folder, scenario_of(number))
    done = landspeed("run", file, "--world", "emu", "--json", "--quiet", "--out", folder / "runs", timeout=DEADLINE_S)
    try:
        record = json.loads(done.stdout)
    except ValueError:
        return f"exit status {done.returncode}: {done.stderr.strip()[-300:]}"
    failed = [verdict["text"] for verdict in record["verdicts"] if verdict["ok"] is False]
    return record["error"] or "; ".join(failed)


def main() -> int:
    """Try as many as asked, and go on after a refusal."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").split("\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1, help=f"another {EXAMPLES} paths")
    parser.add_argument("--first", type=int, default=0, help="begin with this one of them")
    parser.add_argument("--times", type=int, default=EXAMPLES, help="so many of them")
    parser.add_argument("--number", type=int, nargs="+", help="the paths of these numbers instead")
    parsed = parser.parse_args()
    wanted = parsed.number or numbers(parsed.seed)[parsed.first : parsed.first + parsed.times]
    good = 0
    for number in wanted:
        with TemporaryDirectory() as folder:
            told = fault(number, Path(folder))
        good += not told
        if told:
            print(f"{number}: {told}", flush=True)
    print(f"{good} of {len(wanted)} calibrate")
    return 0 if good == len(wanted) else 1


if __name__ == "__main__":
    sys.exit(main())
