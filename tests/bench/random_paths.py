"""Random scenarios, in both worlds: the gate passes each, none stalls or runs out of memory, and the worlds agree.

Where steady goodput is more than 2 % apart, `landspeed compare` must name the cause. test_random_paths.py tries
a few; `python -m tests.bench.random_paths` all of the 200 of a seed, in slices as wanted, and keeps what it found:

    tests/bench/random_paths.py --first 20 --times 20   # these 20 of them, unless they are known already
    tests/bench/random_paths.py --seconds 500           # begin what is not known yet, for so long
    tests/bench/random_paths.py --markdown              # what is known, as a table

A run that fails keeps its scenario and its bundles beside the results. `--number N` tries one by its number.
"""

import argparse
import itertools
import json
import math
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st

from landspeed.report.comparison import compare
from landspeed.report.comparison_sides import Side, load_side, world_words
from landspeed.scenario.file.capabilities import CONGESTION_CONTROLS
from tests.support.command import landspeed
from tests.support.emu_fixtures import ROOT, write_scenario

EXAMPLES = 200
KEPT = ROOT / "build" / "random-paths"
WORLDS = ("sim", "emu")
AGREE = 0.02  # of the steady goodput
BAD_INPUT, TOO_LARGE = 2, ("the run needs up to", "RED with a threshold of")  # known before anything is started
PACKET_HOPS = 400_000  # so many are worth a run's time
MOST_S, LEAST_S = 20.0, 0.2
DEADLINE_S = 300.0
STALL_S = 5.0


@dataclass
class Outcome:
    """What became of a scenario.

    Attributes:
        faults: what must not be.
        goodput_bps, bound, wall_s: of each world; steady goodput.
        apart, cause: of the steady goodputs, as `compare` says it; empty where these agree.
        refused: why this machine cannot run it: the bandwidth-delay product does not fit its memory, or RED's 32 bits.
    """

    faults: list[str] = field(default_factory=list)
    goodput_bps: dict[str, float | None] = field(default_factory=dict)
    bound: dict[str, str | None] = field(default_factory=dict)
    wall_s: dict[str, float] = field(default_factory=dict)
    apart: str = ""
    cause: str = ""
    refused: str = ""


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
        "events": [
            event_of(choose, link, duration_s) for link in choose.sample(links, min(count, choose.choice([0, 0, 1, 2])))
        ],
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
    """Run a scenario in both worlds, and hold one beside the other as `landspeed compare` does."""
    file, outcome, sides = write_scenario(folder, content), Outcome(), list[Side]()
    for world in WORLDS:
        began = time.monotonic()
        done = landspeed(
            "run", file, "--world", world, "--json", "--quiet", "--out", folder / "runs", timeout=DEADLINE_S
        )
        outcome.wall_s[world] = round(time.monotonic() - began, 1)
        try:
            record = json.loads(done.stdout)
        except ValueError:
            if done.returncode == BAD_INPUT and any(each in done.stderr for each in TOO_LARGE):
                outcome.refused = done.stderr.strip().splitlines()[0]
                return outcome
            outcome.faults.append(f"{world}: exit status {done.returncode}: {done.stderr.strip()[-300:]}")
            continue
        sides.append(load_side(Path(record["bundle"]), world_words(world)))
        outcome.goodput_bps[world] = sides[-1].settled_bps
        outcome.bound[world] = record["limited_by"]
        if record["error"]:
            outcome.faults.append(f"{world}: {record['error']}")
        outcome.faults += [
            f"{world}: {each['name']}: {each['text']}" for each in record["verdicts"] if each["ok"] is False
        ]
        if record["limited_by"] == "unknown":
            outcome.faults.append(f"{world}: bound by nothing known: {record['limited_by_why']}")
    if len(sides) == len(WORLDS):
        outcome.faults += stalls(sides)
        for _, each in compare(sides, AGREE).differences:
            if each.what == "Settled goodput":
                outcome.apart, outcome.cause = each.apart, each.cause
                if not each.cause:
                    outcome.faults.append(f"{each.what} apart by {each.apart}, and compare names no cause")
    return outcome


def stalls(sides: Sequence[Side]) -> list[str]:
    """Worlds in which nothing arrived in the second half, and no timeout is waited for, while it did in the other."""
    standing = [side for side in sides if side.settled_bps == 0 and not side.backs_off and half_s(side) > STALL_S]
    return [f"{side.label}: stands still" for side in standing] if len(standing) < len(sides) else []


def half_s(side: Side) -> float:
    return (side.record.duration_s or 0.0) / 2


def numbers(seed_: int) -> list[int]:
    """The scenarios of a seed, by number."""
    found: list[int] = []

    @seed(seed_)
    @settings(max_examples=EXAMPLES, deadline=None, database=None, phases=[Phase.generate])
    @given(number=st.integers(0, 2**32 - 1))
    def collect(number: int) -> None:
        found.append(number)

    collect()
    return list(dict.fromkeys(found))


class Kept:
    """What is known of scenarios, in a file that grows.

    Args:
        folder: of the file, and of what is kept of scenarios at fault.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "outcomes.json"
        folder.mkdir(parents=True, exist_ok=True)
        told = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.outcomes = {int(number): Outcome(**each) for number, each in told.items()}

    def attempt(self, number: int) -> Outcome:
        """Run a scenario and keep what became of it."""
        folder = self.folder / str(number)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        outcome = self.outcomes[number] = check(scenario_of(number), folder)
        if not outcome.faults and not outcome.cause:
            shutil.rmtree(folder)
        beside = self.file.with_suffix(".partial")
        beside.write_text(json.dumps({number: asdict(each) for number, each in self.outcomes.items()}, indent=1))
        beside.replace(self.file)
        return outcome


def told(number: int, outcome: Outcome) -> str:
    """An outcome in a line, and one for each fault."""
    rates = ", ".join(f"{world} {rate or 0:.4g}" for world, rate in outcome.goodput_bps.items())
    bounds = ", ".join(str(each) for each in outcome.bound.values())
    if outcome.refused:
        return f"{number:10} {outcome.refused}"
    apart = f"; apart by {outcome.apart}: {outcome.cause or 'no cause'}" if outcome.apart else ""
    lines = [f"{number:10} {rates} bit/s, bound by {bounds}{apart}; {sum(outcome.wall_s.values()):.0f} s"]
    return "\n".join(lines + [f"     FAULT {fault}" for fault in outcome.faults])


def table(outcomes: Sequence[Outcome]) -> list[str]:
    """What came of scenarios, counted."""
    agree = [each for each in outcomes if not each.faults and not each.apart and not each.refused]
    causes = Counter(each.cause for each in outcomes if not each.faults and each.apart)
    rows = [
        ("scenarios tried", len(outcomes)),
        ("steady goodput within 2 % of each other", len(agree)),
        ("further apart, and `compare` names the cause", sum(bool(not e.faults and e.apart) for e in outcomes)),
        *((f"… {cause}", count) for cause, count in causes.most_common()),
        (
            "refused before it began: more than this machine's memory, or RED's 32 bits",
            sum(bool(e.refused) for e in outcomes),
        ),
        ("at fault", sum(bool(each.faults) for each in outcomes)),
    ]
    return ["| of random scenarios | |", "|---|---:|", *(f"| {what} | {count} |" for what, count in rows)]


def main() -> int:
    """Try as many as asked, and go on after a fault."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").split("\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1, help="another 200 scenarios")
    parser.add_argument("--first", type=int, default=0, help="begin with this one of the 200")
    parser.add_argument("--times", type=int, default=EXAMPLES, help="so many of them")
    parser.add_argument("--number", type=int, nargs="+", help="the scenarios of these numbers instead")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin none after so long")
    parser.add_argument("--again", action="store_true", help="also what is known already")
    parser.add_argument("--kept", type=Path, default=KEPT, help="folder of what is known")
    parser.add_argument("--markdown", action="store_true", help="run nothing: what is known, counted")
    parsed = parser.parse_args()
    wanted = parsed.number or numbers(parsed.seed)[parsed.first : parsed.first + parsed.times]
    kept, began = Kept(parsed.kept), time.monotonic()
    for number in wanted if not parsed.markdown else ():
        if time.monotonic() - began > parsed.seconds:
            break
        if parsed.again or parsed.number or number not in kept.outcomes:
            print(told(number, kept.attempt(number)), flush=True)
    known = [kept.outcomes[number] for number in wanted if number in kept.outcomes]
    print("\n".join(table(known)))
    return 1 if any(each.faults for each in known) else 0


if __name__ == "__main__":
    sys.exit(main())
