"""`make profile`: where the wall time of a guest goes, function by function, by perf.

Three runs: the record of 2004, one stream at 10 Gbit/s packet by packet, and iperf3 at 1 Gbit/s. perf samples the
guest's kernel, which is a process with symbols like any other, and what the host's kernel does for it. What the guest's
programs compute by themselves is in other processes, and not in the table. `--every-hop` as an argument profiles
without routers passed in one step.
"""

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from landspeed.base.progress import PHASES

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ROOT / ".venv" / "bin" / "landspeed"
SCENARIOS = ROOT / "scenarios"
RUNS = {
    "2004-06-25, 60 s": (
        SCENARIOS / "records/2004-06-25-geneva-pasadena.yaml",
        ("transfer.duration=60 s", "expect=null"),
        (),
    ),
    "one-stream-10g, 20 s": (SCENARIOS / "examples/one-stream-10g.yaml", ("expect=null",), ()),
    "iperf3 at 1 Gbit/s, 10 s": (SCENARIOS / "examples/first.yaml", ("expect=null",), ("--tool", "iperf3")),
}
SAMPLES_PER_S = 2000
ROWS = 12
LINE = re.compile(r"^\s*([\d.]+)%\s+\[(.)\]\s+(\S+)")


def children(process: int) -> list[int]:
    """Processes that a process started."""
    try:
        return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def guest_of(command: int) -> int | None:
    """The guest's kernel below a running command, if it is there already."""
    for child in children(command):
        if Path(f"/proc/{child}/exe").resolve().name == "linux":
            return child
    return None


def profile(scenario: Path, overrides: tuple[str, ...], options: tuple[str, ...], folder: Path) -> tuple[float, str]:
    """Wall seconds of the transfer, and perf's report of them."""
    settings = [word for each in overrides for word in ("--set", each)]
    words = [str(COMMAND), "run", str(scenario), *settings, *options, "--out", str(folder / "runs")]
    print("+", " ".join(words), file=sys.stderr, flush=True)
    data = folder / "perf.data"
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        wall_s, began, perf = 0.0, 0.0, None
        for line in process.stderr:
            if line == f"landspeed: {PHASES['transfer']}\n":
                began, guest = time.monotonic(), guest_of(process.pid)
                if guest is None:
                    break
                perf = subprocess.Popen(
                    ["perf", "record", "-q", "-F", str(SAMPLES_PER_S), "-e", "cpu-clock", "-p", str(guest), "-o", data],
                    stderr=subprocess.DEVNULL,
                )
            if line == f"landspeed: {PHASES['read back']}\n":
                wall_s = time.monotonic() - began
        process.wait()
    if perf is None or process.returncode or not wall_s:
        raise RuntimeError(f"no whole transfer was seen: exit status {process.returncode}")
    perf.wait()  # it ends with the guest
    report = subprocess.run(
        ["perf", "report", "-i", data, "--no-children", "--sort", "symbol"], capture_output=True, text=True, check=True
    )
    return wall_s, report.stdout


def shares(report: str) -> tuple[dict[str, float], float]:
    """Share of each function of the guest's kernel, and of the host's kernel in all, in per cent."""
    found: dict[str, float] = {}
    host = 0.0
    for line in report.splitlines():
        if match := LINE.match(line):
            share, place, name = float(match[1]), match[2], match[3]
            if place == "k":
                host += share
            else:
                name = re.sub(r"\.(constprop|isra|part)\.\d+.*", "", name)
                found[name] = found.get(name, 0.0) + share
    return found, host


def main(words: list[str]) -> int:
    """Profile and print a Markdown table for each run."""
    options = tuple(words)
    for name, (scenario, overrides, more) in RUNS.items():
        with tempfile.TemporaryDirectory(prefix="landspeed-profile-") as folder:
            wall_s, report = profile(scenario, overrides, (*more, *options), Path(folder))
        found, host = shares(report)
        print(f"\n{name}: {wall_s:.1f} s of wall time for the transfer\n\n| function | share |\n|---|---|")
        print(f"| the host's kernel, most of it switching between the guest's kernel and its programs | {host:.0f} % |")
        most = sorted(found.items(), key=lambda each: -each[1])[:ROWS]
        for function, share in most:
            print(f"| `{function}` | {share:.1f} % |")
        print(f"| {len(found) - ROWS} others | {sum(found.values()) - sum(share for _, share in most):.0f} % |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
