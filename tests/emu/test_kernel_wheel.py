"""A kernel taken from a wheel in place of a build."""

import base64
import hashlib
import json
import zipfile
from pathlib import Path

import pytest

from landspeed.worlds.emu import kernel_build as kernel
from landspeed.worlds.emu.kernel_wheel import BUILT, WHEEL


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Key of the kernel that is wanted; nothing is in the cache, and nothing can be built."""
    archive = tmp_path / "linux-source-6.12.tar.xz"
    archive.touch()
    monkeypatch.setattr(kernel, "SOURCES", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv(WHEEL, str(tmp_path / "landspeed.whl"))
    return kernel.kernel_key(archive)


def put_wheel(path: Path, key: str, linux: bytes = b"#!/bin/sh\n", listed: bytes = b"#!/bin/sh\n") -> None:
    """A wheel with a kernel of that key, and a hash of what its program should be."""
    about = json.dumps({"key": key, "version": "6.12.1", "symbols": {}}).encode()
    lines = ""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content, told in (("linux", linux, listed), ("kernel.json", about, about)):
            archive.writestr(BUILT + name, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(told).digest()).decode().rstrip("=")
            lines += f"{BUILT}{name},sha256={digest},{len(told)}\n"
        archive.writestr("landspeed-0.1.0.dist-info/RECORD", f"{lines}landspeed-0.1.0.dist-info/RECORD,,\n")


def test_it_is_taken_checked_and_told(key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put_wheel(tmp_path / "landspeed.whl", key)
    taken = kernel.build_kernel()
    assert (taken, taken.version) == (kernel.find_kernel(), "6.12.1")
    assert f"{key} taken from {tmp_path}/landspeed.whl, hashes checked" in capsys.readouterr().out
    assert [path.name for path in kernel.kernels_folder().iterdir() if path.is_dir()] == [key]


def test_one_of_another_recipe_is_told_and_left(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put_wheel(tmp_path / "landspeed.whl", "0123456789abcdef")
    monkeypatch.setattr(kernel, "_build", lambda *_, **__: (_ for _ in ()).throw(OSError("it builds")))
    with pytest.raises(kernel.KernelError, match="it builds"):
        kernel.build_kernel()
    assert f"has 0123456789abcdef, of another source or recipe than {key}" in capsys.readouterr().out


def test_a_damaged_one_is_refused_and_leaves_nothing(key: str, tmp_path: Path) -> None:
    put_wheel(tmp_path / "landspeed.whl", key, linux=b"#!/bin/su\n")
    with pytest.raises(kernel.KernelError, match="linux differs from the wheel's RECORD; take another copy"):
        kernel.build_kernel()
    (tmp_path / "landspeed.whl").write_bytes(b"none")
    with pytest.raises(kernel.KernelError, match="no wheel of landspeed with a kernel"):
        kernel.build_kernel()
    assert not [path for path in kernel.kernels_folder().iterdir() if path.is_dir()]
