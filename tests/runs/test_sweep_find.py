"""Bisection: the bracket holds what theory says, each value is tried once, and what cannot be found is said."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landspeed.base.failures import NotPossible
from landspeed.runs.sweeps.find import Goal
from landspeed.scenario.file.ranges import read_ends
from tests.support.command_process import COMMAND, run
from tests.support.emu_fixtures import FIRST
from tests.support.runs_sweep_find import (
    toy_goodput_bps,
)
from tests.support.toy_world import environment, make_site

SET = ("--set", "expect=null", "--set", "transfer.window=1 MB")


def find(folder: Path, *words: object, status: int = 0) -> tuple[dict[str, Any], str]:
    site = folder / "site" if (folder / "site").is_dir() else make_site(folder)
    line = [COMMAND, "find", FIRST, *SET, "--world", "toy", "--out", folder / "out", "--json", *words]
    env = environment(site)
    done = run(line, capture_output=True, text=True, env=env, timeout=300)
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout or "{}"), done.stderr


@pytest.mark.slow
def test_the_least_count_is_found_exactly(tmp_path: Path) -> None:
    words = ("--vary", "transfer.streams=1..64", "--goal", "goodput >= 700 Mbit/s")
    told, said = find(tmp_path, *words)
    worst = min(toy_goodput_bps(seed) for seed in (1, 2, 3))
    least = math.ceil(700e6 / worst)  # each stream brings the window's rate
    assert (told["met"], told["missed"]) == (str(least), str(least - 1))
    assert len(told["probes"]) <= 2 + math.ceil(math.log2(63)) + 1
    assert len({probe["value"] for probe in told["probes"]}) == len(told["probes"])
    assert f"transfer.streams {least} (met with 3 of 3 seeds; bound by " in said
    assert told["bound_by"].startswith("window")
    again, _ = find(tmp_path, *words)  # every cell is known
    assert again == told


@pytest.mark.slow
def test_the_greatest_loss_of_rate_is_bracketed(tmp_path: Path) -> None:
    """`--most` of a delay: window / RTT falls to the goal at one RTT."""
    words = ("--vary", "path.1.one_way_delay=1 ms..200 ms", "--most", "--within", "1 %", "--seeds", "1")
    told, _ = find(tmp_path, *words, "--goal", "goodput >= 100 Mbit/s")
    assert toy_goodput_bps(1, f"path.1.one_way_delay={told['met']}") >= 100e6
    assert toy_goodput_bps(1, f"path.1.one_way_delay={told['missed']}") < 100e6
    met, missed = (float(told[end].split()[0]) for end in ("met", "missed"))
    assert 0 < missed - met <= 0.01 * missed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--vary", "transfer.streams=1..3", "--goal", "goodput >= 900 Mbit/s"), 1, "no transfer.streams from 1 to 3"),
        (("--vary", "transfer.streams=2..3", "--goal", "goodput >= 1 kbit/s"), 1, "every transfer.streams from 2 to 3"),
        (
            (
                "--vary",
                "queue=8 MB..9 MB",
                "--set",
                "path.1.queue=7 MB",
                "--goal",
                "goodput >= 9 Gbit/s",
                "--seeds",
                "1",
            ),
            1,
            "so queue decides nothing here: the file has path.1.queue of its own",
        ),
        (("--vary", "transfer.streams", "--goal", "goodput >= 1 kbit/s"), 2, "the file does not vary it"),
        (("--vary", "transfer.streams=3", "--goal", "goodput >= 1 kbit/s"), 2, "write KEY=FROM..TO"),
        (("--vary", "transfer.streams=3..1", "--goal", "goodput >= 1 kbit/s"), 2, "ends before it begins"),
        (("--vary", "queue=1 BDP..2 MB", "--goal", "goodput >= 1 kbit/s"), 2, "does not fit"),
        (("--vary", "transfer.streams=1..3", "--goal", "fun > 3"), 2, "write one of goodput"),
        (("--vary", "transfer.streams=1..3", "--goal", "goodput >= 3"), 2, "needs a unit"),
        (("--vary", "transfer.strems=1..3", "--goal", "goodput >= 1 kbit/s"), 2, "unknown key"),
        (("--vary", "transfer.window=12 MB..13 MB", "--goal", "goodput >= 1 kbit/s"), 1, "brings bad luck"),
    ],
)
def test_what_cannot_be_found_is_said(words: tuple[str, ...], status: int, said: str, tmp_path: Path) -> None:
    assert said in find(tmp_path, *words, status=status)[1]


@pytest.mark.slow
@given(st.integers(0, 10**6), st.integers(1, 10**6), st.sampled_from(["", " kB", " BDP", " %"]))
def test_every_middle_lies_between_until_the_ends_are_near(first: int, more: int, unit: str) -> None:
    ends = read_ends("key", f"{first}{unit}", f"{first + more}{unit}")
    low, steps = ends.first, 0
    while (middle := ends.between(low, ends.last, 0.05)) is not None:
        assert low < middle < ends.last
        low, steps = middle, steps + 1
    assert steps <= 25  # 2^20 > 10^6, and a logarithmic range begins slowly
    assert ends.last - low <= max(1 if not unit else 0, 0.05 * float(ends.last))


def test_goals() -> None:
    goal = Goal.parse("goodput >= 9 Gbit/s")
    assert goal.met({"goodput_bps": 9e9})
    assert not goal.met({"goodput_bps": 8.99e9})
    assert not goal.met({"goodput_bps": None})
    assert Goal.parse("retransmits < 10").met({"retransmits": 9})
    assert Goal.parse("duration <= 12 s").met({"duration_s": 12.0})
    with pytest.raises(NotPossible):
        Goal.parse("goodput 9")


@pytest.mark.parametrize(
    ("text", "figures", "met"),
    [
        ("rtt_loaded_p99 <= 50 ms", {"rtt_loaded_p99_ms": 50.0}, True),
        ("rtt_loaded_p99 <= 50 ms", {"rtt_loaded_p99_ms": 50.1}, False),
        ("ping_loaded_p99 < 50 ms", {"ping_loaded_p99_ms": 49.9}, True),
        ("ping_idle_median > 30 ms", {"ping_idle_median_ms": 30.0}, False),
        ("ping_lost <= 1 %", {"ping_lost": 0.011}, False),
        ("rpm >= 1000", {"rpm": 1000.0}, True),
        ("rpm >= 1000", {"rpm": None}, False),
    ],
)
def test_delay_is_a_goal(text: str, figures: dict[str, float | None], met: bool) -> None:
    """Percentiles of TCP's round trip and of echoes; a run without echoes does not meet a goal of theirs."""
    assert Goal.parse(text).met(figures) is met
