"""The mends of ns-3's TCP (sim/mend): each test holds with them, and those of a fault fail against ns-3 as it comes."""

import json
import subprocess
from pathlib import Path

import pytest

from landspeed.scenario.theory.physics import linux_usable_window_bytes
from tests.support import builds
from tests.support.sim_fixtures import SIMULATOR

# (program, test, what fails unmended: the faults of ns-3 3.37 in docs/ns3)
TESTS = [
    ("scoreboard", "window-exactly-full", True),
    ("scoreboard", "no-tiny-segment", True),
    ("scoreboard", "loss-and-repair", True),
    ("scoreboard", "repaired-is-not-in-flight", True),
    ("scoreboard", "lost-again", True),
    ("scoreboard", "reordering-window", True),
    ("scoreboard", "rule-three", True),
    ("scoreboard", "timeout", False),
    ("scoreboard", "random-against-model", True),
    ("scoreboard", "cost", True),
    ("reassembly", "pieces", True),
    ("reassembly", "whole-block", True),
    ("reassembly", "random-order", True),
    ("reassembly", "cost", True),
    ("deviation", "remembers", True),
    ("deviation", "drains", True),
    ("recovery", "reduction", True),
    ("recovery", "losing", True),
    ("recovery", "marked", True),
    ("bbr", "bbr-after-timeouts", True),
    ("bbr", "bbr-probes-the-round-trip", True),
    ("bbr", "bbr-is-not-put-off", True),
    ("bbr", "bbr-has-room-for-bursts", True),
    ("bbr", "rate-of-pairs", True),
    ("controls", "dctcp-at-a-loss", True),
    ("controls", "dctcp-least", True),
    ("controls", "dctcp-turns", True),
    ("controls", "new-reno-growth", True),
    ("controls", "scalable-growth", True),
    ("controls", "scalable-at-a-loss", True),
    ("controls", "vegas-at-a-loss", True),
    ("controls", "vegas-ends-slow-start", True),
    ("controls", "vegas-of-few-samples", True),
    ("controls", "westwood-at-a-loss", True),
    ("controls", "yeah-stays-fast", True),
    ("controls", "yeah-at-a-loss", True),
    ("controls", "illinois-growth", True),
    ("controls", "htcp-growth", True),
    ("controls", "htcp-at-a-loss", True),
    ("connection", "survives-a-loss", True),
    ("connection", "grows-only-while-the-limit", True),
    ("connection", "timers", True),
    ("connection", "long-recovery", True),
    ("connection", "lost-end", True),
    ("connection", "hystart-fires", True),
    ("connection", "acknowledged-singly", True),
    ("connection", "pacing-rate", True),
    ("connection", "from-beginning-to-end", False),
    ("connection", "closed-window", False),
]
# Mended TCP against theory.
LAWS = [
    "window-limited",
    "slow-start",
    "reno-recovery",
    "cubic-growth",
    "cubic-1-gigabit",
    "scalable-growth",
    "square-root-law",
    "fairness",
]


@pytest.fixture(scope="module", name="programs")
def programs_fixture() -> Path:
    """The test programs, built."""
    return builds.build_of("sim") / "mend" / "tests"


def run(programs: Path, program: str, kind: str, test: str) -> subprocess.CompletedProcess[str]:
    """One test of one program, with the mends or without."""
    command = [str(programs / f"test_{program}_{kind}"), test]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120 * builds.patience("sim"))


@pytest.mark.parametrize(("program", "test"), [(program, test) for program, test, _ in TESTS])
def test_mended(programs: Path, program: str, test: str) -> None:
    """It holds with the mends."""
    result = run(programs, program, "mended", test)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.slow
@pytest.mark.skipif(builds.sanitized("sim"), reason="ns-3's own faults are not what a sanitizer is asked for")
@pytest.mark.parametrize(("program", "test"), [(program, test) for program, test, fails in TESTS if fails])
def test_unmended(programs: Path, program: str, test: str) -> None:
    """It fails, or ends with a signal, without them; not for want of the test."""
    result = run(programs, program, "unmended", test)
    assert result.returncode == 1 or result.returncode < 0, result.stdout + result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_theory(programs: Path, law: str) -> None:
    """The law holds, within the tolerance that the test's source gives."""
    result = run(programs, "theory", "mended", law)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.slow
def test_no_control_stalls(programs: Path) -> None:
    """Slow start has overflowed the queue; 30 s later each of these fills most of the line, and no timer has fired."""
    command = [str(programs / "bench_controls_mended"), "bbr", "cubic", "dctcp", "htcp", "reno"]
    lines = subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=240 * builds.patience("sim")
    ).stdout.splitlines()
    told = {each["control"]: each for each in map(json.loads, lines)}
    assert len(told) == 5
    assert {each["timeouts"] for each in told.values()} == {0}
    assert all(each["goodput_bps"] > 80e6 for each in told.values()), told


@pytest.mark.slow
def test_same_seed_same_samples(programs: Path) -> None:
    """A lossy run prints the same samples for the same seed, and others for another."""
    first, again, other = (run(programs, "theory", "mended", f"samples-seed-{seed}").stdout for seed in (1, 1, 2))
    assert len(first.splitlines()) > 100
    assert first == again != other


def strong_definitions(file: Path) -> set[str]:
    """Mangled names of ns-3's functions and variables that a program or library defines, inline ones left out."""
    lines = subprocess.run(
        ["nm", "-D", "-P", "--defined-only", str(file)], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    relocations = subprocess.run(["readelf", "-rW", str(file)], check=True, capture_output=True, text=True).stdout
    copies = {line.split()[4] for line in relocations.splitlines() if "R_X86_64_COPY" in line}
    return {name for name, kind, *_ in map(str.split, lines) if kind in "TDBR" and "3ns3" in name} - copies


def test_no_symbol_of_ns3_is_defined_twice() -> None:
    """The program derives from ns-3's classes and defines none of them anew: the order of linking decides nothing."""
    linked = subprocess.run(["ldd", str(SIMULATOR)], check=True, capture_output=True, text=True).stdout
    libraries = [Path(words[2]) for line in linked.splitlines() if (words := line.split())[0].startswith("libns3")]
    assert {"libns3-internet", "libns3-core"} <= {library.name.split(".")[0] for library in libraries}
    of_ns3 = set[str]().union(*map(strong_definitions, libraries))
    assert len(of_ns3) > 1_000
    assert strong_definitions(SIMULATOR) & of_ns3 == set()


@pytest.mark.parametrize("mss", [1448, 8948])
def test_granted_window_is_the_plan_s(programs: Path, mss: int) -> None:
    """What the simulation grants of a window asked is what the plan says that Linux grants."""
    asked = [1, 65_535, 65_536, 131_071, 1 << 20, 33_554_432, 60_000_001, 360_000_000, (1 << 31) - 1]
    words = [str(programs / "test_grant_mended"), str(mss), *map(str, asked)]
    granted = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    assert [int(line) for line in granted] == [linux_usable_window_bytes(each, mss, "packets") for each in asked]
