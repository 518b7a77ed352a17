"""This tree beside an older commit, in turns: what became faster, and by how much, on a machine of any speed.

    python -m tests.bench.bench_against 5dae4f8 [--rounds 3] [NAME…]

The commit gets a clone of its own below build/against, which stays: the first time it is set up (a kernel, minutes).
A figure in seconds is a machine's; the ratio of two runs that follow each other is the program's. Exit status 1 where a
ratio is below what is promised against 5dae4f8, the tree whose seconds the promises began from.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.bench import FIRST, LAN, PASADENA, ROOT, VERIFIED, Row, dumbbell, told

PLACE = ROOT / "build" / "against"
PROMISED_AGAINST = "5dae4f8"
LONG = {
    "format": 1,
    "name": "long",
    "title": "iperf3 over 50 ms",
    "line_rate": "1 Gbit/s",
    "hosts": {"a": {"role": "sender"}, "b": {"role": "receiver"}},
    "path": [{"from": "a", "to": "b", "one_way_delay": "25 ms"}],
    "transfer": {"duration": "10 s"},
}
KEPT = 0.95  # what was fast enough has not become slower; less is noise


@dataclass
class Work:
    """Something that both trees do.

    Attributes:
        what: as the table says it.
        scenario: a file, or its content.
        options: of `landspeed run`.
        wall: how many times as fast the command shall be.
        transfer: the same of the transfer alone; nothing is promised where it is None.
    """

    what: str
    scenario: Path | dict[str, Any]
    options: tuple[str, ...] = ()
    wall: float = KEPT
    transfer: float | None = None


WORKS = {
    "first": Work("examples/first.yaml", FIRST),
    "record": Work("2004-06-25, 1037 s", PASADENA),
    "verified": Work(
        "2004-06-25, each byte checked, 25 s", VERIFIED, ("--set", "transfer.duration=25 s", "--set", "expect=null")
    ),
    "iperf3": Work("iperf3, 1 Gbit/s × 50 ms, 10 s", LONG, ("--tool", "iperf3")),
    "pairs-1": Work("1 pair × 10 s at 1 Gbit/s over 44 ms", dumbbell(1)),
    "pairs-16": Work("16 pairs", dumbbell(16)),
    "pairs-48": Work("48 pairs", dumbbell(48), ("--stall", "120"), wall=17.6 / 8, transfer=2),
    "lan": Work("iperf3, 1 Gbit/s × 40 µs, 3 s", LAN, ("--tool", "iperf3"), transfer=3),
}


def clone_of(commit: str) -> Path:
    """The commit's own tree, set up.

    Raises:
        CalledProcessError: there is no such commit here, or its set-up failed.
    """
    words = ["git", "-C", str(ROOT), "rev-parse", "--short=12", f"{commit}^{{commit}}"]
    name = subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()
    tree = PLACE / name
    if not tree.exists():
        PLACE.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", str(ROOT), str(tree)], check=True)
        subprocess.run(["git", "-C", str(tree), "checkout", "-q", name], check=True)
    # As that tree's Makefile has it: another Python than this one's environment is its own affair.
    subprocess.run(["make", "-C", str(tree), "setup-run"], check=True, stdout=sys.stderr)
    return tree


def seconds(tree: Path, work: Work, folder: Path) -> tuple[float, float]:
    """Run it once.

    Returns:
        wall time of the command from its boot on, and of the transfer alone, in seconds.
    """
    file = work.scenario
    if not isinstance(file, Path):
        content, file = file, folder / f"{file['name']}.yaml"
        file.write_text(json.dumps(content))
    words = [str(tree / ".venv" / "bin" / "landspeed"), "run", str(file), "--json", "--out", str(folder), *work.options]
    print("+", " ".join(words), file=sys.stderr, flush=True)
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False, cwd=folder)
    result = json.loads(done.stdout)
    if not result["complete"]:
        raise RuntimeError(f"{tree}: {work.what}: {result['error']}")
    return result["wall_s"], result["transfer_wall_s"]


def compared(old: Path, work: Work, rounds: int, promised: bool) -> list[Row]:
    """The rows of one work: who begins changes from round to round."""
    times: dict[Path, list[tuple[float, float]]] = {old: [], ROOT: []}
    with tempfile.TemporaryDirectory(prefix="landspeed-against-") as folder:
        for number in range(rounds):
            for tree in (old, ROOT) if number % 2 == 0 else (ROOT, old):
                times[tree].append(seconds(tree, work, Path(folder)))
    rows = []
    for part, label, least in ((0, work.what, work.wall), (1, "… the transfer alone", work.transfer)):
        before, now = ([each[part] for each in times[tree]] for tree in (old, ROOT))
        ratios = sorted(one / other for one, other in zip(before, now, strict=True))
        ratio = statistics.median(ratios)
        shown = f"{statistics.median(before):.2f} s → {statistics.median(now):.2f} s: {ratio:.2f} × as fast"
        shown += f" ({ratios[0]:.2f} to {ratios[-1]:.2f})" if rounds > 1 else ""
        kept = not promised or least is None or ratio >= least
        rows.append(Row(label, shown, f"≥ {least:.2f} ×" if promised and least else "", kept))
    return rows


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(WORKS)}; without: all")
    parser.add_argument("--rounds", type=int, default=3, help="pairs of runs of each (3)")
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(WORKS):
        parser.error(f"no work {', '.join(sorted(unknown))}; there are {', '.join(WORKS)}")
    old = clone_of(asked.commit)
    promised = old.name.startswith(PROMISED_AGAINST)
    return told(
        [row for name in asked.names or WORKS for row in compared(old, WORKS[name], max(asked.rounds, 1), promised)]
    )


if __name__ == "__main__":
    sys.exit(main())
