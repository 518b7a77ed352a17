"""What the project promises of Mininet scripts, measured: `python -m tests.bench.bench_mininet [NAME…] [--times N]`.

The same bytes of a lab beside a kernel build, its figures, and how fast nets start and run.
Wall times are of this machine; under `chrt -r 10` others on it disturb less. Exit status 1 if a promise is not kept.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.bench.bench import ROOT, Row, told
from tests.support.command import landspeed
from tests.support.own_clone import copied_clone, in_clone

LAB = ROOT / "docs" / "examples" / "mininet" / "bufferbloat.py"
ROUTING = LAB.with_name("routing.py")
APART = re.compile(r"(\w+): apart for ([\d.]+) s, by its timers ([\d.]+) s")
ROUTING_PRECISION_S = 1.2  # FRRouting tells whole seconds of BGP's, and a ping comes each 0.1 s
PAYLOAD = 1448 / 1514  # of a frame, with timestamps
PROMISED_S = 10
GIGABIT = """
import sys
from mininet.link import TCLink
from mininet.net import Mininet
from mininet.nodelib import LinuxBridge

net = Mininet(switch=LinuxBridge, link=TCLink, controller=None)
h1, h2, s1 = net.addHost("h1"), net.addHost("h2"), net.addSwitch("s1")
net.addLink(h1, s1, bw=1000, delay="5ms", max_queue_size=2000)
net.addLink(s1, h2, bw=1000)
net.start()
print(net.iperf(seconds=int(sys.argv[1])))
net.stop()
"""


def run(*words: object, out: Path) -> tuple[float, str]:
    """Wall time of `landspeed mn`, and what it printed, the errors (where Mininet tells its progress) behind."""
    began = time.monotonic()
    done = landspeed("mn", "--quiet", "--out", out, *words, timeout=None)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return time.monotonic() - began, done.stdout + done.stderr


def same_bytes(times: int, out: Path) -> list[Row]:
    """The lab so many times as an ordinary user, all but the first beside a kernel build; its figures by arithmetic.

    In a clone of its own: who edits this one meanwhile changes nothing.
    """
    out.chmod(0o755)
    clone, runs, user = copied_clone(out), out / "runs", "nobody" if os.geteuid() == 0 else None
    runs.mkdir()
    if user:
        shutil.chown(runs, user)

    def lab() -> str:
        words = ("mn", "--quiet", "--stall", 600, "--out", runs)  # much else may run beside
        done = in_clone(clone, *words, clone / LAB.relative_to(ROOT), user=user)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout + done.stderr

    said = [lab()]
    words = [sys.executable, "-m", "landspeed.worlds.emu.kernel_build"]
    elsewhere = {**os.environ, "XDG_CACHE_HOME": str(out / "built")}
    with subprocess.Popen(words, env=elsewhere, stdout=subprocess.DEVNULL, start_new_session=True) as build:
        try:
            said += [lab() for _ in range(times - 1)]
            if build.poll() is not None:
                raise RuntimeError("the kernel build ended before the last run")
        finally:
            os.killpg(build.pid, signal.SIGKILL)
    same = said.count(said[0])
    idle = float(re.findall(r"idle: ping ([\d.]+)", said[0])[0])
    rates = [float(each) for each in re.findall(r"goodput ([\d.]+)", said[0])]
    kept = abs(idle / 20 - 1) <= 0.02 and all(abs(each / 10 / PAYLOAD - 1) <= 0.02 for each in rates)
    return [
        Row(
            f"`{LAB.name}`: the same bytes beside a kernel build",
            f"{same} of {times}",
            f"{times} of {times}",
            same == times,
        ),
        Row(
            f"`{LAB.name}`: idle ping, goodput",
            f"{idle:.3f} ms, {rates[0]:.2f} Mbit/s",
            f"20 ms, {10 * PAYLOAD:.2f} Mbit/s ± 2 %",
            kept,
        ),
    ]


def routing(out: Path) -> list[Row]:
    """How long a silent failure parts two hosts, beside what the timers of FRRouting's daemons say."""
    rows: list[Row] = []
    for protocol, apart_s, timers_s in APART.findall(run(ROUTING, out=out)[1]):
        kept = abs(float(apart_s) - float(timers_s)) <= ROUTING_PRECISION_S
        told_s = f"{timers_s} s ± {ROUTING_PRECISION_S} s"
        rows.append(Row(f"`{ROUTING.name}`: {protocol}, hosts apart", f"{apart_s} s", f"its timers: {told_s}", kept))
    return rows


def gigabit(out: Path) -> Row:
    """How many times real time iperf runs at 1 Gbit/s over 10 ms; the start is in both wall times."""
    script = out / "gigabit.py"
    script.write_text(GIGABIT)
    short_s, long_s = (run(script, seconds, out=out)[0] for seconds in (5, 25))
    speed = 20 / (long_s - short_s)
    return Row("iperf, TCLink of 1 Gbit/s, 10 ms", f"{speed:.2f} × real time", "≥ 1 ×", speed >= 1)


def start(words: Sequence[str], out: Path) -> Row:
    """Wall time of words of `mn`."""
    took_s, _ = run(*words, out=out)
    return Row(f"`mn {' '.join(words)}`", f"{took_s:.1f} s", f"≤ {PROMISED_S} s", took_s <= PROMISED_S)


BRIDGE = ["--switch", "lxbr", "--controller", "none"]
MEASURED: dict[str, Callable[[int, Path], list[Row]]] = {
    "gigabit": lambda _, out: [gigabit(out)],
    "hosts": lambda _, out: [start(["--topo", "single,64", *words, "--test", "none"], out) for words in (BRIDGE, [])],
    "pingall": lambda _, out: [
        start(["--topo", "tree,3,3", *words, "--test", "pingall"], out) for words in (BRIDGE, [])
    ],
    "lab": same_bytes,
    "routing": lambda _, out: routing(out),
}


def main() -> int:
    """Measure and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *MEASURED], help="what to measure (default: all)")
    parser.add_argument("--times", type=int, default=10, help="runs of the lab (default: 10)")
    parsed = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-mininet-") as out:
        named = parsed.names or MEASURED
        return told([row for name in named for row in MEASURED[name](parsed.times, Path(out))])


if __name__ == "__main__":
    sys.exit(main())
