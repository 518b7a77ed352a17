"""Random scenarios, in both worlds: the gate passes each, none stalls or runs out of memory, and the worlds agree.

`tests/test_random_paths.py` tries a few; `.venv/bin/python tests/random_paths.py --examples 200` as many as wanted, and
prints a line for each. A run that fails keeps its scenario in the folder that is named. `--number N` tries one again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emu_fixtures import landspeed, write_scenario
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from landspeed.scenarios.capabilities import CONGESTION_CONTROLS

AGREE = 0.02  # of the goodput, where both runs say that the same thing of no chance bound them
CHANCELESS = ("window", "framing", "bus", "ack path")
PACKET_HOPS = 400_000  # so many are worth a run's time
MOST_S, LEAST_S = 20.0, 0.2
DEADLINE_S = 300.0


@dataclass
class Outcome:
    """What became of a scenario.

    Attributes:
        faults: what must not be.
        goodput_bps, bound: of each world.
    """

    faults: list[str] = field(default_factory=list)
    goodput_bps: dict[str, float | None] = field(default_factory=dict)
    bound: dict[str, str | None] = field(default_factory=dict)


class Choice(random.Random):
    """A source of choices; a number makes the same scenario everywhere."""

    def logarithmic(self, least: float, most: float) -> float:
        """Each factor of ten as likely as the next; four digits."""
        return float(f"{10 ** self.uniform(math.log10(least), math.log10(most)):.4g}")

    def one_in(self, count: int) -> bool:
        """True so often."""
        return self.randrange(count) == 0


def scenario_of(number: int) -> dict[str, Any]:
    """1 to 12 links of 56 kbit/s to 100 Gbit/s, 1 µs to 400 ms in all, MTU 576 to 9000, every congestion control."""
    choose = Choice(number)
    ip = choose.choice([4, 4, 6])
    mtu: int = choose.choice([1280, 1500, 4470, 9000, *([576] if ip == 4 else [])])
    count = choose.randint(1, 12)
    names = ["alpha", *(f"r{place}" for place in range(1, count)), "omega"]
    base_bps, whole_us = choose.logarithmic(56e3, 100e9), choose.logarithmic(1, 400_000)
    links = [{"from": a, "to": b, **link_of(choose, base_bps, whole_us / count)} for a, b in itertools.pairwise(names)]
    slowest_bps = min(rate_of(link) for link in links)
    once_s = sum(float(link["one_way_delay"].split()[0]) for link in links) / 1e6 + count * mtu * 8 / slowest_bps
    duration_s = max(LEAST_S, 20 * once_s, min(MOST_S, PACKET_HOPS / count * mtu * 8 / slowest_bps))
    transfer: dict[str, Any] = {
        "duration": f"{duration_s:.3f} s",
        "streams": choose.choice([1, 1, 1, 2, 4]),
        "congestion_control": choose.choice(CONGESTION_CONTROLS),
    }
    if choose.one_in(2):
        transfer["window"] = f"{choose.logarithmic(100e3, 100e6):.0f} B"
    if choose.one_in(8):
        transfer["pacing"] = f"{slowest_bps * choose.uniform(0.3, 0.9) / transfer['streams'] / 1e3:.3f} kbit/s"
    return {
        "format": 1,
        "name": "random",
        "title": f"Random path {number}",
        "ip": ip,
        "mtu": f"{mtu} B",
        "hosts": {"alpha": {"role": "sender"}, "omega": {"role": "receiver"}},
        "path": links,
        "transfer": transfer,
        "events": [event_of(choose, choose.choice(links), duration_s) for _ in range(choose.choice([0, 0, 1, 2]))],
        "seed": number,
    }


def rate_of(link: dict[str, Any]) -> float:
    return float(link["line_rate"].split()[0]) * 1e3


def link_of(choose: Choice, base_bps: float, delay_us: float) -> dict[str, Any]:
    delay_us = max(1, round(delay_us * choose.uniform(0.2, 1.8)))
    rate_bps = min(100e9, base_bps * choose.choice([1, 1, 1, 2, 4, 10]))
    link: dict[str, Any] = {
        "one_way_delay": f"{delay_us} us",
        "line_rate": f"{rate_bps / 1e3:.3f} kbit/s",
        "framing": choose.choice(["ethernet", "ethernet", "pos"]),
        "discipline": choose.choice(["fifo", "fifo", "fifo", "red", "fq_codel"]),
    }
    if choose.one_in(6):
        link["reverse"] = {"line_rate": f"{max(56e3, rate_bps * choose.choice([0.1, 0.5, 3])) / 1e3:.3f} kbit/s"}
    if choose.one_in(10):
        link["loss"] = choose.choice(["0.001 %", "0.1 %"])
    if choose.one_in(10):
        link["jitter"] = f"{delay_us / 20:.3f} us"
    return link


def event_of(choose: Choice, link: dict[str, Any], duration_s: float) -> dict[str, Any]:
    """Something that happens to a link within the transfer."""
    event: dict[str, Any] = {
        "at": f"{duration_s * choose.uniform(0.2, 0.6):.4f} s",
        "from": link["from"],
        "to": link["to"],
    }
    lasts = f"{duration_s * choose.uniform(0.01, 0.2):.4f} s"
    kind = choose.choice(["loss", "line_rate", "one_way_delay", "down", "background"])
    if kind == "loss":
        return event | {kind: choose.choice(["1 packet", "3 packets"])}
    if kind == "down" or (kind == "background" and link["from"] == "alpha"):  # it enters at routers
        kind = "down"
        return event | {kind: lasts}
    if kind == "one_way_delay":
        return event | {kind: f"{choose.logarithmic(1, 50_000):.0f} us", "for": lasts}
    return event | {kind: f"{rate_of(link) * choose.uniform(0.2, 0.8) / 1e3:.3f} kbit/s", "for": lasts}


def check(content: dict[str, Any], folder: Path) -> Outcome:
    """Run a scenario in both worlds."""
    file, outcome = write_scenario(folder, content), Outcome()
    windows: dict[str, int | None] = {}
    for world in ("emu", "sim"):
        done = landspeed(
            "run", file, "--world", world, "--json", "--quiet", "--out", folder / "runs", timeout=DEADLINE_S
        )
        try:
            record = json.loads(done.stdout)
        except ValueError:
            outcome.faults.append(f"{world}: exit status {done.returncode}: {done.stderr.strip()[-300:]}")
            continue
        outcome.goodput_bps[world] = record["steady_goodput_bps"] or record["goodput_bps"]
        outcome.bound[world] = record["limited_by"]
        if record["error"]:
            outcome.faults.append(f"{world}: {record['error']}")
        outcome.faults += [
            f"{world}: {each['name']}: {each['text']}" for each in record["verdicts"] if each["ok"] is False
        ]
        if record["limited_by"] == "unknown":
            outcome.faults.append(f"{world}: bound by nothing known: {record['limited_by_why']}")
        window = record["window"]
        windows[world] = window.get("receive_window_bytes") or window["advertised_bytes"]
    emulated, simulated = (outcome.goodput_bps.get(world) for world in ("emu", "sim"))
    granted, predicted = windows.get("emu"), windows.get("sim")
    if outcome.bound.get("emu") == "window" and simulated and granted and predicted:
        simulated *= granted / predicted  # what Linux grants is only predicted (what-is-true.md)
    same = outcome.bound.get("emu") == outcome.bound.get("sim") and outcome.bound.get("emu") in CHANCELESS
    if same and emulated and simulated and abs(simulated / emulated - 1) > AGREE:
        outcome.faults.append(f"{outcome.bound['emu']}: emulated {emulated:.4g} bit/s, simulated {simulated:.4g} bit/s")
    return outcome


def main() -> int:
    """Try as many as asked, and go on after a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, help="try the scenario of this number alone")
    parsed = parser.parse_args()
    failed = tried = 0
    if parsed.number is not None:
        folder = Path(tempfile.mkdtemp(prefix="landspeed-random-"))
        print(check(scenario_of(parsed.number), folder), folder)
        return 0

    @seed(parsed.seed)
    @settings(
        max_examples=parsed.examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
    @given(number=st.integers(0, 2**32 - 1))
    def attempt(number: int) -> None:
        nonlocal failed, tried
        tried += 1
        folder = Path(tempfile.mkdtemp(prefix="landspeed-random-"))
        outcome = check(scenario_of(number), folder)
        rates = ", ".join(f"{world} {rate or 0:.4g}" for world, rate in outcome.goodput_bps.items())
        print(
            f"{tried:4} {number:10} {rates} bit/s, bound by {outcome.bound.get('emu')}, {outcome.bound.get('sim')}",
            flush=True,
        )
        if not outcome.faults:
            shutil.rmtree(folder)
            return
        failed += 1
        print("\n".join(f"     FAULT {fault}" for fault in outcome.faults), f"\n     {folder}", flush=True)

    attempt()
    print(f"{tried} tried, {failed} at fault")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
