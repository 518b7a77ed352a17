"""`landspeed doctor`: each finding under faked conditions, with its remedy."""

import json
import os
import platform
import shutil
import subprocess
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path

import pytest

from landspeed.cli.main import main
from landspeed.worlds.emu import doctor, machine
from landspeed.worlds.emu.kernel_build import KernelError

pytestmark = pytest.mark.guest


def finding(name: str) -> doctor.Finding:
    """The one finding of a name."""
    (found,) = [each for each in doctor.examine() if each.name == name]
    return found


def test_this_host_can_run_everything() -> None:
    """The tests themselves need it to."""
    assert [each for each in doctor.examine() if each.state == "fail"] == []


def _other_machine(monkeypatch: pytest.MonkeyPatch, _folder: Path) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")


def _other_system(monkeypatch: pytest.MonkeyPatch, _folder: Path) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")


def _no_memory(monkeypatch: pytest.MonkeyPatch, _folder: Path) -> None:
    monkeypatch.setattr(doctor, "available_bytes", lambda: 500 << 20)


def _no_kernel(monkeypatch: pytest.MonkeyPatch, _folder: Path) -> None:
    def missing() -> None:
        raise KernelError("the virtual-time kernel x is not built")

    monkeypatch.setattr(doctor, "find_kernel", missing)


def _no_engine(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(doctor, "ENGINE_BINARY", folder / "engine")


def _no_link_watch(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(doctor, "LINKWATCH", folder / "linkwatch")


def _anothers_folder(monkeypatch: pytest.MonkeyPatch, _folder: Path) -> None:
    real = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: real(path, mode) and (mode != os.W_OK or str(path).startswith("/dev"))
    )


def _full_disk(monkeypatch: pytest.MonkeyPatch, _folder: Path) -> None:
    usage = namedtuple("usage", "total used free")
    real = shutil.disk_usage
    monkeypatch.setattr(
        shutil, "disk_usage", lambda path: real(path) if str(path).startswith("/dev") else usage(10**9, 10**9, 1000)
    )


def _no_ptrace(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    scope = folder / "ptrace_scope"
    scope.write_text("3\n")
    monkeypatch.setattr(doctor, "PTRACE_SCOPE", scope)


def _without(tool: str) -> Callable[[pytest.MonkeyPatch, Path], None]:
    def fake(monkeypatch: pytest.MonkeyPatch, _folder: Path) -> None:
        real = shutil.which
        monkeypatch.setattr(shutil, "which", lambda name, **more: None if name == tool else real(name, **more))

    return fake


@pytest.mark.parametrize(
    ("fake", "name", "state", "remedy"),
    [
        (_other_machine, "machine", "fail", "x86-64"),
        (_other_system, "machine", "fail", "x86-64"),
        (_no_memory, "memory", "fail", "close programs"),
        (_no_kernel, "virtual-time kernel", "fail", "make setup"),
        (_no_engine, "transfer engine", "fail", "make setup"),
        (_no_link_watch, "link watch", "fail", "make setup"),
        (_full_disk, "disk", "warn", "--out"),
        (_anothers_folder, "disk", "warn", "--out"),
        (_no_ptrace, "ptrace", "fail", "ptrace_scope"),
        (_without("tc"), "tc", "warn", "apt-get install iproute2"),
        (_without("iperf3"), "iperf3", "warn", "apt-get install iperf3"),
        (_without("flex"), "flex", "warn", "apt-get install flex"),
    ],
)
def test_each_trouble_is_found_with_its_remedy(  # noqa: PLR0917
    fake: Callable[[pytest.MonkeyPatch, Path], None],
    name: str,
    state: str,
    remedy: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fake(monkeypatch, tmp_path)
    found = finding(name)
    assert found.state == state
    assert remedy in found.remedy
    status = main(["doctor"])
    shown = capsys.readouterr().out
    assert status == (1 if state == "fail" else 0)
    assert f"{state:<5} {name}: {found.text}\n      remedy: {found.remedy}" in shown


def test_one_core_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guest takes one only; a second helps only a second run."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0})
    assert finding("cores") == doctor.Finding("cores", "ok", "1 available: runs beside each other share it")


@pytest.mark.root
def test_shared_memory_too_small_noexec_or_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr(machine, "FALLBACKS", ())
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(small)], check=True)
    try:
        (found,) = [each for each in doctor.examine(small) if each.name == "shared memory"]
        assert found.state == "fail"
        assert "0.06 GiB free" in found.text
        assert f"mount -o remount,size=8G {small}" in found.remedy
        subprocess.run(["mount", "-o", "remount,noexec", str(small)], check=True)
        (found,) = [each for each in doctor.examine(small) if each.name == "shared memory"]
        assert f"mount -o remount,exec {small}" in found.remedy
    finally:
        subprocess.run(["umount", str(small)], check=True)
    (found,) = [each for each in doctor.examine(tmp_path / "gone") if each.name == "shared memory"]
    assert found.state == "fail"
    assert "TMPDIR" in found.remedy


def test_shared_memory_that_is_bad_is_no_trouble_with_a_good_fallback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a run would do it."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (found,) = [each for each in doctor.examine(tmp_path / "gone") if each.name == "shared memory"]
    assert found.state == "ok"
    assert str(tmp_path) in found.text


def test_nothing_wrong_has_no_remedy_and_json_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert {"name", "state", "text", "remedy"} == set(shown[0])
    assert {each["name"] for each in shown} >= {"machine", "cores", "memory", "shared memory", "disk", "ptrace", "tc"}
    for each in shown:
        assert (each["remedy"] == "") == (each["state"] == "ok")
