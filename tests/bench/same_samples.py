"""Twelve small runs of both worlds, and a hash of each file of samples: is every byte as it was before a change?

    python -m tests.bench.same_samples --write before.json          # on the commit that is right
    python -m tests.bench.same_samples --against before.json        # on another one: exit status 1 where a byte differs
    python -m tests.bench.same_samples --against before.json --only first,loss

It uses nothing of the package but its command, `.venv/bin/landspeed` of the working folder. So a copy of it measures
other commits too, also those that lack it (`git bisect run`: docs/developing/bisect.md). Exit status 125, which tells
`git bisect` to skip a commit: a run left no samples.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = {
    "first": "first",
    "first-sim": "first --world sim",
    "loss": "first --set transfer.duration=5s --set path.1.loss=0.1%",
    "super-packets": "one-stream-10g --set transfer.duration=5s",
    "ipv6": "2003-05-02-geneva-chicago-ipv6 --set transfer.duration=10s",
    "trace": "cellular --set transfer.duration=10s",
    "events": "degrading-line --set transfer.duration=20s",
    "events-sim": "degrading-line --world sim --set transfer.duration=20s",
    "network": "dumbbell --set transfer.duration=5s",
    "network-sim": "dumbbell --world sim --set transfer.duration=5s",
    "disciplines-sim": "parking-lot --world sim --set transfer.duration=5s",
    "mptcp": "two-routes",
}
SKIP = 125  # git-bisect(1)

Hashes = dict[str, dict[str, str]]
"""Run → file of samples, relative to the bundle → the first digits of its SHA-256."""


def hashes_of(bundle: Path) -> dict[str, str]:
    """Hash each file of samples of a bundle."""
    files = sorted(bundle.rglob("*.parquet"))
    return {str(file.relative_to(bundle)): hashlib.sha256(file.read_bytes()).hexdigest()[:16] for file in files}


def make_run(words: str, folder: Path) -> dict[str, str]:
    """Run and hash; empty where the run left no samples. A missed promise of the scenario does not matter here."""
    command = [".venv/bin/landspeed", "run", *words.split(), "--quiet", "--out", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    bundles = [each for each in folder.glob("*") if each.is_dir()] if folder.is_dir() else []
    found = hashes_of(bundles[0]) if len(bundles) == 1 else {}
    if not found:
        print(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}", file=sys.stderr)
    return found


def differences(before: Hashes, now: Hashes) -> list[str]:
    """Name each file that differs, is new or is gone, in the runs that both have."""
    return [
        f"{run}: {file}: {before[run].get(file, 'missing')} before, {now[run].get(file, 'missing')} now"
        for run in now
        if run in before
        for file in sorted(before[run].keys() | now[run].keys())
        if before[run].get(file) != now[run].get(file)
    ]


def main() -> int:
    """Run it; exit status 1: something differs; 125: a run left no samples."""
    parser = argparse.ArgumentParser(
        description="Compare the samples of twelve small runs with those of another commit."
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", type=Path, metavar="FILE", help="write the hashes")
    what.add_argument("--against", type=Path, metavar="FILE", help="compare with those of a file")
    parser.add_argument("--only", default=",".join(RUNS), help="these runs, with commas (default: all)")
    parsed = parser.parse_args()
    names = parsed.only.split(",")
    if unknown := set(names) - set(RUNS):
        parser.error(f"--only: there is no {', '.join(sorted(unknown))}; there are {', '.join(RUNS)}")
    before: Hashes = json.loads(parsed.against.read_text()) if parsed.against else {}
    if parsed.against and (unknown := set(names) - set(before)):
        parser.error(f"{parsed.against} has no {', '.join(sorted(unknown))}; write it anew, or name others by --only")
    now: Hashes = {}
    with tempfile.TemporaryDirectory(prefix="landspeed-samples-") as folder:
        for name in names:
            now[name] = make_run(RUNS[name], Path(folder, name))
            print(f"{name}: {' '.join(now[name].values()) or 'no samples'}", flush=True)
    if parsed.write:
        parsed.write.write_text(json.dumps(now, indent=1) + "\n")
    told = differences(before, now)
    print("\n".join(told) if told else "the same samples" if parsed.against else f"written: {parsed.write}")
    return SKIP if not all(now.values()) else 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
