"""Too little of something: a full or unwritable disk, too little memory. A clear error, the right exit status."""

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from landspeed.results.bundle import list_bundles, load_record
from landspeed.worlds.emu import machine, memory
from tests.support.command import landspeed
from tests.support.emu_faults import nothing_left  # noqa: F401 (used by every test)
from tests.support.emu_fixtures import FIRST, plan_of, processes_in, wait_until

pytestmark = pytest.mark.guest

# --- Nowhere to write ------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """A file system of a size, mounted for the test."""
    mounted: list[Path] = []

    def mount(size_bytes: int) -> Path:
        folder = tmp_path / f"disk{len(mounted)}"
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", str(folder)], check=True)
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        wait_until(lambda folder=folder: not processes_in(folder), "the guest to end")
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.root
def test_a_disk_that_is_full_at_the_start_is_bad_input(small_disk: Callable[[int], Path]) -> None:
    disk = small_disk(128 << 10)
    done = landspeed("run", FIRST, "--out", disk)
    assert done.returncode == 2
    assert "the disk is full; free some space or give another folder with --out" in done.stderr
    assert list(disk.iterdir()) == []


@pytest.mark.root
@pytest.mark.parametrize("kilobytes", [330, 400, 500, 700])
def test_a_disk_that_fills_up_ends_the_run_with_a_message(small_disk: Callable[[int], Path], kilobytes: int) -> None:
    """At whatever moment: never a trace, never a bundle that looks complete."""
    disk = small_disk(kilobytes << 10)
    done = landspeed("run", FIRST, "--json", "--set", "transfer.sample_interval=10 ms", "--out", disk)
    assert done.returncode in {1, 2}
    assert "Traceback" not in done.stderr
    assert re.search(
        r"Error: .*(disk is full|No space left|no space|wrote|left no result|cannot write)", done.stderr
    ), done.stderr
    for bundle in list_bundles(disk):
        assert load_record(bundle).complete is False


@pytest.mark.root
@pytest.mark.parametrize("what", ["file", "missing parent is a file", "read-only"])
def test_a_folder_that_cannot_be_written_is_bad_input(
    tmp_path: Path, what: str, small_disk: Callable[[int], Path]
) -> None:
    place = tmp_path / "place"
    place.write_text("")
    out = {"file": place, "missing parent is a file": place / "deeper"}.get(what)
    if out is None:
        out = small_disk(1 << 20)
        subprocess.run(["mount", "-o", "remount,ro", str(out)], check=True)
    done = landspeed("run", FIRST, "--out", out)
    assert done.returncode == 2
    assert f"cannot write {out}" in done.stderr
    assert "--out" in done.stderr
    assert "Traceback" not in done.stderr


# --- The host has too little -----------------------------------------------------------------------------------------


def test_too_little_memory_of_the_host_is_told_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from landspeed.cli.main import main

    monkeypatch.setattr(memory, "available_bytes", lambda: 512 << 20)
    assert main(["run", str(FIRST), "--out", str(tmp_path / "out")]) == 2
    err = capsys.readouterr().err
    assert re.search(r"the run needs up to \d\.\d\d GiB and 0\.50 GiB for the host; 0\.50 GiB are available", err)
    assert "--memory SIZE" in err
    assert not (tmp_path / "out").exists()


@pytest.mark.root
def test_a_shared_memory_too_small_falls_back_to_tmpdir(
    small_disk: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    small = small_disk(16 << 20)
    need = memory.guest_memory_bytes(plan_of(tmp_path, FIRST))
    monkeypatch.setattr(machine, "SHARED_MEMORY", small)
    monkeypatch.setattr(machine, "FALLBACKS", ())
    monkeypatch.delenv("TMPDIR")
    with pytest.raises(MemoryError, match=rf"{small} has 0\.02 GiB free, the run needs {need / 2**30:.2f} GiB.*TMPDIR"):
        machine.shared_memory_folder(need)
    large = tmp_path / "large"
    large.mkdir()
    monkeypatch.setenv("TMPDIR", str(large))
    assert machine.shared_memory_folder(1 << 20) == small
    assert machine.shared_memory_folder(need) == large
    monkeypatch.setenv("TMPDIR", str(small))
    subprocess.run(["mount", "-o", "remount,noexec", str(small)], check=True)
    with pytest.raises(MemoryError, match=rf"mounted noexec \(remedy: mount -o remount,exec {small}\)"):
        machine.shared_memory_folder(1 << 20)
    monkeypatch.setattr(machine, "FALLBACKS", (tmp_path,))  # as /tmp is, where nobody sets TMPDIR
    assert machine.shared_memory_folder(1 << 20) == tmp_path


def test_a_run_whose_memory_lies_in_the_fallback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from landspeed.cli.main import main

    monkeypatch.setattr(machine, "SHARED_MEMORY", Path("/nonexistent"))
    assert main(["run", str(FIRST), "--quiet", "--out", str(tmp_path / "out")]) == 0
