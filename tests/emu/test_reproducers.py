"""Reproducers of the kernel's own faults (emu/kernel/reproduce), on the kernel that runs here."""

from __future__ import annotations

import re
import socket
import subprocess
import sys

import pytest

from tests.support.builds import ROOT

MPTCP = 262  # IPPROTO_MPTCP


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
    program = ROOT / "emu" / "kernel" / "reproduce" / "mptcp-notsent-lowat.py"
    told = subprocess.run([sys.executable, program], check=True, capture_output=True, text=True).stdout
    carried = {line.split(":")[0]: int(line.split(":")[1]) for line in told.splitlines()}
    assert re.findall(r"^[A-Z]+, mark \d", told, re.MULTILINE) == [*carried]
    assert carried["MPTCP, mark 1"] < carried["MPTCP, mark 0"] / 50
    assert carried["TCP, mark 1"] > carried["TCP, mark 0"] / 50
