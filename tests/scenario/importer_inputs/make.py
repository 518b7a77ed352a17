"""`python tests/scenario/importer_inputs/make.py`: the measurements that test_import.py imports, made in the guest.

iperf3, traceroute and ss are the distribution's own, run on scenarios/examples/first.yaml by `landspeed exec`.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
FIRST = ROOT / "scenarios" / "examples" / "first.yaml"
SCRIPT = """
echo "=== {name}-traceroute.txt"; traceroute athens
echo "=== {name}-traceroute-back.txt"; ip netns exec athens traceroute amsterdam
ip netns exec athens iperf3 -s -1 >/dev/null 2>&1 & sleep 1
(sleep 5; echo "=== {name}-ss.txt"; ss -tin) >/tmp/ss &
iperf3 -c athens -t 10 --json {words} >/tmp/iperf3
echo "=== {name}-iperf3.json"; cat /tmp/iperf3
cat /tmp/ss
"""
RUNS = {
    "queue": ((), ""),
    "window": ((), "-w 1M"),
    "loss": (("path.1.loss=0.1 %",), "-P 8 -C reno"),
}


def measure(name: str, overrides: tuple[str, ...], words: str) -> None:
    """Run the programs in the guest; their outputs become files here."""
    program = [str(Path(sys.executable).parent / "landspeed"), "exec", str(FIRST)]
    for override in overrides:
        program += ["--set", override]
    program += ["--at", "amsterdam", "--", "sh", "-c", SCRIPT.format(name=name, words=words)]
    said = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    for part in said.split("=== ")[1:]:
        file, _, text = part.partition("\n")
        (HERE / file).write_text("".join(f"{line.rstrip()}\n" for line in text.splitlines()))


if __name__ == "__main__":
    for each in sys.argv[1:] or RUNS:
        measure(each, *RUNS[each])
