"""`make profile-start`: where the wall time of a small run goes, part by part.

Two runs, five times each: the first example, and one second of the record of 2004, whose path has 13 nodes. The parts
are told apart by what the command says on standard error, which is a twentieth of a second late at most. Medians.
And what everybody waits for: `import landspeed`, and an answer of completion, at most 100 and 150 ms.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

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
    return 0


if __name__ == "__main__":
    sys.exit(main())
