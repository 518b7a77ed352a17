"""NS3_HOME: an ns-3 of the user's own is found, and is what the simulator is built against."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SIM_FOLDER = Path(__file__).resolve().parents[2] / "sim"
HEADERS = Path("/usr/include/ns3")
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
MODULES = ("internet", "traffic-control", "network", "core", "stats", "bridge")


def install(home: Path, libraries: str, suffix: str = "") -> Path:
    """The distribution's ns-3 as an install tree of one's own, with names such as ns-3's own build gives."""
    shutil.copytree(HEADERS, home / "include" / "ns3")  # through a link the compiler would tell the link's target
    folder = home / libraries
    folder.mkdir(parents=True)
    for module in MODULES:
        for source in LIBRARIES.glob(f"libns3-{module}.so.*"):
            shutil.copy(source, folder)  # as its SONAME says
            (folder / f"libns3{suffix.format(module)}.so").symlink_to(source.name)
    return home


def find(home: Path) -> subprocess.CompletedProcess[str]:
    """What sim/find_ns3.py says of a folder."""
    words = [sys.executable, str(SIM_FOLDER / "find_ns3.py"), str(home)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("libraries", "suffix", "version"),
    [("lib", ".48-{}-default", "3.48"), ("lib64", ".50-{}-optimized", "3.50"), ("lib", "-{}", "unknown")],
)
def test_an_installed_tree_is_found(tmp_path: Path, libraries: str, suffix: str, version: str) -> None:
    home = install(tmp_path / "ns-3", libraries, suffix)
    told, include, words = find(home).stdout.splitlines()
    assert (told, include) == (version, str(home / "include"))
    assert f"-L{home / libraries}" in words
    assert f"-lns3{suffix.format('traffic-control')}" in words


def test_a_build_tree_is_found(tmp_path: Path) -> None:
    home = tmp_path / "ns-3.48"
    install(home / "build", "lib", ".48-{}-debug")
    assert find(home).stdout.splitlines()[1] == str(home / "build" / "include")


def test_what_is_no_ns3_is_refused_by_name(tmp_path: Path) -> None:
    done = find(tmp_path)
    assert done.returncode == 1
    assert f"NS3_HOME: no include/ns3/core-module.h and lib/libns3*-core*.so in {tmp_path}" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_simulator_is_built_against_it(tmp_path: Path) -> None:
    """A whole build takes minutes; what decides is what is compiled with, and what is linked."""
    home, build = install(tmp_path / "ns-3", "lib", ".48-{}-default"), tmp_path / "build"
    setup = ["meson", "setup", str(build), str(SIM_FOLDER), "-Doptimization=0", "-Dunity=off"]
    done = subprocess.run(setup, capture_output=True, text=True, check=False, env={**os.environ, "NS3_HOME": str(home)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ns-3 3.48" in done.stdout
    words = subprocess.run(
        ["ninja", "-C", str(build), "-t", "commands", "landspeed-sim"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    linking = words[-1]
    assert f"-L{home}/lib" in linking
    assert "-lns3.48-internet-default" in linking
    assert "-lns3-internet" not in linking
    assert all(
        f"-isystem {home}/include" in line or f"-isystem{home}/include" in line for line in words if " -c " in line
    )
    target = "mend/libmend.a.p/prr.cc.o"
    subprocess.run(["ninja", "-C", str(build), target], check=True, capture_output=True)
    used = subprocess.run(["ninja", "-C", str(build), "-t", "deps", target], capture_output=True, text=True, check=True)
    assert f"{home}/include/ns3/tcp-recovery-ops.h" in used.stdout
    assert str(HEADERS) not in used.stdout
    assert json.loads((build / "meson-info" / "intro-targets.json").read_text())
