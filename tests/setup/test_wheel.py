"""The wheel: the same bytes twice, what is in it, and a run from it by a Python that has no clone."""

import email
import hashlib
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from landspeed.base import places
from landspeed.scenario.traces.made_traces import TRACES
from landspeed.worlds.built_programs import program_trouble
from landspeed.worlds.emu import kernel_build
from landspeed.worlds.emu.kernel_build import KernelError, find_kernel, is_needed
from tests.support.emu_fixtures import ROOT

TAGS = "py3-none-manylinux_2_36_x86_64"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this clone."""
    return make_wheel(tmp_path_factory.mktemp("wheel"), umask=0o022)


def make_wheel(folder: Path, umask: int) -> Path:
    done = subprocess.run(
        [ROOT / "setup" / "wheel.sh", folder], capture_output=True, text=True, check=False, umask=umask
    )
    assert done.returncode == 0, done.stderr
    (made,) = folder.glob("landspeed-*.whl")
    assert made.name.endswith(f"-{TAGS}.whl")
    return made


@pytest.mark.guest
def test_twice_made_is_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    """By somebody with another umask, too. (`make wheel-twice` builds the programs twice as well.)"""
    again = make_wheel(tmp_path, umask=0o077)
    assert again.name == wheel.name
    assert hashlib.sha256(again.read_bytes()).digest() == hashlib.sha256(wheel.read_bytes()).digest()


@pytest.mark.guest
def test_what_is_in_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        modes = {each.filename: each.external_attr >> 16 for each in archive.infolist()}
        (about,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        metadata = email.message_from_bytes(archive.read(about))
        (sources,) = [name for name in names if name.endswith("/SOURCES.md")]
        told = archive.read(sources).decode()
        (page,) = [name for name in names if name.endswith("share/man/man1/landspeed.1")]
        manual = archive.read(page).decode()
        (table,) = [name for name in names if name.endswith("data/completion.json")]
        completion = archive.read(table).decode()
    for program in (
        "emu/kernel/built/linux",
        "emu/launch/build/landspeed-launch",
        "emu/launch/build/landspeed-polled.so",
        "emu/linkwatch/build/landspeed-linkwatch",
        "emu/linkwatch/build/landspeed-sockwatch",
        "engine/build/landspeed-engine",
    ):
        assert modes[f"landspeed/data/{program}"] & 0o111 == 0o111, program
    made = {"scenario.schema.json", *(f"traces/{name}" for name in TRACES)}
    assert {f"landspeed/data/scenarios/{name}" for name in made} <= set(names)
    patches = sorted(path.name for path in (ROOT / "emu" / "kernel" / "patches").iterdir())
    assert sorted(Path(name).name for name in names if "/kernel/patches/" in name and name[-1] != "/") == patches
    assert {"landspeed/data/emu/kernel/built/config", "landspeed/data/emu/kernel/cc.sh"} <= set(names)
    assert any(name.endswith("/GPL-2") for name in names)
    assert re.search(r"^\| `linux-source-[\d.]+\.tar\.xz` \| `linux\S*` \| `\d\S+` \|", told, re.MULTILINE)
    libraries = {
        re.sub(r"-[0-9a-f]{8}\.so.*", "", Path(name).name) for name in names if name.startswith("landspeed.libs/l")
    }
    assert libraries == {"libcjson", "libcrypto", "libmnl", "libsodium", "liburing", "libxxhash"}
    for library in libraries - {"libcrypto"}:
        assert f"`{library}.so" in told
    assert str(metadata["License-Expression"]).startswith("BSD-3-Clause AND GPL-2.0-only")
    needs = metadata.get_all("Requires-Dist") or []
    assert not [each for each in needs if re.match(r"pandas|ansible", each) and "extra ==" not in each]
    assert not [name for name in names if name.startswith("landspeed/tests/")]
    for place in (
        "bash-completion/completions/landspeed",
        "site-functions/_landspeed",
        "vendor_completions.d/landspeed.fish",
    ):
        assert any(name.endswith(f"/{place}") for name in names)
    for word in ("demo", "compare", "doctor"):
        assert word in manual
        assert word in completion


@pytest.mark.guest
def test_a_run_from_it_without_the_clone(wheel: Path, tmp_path: Path) -> None:
    """Unpacked with spaces and other letters in the path; results go to the user's own data folder."""
    place = tmp_path / "ein Ordner" / "Überlänge 東京"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
        for each in archive.infolist():  # as pip does
            if each.external_attr >> 16 & 0o111:
                (place / each.filename).chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    environment |= {"PYTHONPATH": str(place), "XDG_DATA_HOME": str(tmp_path / "data"), "HOME": str(tmp_path / "home")}
    environment |= {"LC_ALL": "C", "TZ": "Asia/Kathmandu"}
    (tmp_path / "home").mkdir()
    words = [sys.executable, "-m", "landspeed.cli.main", "run", "first", "--set", "transfer.duration=2 s"]
    done = subprocess.run(
        [*words, "--set", "expect=null"], capture_output=True, check=False, cwd=tmp_path, env=environment
    )
    assert done.returncode == 0, done.stderr.decode()
    (bundle,) = (tmp_path / "data" / "landspeed" / "runs").iterdir()
    assert (bundle / "samples.parquet").is_file()
    assert f"Report: {bundle}/report.html" in done.stdout.decode()
    lab = ROOT / "docs" / "examples" / "mininet" / "dumbbell.py"
    (tmp_path / "lab.py").write_text(lab.read_text().replace('"60"', '"5"'))
    words_mn = [*words[:3], "mn", "lab.py"]  # with the modules of the kernel in the wheel
    done = subprocess.run(words_mn, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert "Jain's index" in done.stdout, done.stderr
    sim = [*words, "--world", "sim"]
    done = subprocess.run(sim, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert done.returncode == 2
    assert "the simulated world is not installed; pip install landspeed_sim" in done.stderr


def test_a_program_that_cannot_be_started_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "program"
    assert program_trouble(program) == f"{program} is not built; run `make setup`"
    monkeypatch.setattr(places, "ROOT", tmp_path)  # no clone
    monkeypatch.setattr(kernel_build, "PACKED", tmp_path)
    assert "is missing; install the wheel again" in program_trouble(program)
    with pytest.raises(KernelError, match="linux is missing; install the wheel again"):
        find_kernel()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o644)
    assert "may not be executed by this user" in program_trouble(program)
    program.chmod(0o755)
    assert program_trouble(program) == ""


@pytest.mark.root
def test_a_program_on_a_noexec_mount_says_so(tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,noexec", "tmpfs", tmp_path], check=True)
    try:
        program = tmp_path / "program"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        assert "mounted noexec" in program_trouble(program)
    finally:
        subprocess.run(["umount", tmp_path], check=True)


@pytest.mark.parametrize(
    ("member", "needed"),
    [
        ("linux-source-6.12/net/ipv4/tcp.c", True),
        ("linux-source-6.12/arch/um/kernel/um_arch.c", True),
        ("linux-source-6.12/arch/x86/um/asm/elf.h", True),
        ("linux-source-6.12/arch/Kconfig", True),
        ("linux-source-6.12/arch/arm64/kernel/setup.c", False),
        ("linux-source-6.12/arch/arm64/Kconfig", True),
        ("linux-source-6.12/drivers/gpu/drm/i915/i915.c", False),
        ("linux-source-6.12/drivers/gpu/drm/Kconfig.debug", True),
        ("linux-source-6.12/drivers/net/veth.c", True),
        ("linux-source-6.12/drivers/net/ethernet/intel/Makefile", True),
        ("linux-source-6.12/Documentation/admin-guide/README.rst", False),
        ("linux-source-6.12", True),
    ],
)
def test_only_what_the_kernel_is_built_from_is_unpacked(member: str, needed: bool) -> None:
    assert is_needed(member) is needed
