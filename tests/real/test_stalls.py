"""Stalls of the machine beside what is measured in real time: seen, and told apart from a path that is wrong."""

import importlib.util
import os
import signal
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from landspeed.worlds.real.runner import PLAYBOOKS
from tests.support import stalls
from tests.support.emu_fixtures import wait_until

WANTED = 100e6
RIGHT, OFF, STALLED = (100e6, 0.0), (90e6, 0.0), (90e6, 0.04)  # bit/s of a train, and seconds of stalls beside it
TRAIN_S = 0.2


@pytest.mark.slow
@pytest.mark.parametrize("urgent", [True, False])
def test_a_stall_is_seen(urgent: bool) -> None:
    """The watcher is stopped for a while: nobody else can stop a whole machine for a test."""
    with stalls.load().StallWatch(urgent=urgent) as watch:
        begun = time.monotonic()
        os.kill(watch._process.pid, signal.SIGSTOP)
        stopped = time.monotonic()
        time.sleep(0.2)
        resumed = time.monotonic()
        os.kill(watch._process.pid, signal.SIGCONT)
        length_s = resumed - stopped
        wait_until(lambda: watch.between(begun, time.monotonic())[1] > length_s - 0.002, "the watcher to wake")
        total_s, longest_s = watch.between(begun, time.monotonic())
        assert total_s >= longest_s
        half_s = stopped + length_s / 2
        # A stall is what is beyond the millisecond that was to be slept.
        step_s = stalls.load().STEP_S
        assert length_s / 2 - step_s - 1e-6 < watch.between(half_s, resumed)[1] <= length_s / 2 + 1e-6
        assert watch.between(begun - 2, begun - 1) == (0.0, 0.0)


def test_the_watcher_ends_with_who_watches(tmp_path: Path) -> None:
    script = "import time, landspeed_scheduling_pauses as stalls\n"
    script += "watch = stalls.StallWatch().__enter__(); print(watch._process.pid, flush=True); time.sleep(600)"
    reader, writer = os.pipe()
    home = {**os.environ, "PYTHONPATH": str(PLAYBOOKS / "plugins" / "module_utils")}
    child = os.posix_spawn(
        sys.executable, [sys.executable, "-c", script], home, file_actions=[(os.POSIX_SPAWN_DUP2, writer, 1)]
    )
    os.close(writer)
    watcher = Path("/proc", os.read(reader, 20).decode().strip())
    os.close(reader)
    assert b"select" in (watcher / "cmdline").read_bytes()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    wait_until(lambda: not watcher.exists() or " Z " in (watcher / "stat").read_text(), "the watcher to end")


@pytest.fixture
def rates(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module that measures the links of a box."""
    monkeypatch.setitem(sys.modules, "ansible.module_utils.landspeed_scheduling_pauses", stalls.load())
    file = PLAYBOOKS / "plugins" / "modules" / "landspeed_rates.py"
    spec = importlib.util.spec_from_file_location("ansible.modules.landspeed_rates", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("trains", "verdict", "sent"),
    [
        ([RIGHT], "right", 1),
        ([OFF, OFF, RIGHT], "right", 3),
        ([OFF] * 20, "wrong", 5),
        ([STALLED] * 20, "stalled", 15),
        ([STALLED] * 9 + [RIGHT], "right", 10),
        ([STALLED, OFF] * 20, "wrong", 10),
        ([(80e6, 0.01)] * 20, "wrong", 5),  # stalls of a twentieth do not explain a fifth
        ([(104e6, 0.01)] * 20, "stalled", 15),  # late at the train's beginning makes it quicker
        ([(0.0, 0.06)] * 20, "stalled", 15),
        ([(0.0, 0.01)] * 20, "wrong", 5),
    ],
)
def test_what_trains_say_of_a_link(
    rates: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    trains: list[tuple[float, float]],
    verdict: str,
    sent: int,
) -> None:
    given = iter(trains)
    beside: list[float] = []

    def train(*_: Any) -> tuple[float, float, float]:
        found, stalled = next(given)
        beside.append(stalled)
        return found, TRAIN_S, 1.5 * WANTED

    class Watch:
        """As many seconds of stalls as the train is given with."""

        def between(self, *_: float) -> tuple[float, float]:
            return beside[-1], beside[-1]

    monkeypatch.setattr(rates, "train", train)
    monkeypatch.setattr(rates, "open_socket", lambda _: nullcontext())
    monkeypatch.setattr(rates, "StallWatch", lambda: nullcontext(Watch()))
    link = {"name": "link", "mtu_bytes": 1500, "rtt_ms": 1.0, "jitter_ms": 0.0}
    link |= {"forward_bps": WANTED, "reverse_bps": WANTED}
    ends = {"near": {"device": "a", "namespace": None}, "far": {"device": "b", "namespace": None}}
    slowest = {"forward": WANTED, "reverse": WANTED}
    text, found = next(rates.examine(link, ends, slowest, 0.001, 0.02))
    assert (found, len(beside)) == (verdict, sent)
    assert ("± 2%" in text) is (verdict in ("wrong", "stalled"))
    assert ("the box stood still for" in text) is (verdict == "stalled")


def test_a_check_beside_stalls() -> None:
    beside = stalls.Beside()
    beside.share, beside.longest_s = 0.05, 0.3
    beside.judge("the rate", 0.01, 0.02)
    with pytest.raises(pytest.skip.Exception, match=r"the machine's, not the lab's: the rate is off by 0\.06"):
        beside.judge("the rate", 0.06, 0.02)
    with pytest.raises(AssertionError, match=r"the rate is off by 0.08, .* 5.0% of the time, up to 300 ms at once"):
        beside.judge("the rate", 0.08, 0.02)
