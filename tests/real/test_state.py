"""What plays write down on a host before they change it, and how each kind of setting is read and put back."""

import json
import os
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def state(shared: dict[str, ModuleType]) -> ModuleType:
    """The state file."""
    return shared["state"]


@pytest.fixture
def kinds(shared: dict[str, ModuleType]) -> ModuleType:
    """The kinds of settings."""
    return shared["kinds"]


def test_the_first_value_saved_stays(state: ModuleType) -> None:
    with state.State() as saved:
        assert saved.remember("sysctl", "net.x", "1", "tune")
        assert not saved.remember("sysctl", "net.x", "2", "tune")
    with state.State() as again:
        assert [entry["former"] for entry in again.entries] == ["1"]
        assert (state.STATE.stat().st_mode & 0o777, state.STATE.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        again.entries.clear()
        again.save()
    assert not state.FOLDER.exists()


def test_a_file_comes_back_with_content_and_mode(kinds: ModuleType, tmp_path: Path) -> None:
    path, kind = tmp_path / "file", kinds.KINDS["path"]
    path.write_bytes(b"\0before")
    path.chmod(0o640)
    former = kind.read(str(path))
    path.write_bytes(b"after")
    path.chmod(0o777)
    kind.write(str(path), json.loads(json.dumps(former)))
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"\0before", 0o640)
    kind.write(str(path), None)
    assert not path.exists()


def test_a_secret_is_written_for_its_owner_alone(
    kinds: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while it is written, whatever the umask."""
    path, kind, modes = tmp_path / "key", kinds.KINDS["path"], []
    monkeypatch.setattr(kinds.os, "fsync", lambda handle: modes.append(os.fstat(handle).st_mode & 0o777))
    monkeypatch.setattr(kinds.os, "chown", lambda *_: None)
    before = os.umask(0)
    try:
        kind.write(str(path), kind.wanted(str(path), {"text": "secret\n", "mode": "0400"}))
    finally:
        os.umask(before)
    assert (path.read_text(), path.stat().st_mode & 0o777, modes[0]) == ("secret\n", 0o400, 0o600)


def test_a_folder_that_was_not_there_goes_only_if_it_is_ours_or_empty(kinds: ModuleType, tmp_path: Path) -> None:
    kind = kinds.KINDS["path"]
    for name, left in (("man1", True), ("landspeed", False)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "file").touch()
        kind.write(str(folder), None)
        assert folder.exists() is left


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (
            "qdisc netem 1: root refcnt 2 limit 1000 delay 132ms loss 1%\n"
            "qdisc tbf 2: parent 1:1 rate 100Mbit burst 9040b lat 5ms",
            [
                "root handle 1: netem limit 1000 delay 132ms loss 1%",
                "parent 1:1 handle 2: tbf rate 100Mbit burst 9040b latency 5ms",
            ],
        ),
        (
            "qdisc fq 8001: root refcnt 2 limit 10000p bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1 weights 1 2 3 "
            "quantum 18028b",
            ["root handle 8001: fq limit 10000p quantum 18028b"],
        ),
        ("qdisc noqueue 0: root refcnt 2", []),
    ],
)
def test_qdiscs_are_saved_as_tc_takes_them(
    kinds: ModuleType, monkeypatch: pytest.MonkeyPatch, shown: str, words: list[str]
) -> None:
    monkeypatch.setattr(kinds, "run", lambda *_: shown)
    assert kinds.KINDS["qdisc"].read("eth0") == words


def test_a_qdisc_that_cannot_be_put_back_is_not_touched(kinds: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "run", lambda *_: "qdisc htb 1: root refcnt 2 r2q 10 default 0x1")
    with pytest.raises(kinds.CannotPutBack, match=r"qdisc htb.*tc qdisc del dev eth0 root"):
        kinds.KINDS["qdisc"].read("eth0")
