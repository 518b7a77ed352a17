"""Programs that spin: with `--spin-cost` virtual time passes for them, exactly and repeatably; without it they end."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import landspeed as ls
from landspeed.base.failures import NotPossible
from landspeed.base.progress import Progress
from landspeed.cli.main import main
from landspeed.programs.probe.kept_page import repeating_command
from landspeed.programs.probe.table import spinning
from landspeed.results.facts import Spun, spun_text
from landspeed.worlds.emu.kernel_build import SPIN_SYMBOL, Kernel
from landspeed.worlds.emu.kernel_source import KernelError
from landspeed.worlds.emu.machine import Guest
from landspeed.worlds.emu.spin_cost import check_cost, cost_text, parse_cost
from landspeed.worlds.emu.watchdog import GuestError, StallWatch
from landspeed.worlds.emu.world import EmuOptions, EmuWorld
from landspeed.worlds.options import repeating_words
from tests.support.emu_fixtures import FIRST, plan_of, scenario, transfer, wait_until, write_scenario
from tests.support.places import PROGRAMS

PROGRAM = [sys.executable, "-S", str(PROGRAMS / "spin_program.py")]
PYTHON = Path(sys.executable).name  # python or python3, as the tests were started
COST_NS = 1000
FREE_CALLS = 4096  # SPIN_CALLS of patch 0018
LINK = scenario([{"rtt": "20 ms"}])


def times(text: str) -> list[tuple[str, int, int]]:
    """Mode, looks, and ns of each round trip."""
    return [(mode, int(asked), int(took)) for mode, asked, took in (line.split() for line in text.splitlines())]


# --- the option ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "cost_ns"), [("1us", 1000), ("1 µs", 1000), ("100 ns", 100), ("2.5us", 2500)])
def test_a_cost_is_a_time_with_its_unit(text: str, cost_ns: int) -> None:
    assert parse_cost(text) == cost_ns
    assert parse_cost(cost_text(cost_ns)) == cost_ns
    assert " " not in cost_text(cost_ns)


@pytest.mark.parametrize(
    ("text", "said"),
    [("1", "a time needs a unit"), ("99 ns", "100 ns to 1 s"), ("2 s", "100 ns to 1 s"), ("soon", "not a time")],
)
def test_what_is_no_cost_says_what_would_be(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_cost(text)


def test_the_command_refuses_a_number_without_its_unit(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["exec", str(FIRST), "--at", "amsterdam", "--spin-cost", "1", "--", "true"])
    assert ended.value.code == 2
    assert "write 1 ms" in capfd.readouterr().err


@pytest.mark.guest
def test_a_real_clock_needs_no_cost(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["exec", str(FIRST), "--at", "athens", "--clock", "real", "--spin-cost", "1us", "--", "true"]) == 2
    assert "--spin-cost needs virtual time, and this clock is real" in capfd.readouterr().err


def test_the_plan_changes_only_where_it_is_used(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, LINK)
    asked = EmuWorld(EmuOptions(spin_cost=COST_NS)).with_options(plan)
    assert EmuWorld().with_options(plan) is plan
    assert (plan.spin_cost_ns, asked.spin_cost_ns) == (None, COST_NS)
    assert plan.sha256 != asked.sha256 == replace(plan, spin_cost_ns=COST_NS).sha256
    assert replace(asked, spin_cost_ns=None).sha256 == plan.sha256
    assert repeating_words(EmuOptions(spin_cost=COST_NS)) == ["--spin-cost", "1us"]
    assert repeating_words(EmuOptions()) == []


def test_what_cannot_be_had_is_refused_before_the_start() -> None:
    kernel = Kernel(Path("linux"), "0123456789abcdef", "6.12.1", {})
    check_cost(None, "real", kernel)
    with pytest.raises(KernelError, match=r"6\.12\.1 .*`landspeed kernel build 6\.12` builds it anew"):
        check_cost(COST_NS, "virtual", kernel)
    able = replace(kernel, symbols={SPIN_SYMBOL: 1})
    check_cost(COST_NS, "virtual", able)
    with pytest.raises(NotPossible, match="this clock is real"):
        check_cost(COST_NS, "real", able)


def test_what_is_told_of_it() -> None:
    told = [Spun(node="b", program="server", passed_ns=50_000_000, calls=50_000)]
    assert spun_text(told) == "0.05 s for server at b (50\u202f000 system calls)"


# --- in the guest ----------------------------------------------------------------------------------------------------


@pytest.mark.guest
def test_a_round_trip_is_right_however_it_is_waited_for() -> None:
    """Beside the one that sleeps, it takes one look's cost more, and that of each call beside it."""
    with ls.path(LINK, spin_cost="1us") as path:
        path.receiver.popen([*PROGRAM, "serve"], until=ls.listening(9000, "udp"))
        run = {
            mode: times(path.sender.run([*PROGRAM, "ask", mode, "omega"]).stdout)
            for mode in ("block", "bytes", "poll", "peek")
        }
        told = path.spun
    sleeping_ns = run["block"][1][2]
    assert sleeping_ns == pytest.approx(20e6, rel=0.002)
    for mode in ("bytes", "poll", "peek"):
        for number, (_, asked, took_ns) in enumerate(run[mode]):
            assert sleeping_ns <= took_ns <= sleeping_ns + 4 * COST_NS  # send, one look, recv; Python reads the clock
            free = FREE_CALLS if number == 0 and mode != "peek" else 0  # a call that fails takes 1 µs in any case
            # A tick that falls into a reading of the clock costs a look: by the phase, each of them or none.
            ticks = took_ns // 1_000_000 if mode == "poll" else 0
            assert took_ns / COST_NS - 8 - ticks <= asked <= took_ns / COST_NS + free
    assert {(each.node, each.program) for each in told} == {("alpha", PYTHON)}
    # `bytes` sleeps for all of its time, `poll` for what its readings of the clock leave, `peek` hardly ever.
    looks = {mode: sum(asked for _, asked, _ in run[mode]) for mode in run}
    assert told[0].passed_ns < (looks["bytes"] + looks["poll"]) * COST_NS
    assert told[0].passed_ns > (looks["bytes"] + looks["poll"] * 0.74 - 2 * FREE_CALLS) * COST_NS


@pytest.mark.guest
def test_programs_that_spin_at_several_nodes_do_so_side_by_side() -> None:
    with ls.path(LINK, spin_cost="1us") as path:
        both = [each.popen([*PROGRAM, "yield", "20000000"]) for each in (path.sender, path.receiver)]
        took = [int(each.wait().stdout) for each in both]
        elapsed_s, told = path.elapsed_s, path.spun
    for each_ns in took:
        assert 20_000_000 <= each_ns <= 20_000_000 + 100 * COST_NS + 1000  # it looks after each hundredth time
    assert elapsed_s < 0.03
    assert [each.node for each in told] == ["alpha", "omega"]
    for each in told:  # beside the clock's own 256 ns for each hundred calls
        assert each.passed_ns == pytest.approx(each.calls * (COST_NS - 2.56), rel=1e-3)


@pytest.mark.guest
def test_the_same_again_is_the_same() -> None:
    """To the nanosecond and the look, also where both ends spin."""

    def once() -> tuple[str, list[Spun]]:
        with ls.path(LINK, spin_cost="1us") as path:
            path.receiver.popen([*PROGRAM, "serve-spinning"], until=ls.listening(9000, "udp"))
            return path.sender.run([*PROGRAM, "ask", "bytes", "omega"]).stdout, path.spun

    first, second = once(), once()
    assert first == second
    assert {each.node for each in first[1]} == {"alpha", "omega"}
    assert all(20e6 < took_ns < 20.05e6 for _, _, took_ns in times(first[0]))


@pytest.mark.guest
@pytest.mark.parametrize(("words", "mode"), [([], ["ask", "bytes", "omega"]), (["--spin-cost", "1us"], ["compute"])])
def test_what_stops_the_clock_is_ended(
    words: list[str], mode: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Without the option, a loop of system calls, to whose datagram nobody answers; with it, one without any call."""
    file = write_scenario(tmp_path, LINK)
    more = ["--no-calibration", "--stall", "2", *words]
    assert main(["exec", str(file), "--at", "alpha", *more, "--", *PROGRAM, *mode]) == 1
    said = capfd.readouterr().err
    assert "the virtual clock has stood still at" in said
    assert f"the task that ran is '{PYTHON}'" in said


@pytest.mark.guest
def test_exec_names_who_spun_and_its_output_is_its_own(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = write_scenario(tmp_path, LINK)
    more = ["--no-calibration", "--spin-cost", "10us"]
    assert main(["exec", str(file), "--at", "alpha", *more, "--", *PROGRAM, "yield", "5000000"]) == 0
    out, err = capfd.readouterr()
    assert 5_000_000 <= int(out) <= 5_000_000 + 100 * 10_000 + 1000
    assert "Virtual time passed for programs that spin: 0.00" in err
    assert f"for {PYTHON} at alpha (" in err


@pytest.mark.guest
def test_a_probe_names_who_spun(tmp_path: Path) -> None:
    server = ls.Server("b", [*PROGRAM, "serve"], ls.listening(9000, "udp"))
    client = [*PROGRAM, "ask", "bytes", "b"]
    found = ls.probe(client, [server], at="a", rtts=["5 ms"], folder=tmp_path / "probe", spin_cost="1us")
    assert found.complete
    (run,) = found.to_plain()["runs"]
    (told,) = run["spun"]
    assert (told["node"], told["program"]) == ("a", PYTHON)
    assert told["passed_ns"] == pytest.approx(3 * 5e6, rel=0.001)  # what was free took no time
    assert [line[:71] for line in spinning(found.variants[0])] == [
        "at 5 ms virtual time passed for programs that spin: " + spun_text([Spun(**told)])[:19]
    ]
    assert "--spin-cost 1us" in repeating_command(found)


@pytest.mark.guest
def test_a_transfer_is_the_same_beside_it(tmp_path: Path) -> None:
    """The engine sleeps while it waits, so nothing is different but what the record says of it."""
    plan = plan_of(tmp_path, LINK)
    plain = transfer(plan, tmp_path / "plain")
    asked = transfer(replace(plan, spin_cost_ns=COST_NS), tmp_path / "asked")
    assert (plain[0].guest.spin_cost_ns, asked[0].guest.spin_cost_ns) == (None, COST_NS)
    assert asked[0].guest.spun == []
    samples = [(folder / "samples.parquet").read_bytes() for _, folder in (plain, asked)]
    assert samples[0] == samples[1]
    assert json.loads((asked[1] / "plan.json").read_text())["spin_cost_ns"] == COST_NS


# --- a clock that stands still: whose fault? -------------------------------------------------------------------------


class Still:
    """A guest whose clock stands still, as the watch sees it."""

    virtual, cpu, wants = True, 0.0, True

    def virtual_time_s(self) -> float:
        return 1.0

    def cpu_s(self) -> float:
        return self.cpu

    def wants_processor(self) -> bool:
        return self.wants

    def running_task(self) -> str:
        return "loop"


def test_a_guest_that_gets_no_processor_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is given up when it had a quarter of the time, wants no more of it, or 30 times the time is over."""
    now = 0.0
    monkeypatch.setattr("landspeed.worlds.emu.watchdog.time", SimpleNamespace(monotonic=lambda: now))

    def looks(cpu_share: float, *, wants: bool = True) -> float:
        nonlocal now
        guest: Any = Still()
        guest.wants, start = wants, now
        watch = StallWatch(guest, 20.0)
        try:
            while now - start < 1000:
                watch.look(Progress())
                now += 0.5
                guest.cpu = (now - start) * cpu_share
        except GuestError as error:
            assert "for 20 s of wall time" in str(error)
        return now - start

    assert looks(1.0) == pytest.approx(20 + 5, abs=1)  # counted from when it became suspicious
    assert looks(0.1) == pytest.approx(20 + 50, abs=1)
    assert looks(0.001) == pytest.approx(30 * 20, abs=1)
    assert looks(0.001, wants=False) == pytest.approx(20, abs=1)


def test_who_wants_the_processor() -> None:
    """A process that computes does; one that sleeps or is stopped does not."""
    for words, wants in (("while True: pass", True), ("import time; time.sleep(600)", False)):
        with subprocess.Popen([sys.executable, "-S", "-c", words]) as process:
            guest = Guest(process, Kernel(Path("linux"), "", "6.12", {}), Path(), virtual=True)
            try:
                wait_until(lambda wants=wants, guest=guest: guest.wants_processor() == wants, "its state")
                process.send_signal(signal.SIGSTOP)
                wait_until(lambda guest=guest: not guest.wants_processor(), "it to stop")
            finally:
                process.kill()
