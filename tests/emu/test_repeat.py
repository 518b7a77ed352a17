"""The same run twice: the same bytes, although the second has another core, a busy host and a longer folder."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.emu_fixtures import ROOT, busy_host, execute, plan_of, scenario, transfer
from tests.support.emu_repeat import (
    PROGRAM,
    asked,
    three_links,
)

pytestmark = pytest.mark.slow
RECORD = ROOT / "scenarios" / "records" / "2004-06-25-geneva-pasadena.yaml"
CORES = sorted(os.sched_getaffinity(0))


DOWN = {"at": "700 ms", "down": "150 ms", "between": ["r1", "r2"]}
BACKGROUND = {"at": "300 ms", "background": "400 Mbit/s", "for": "800 ms", "from": "r1", "to": "r2"}
PAIRS: dict[str, tuple[dict[str, Any] | Path, list[str], dict[str, Any]]] = {
    "IPv6, four streams of 1500 B, losses and flipped bits": (
        scenario(three_links(loss="0.02 %", corrupt="0.01 %", queue="0.3 BDP"), ip=6, transfer=asked(streams=4)),
        [],
        {},
    ),
    "super-packets with losses, RED": (
        scenario(
            three_links(loss="0.01 %", discipline="red"),
            mtu="9000 B",
            fidelity="super-packets",
            transfer=asked(streams=3, congestion_control="htcp"),
        ),
        [],
        {},
    ),
    "BBR, jitter, exact timers": (
        scenario(three_links(jitter="30 us"), mtu="9000 B", transfer=asked(streams=2, congestion_control="bbr")),
        [],
        {"exact_timers": True},
    ),
    "an outage and background, FqCoDel": (
        scenario(
            three_links(discipline="fq_codel"),
            mtu="9000 B",
            transfer=asked(streams=2, congestion_controls=["cubic", "bbr"]),
            events=[DOWN, BACKGROUND],
        ),
        [],
        {},
    ),
    "100 Gbit/s": (
        scenario(
            [{"one_way_delay": "2 ms", "line_rate": "100 Gbit/s"}] * 2,
            mtu="9000 B",
            transfer=asked(streams=2, duration="300 ms", sample_interval="10 ms", window="100 MB"),
        ),
        [],
        {},
    ),
    "the record of 2004": (RECORD, ["transfer.duration=2 s"], {}),
    "iperf3": (
        scenario(
            three_links(line_rate="50 Mbit/s", queue="0.3 BDP"),
            mtu="9000 B",
            transfer=asked(duration="1 s", sample_interval="100 ms"),
        ),
        [],
        {"tool": "iperf3"},
    ),
}


@pytest.mark.guest
@pytest.mark.parametrize("name", PAIRS)
def test_the_same_run_twice_gives_the_same_bytes(tmp_path: Path, name: str) -> None:
    content, overrides, options = PAIRS[name]
    plan = plan_of(tmp_path, content, *overrides, seed=5)

    def measured(folder: str, core: int) -> tuple[bytes, bytes]:
        record, bundle = transfer(plan, tmp_path / folder, core=core, **options)
        if record.tool == "engine":
            assert (bundle / "samples.parquet").stat().st_size > 10_000
        return (bundle / "samples.parquet").read_bytes(), (bundle / "links.parquet").read_bytes()

    idle = measured("a", CORES[0])
    with busy_host():
        assert measured("a-folder-with-a-longer-name", CORES[-1]) == idle


@pytest.mark.guest
def test_a_program_sees_the_same_times_and_the_same_chance_twice(tmp_path: Path) -> None:
    """Threads, a process in another node, random numbers, calls over HTTP: each time to the nanosecond."""
    plan = plan_of(tmp_path, scenario(three_links(loss="0.5 %")), seed=5)

    def seen(folder: str, core: int) -> list[str]:
        (tmp_path / folder).mkdir()
        shown = execute(plan, tmp_path / folder, sys.executable, str(PROGRAM), core=core)
        assert shown.status == 0, shown.err
        return shown.out.splitlines()

    idle = seen("a", CORES[0])
    assert len(idle) == 1 + 4 * 13
    with busy_host():
        assert seen("a-folder-with-a-longer-name", CORES[-1]) == idle
