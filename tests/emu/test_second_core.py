"""A second core of the host for a guest's programs: taken while it is free, left when it is not, seen in no sample."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from landspeed.worlds.emu import cores, second_core
from landspeed.worlds.emu.cores import CoreLease, CoreLoad, Wish
from landspeed.worlds.emu.machine import Guest
from landspeed.worlds.emu.second_core import SecondCore
from tests.support.emu_fixtures import FIRST, plan_of, transfer

ALLOWED = sorted(os.sched_getaffinity(0))
FREE = dict.fromkeys(ALLOWED, 0.0)
pytestmark = pytest.mark.skipif(len(ALLOWED) < 2, reason="this process may use one core only")


@pytest.fixture(autouse=True)
def name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Seats of this test alone, each look a decision, and programs that wait for no core."""
    monkeypatch.setattr(cores, "NAME", f"landspeed-test-{os.getpid()}-{tmp_path.name}"[:90])
    monkeypatch.setattr(second_core, "LOOK_S", 0.0)
    monkeypatch.setattr(second_core, "_waited_s", lambda _: 0.0)  # whatever else this host does


def seat(wish: Wish = None) -> CoreLease:
    return CoreLease(wish, CoreLoad())


class FakeGuest:
    """A guest of two processes, its kernel and a program's, and the words of its memory."""

    def __init__(self, how: str = "seccomp") -> None:
        self.virtual, self.words, self.how = True, dict[str, int](), how
        self.counts = {"stub_turns": 2**32 - 1, "stub_wakes": 7}
        self.in_a_look = {"stub_turns": 10**9, "stub_wakes": 0}
        self.kernel, self.program = (subprocess.Popen(["sleep", "1000"]) for _ in range(2))

    def processes(self) -> list[int]:
        return [self.kernel.pid, self.program.pid]

    def tracing(self) -> str:
        return self.how

    def read_count(self, symbol: str) -> int:
        self.counts[symbol] = (self.counts[symbol] + self.in_a_look[symbol]) % 2**32
        return self.counts[symbol]

    def write_word(self, symbol: str, value: int) -> bool:
        self.words[symbol] = value
        return True

    def end(self) -> None:
        for process in (self.kernel, self.program):
            process.kill()
            process.wait()


@pytest.fixture
def guest() -> Iterator[FakeGuest]:
    made = FakeGuest()
    yield made
    made.end()


def watched(guest: FakeGuest, lease: CoreLease, load: dict[int, float]) -> SecondCore:
    made = SecondCore(cast(Guest, guest), lease)
    made._load = cast(Any, SimpleNamespace(look=lambda: load))
    return made


def test_a_free_core_is_one_that_no_guest_has_and_nobody_keeps_busy() -> None:
    with seat() as own:
        others = set(ALLOWED) - set(own.cores)
        assert own.free_beside(FREE, 0.3) in others
        assert own.free_beside(dict.fromkeys(ALLOWED, 0.4), 0.3) is None
        assert own.free_beside({}, 0.3) is None  # a host that does not tell
        for core in others:
            held = seat(core)
            held.__enter__()
            assert own.is_seated(core)
            os.sched_setaffinity(0, ALLOWED)
        assert own.free_beside(FREE, 0.3) is None


@pytest.mark.parametrize("wish", [ALLOWED[0], "any"])
def test_who_asked_for_a_core_has_it_alone(wish: Wish) -> None:
    with seat(wish) as own:
        assert own.free_beside(FREE, 0.3) is None


def test_programs_move_while_a_core_is_free_and_back_when_another_guest_takes_it(guest: FakeGuest) -> None:
    with seat() as own:
        os.sched_setaffinity(guest.kernel.pid, own.cores)
        second = watched(guest, own, FREE)
        second.look()
        core = second.core
        assert core is not None and core != own.cores[-1]
        assert guest.words == {"stub_core": core, "stub_looks": second_core.LOOKS}
        assert os.sched_getaffinity(guest.program.pid) == {core}
        assert os.sched_getaffinity(guest.kernel.pid) == set(own.cores)
        second.look()
        assert second.core == core
        with seat(core):
            second.look()
        # not the guest's own core of now: it may move, and what begins then must be with it
        assert guest.words == {"stub_core": second_core.NOWHERE, "stub_looks": 0}
        assert os.sched_getaffinity(guest.program.pid) == set(own.cores)


def test_a_core_where_programs_wait_is_left_and_tried_later_each_time(
    guest: FakeGuest, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, waited = [0.0], [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(second_core, "LOOK_S", 1.0)
    monkeypatch.setattr(second_core, "_waited_s", lambda _: waited[0])
    with seat() as own:
        second = watched(guest, own, FREE)
        taken_at: list[float] = []
        while len(taken_at) < 5:
            now[0] += 1.0
            waited[0] += 0.39 if len(taken_at) == 1 and second.core is not None and now[0] < 5 else 0.41
            before = second.core
            second.look()
            if before is None and second.core is not None:
                taken_at.append(now[0])
    assert taken_at == [1.0, 7.0, 12.0, 21.0, 30.0]  # kept until 5; then after 2, 4, 8 and 8 s


def test_programs_that_make_few_calls_stay(guest: FakeGuest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn saves 4 µs: 62 500 of them in a second are its quarter; the core is left where they save half of that."""
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(second_core, "LOOK_S", 1.0)
    with seat() as own:
        second = watched(guest, own, FREE)
        second.look()
        for turns, core_taken in ((62_490, False), (62_490, False), (62_510, True), (31_260, True), (31_240, False)):
            now[0] += 1.0
            guest.in_a_look["stub_turns"] = turns
            second.look()
            assert (second.core is not None) == core_taken


@pytest.mark.parametrize(("wakes", "stays"), [(1749, True), (1751, False)])
def test_a_core_where_programs_must_be_woken_is_left(
    guest: FakeGuest, monkeypatch: pytest.MonkeyPatch, wakes: int, stays: bool
) -> None:
    """To wake one costs 20 µs: of the 160 ms that 40 000 turns save in a second, an eighth of it must be left."""
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(second_core, "LOOK_S", 1.0)
    with seat() as own:
        second = watched(guest, own, FREE)
        now[0] = 1.0
        second.look()
        assert second.core is not None
        guest.in_a_look = {"stub_turns": 40_000, "stub_wakes": wakes}
        now[0] = 2.0
        second.look()
        assert (second.core is not None) == stays


def test_a_kernel_that_traces_by_ptrace_is_left_alone() -> None:
    guest = FakeGuest("ptrace")
    with seat() as own:
        second = watched(guest, own, FREE)
        second.look()
        assert second.core is None
    assert guest.words == {}
    guest.end()


@pytest.mark.guest
def test_samples_are_the_same_on_one_core_and_while_programs_come_and_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each look takes the second core or leaves it."""
    plan = plan_of(tmp_path, FIRST, "transfer.duration=2 s", "expect.from=1 s")
    monkeypatch.setattr(cores.CoreLease, "free_beside", lambda *_: None)
    _, still = transfer(plan, tmp_path / "still")
    took: list[int] = []
    monkeypatch.setattr(
        cores.CoreLease, "free_beside", lambda own, *_: next(core for core in ALLOWED if core != own.cores[-1])
    )
    monkeypatch.setattr(second_core, "WAITING", -1.0)  # each look finds a core crowded
    monkeypatch.setattr(second_core, "WORTH", -1.0)
    take = SecondCore._take
    monkeypatch.setattr(SecondCore, "_take", lambda self, core: (took.append(core), take(self, core))[1])
    _, moved = transfer(plan, tmp_path / "moved")
    assert len(took) >= 3
    for each in ("samples.parquet", "links.parquet"):
        assert (still / each).read_bytes() == (moved / each).read_bytes()
