"""Wall time that a user waits before a transfer begins, in times of what the same machine needs for less.

A limit in seconds would be far off on a quick machine and too near on a busy one. What a time is compared with is
measured before and after it (stopwatch.py).
"""

import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from landspeed.worlds.emu.world import EmuOptions, EmuWorld
from tests.support.command import COMMAND, landspeed
from tests.support.emu_fixtures import FIRST, ROOT, execute, plan_of, scenario
from tests.support.stopwatch import takes_as_long_as, uncounted

pytestmark = pytest.mark.guest

RECORD = ROOT / "scenarios" / "records" / "2004-06-25-geneva-pasadena.yaml"
LINK = {"one_way_delay": "1 ms"}


def booted(folder: Path, links: int) -> float:
    """Wall time of a guest that boots, builds a path of so many links, and ends; in s."""
    folder.mkdir()
    plan = plan_of(folder, scenario([LINK] * links))
    assert len(plan.nodes) == links + 1
    began = time.monotonic()
    assert execute(plan, folder, "true").status == 0
    return time.monotonic() - began


@pytest.fixture
def two_nodes(tmp_path: Path) -> Callable[[], float]:
    """The least that a guest can be."""
    number = itertools.count()
    return lambda: booted(tmp_path / f"two-nodes-{next(number)}", 1)


def test_thirteen_nodes_are_built_within_the_time_of_a_boot(tmp_path: Path, two_nodes: Callable[[], float]) -> None:
    """The record's path; the figure is the bundle's own."""

    def build(_: int) -> float:
        done = landspeed("run", RECORD, "--set", "transfer.duration=1 s", "--json", "--out", tmp_path)
        result = json.loads(done.stdout)
        assert result["complete"], done.stderr
        record = json.loads((Path(result["bundle"]) / "result.json").read_text())
        assert len(record["plan"]["nodes"]) >= 13
        return record["world_facts"]["guest"]["network_build_s"]

    takes_as_long_as(1.2, two_nodes, build)


def test_forty_two_nodes_are_built_within_two_more(tmp_path: Path, two_nodes: Callable[[], float]) -> None:
    """Boot and calibration-free command included."""
    takes_as_long_as(3.0, two_nodes, lambda number: booted(tmp_path / str(number), 41))


def test_the_transfer_begins_soon_after_the_command(tmp_path: Path, two_nodes: Callable[[], float]) -> None:
    """From the start of the process to the first line of progress of the transfer, nothing to be built."""

    def begin(number: int) -> float:
        began = time.monotonic()
        words = [str(COMMAND), "run", str(RECORD), "--out", str(tmp_path / str(number))]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr
            for line in process.stderr:
                if line == "landspeed: transfer\n":
                    break
            else:
                pytest.fail("no transfer")
            took = time.monotonic() - began
            process.terminate()
            process.communicate()
        return took

    takes_as_long_as(7.0, two_nodes, begin)


def test_a_long_path_is_calibrated_hop_by_hop(tmp_path: Path) -> None:
    """Forty routers and a hundred milliseconds: delays, and the serialization of an echo on each link."""
    content = scenario([{"one_way_delay": "1.25 ms"}] * 41, transfer={"duration": "1 s"})
    plan = plan_of(tmp_path, content)
    status = EmuWorld(EmuOptions()).execute(plan, tmp_path, at="alpha", command=["true"])
    assert status == 0
    found = json.loads((tmp_path / "guest.json").read_text())["calibrations"]["transfer"]
    assert [hop["rtt_ms"] for hop in found["hops"]] == pytest.approx(
        [(2.5 + 2 * 122 * 8e-6) * n for n in range(1, 42)], rel=1e-3, abs=0.01
    )
    assert len(found["reverse_hops"]) == 41


def test_the_command_itself_is_quick() -> None:
    """`landspeed show` loads nothing that it does not need: of that, the two libraries take most."""

    def libraries() -> float:
        began = time.monotonic()
        subprocess.run([sys.executable, "-c", "import pydantic.main, ruamel.yaml"], check=True, env=uncounted())
        return time.monotonic() - began

    def show(_: int) -> float:
        began = time.monotonic()
        assert landspeed("show", FIRST, env=uncounted()).returncode == 0
        return time.monotonic() - began

    takes_as_long_as(4.5, libraries, show)
