"""`landspeed mn --cpu-time`: computing takes virtual time."""

import re
from pathlib import Path

import pytest

from tests.support.command import landspeed

CPU_LAB = """
import time
from mininet.net import Mininet
from mininet.node import CPULimitedHost
from mininet.nodelib import LinuxBridge
from mininet.topo import SingleSwitchTopo

net = Mininet(SingleSwitchTopo(2), switch=LinuxBridge, controller=None, host=CPULimitedHost)
net["h1"].setCPUFrac(0.2)
net["h2"].setCPUFrac(0.3)
net.start()
print("shares", *net.runCpuLimitTest(0.25, duration=3))
began = time.monotonic()
sum(range(10_000_000))
print("computed", time.monotonic() - began > 0.01)
time.sleep(100_000)
net.stop()
"""


@pytest.mark.guest
def test_computing_takes_virtual_time_if_it_is_to_and_waiting_takes_none(tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text(CPU_LAB)
    done = landspeed("mn", "--quiet", "--cpu-time", "--out", tmp_path / "out", "lab.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "computed True" in done.stdout
    assert "refused" not in done.stderr
    shares = [float(each) for each in re.findall(r"[\d.]+", done.stdout.partition("shares")[2].partition("\n")[0])]
    # The kernel gives a group its share each 100 ms, and takes what a tick of 1 ms is too late from the next one.
    half = len(shares) // 2
    assert sum(shares[:half]) / half == pytest.approx(20, abs=1.5)
    assert sum(shares[half:]) / half == pytest.approx(30, abs=1.5)


def test_only_one_word_may_say_what_computing_takes() -> None:
    done = landspeed("mn", "--cpu-time", "--spin-cost", "1us", "--test", "none")
    assert done.returncode == 2
    assert "--cpu-time with --spin-cost: each says what computing takes; leave out one" in done.stderr
