"""A simulator taken from a wheel in place of a build."""

import base64
import hashlib
import subprocess
import zipfile
from pathlib import Path

import pytest

from landspeed.worlds.emu.kernel_source import KernelError
from setup.simulator_wheel import KEY, PROGRAM, sources_key, take

SAYS = b"#!/bin/sh\necho simulated\n"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone that has sources, and nothing built."""
    (tmp_path / "sim" / "src").mkdir(parents=True)
    (tmp_path / "sim" / "src" / "main.cc").write_text("int main() {}\n")
    return tmp_path


def wheel_of(clone: Path, key: str, listed: bytes = SAYS) -> Path:
    """A wheel with a program of that key, and a hash of what it should be."""
    wheel = clone / "landspeed_sim-0.1.0-py3-none-any.whl"
    lines = ""
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content, told in (
            (PROGRAM, SAYS, listed),
            (KEY, f"{key}\n".encode(), f"{key}\n".encode()),
            ("landspeed_sim.libs/libns3.so", b"ELF", b"ELF"),
        ):
            archive.writestr(name, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(told).digest()).decode().rstrip("=")
            lines += f"{name},sha256={digest},{len(told)}\n"
        archive.writestr("landspeed_sim-0.1.0.dist-info/RECORD", lines)
    return wheel


def test_it_is_taken_and_told(clone: Path) -> None:
    wheel = wheel_of(clone, sources_key(clone))
    assert take(wheel, clone) == f"simulator {sources_key(clone)} taken from {wheel}, hashes checked"
    program = clone / "sim" / "build" / "landspeed-sim"
    assert subprocess.run([program], capture_output=True, check=True).stdout == b"simulated\n"
    assert (program.resolve().parents[1] / "landspeed_sim.libs" / "libns3.so").read_bytes() == b"ELF"


def test_one_of_other_sources_is_refused_and_leaves_nothing(clone: Path) -> None:
    wheel = wheel_of(clone, sources_key(clone))
    (clone / "sim" / "src" / "main.cc").write_text("int main() { return 1; }\n")
    with pytest.raises(KernelError, match="the simulator of other sources"):
        take(wheel, clone)
    assert not (clone / "build").exists() and not (clone / "sim" / "build").exists()


def test_a_damaged_one_is_refused_and_leaves_nothing(clone: Path) -> None:
    with pytest.raises(KernelError, match="landspeed-sim differs from the wheel's RECORD"):
        take(wheel_of(clone, sources_key(clone), listed=b"another"), clone)
    assert not (clone / "build").exists() and not (clone / "sim" / "build").exists()


def test_what_is_no_such_wheel_is_told(clone: Path) -> None:
    (clone / "no.whl").write_bytes(b"no zip")
    with pytest.raises(KernelError, match="no wheel of landspeed's simulator"):
        take(clone / "no.whl", clone)
