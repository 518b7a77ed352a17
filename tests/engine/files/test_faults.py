"""What goes wrong around a transfer of files: disk full, sources that change or vanish, wrong usage."""

import errno
import os
import pty
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.support.engine.files_fixtures import BLOCK, JOURNAL, describe, leftovers, make_tree, slow_disk, write_file
from tests.support.engine.fixtures import Bench, Program, wait_until
from tests.support.stopwatch import one_of_few, undisturbed


@pytest.fixture(name="target")
def target_fixture(tmp_path: Path) -> Path:
    folder = tmp_path / "target"
    folder.mkdir()
    return folder


def private_mounts(words: list[str]) -> list[str]:
    """The command in a mount namespace of its own, as root there."""
    return ["unshare", *(["--mount"] if os.geteuid() == 0 else ["--user", "--map-root-user", "--mount"]), *words]


def resize(receiver: Program, target: Path, size: str) -> None:
    """Another size for the receiver's file system, in its namespace."""
    enter = ["nsenter", "--target", str(receiver.process.pid), "--mount"]
    if os.geteuid() != 0:
        enter += ["--user", "--preserve-credentials"]
    # With a source, mount(8) adds no options that are in force: its owner's number is none in a user namespace.
    subprocess.run([*enter, "mount", "-o", f"remount,size={size}", "tmpfs", str(target)], check=True)


def receive_on_small_disk(bench: Bench, target: Path, size: str) -> Program:
    """A receiver whose directory is a file system of that size; nobody else sees it."""
    script = 'mount -t tmpfs -o size="$1" tmpfs "$2" && shift 2 && exec "$@"'
    words = [str(bench.binary), "receive", "--port", str(bench.port), "--directory", str(target), "--anonymous"]
    program = Program(private_mounts(["sh", "-c", script, "sh", size, str(target), *words]), bench.folder, "small")
    bench.programs.append(program)
    program.wait_for("listening")
    return program


@pytest.mark.slow
@pytest.mark.parametrize("direct", ["auto", "on"])
def test_a_full_disk_is_said_and_resumed_when_there_is_room(
    bench: Bench, tmp_path: Path, target: Path, direct: str
) -> None:
    source = tmp_path / "tree"
    source.mkdir()
    write_file(source / "first", 3 * BLOCK)
    write_file(source / "second", 30 * BLOCK + 5)
    receiver = receive_on_small_disk(bench, target, "12M")
    sender = bench.send("--streams", "2", "--direct", direct, "--files", str(source))
    assert sender.wait() == 1
    result = bench.result()
    # Where one stream stands still, the other one may have filled the disk before the first file is whole.
    full = re.fullmatch(r"receiver: cannot write 'tree/(first|second)' \(run again to resume\): (.*)", result["error"])
    assert full is not None, result["error"]
    assert full[2] == "No space left on device"
    verified = result["files"]["receiver"]["blocks_verified"]
    assert 8 <= verified <= 12
    seen = Path(f"/proc/{receiver.process.pid}/root") / target.relative_to("/") / "tree"
    assert result["files"]["receiver"]["files_done"] == int((seen / "first").exists())
    resize(receiver, target, "64M")
    again = bench.send("--files", str(source))
    assert again.wait() == 0, again.errors
    files = bench.result()["files"]
    assert files["blocks_skipped"] == verified
    assert files["blocks_sent"] == 34 - verified
    assert describe(seen) == describe(source)
    receiver.process.send_signal(signal.SIGTERM)
    assert receiver.wait() == 0


def test_no_room_for_another_name_is_said_and_ends_all(bench: Bench, tmp_path: Path, target: Path) -> None:
    source = tmp_path / "tree"
    source.mkdir()
    for number in range(8):
        (source / f"folder-{number}").mkdir()
    receiver = receive_on_small_disk(bench, target, "12M,nr_inodes=6")
    sender = bench.send("--files", str(source))
    assert sender.wait() == 1
    # The top, the tree, and four folders.
    said = "receiver: cannot write 'tree/folder-4' (run again to resume): No space left on device"
    assert bench.result()["error"] == said
    receiver.process.send_signal(signal.SIGTERM)
    assert receiver.wait() == 0


def test_a_limit_of_the_size_of_files_fails_one_by_name(bench: Bench, tmp_path: Path, target: Path) -> None:
    """RLIMIT_FSIZE, which a signal would enforce (SIGXFSZ)."""
    source = tmp_path / "tree"
    source.mkdir()
    write_file(source / "a-large", 5 * BLOCK)
    write_file(source / "b-small", 2 * BLOCK)
    receiver = bench.receive("--directory", str(target), "--anonymous")
    subprocess.run(["prlimit", "--pid", str(receiver.process.pid), f"--fsize={3 * BLOCK}"], check=True)
    sender = bench.send("--files", str(source))
    assert sender.wait() == 1
    said = "1 of 3 entries failed; 'tree/a-large': cannot be written: File too large"
    assert bench.result()["error"] == said
    assert (target / "tree" / "b-small").read_bytes() == (source / "b-small").read_bytes()
    assert receiver.process.poll() is None


def test_more_than_a_transfer_may_have_is_refused_before_anything_is_written(
    bench: Bench, tmp_path: Path, target: Path
) -> None:
    source = tmp_path / "tree"
    source.mkdir()
    write_file(source / "one", 2 * BLOCK)
    write_file(source / "two", 3 * BLOCK)
    bench.receive("--directory", str(target), "--anonymous", "--max-bytes", str(5 * BLOCK))
    write_file(source / "three", 1)
    sender = bench.send("--files", str(source))
    assert sender.wait() == 1
    said = f"this receiver takes {5 * BLOCK} bytes of files in a transfer, not {5 * BLOCK + 1}"
    assert bench.result()["error"] == f"the peer refused: {said}"
    assert list(target.iterdir()) == []
    (source / "three").unlink()
    assert bench.send("--files", str(source)).wait() == 0
    assert describe(target / "tree") == describe(source)


@pytest.mark.slow
def test_the_time_of_a_transfer_ends_and_the_next_one_goes_on(bench: Bench, tmp_path: Path, target: Path) -> None:
    """--max-time ends it by the receiver's clock; what was there by then need not come again."""
    write_file(tmp_path / "file", 20 * BLOCK)
    bench.receive("--directory", str(target), "--anonymous", "--max-time", "1s")

    def attempt(_: int) -> int:
        for each in target.iterdir():
            each.unlink()
        sender = bench.send("--pacing", "80M", "--files", str(tmp_path / "file"))
        assert sender.wait() == 1
        result = bench.result()
        assert result["error"] == "the 1.000 s that this receiver allows are over (run again to resume)"
        verified = result["files"]["receiver"]["blocks_verified"]
        # 10 MB/s for a second; what lies in the socket's buffer at the start is not paced by the receiver.
        took_s = result["duration_s"]
        assert verified <= 10 * max(took_s, 1) + 4
        # From the first byte read to the last one: a block, 0.1 s, may be missing at the end.
        undisturbed(verified >= 6 and 0.8 < took_s < 1.5, f"{verified} blocks in {took_s:.2f} s")
        return verified

    verified = one_of_few(attempt)

    def resume(number: int) -> None:
        again = bench.send("--files", str(tmp_path / "file"))
        status = again.wait()
        assert number > 0 or bench.result()["files"]["blocks_skipped"] == verified
        undisturbed("that this receiver allows are over" not in again.errors, again.errors)
        assert status == 0, again.errors

    one_of_few(resume)
    assert (target / "file").read_bytes() == (tmp_path / "file").read_bytes()


@pytest.mark.parametrize("failing", ["directory", "files", "nothing"])
def test_synced_is_said_only_of_what_is_on_the_disk(
    bench: Bench, tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    write_file(tmp_path / "file", 100)
    error = 0 if failing == "nothing" else errno.EIO
    slow_disk(tmp_path, monkeypatch, sync_error=error, sync_files=int(failing == "files"))
    bench.receive("--directory", str(target), "--anonymous")
    sender = bench.send("--files", str(tmp_path / "file"))
    assert sender.wait() == (0 if failing == "nothing" else 1)
    result = bench.result()
    assert result["files"]["receiver"]["synced"] is (failing == "nothing")
    assert result["complete"] is (failing == "nothing")
    assert (
        result["error"]
        == {
            "directory": "the names in --directory may not be on the disk: Input/output error",
            "files": "1 of 1 entries failed; 'file': cannot be finished: Input/output error",
            "nothing": None,
        }[failing]
    )


@pytest.mark.slow
def test_an_interrupted_transfer_is_not_synced(bench: Bench, tmp_path: Path, target: Path) -> None:
    """The names of what is finished are flushed at the end of all."""
    sender = paced(bench, target, large_and_others(tmp_path))
    sender.process.send_signal(signal.SIGINT)
    assert sender.wait() == 1
    assert bench.result()["files"]["receiver"]["synced"] is False


def paced(bench: Bench, target: Path, source: Path) -> Program:
    """A sender in the middle of the first file below `source`; others come after it."""
    bench.receive("--one-off", "--directory", str(target), "--anonymous")
    sender = bench.send("--pacing", "100M", "--files", str(source))
    journal = target / source.name / f".a-large{JOURNAL}"
    wait_until(lambda: (journal.exists() and journal.stat().st_size > 64 + 48) or None, 20, sender.process)
    return sender


def large_and_others(tmp_path: Path) -> Path:
    source = tmp_path / "tree"
    source.mkdir()
    write_file(source / "a-large", 32 * BLOCK)
    write_file(source / "b-next", 2 * BLOCK)
    write_file(source / "c-last", 100)
    return source


@pytest.mark.slow
@pytest.mark.parametrize("change", ["append", "truncate", "overwrite", "remove", "touch"])
def test_a_source_that_changes_meanwhile_fails_by_name(bench: Bench, tmp_path: Path, target: Path, change: str) -> None:
    source = large_and_others(tmp_path)
    sender = paced(bench, target, source)
    large = source / "a-large"
    match change:
        case "append":
            with large.open("ab") as file:
                file.write(b"more")
        case "truncate":
            os.truncate(large, BLOCK)
        case "overwrite":
            with large.open("r+b") as file:
                file.seek(31 * BLOCK)
                file.write(b"other")
        case "remove":
            large.unlink()
        case _:
            os.utime(large)
    assert sender.wait() == 1
    result = bench.result()
    said = {
        "append": "the source changed meanwhile: it had 33554432 bytes, now 33554436",
        "truncate": "the source changed meanwhile: it had 33554432 bytes, now 1048576",
        "overwrite": "the source changed meanwhile",
        "remove": "the source changed meanwhile",  # its ctime, before its name is looked for
        "touch": "the source changed meanwhile",
    }
    if change == "truncate":  # whichever is seen first
        said["truncate"] = result["files"]["outcomes"][0]["error"]
        assert said["truncate"].startswith(("the source changed meanwhile", "the source became shorter"))
    assert result["error"] == f"1 of 4 entries failed; 'tree/a-large': {said[change]}"
    assert result["files"]["outcomes"][0] == {
        "path": "tree/a-large",
        "outcome": "failed",
        "bytes": 32 * BLOCK,
        "error": said[change],
    }
    assert not (target / "tree" / "a-large").exists()
    for name in ("b-next", "c-last"):
        assert (target / "tree" / name).read_bytes() == (source / name).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("change", ["remove", "replace"])
def test_a_source_that_vanishes_before_its_turn(bench: Bench, tmp_path: Path, target: Path, change: str) -> None:
    source = large_and_others(tmp_path)
    sender = paced(bench, target, source)
    (source / "b-next").unlink()
    if change == "replace":
        (source / "b-next").symlink_to("/etc/passwd")
    assert sender.wait() == 1
    rows = {row["path"]: row for row in bench.result()["files"]["outcomes"]}
    assert rows["tree/b-next"]["outcome"] == "failed"
    assert (
        rows["tree/b-next"]["error"]
        == {
            "remove": "the source cannot be opened: No such file or directory",
            "replace": "the source was replaced by another file meanwhile",
        }[change]
    )
    assert rows["tree/a-large"]["outcome"] == rows["tree/c-last"]["outcome"] == "done"
    assert {path.name for path in (target / "tree").iterdir()} == {"a-large", "c-last"}


def test_what_is_no_file_is_left_out_and_said(
    bench: Bench, tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = make_tree(tmp_path / "tree")
    os.mkfifo(source / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(source)  # the path of a socket is short
        listener.bind("socket")
    write_file(source / f".old{JOURNAL}", 10)
    receiver = bench.receive("--one-off", "--directory", str(target), "--anonymous")
    sender = bench.send("--files", str(source))
    assert sender.wait() == 0, sender.errors
    assert receiver.wait() == 0
    files = bench.result()["files"]
    assert files["skipped"] == 3
    rows = {Path(row["path"]).name: row for row in files["outcomes"] if row["outcome"] == "skipped"}
    assert rows["pipe"]["error"] == rows["socket"]["error"] == "neither a file nor a directory nor a link"
    assert rows[f".old{JOURNAL}"]["error"] == "is a name that unfinished transfers use"
    assert describe(target / "tree").keys() == describe(source).keys() - {"pipe", "socket", f".old{JOURNAL}"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["send", "h", "--files"], "--files needs a PATH after HOST"),
        (["send", "h", "path"], "send takes one HOST, and PATHs after --files"),
        (["send", "h", "--files", "/no/such"], "cannot send '/no/such': No such file or directory"),
        (["send", "h", "--files", "/dev/null"], "neither a file nor a directory"),
        (["send", "h", "--files", "/etc/hosts", "/etc/../etc/hosts"], "two of the paths would both be 'hosts' there"),
        (["send", "h", "--files", "x", "--bytes", "3"], "--bytes and --time do not go with it"),
        (["send", "h", "--files", "x", "--omit", "3"], "do not go with it, nor --omit"),
        (["send", "h", "--files", "x", "--direct", "3"], "--direct: '3' is not 'auto', 'on' or 'off'"),
        (["receive", "--anonymous", "--directory", "/no/such"], "--directory '/no/such': No such file or directory"),
        (["receive", "--anonymous", "--directory", "/etc/hosts"], "--directory '/etc/hosts': Not a directory"),
        (["receive", "--directory", "/tmp"], "--key FILE says who may send, --anonymous that anybody may"),
        (["receive", "--directory", "/tmp", "--key", "k", "--anonymous"], "with --key nobody is anonymous"),
        (["receive", "--anonymous"], "--anonymous speaks of files: it needs --directory DIR"),
        (["receive", "--max-bytes", "1G"], "--max-bytes speaks of files: it needs --directory DIR"),
        (["receive", "--max-files", "9"], "--max-files speaks of files: it needs --directory DIR"),
        (["receive", "--max-files", "0"], "--max-files: '0' is not a number of files from 1 to 16777216"),
        (["receive", "--max-bytes", "0"], "--max-bytes: '0' is not an amount of bytes above 0 such as 500G"),
        (["receive", "--max-bytes", "much"], "--max-bytes: 'much' is not an amount of bytes above 0"),
        (["receive", "--symlinks", "some"], "--symlinks: 'some' is not 'inside', 'all' or 'none'"),
    ],
)
def test_wrong_usage(bench: Bench, words: list[str], said: str) -> None:
    run = subprocess.run(
        [str(bench.binary), words[0], *words[1:]], capture_output=True, text=True, check=False, timeout=20
    )
    assert said in run.stderr
    assert run.returncode == 2


def test_the_receiver_is_gone_for_good(bench: Bench, tmp_path: Path) -> None:
    write_file(tmp_path / "file", 10)
    sender = bench.send("--files", str(tmp_path / "file"))
    assert sender.wait() == 1
    assert "Connection refused" in bench.result()["error"]
    assert bench.result()["files"]["receiver"] is None


@pytest.mark.slow
def test_a_bar_on_a_terminal(bench: Bench, tmp_path: Path, target: Path) -> None:
    write_file(tmp_path / "file", 20 * BLOCK)
    bench.receive("--one-off", "--directory", str(target), "--anonymous")
    near, far = pty.openpty()
    words = [str(bench.binary), "send", "127.0.0.1", "--port", str(bench.port), "--pacing", "100M", "--json", "-"]
    sender = subprocess.Popen([*words, "--files", str(tmp_path / "file")], stdout=subprocess.DEVNULL, stderr=far)
    os.close(far)
    shown = b""
    try:
        while chunk := os.read(near, 4096):
            shown += chunk
    except OSError:  # the other end is closed
        pass
    os.close(near)
    assert sender.wait(20) == 0
    lines = shown.decode().split("\r")
    bars = [line for line in lines if " % [" in line]
    assert len(bars) >= 2
    assert "of 0.021 GB, 0 of 1 files, " in bars[0]
    assert bars[-1].count("#") > bars[0].count("#")


@pytest.mark.slow
def test_lines_where_there_is_no_terminal(bench: Bench, tmp_path: Path, target: Path) -> None:
    write_file(tmp_path / "file", 40 * BLOCK)
    bench.receive("--one-off", "--directory", str(target), "--anonymous")
    sender = bench.send("--pacing", "50M", "--files", str(tmp_path / "file"))
    assert "Gbit/s, 0:0" in sender.wait_for("of 0.042 GB")
    sender.process.send_signal(signal.SIGINT)
    assert sender.wait() == 1
    assert "\r" not in sender.errors
    assert len(leftovers(target)) == 2
