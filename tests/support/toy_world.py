"""A world for tests of sweeps: it computes in no time. Its folder is put on PYTHONPATH, as somebody else's package is.

Goodput is what theory expects, with noise of 3 % that only the seed decides. `--hold FILE` makes a cell wait until the
file is there; a window of 13 MB breaks the run; every run adds a line to `--log FILE`; `--curve` writes samples.
"""

import os
from pathlib import Path

WORLD = """
import os
import random
import time
from dataclasses import dataclass
from pathlib import Path

from landspeed import RunFailed, World, option
from landspeed.base.progress import Progress
from landspeed.results.sample_columns import SAMPLE_COLUMNS
from landspeed.results.record import StreamResult
from landspeed.scenario.file.capabilities import Capabilities


@dataclass(frozen=True, kw_only=True)
class Options:
    hold: str | None = option(None, "wait until this file is there", metavar="FILE", repeated=False)
    log: str | None = option(None, "a line for each run", metavar="FILE", repeated=False)
    pencil: str = option("2B", "what it computes with", metavar="NAME")
    curve: str | None = option(None, "write samples: even, or growing", choices=("even", "growing"))


def write_curve(file, goodput_bps, seconds, growing):
    # Bytes read over time: the rate rises for a second, and stays, or grows on and on.
    with open(file, "w") as out:
        out.write(",".join(SAMPLE_COLUMNS) + "\\n")
        for step in range(1, int(seconds * 10) + 1):
            t = step / 10
            full_s = t * t / 2 / (seconds if growing else 1) if growing or t < 1 else t - 0.5
            row = [round(t * 1e9), 0, round(goodput_bps * full_s / 8), *[0] * (len(SAMPLE_COLUMNS) - 3)]
            out.write(",".join(map(str, row)) + "\\n")


class Toy(World):
    name = "toy"
    summary = "theory and noise"
    capabilities = Capabilities(congestion_controls=("reno", "cubic", "bbr"), special_keys=("kernel",))
    Options = Options

    def build_id(self, plan=None):
        return os.environ.get("TOY_BUILD", "pencil") + (f" of {plan.kernel}" if plan and plan.kernel else "")

    def memory_bytes(self, plan):
        return plan.transfer.streams * 2**30

    def run(self, plan, bundle, report):
        if self.options.log:
            with open(self.options.log, "a") as log:
                log.write(f"{os.getpid()} {plan.transfer.streams} {plan.seed}\\n")
        while self.options.hold and not Path(self.options.hold).exists():
            report(Progress(phase="transfer"))
            time.sleep(0.02)
        if plan.transfer.window_bytes == 13_000_000:
            raise RunFailed("a window of 13 MB brings bad luck")
        goodput_bps = plan.physics.expected_goodput_bps * random.Random(plan.seed).gauss(1, 0.03)
        seconds = (plan.transfer.duration_ns or 0) / 1e9
        if self.options.curve:
            write_curve(bundle.path / "receiver.csv", goodput_bps, seconds, self.options.curve == "growing")
        record = bundle.record.with_flow(
            goodput_bps=goodput_bps,
            bytes=round(goodput_bps * seconds / 8),
            duration_s=seconds,
            rtt_ms=plan.physics.rtt_ns / 1e6,
            streams=[StreamResult(stream=0, goodput_bps=goodput_bps)],
        )
        bundle.note(record)
        return record
"""


def make_site(folder: Path, name: str = "toy", world: str = WORLD) -> Path:
    """A folder as pip leaves it: a module, and its entry points."""
    site = folder / "site"
    facts = site / f"{name}_world-1.0.dist-info"
    facts.mkdir(parents=True)
    (site / f"{name}_world.py").write_text(world)
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-world\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(f"[landspeed.worlds]\n{name} = {name}_world:{name.title()}\n")
    return site


def environment(site: Path, **more: str) -> dict[str, str]:
    """The variables with which that world is found."""
    return os.environ | {"PYTHONPATH": str(site)} | more
