"""A receiver of files and what does not wish it well: no path, link or race gets out of its directory."""

import errno
import os
import shutil
import threading
from pathlib import Path

import pytest

from tests.support.engine.files_fixtures import BLOCK, PARTIAL, leftovers, write_file
from tests.support.engine.fixtures import Bench, Program
from tests.support.engine.hostile import (
    ABANDON,
    DATA,
    DIRECTORY,
    FILE,
    LINK,
    LIST,
    LIST_END,
    ZERO,
    entry,
    listed,
    record,
    visit,
)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (b"..", "'.' or '..'"),
        (b"../outside/new", "'.' or '..'"),
        (b"a/../../outside/new", "'.' or '..'"),
        (b"./a", "'.' or '..'"),
        (b"/tmp/landspeed-hostile", "is absolute"),
        (b"a//b", "an empty name"),
        (b"a/", "an empty name"),
        (b"", "is empty"),
        (b"nul\0nul", "has a NUL"),
        (b"x" * 256, "above 255 bytes"),
        (b"/".join([b"y" * 250] * 17), "above 4095 bytes"),
        (b"a/.b" + PARTIAL.encode(), "unfinished transfers use"),
    ],
)
@pytest.mark.parametrize("kind", [FILE, DIRECTORY])
def test_no_path_leads_out(bench: Bench, place: Path, path: bytes, said: str, kind: int) -> None:
    answer = visit(bench, listed(entry(path, kind=kind)))
    assert answer["complete"] is False
    assert said in answer["error"]
    assert list((place / "target").iterdir()) == []


def test_a_link_is_not_a_way_out(bench: Bench, place: Path) -> None:
    (place / "target" / "planted").symlink_to("../outside")
    files = [
        entry(b"planted/secret", 3),
        entry(b"planted/new", kind=DIRECTORY),
        entry(b"sent", kind=LINK, target=b"../outside"),
        entry(b"sent/secret", 3),
        entry(b"planted", kind=DIRECTORY),
    ]
    answer = visit(bench, listed(*files), record(DATA, 0, b"bad"), record(DATA, 3, b"bad"))
    rows = {row["path"]: row for row in answer["files"]["outcomes"]}
    assert {row["outcome"] for row in rows.values()} == {"failed"}
    assert "symbolic links" in rows["planted/secret"]["error"]
    assert "leads out of the directory" in rows["sent"]["error"]
    assert {path.name for path in (place / "target").iterdir()} == {"planted"}


@pytest.mark.parametrize("planted", ["symlink", "hard link", "fifo", "directory"])
def test_what_lies_where_the_partial_file_goes(bench: Bench, place: Path, planted: str) -> None:
    secret = place / "outside" / "secret"
    partial = place / "target" / f".file{PARTIAL}"
    match planted:
        case "symlink":
            partial.symlink_to(secret)
        case "hard link":
            partial.hardlink_to(secret)
        case "fifo":
            os.mkfifo(partial)
        case _:
            partial.mkdir()
    answer = visit(bench, listed(entry(b"file", 4)), record(DATA, 0, b"good"))
    if planted == "directory":
        assert "Is a directory" in answer["files"]["outcomes"][0]["error"]
        return
    assert answer["complete"] is True, answer
    assert (place / "target" / "file").read_text() == "good"
    assert not (place / "target" / "file").is_symlink()


def test_a_link_under_the_final_name_is_replaced(bench: Bench, place: Path) -> None:
    (place / "target" / "file").symlink_to("../outside/secret")
    answer = visit(bench, listed(entry(b"file", 4)), record(DATA, 0, b"good"))
    assert answer["complete"] is True, answer
    assert not (place / "target" / "file").is_symlink()
    assert (place / "target" / "file").read_text() == "good"


@pytest.mark.slow
def test_a_directory_swapped_for_a_link_during_the_transfer(bench: Bench, tmp_path: Path, place: Path) -> None:
    source = tmp_path / "tree"
    (source / "dir").mkdir(parents=True)
    for number in range(300):
        write_file(source / "dir" / f"file-{number}", 1000)
    write_file(source / "dir" / "large", 30 * BLOCK)
    inside, hidden, link = (place / "target" / "tree" / name for name in ("dir", "hidden", "link"))
    inside.mkdir(parents=True)
    link.symlink_to("../../outside")
    over = threading.Event()
    swaps = 0

    def swap() -> None:
        nonlocal swaps
        while not over.is_set():
            inside.rename(hidden)
            try:
                link.rename(inside)
                inside.rename(link)
                hidden.rename(inside)
                swaps += 1
            except OSError as error:  # the receiver made the folder anew while it was away
                assert error.errno in (errno.EISDIR, errno.ENOTEMPTY)
                shutil.rmtree(hidden)

    racer = threading.Thread(target=swap)
    racer.start()
    try:
        sender = bench.send("--streams", "4", "--files", str(source))
        sender.wait()
    finally:
        over.set()
        racer.join()
    files = bench.result()["files"]["receiver"]
    assert swaps > 20
    assert files["failed"] + files["files_done"] > 0
    outcomes = {row["error"].split(": ")[-1] for row in bench.result()["files"]["outcomes"] if row["error"]}
    assert outcomes <= {"Too many levels of symbolic links", "No such file or directory", "Not a directory"}
    # Then it goes on where it was.
    again = bench.send("--files", str(source))
    assert again.wait() == 0, again.errors
    assert all((inside / path.name).read_bytes() == path.read_bytes() for path in (source / "dir").iterdir())
    link.unlink()


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([b"x" * 48], "header came damaged"),
        ([record(9, 0)], "unknown kind 9"),
        ([record(DATA, 0, b"abc")], "block of no file in its list"),
        ([listed(entry(b"d", kind=DIRECTORY)), record(DATA, 0, b"abc")], "block of no file in its list"),
        ([listed(entry(b"f", 3)), record(DATA, 0, b"abcd")], "a block that its file does not have"),
        ([listed(entry(b"f", 3)), record(DATA, 0, b"abc", offset=BLOCK)], "a block that its file does not have"),
        ([listed(entry(b"f", 3)), record(DATA, 0, b"abc", offset=1)], "between two blocks"),
        ([listed(entry(b"f", 3)), record(DATA, 0, b"", length=BLOCK + 1)], "the most is 1048576"),
        ([listed(entry(b"f", 3)), record(ZERO, 0, length=0)], "between two blocks"),
        ([record(LIST, 1, entry(b"f"))], "the list of files came damaged"),
        ([record(LIST, 0, entry(b"f"), length=3)], "the list of files came damaged"),
        ([record(LIST, 0, entry(b"f")[:-1])], "ends within an entry"),
        ([record(LIST, 0, entry(b"f", mode=0o4755))], "an entry that is none"),
        ([record(LIST, 0, entry(b"f", kind=7))], "an entry that is none"),
        ([record(LIST, 0, entry(b"f", size=1 << 60))], "above 64 TiB"),
        ([record(LIST, 0, entry(b"f", kind=LINK))], "no possible place"),
        ([record(LIST, 0, entry(b"f", kind=LINK, target=b"a\0b"))], "no possible place"),
        ([record(LIST, 0, entry(b"f", kind=LINK, target=b"t" * 4096))], "no possible place"),
        ([record(LIST_END, 5)], "did not come whole"),
        ([listed(entry(b"f")), record(LIST, 1, entry(b"g"))], "came damaged"),
        ([record(ABANDON, 3, b"why")], "gave up what is not in its list"),
        ([listed(entry(b"f", 3))], "ended before all files were there"),
    ],
)
def test_what_no_sender_may_say(bench: Bench, place: Path, records: list[bytes], said: str) -> None:
    answer = visit(bench, *records)
    assert answer["complete"] is False
    assert said in answer["error"], answer["error"]


def test_a_block_that_stays_damaged_fails_its_file(bench: Bench, place: Path) -> None:
    bad = bytearray(record(DATA, 0, b"abc"))
    bad[-1] ^= 1
    answer = visit(bench, listed(entry(b"f", 3), entry(b"g", 4)), bytes(bad) * 17, record(DATA, 1, b"good"))
    assert answer["files"]["faults"] == 17
    assert answer["files"]["fault_list"] == [{"path": "f", "offset": 0}] * 17
    rows = {row["path"]: row for row in answer["files"]["outcomes"]}
    assert rows["f"]["error"] == "too many of its blocks came damaged"
    assert rows["g"]["outcome"] == "done"


def test_blocks_twice_and_the_same_name_twice_do_no_harm(bench: Bench, place: Path) -> None:
    answer = visit(
        bench,
        listed(entry(b"f", 3), entry(b"f", 3)),
        record(DATA, 0, b"abc") * 3,
        record(DATA, 1, b"abc"),
    )
    assert answer["files"]["blocks_verified"] <= 2
    assert (place / "target" / "f").read_text() == "abc"
    assert leftovers(place / "target") == []


def test_no_block_of_a_directory_that_was_asked_for(bench: Bench, place: Path) -> None:
    (place / "target" / "name").mkdir()
    (place / "target" / "file").write_text("a file")
    answer = visit(bench, listed(entry(b"name", 3), entry(b"file", kind=DIRECTORY), entry(b"file/below", 1)))
    rows = {row["path"]: row["error"] for row in answer["files"]["outcomes"]}
    assert rows == {
        "name": "cannot be written: Is a directory",
        "file": "the directory cannot be made: Not a directory",
        "file/below": "cannot be written: Not a directory",
    }
    assert (place / "target" / "file").read_text() == "a file"


@pytest.mark.parametrize("size", [1, BLOCK, 1 << 46])
def test_a_list_beyond_what_a_transfer_may_have(bench: Bench, tmp_path: Path, size: int) -> None:
    """The request said nothing of it; the list is counted, without a way around the end of 64 bits."""
    target = tmp_path / "target"
    target.mkdir()
    receiver = bench.receive("--directory", str(target), "--anonymous", "--max-bytes", str(2 * BLOCK))
    files = [entry(b"a", 2 * BLOCK), *(entry(b"f%d" % number, size) for number in range(400))]
    answer = visit(bench, listed(*files), record(DATA, 1, b"x"))
    assert answer["complete"] is False
    said = f"receiver: 'f0' is beyond the {2 * BLOCK} bytes of files that a transfer may have here (--max-bytes)"
    assert answer["error"] == said
    assert list(target.iterdir()) == []
    assert receiver.process.poll() is None


@pytest.mark.parametrize("kind", [FILE, DIRECTORY, LINK], ids=["empty files", "directories", "links"])
def test_what_has_no_bytes_is_counted_by_its_number(bench: Bench, tmp_path: Path, kind: int) -> None:
    """Each takes an inode, whatever --max-bytes says."""
    target = tmp_path / "target"
    target.mkdir()
    bench.receive("--directory", str(target), "--anonymous", "--max-bytes", "1k", "--max-files", "5")
    link = b"f0" if kind == LINK else b""
    entries = [entry(b"f%d" % number, kind=kind, target=link, mode=0o755) for number in range(400)]
    answer = visit(bench, listed(*entries))
    assert answer["complete"] is False
    assert answer["error"].startswith("receiver: 'f5' is beyond the 5 files, directories and links that a transfer may")
    assert len(list(target.iterdir())) <= 5
    assert visit(bench, listed(*entries[:5]))["complete"] is True


def test_a_receiver_without_a_directory_takes_none(bench: Bench, tmp_path: Path) -> None:
    receiver: Program = bench.receive()
    write_file(tmp_path / "file", 10)
    sender = bench.send("--files", str(tmp_path / "file"))
    assert sender.wait() == 1
    assert "takes no files: start it with --directory DIR" in bench.result()["error"]
    assert receiver.process.poll() is None
