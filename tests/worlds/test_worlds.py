"""Worlds and tools of somebody else: a package in a folder is found and works everywhere, without a change here."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.command import landspeed
from tests.support.toy_world import environment, make_site

ROOT = Path(__file__).resolve().parents[2]
FIRST = ROOT / "scenarios" / "examples" / "first.yaml"

WORLD = '''
"""A world that computes: goodput is what theory expects."""

from dataclasses import dataclass

from landspeed import NotReady, World, option
from landspeed.base.finding import Finding
from landspeed.results.record import StreamResult
from landspeed.scenario.file.capabilities import Capabilities


@dataclass(frozen=True, kw_only=True)
class Options:
    share: float = option(1.0, "share of the limit that is reached", parse=float, metavar="SHARE")
    broken: bool = option(False, "cannot run")


class Paper(World):
    name = "paper"
    summary = "theory alone"
    capabilities = Capabilities(congestion_controls=("reno", "cubic"), disciplines=("fifo", "codel-of-paper"))
    Options = Options

    @classmethod
    def doctor(cls):
        return [Finding("paper", "ok", "a pencil is here")]

    def check(self, plan):
        if self.options.broken:
            raise NotReady("the pencil is broken; sharpen it")

    def build_id(self, plan=None):
        return "pencil 2B"

    def run(self, plan, bundle, report):
        goodput_bps = self.options.share * plan.physics.expected_goodput_bps
        seconds = (plan.transfer.duration_ns or 0) / 1e9
        record = bundle.record.with_flow(
            goodput_bps=goodput_bps,
            bytes=round(goodput_bps * seconds / 8),
            duration_s=seconds,
            rtt_ms=plan.physics.rtt_ns / 1e6,
            streams=[StreamResult(stream=0, goodput_bps=goodput_bps)],
        )
        record.tool = "pencil"
        bundle.note(record)
        return record
'''


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return make_site(tmp_path, "paper", WORLD)


def with_package(site: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return landspeed(*words, env=environment(site))


@pytest.mark.guest
def test_it_is_found_and_works_in_every_word(package: Path, tmp_path: Path) -> None:
    assert with_package(package, "check", FIRST, "--world", "paper").returncode == 0
    assert "theory alone" in with_package(package, "run", "--help").stdout
    assert with_package(package, "show", FIRST, "--world", "paper").returncode == 0
    assert "a pencil is here" in with_package(package, "doctor").stdout
    out = tmp_path / "runs"
    own = ("--world", "paper", "--share", "0.99")
    done = with_package(
        package, "run", FIRST, *own, "--set", "expect=null", "--json", "--out", out
    )  # it has no samples
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["world"] == "paper"
    assert record["passed"]
    assert record["command"][-6:-2] == ["--world", "paper", "--share", "0.99"]
    page = tmp_path / "page.html"
    (bundle,) = out.iterdir()
    words = ("compare", bundle, FIRST, "--worlds", "paper", "--out", tmp_path / "more", "--html", page, "--json")
    done = with_package(package, *words)
    assert done.returncode == 0, done.stderr
    one, other = json.loads(done.stdout)["sides"]
    assert one["goodput_bps"] == pytest.approx(0.99 * other["goodput_bps"])
    assert page.exists()


@pytest.mark.guest
def test_it_refuses_what_it_cannot_honour_and_names_who_can(package: Path) -> None:
    done = with_package(package, "check", FIRST, "--world", "paper", "--set", "transfer.congestion_control=bbr")
    assert done.returncode == 2
    assert "congestion control 'bbr' is not in the world 'paper'" in done.stderr
    assert "the world emu or sim or real can" in done.stderr
    done = with_package(package, "run", FIRST, "--world", "paper", "--broken")
    assert done.returncode == 2
    assert "sharpen it" in done.stderr
    done = with_package(package, "run", FIRST, "--share", "0.5")
    assert done.returncode == 2
    assert "--share works only with --world paper" in done.stderr


@pytest.mark.slow
def test_a_package_that_is_broken_stops_only_its_own_world(package: Path) -> None:
    (package / "paper_world.py").write_text("import no_such_module\n")
    assert with_package(package, "check", FIRST).returncode == 0
    done = with_package(package, "show", FIRST, "--world", "paper")
    assert done.returncode == 2
    assert "no_such_module" in done.stderr
    assert "paper: entry point landspeed.worlds" in with_package(package, "doctor").stdout
