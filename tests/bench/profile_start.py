"""`make profile-start`: where the wall time of a small run goes, part by part.

Two runs, five times each: the first example, and one second of the record of 2004, whose path has 13 nodes. The parts
are told apart by what the command says on standard error, which is a twentieth of a second late at most. Medians.
And what everybody waits for: `import landspeed`, and an answer of completion, at most 100 and 150 ms. And of 48 pairs
what a host costs from the guest's start until its engine carries, at most 10 ms.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.bench import dumbbell

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ROOT / ".venv" / "bin" / "landspeed"
SCENARIOS = ROOT / "scenarios"
RUNS: dict[str, tuple[str, ...]] = {
    "examples/first.yaml": (str(SCENARIOS / "examples/first.yaml"),),
    "2004-06-25, 1 s": (
        str(SCENARIOS / "records/2004-06-25-geneva-pasadena.yaml"),
        *("--set", "transfer.duration=1 s", "--set", "expect=null"),
    ),
}
PARTS = {  # how each begins, as the command says it
    "start": "the command's own imports, and the plan",
    "booting the guest": "the guest's kernel and its Python",
    "building the path": "the network",
    "calibrating": "the calibration",
    "transfer": "the transfer, with the starts of its programs",
    "reading back what was measured": "the qdiscs",
    "done": "judging, keeping, reporting",
}
WAITS: dict[str, tuple[str | Path, ...]] = {
    "import landspeed": (sys.executable, "-c", "import landspeed"),
    "completion of a scenario": (COMMAND, "completion", "--answer", "fish", "run", "fi"),
}
TIMES = 5
PAIRS = 48
LOOK_S = 0.02


def one(words: tuple[str, ...]) -> dict[str, float]:
    """Wall seconds of each part of one run."""
    with tempfile.TemporaryDirectory(prefix="landspeed-profile-") as folder:
        began = {"start": time.monotonic()}
        with subprocess.Popen(
            [COMMAND, "run", *words, "--out", folder], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr
            for line in process.stderr:
                began.setdefault(line.removeprefix("landspeed: ").strip(), time.monotonic())
        ended = time.monotonic()
    if process.returncode or not PARTS.keys() <= began.keys():
        raise RuntimeError(f"exit status {process.returncode}, and only these parts were seen: {', '.join(began)}")
    instants = [*(began[part] for part in PARTS), ended]
    return {part: instants[number + 1] - instants[number] for number, part in enumerate(PARTS)}


def _wall_s(words: tuple[str | Path, ...]) -> float:
    began = time.monotonic()
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - began


def start_of_pairs() -> tuple[float, float]:
    """Wall seconds of 48 pairs from the guest's start until the transfer, and until each receiver writes samples."""
    with tempfile.TemporaryDirectory(prefix="landspeed-profile-") as place:
        folder, began = Path(place), list[float]()
        file = folder / "pairs.yaml"
        file.write_text(json.dumps(dumbbell(PAIRS)))
        words = [COMMAND, "run", file, "--set", "transfer.duration=1 s", "--quiet", "--out", folder]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
            for wanted, count in (("job.json", 1), ("measured.json", 1), ("flows/*/receiver.csv", PAIRS)):
                while process.poll() is None and len([*folder.glob(f"*.partial/{wanted}")]) < count:
                    time.sleep(LOOK_S)
                began.append(time.monotonic())
        if process.returncode:
            raise RuntimeError(f"exit status {process.returncode}")
    return began[1] - began[0], began[2] - began[0]


def main() -> int:
    """Run and print a Markdown table for each run."""
    for name, words in RUNS.items():
        print("+ landspeed run", *words, file=sys.stderr, flush=True)
        runs = [one(words) for _ in range(TIMES)]
        print(f"\n{name}, median of {TIMES}\n\n| part | wall seconds |\n|---|---|")
        for part, what in PARTS.items():
            print(f"| {what} | {statistics.median(run[part] for run in runs):.2f} |")
        print(f"| the whole command | {statistics.median(sum(run.values()) for run in runs):.2f} |")
    print(f"\nmedian of {TIMES}\n\n| command | wall seconds |\n|---|---|")
    for name, words in WAITS.items():
        print(f"| {name} | {statistics.median(_wall_s(words) for _ in range(TIMES)):.3f} |")
    starts = zip(*(start_of_pairs() for _ in range(TIMES)), strict=True)
    print(f"\n{PAIRS} pairs, median of {TIMES}\n\n| from the guest's start until | wall ms a host |\n|---|---|")
    for what, seconds in zip(("the transfer begins", "all engines carry"), starts, strict=True):
        print(f"| {what} | {statistics.median(seconds) / (2 * PAIRS) * 1e3:.1f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
