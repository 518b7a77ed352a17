"""Reproducers of the kernel's own faults (emu/kernel/reproduce), on the kernel that runs here."""

import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from landspeed.worlds.emu.kernel_build import RECIPE, find_kernel
from tests.support.builds import ROOT
from tests.support.command import landspeed
from tests.support.emu_fixtures import scenario, write_scenario

MPTCP = 262  # IPPROTO_MPTCP
REPRODUCE = ROOT / "emu" / "kernel" / "reproduce"


def has_mptcp() -> bool:
    """Whether this kernel gives a socket of it."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP).close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_mptcp(), reason="this kernel has no MPTCP")
def test_a_small_mark_starves_mptcp_alone() -> None:
    """A socket of TCP carries gigabytes with the same mark; one of MPTCP, some segments."""
    program = REPRODUCE / "mptcp-notsent-lowat.py"
    told = subprocess.run([sys.executable, program], check=True, capture_output=True, text=True).stdout
    carried = {line.split(":")[0]: int(line.split(":")[1]) for line in told.splitlines()}
    assert re.findall(r"^[A-Z]+, mark \d", told, re.MULTILINE) == [*carried]
    assert carried["MPTCP, mark 1"] < carried["MPTCP, mark 0"] / 50
    assert carried["TCP, mark 1"] > carried["TCP, mark 0"] / 50


@pytest.mark.guest
def test_red_below_a_bucket_knows_here_that_nothing_waits(tmp_path: Path) -> None:
    """Patch 0024; without it (with-faults.patch), RED drops after ten seconds of nothing."""
    path = write_scenario(tmp_path, scenario([{"one_way_delay": "1 ms"}]))
    done = landspeed("exec", path, "--at", "alpha", "--", sys.executable, REPRODUCE / "red-idle-below-tbf.py")
    assert re.search(r"burst: [1-9]\d+ of 600 dropped\nafter 10 s of nothing: 0 of 50 dropped", done.stdout), done


@pytest.mark.guest
def test_an_idle_guest_misses_no_key_here() -> None:
    """Patch 0020. Of so few keys a kernel without it misses none or one: this shows only that the program works."""
    command = [sys.executable, REPRODUCE / "um-idle-misses-input.py", find_kernel().executable, "100"]
    told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=100).stdout
    assert re.fullmatch(r"[01] of 100 keys late; the others took [\d.]+ ms\n", told)


def test_the_faults_come_back_by_the_reverse_of_their_mends() -> None:
    """Each line that the patches add is taken away there, and the other way round."""
    back = (REPRODUCE / "with-faults.patch").read_text().partition("\n---")[2]
    mends = "".join(next(RECIPE.glob(f"patches/{number}-*")).read_text() for number in ("0020", "0024"))
    turned = str.maketrans("+-", "-+")
    lines = [line for line in mends.splitlines() if line[:1] in {"+", "-"} and line[:3] not in {"+++", "---"}]
    taken = [line for line in back.splitlines() if line[:1] in {"+", "-"} and line[:3] not in {"+++", "---"}]
    assert taken == [line[0].translate(turned) + line[1:] for line in lines] and len(lines) > 20
