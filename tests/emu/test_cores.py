"""One core of the host for each guest: which one, with whom, and that nothing measured depends on it."""

import contextlib
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from landspeed.worlds.emu import cores
from landspeed.worlds.emu.cores import CoreError, CoreLease, CoreLoad, Wish, best_first, hardware_threads
from landspeed.worlds.emu.world import EmuOptions, EmuWorld
from tests.support.command import landspeed
from tests.support.emu_fixtures import FIRST, execute, plan_of, processes_in, scenario, transfer, wait_until

ALLOWED = sorted(os.sched_getaffinity(0))
SHORT = ("--set", "transfer.duration=2 s", "--set", "expect.from=1 s")
PATH = scenario([{"one_way_delay": "1 ms"}] * 2)
MEASURED = ("samples.parquet", "links.parquet")
two_cores = pytest.mark.skipif(len(ALLOWED) < 2, reason="this process may use one core only")


@pytest.fixture(autouse=True)
def name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Seats of this test alone: other runs on this host go on meanwhile."""
    own = f"landspeed-test-{os.getpid()}-{tmp_path.name}"[:90]
    monkeypatch.setattr(cores, "NAME", own)
    return own


def seat(wish: Wish = None) -> CoreLease:
    return CoreLease(wish, CoreLoad())


def seats(count: int) -> list[CoreLease]:
    """Of processes that may all use the same cores."""
    return [seat() for _ in range(count)]


@contextlib.contextmanager
def taken(count: int) -> Iterator[list[CoreLease]]:
    """So many seats, as if by other runs, and this thread wherever it was."""
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(each) for each in seats(count)]
        os.sched_setaffinity(0, ALLOWED)
        yield made


# --- Which core ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("load", "threads", "wanted"),
    [
        ({0: 0.0, 1: 0.0, 2: 0.0}, {}, [0, 1, 2]),
        ({0: 0.9, 1: 0.3, 2: 0.6}, {}, [1, 2, 0]),
        ({0: 0.04, 1: 0.02, 2: 0.01}, {}, [0, 1, 2]),  # a few ticks are chance
        ({}, {}, [0, 1, 2]),  # a host that does not tell
        ({0: 0.0, 1: 0.0, 2: 0.0}, {0: [0, 1], 1: [0, 1], 2: [2, 3]}, [0, 2, 1]),  # a whole core before half of one
        ({0: 0.0, 1: 0.0, 2: 0.0, 3: 1.0}, {0: [0, 1], 1: [0, 1], 2: [2, 3]}, [0, 1, 2]),  # half of a busy one: last
        ({0: 1.0, 1: 0.0, 2: 0.8}, {0: [0, 1], 1: [0, 1], 2: [2, 3]}, [1, 2, 0]),
    ],
)
def test_the_least_busy_core_comes_first(
    load: dict[int, float], threads: dict[int, list[int]], wanted: list[int]
) -> None:
    assert best_first([0, 1, 2], load, threads) == wanted


@pytest.mark.slow
def test_load_is_of_the_time_between_two_looks() -> None:
    """This thread computes on one core for a while of its own processor time."""
    core = ALLOWED[-1]
    os.sched_setaffinity(0, {core})
    try:
        load = CoreLoad()
        times = os.times()
        while os.times().user - times.user < 0.3:
            pass
        assert load.look()[core] >= 0.9
    finally:
        os.sched_setaffinity(0, ALLOWED)
    assert set(hardware_threads(ALLOWED)) <= set(ALLOWED)
    assert all(core in threads for core, threads in hardware_threads(ALLOWED).items())


# --- Seats -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, len(ALLOWED), 2 * len(ALLOWED) + 1])
def test_guests_are_spread_over_the_cores(count: int) -> None:
    with taken(count) as made:
        guests = Counter(each.cores[-1] for each in made)
        assert set(guests) <= set(ALLOWED)
        assert sum(guests.values()) == count
        assert max(guests.values()) - min(guests[core] for core in ALLOWED) <= 1
    assert os.sched_getaffinity(0) == set(ALLOWED)


def test_what_starts_in_a_seat_runs_there_and_this_process_elsewhere() -> None:
    with seat() as own:
        child = subprocess.Popen(["sleep", "1000"])
        own.step_aside()
        (core,) = own.cores
        assert os.sched_getaffinity(child.pid) == {core}
        assert os.sched_getaffinity(0) == (set(ALLOWED) - {core} or {core})
        child.kill()
        child.wait()
    assert os.sched_getaffinity(0) == set(ALLOWED)


def test_other_threads_step_aside_too_but_not_one_with_a_guest_of_its_own() -> None:
    """A thread that draws follows; one that is about to start a guest must not be sent away from its core."""
    ends, found = threading.Event(), dict[str, int]()
    started = threading.Barrier(3)

    def draw() -> None:
        found["draws"] = threading.get_native_id()
        started.wait()
        ends.wait()

    def start() -> None:
        found["starts"] = threading.get_native_id()
        with seat(ALLOWED[0]):
            started.wait()
            ends.wait()

    threads = [threading.Thread(target=each, daemon=True) for each in (draw, start)]
    for each in threads:
        each.start()
    started.wait()
    with seat(ALLOWED[0]) as own:
        own.step_aside()
        assert os.sched_getaffinity(found["draws"]) == (set(ALLOWED[1:]) or set(ALLOWED))
        assert os.sched_getaffinity(found["starts"]) == {ALLOWED[0]}
    assert os.sched_getaffinity(found["draws"]) == set(ALLOWED)
    ends.set()
    for each in threads:
        each.join()


def test_a_seat_ends_with_its_process_however_that_ends(name: str) -> None:
    script = (
        "from landspeed.worlds.emu import cores; cores.NAME = {!r};"
        "s = cores.CoreLease({}, cores.CoreLoad()).__enter__(); "
    )
    words = [sys.executable, "-c", script.format(name, ALLOWED[0]) + "print(s.cores, flush=True); input()"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == f"[{ALLOWED[0]}]\n".encode()
        with seat(ALLOWED[0]) as second:
            assert second._row == 1
        process.send_signal(signal.SIGKILL)
    with seat(ALLOWED[0]) as third:
        assert third._row == 0
    assert name not in Path("/proc/net/unix").read_text()


def test_without_any_name_a_guest_runs_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "ROWS", 1)
    with taken(len(ALLOWED)), seat() as own:
        assert os.sched_getaffinity(0) == set(own.cores)
        assert len(own.cores) == 1


@two_cores
def test_who_shares_a_core_moves_to_one_that_becomes_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "CHANGE_S", 0.0)
    with taken(len(ALLOWED)) as others, seat() as own:
        shared = own.cores[-1]
        ends = next(each for each in others if each.cores[-1] != shared)
        free = ends.cores[-1]
        child = subprocess.Popen(["sleep", "1000"])
        ends.__exit__(None, None, None)
        own.improve(lambda: [child.pid])
        assert own.cores == [shared, free]
        assert os.sched_getaffinity(child.pid) == {free}
        assert os.sched_getaffinity(0) == set(ALLOWED) - {free}
        own.improve(lambda: [child.pid])  # alone: it stays
        assert own.cores == [shared, free]
        child.kill()
        child.wait()


@two_cores
def test_one_guest_too_many_shares_with_each_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else one of three on two cores would have as much as the other two."""
    monkeypatch.setattr(cores, "CHANGE_S", 0.0)
    with taken(len(ALLOWED)) as others, seat() as own:
        for _ in range(10):
            own.improve(list)
            for each in others:
                each.improve(list)
        assert len(own.cores) == 11
        assert all(before != after for before, after in zip(own.cores, own.cores[1:], strict=False))
        assert all(len(each.cores) == 1 for each in others)


def test_who_asked_for_a_core_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "CHANGE_S", 0.0)
    with taken(len(ALLOWED)), seat(ALLOWED[-1]) as own:
        own.improve(list)
        assert own.cores == [ALLOWED[-1]]


def test_any_leaves_all_as_it_is() -> None:
    with taken(1), seat("any") as own:
        own.step_aside()
        own.improve(list)
        assert own.cores == ALLOWED
        assert os.sched_getaffinity(0) == set(ALLOWED)


def test_a_core_that_is_not_there_is_refused() -> None:
    with pytest.raises(CoreError, match=rf"--core 4095: this process may use .*{ALLOWED[-1]}"), seat(4095):
        pass
    assert os.sched_getaffinity(0) == set(ALLOWED)


def test_a_thread_made_meanwhile_may_use_what_the_process_may() -> None:
    """It begins where the thread that made it was sent; its own guest still has the choice of all cores."""
    found: list[set[int]] = []
    with seat(ALLOWED[0]) as own:
        own.step_aside()
        thread = threading.Thread(target=lambda: found.append(seat().allowed), daemon=True)
        thread.start()
        thread.join()
    assert found == [set(ALLOWED)]


# --- Guests ----------------------------------------------------------------------------------------------------------


def _digests(bundle: Path) -> list[str]:
    return [hashlib.sha256((bundle / name).read_bytes()).hexdigest() for name in MEASURED]


def _cores_of(folder: Path) -> set[int]:
    """Cores that the guest's processes and all their threads may use."""
    found: set[int] = set()
    for line in processes_in(folder):
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{line.split()[0]}/task").iterdir():
                found |= os.sched_getaffinity(int(thread.name))
    return found


@pytest.mark.guest
@pytest.mark.parametrize("wish", [None, ALLOWED[0], "any"])
def test_all_of_a_guest_runs_on_its_core_and_its_watch_elsewhere(
    tmp_path: Path, wish: Wish, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CoreLease, "free_beside", lambda *_: None)
    seen: list[tuple[set[int], set[int]]] = []
    plan = plan_of(tmp_path, PATH)
    status = EmuWorld(EmuOptions(core=wish)).execute(
        plan,
        tmp_path,
        at="alpha",
        command=["sh", "-c", "sleep 1; true"],
        calibrate=False,
        each_poll=lambda: seen.append((_cores_of(tmp_path), os.sched_getaffinity(0))),
    )
    assert status == 0
    seen = [each for each in seen if each[0]]  # while there was a guest
    assert len(seen) > 1
    if wish == "any":
        assert all(each == (set(ALLOWED), set(ALLOWED)) for each in seen)
        return
    assert len({tuple(guest) for guest, _ in seen}) == 1
    ((guest, watch), *_) = seen
    assert len(guest) == 1
    assert wish is None or guest == {wish}
    assert watch == (set(ALLOWED) - guest or guest)
    assert os.sched_getaffinity(0) == set(ALLOWED)


def _facts(result: dict[str, Any]) -> dict[str, Any]:
    return json.loads((Path(result["bundle"]) / "result.json").read_text())["world_facts"]


@pytest.mark.guest
def test_samples_are_the_same_on_any_core(tmp_path: Path) -> None:
    """Each core by number, all of them, and a process that may use one only: every byte."""
    found = []
    ways = [(("--core", str(core)), [core], ALLOWED) for core in (ALLOWED[0], ALLOWED[-1])]
    for words, guest_cores, allowed in [*ways, (("--core", "any"), ALLOWED, ALLOWED), ((), None, [ALLOWED[-1]])]:

        def narrow(allowed: list[int] = allowed) -> None:
            os.sched_setaffinity(0, allowed)

        done = landspeed("run", FIRST, *SHORT, *words, "--json", "--out", tmp_path, preexec_fn=narrow)
        result = json.loads(done.stdout)
        assert result["complete"], done.stderr
        assert "--core" not in result["command"], "it changes nothing that is measured"
        facts = _facts(result)
        assert facts["host"]["allowed_cores"] == allowed
        assert facts["guest"]["host_cores"] == (guest_cores or allowed)
        found.append(_digests(Path(result["bundle"])))
    assert all(each == found[0] for each in found)


@pytest.mark.guest
@two_cores
def test_samples_are_the_same_while_the_guest_changes_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every core has a guest already, so that this one goes on to the next at each look."""
    plan = plan_of(tmp_path, FIRST, "transfer.duration=2 s", "expect.from=1 s")
    quiet, still = transfer(plan, tmp_path / "still")
    assert len(quiet.guest.host_cores) == 1
    monkeypatch.setattr(cores, "CHANGE_S", 0.0)
    with taken(len(ALLOWED)):
        record, moved = transfer(plan, tmp_path / "moved")
    assert len(record.guest.host_cores) >= 5
    assert _digests(still) == _digests(moved)


@pytest.mark.guest
@two_cores
def test_a_run_beside_another_takes_another_core(tmp_path: Path) -> None:
    with taken(1) as others:
        record, _ = transfer(plan_of(tmp_path, FIRST, "transfer.duration=1 s"), tmp_path)
    assert record.guest.host_cores != others[0].cores
    assert len(record.guest.host_cores) == 1


@pytest.mark.guest
def test_a_program_may_be_pinned_too(tmp_path: Path) -> None:
    """What the guest tells of itself stays: one processor, by the number 0."""
    shown = execute(plan_of(tmp_path, PATH), tmp_path, "sh", "-c", "nproc; taskset -pc $$", core=ALLOWED[-1])
    assert shown.out.split()[0] == "1"
    assert shown.out.split()[-1] == "0"


@pytest.mark.guest
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("--core", "first"), r"--core: 'first' is not a core: write its number, such as 0, or any"),
        (("--core", "-1"), r"--core"),
        (("--core", "1.5"), r"'1.5' is not a core"),
        (("--core", ""), r"'' is not a core"),
        (("--core", "4095"), r"--core 4095: this process may use .*\d"),
        (("--world", "sim", "--core", "0"), r"--core works only with --world emu"),
    ],
)
def test_bad_values(tmp_path: Path, words: tuple[str, ...], wanted: str) -> None:
    done = landspeed("run", FIRST, *words, "--out", tmp_path)
    others = [] if "sim" in words else [landspeed("exec", FIRST, "--at", "athens", *words, "--", "true")]
    for each in (done, *others):
        assert each.returncode == 2
        assert re.search(wanted, each.stderr), each.stderr
        assert "Traceback" not in each.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.guest
def test_a_core_outside_the_affinity_is_refused(tmp_path: Path) -> None:
    done = landspeed(
        *("compare", FIRST, FIRST, "--core", "4095", "--out", tmp_path),
        preexec_fn=lambda: os.sched_setaffinity(0, {ALLOWED[0]}),
    )
    assert done.returncode == 2
    assert f"--core 4095: this process may use core {ALLOWED[0]}" in done.stderr


@pytest.mark.guest
def test_nothing_is_left_of_a_killed_run(tmp_path: Path) -> None:
    """Its seat is free at once: the next run on this core is the first there."""
    script = f"import sys; from landspeed.worlds.emu import cores; cores.NAME = {cores.NAME!r}; "
    script += "from landspeed.cli.main import main; sys.exit(main(sys.argv[1:]))"
    words = [sys.executable, "-c", script, "run", str(FIRST), "--core", str(ALLOWED[0]), "--out", str(tmp_path)]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: processes_in(tmp_path), "a guest")
        assert f"@{cores.NAME}/{ALLOWED[0]}/0" in Path("/proc/net/unix").read_text()
        process.kill()
    wait_until(lambda: cores.NAME not in Path("/proc/net/unix").read_text(), "the name's end")
    wait_until(lambda: not processes_in(tmp_path), "the guest's end")
