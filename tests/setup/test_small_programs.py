"""The small C programs of the emulated world under ASan and UBSan: linkwatch counts, launch starts a guest.

Here they run on this machine. In the guest the users' own builds do, in all tests that boot one.
"""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import builds
from tests.support.emu_fixtures import wait_until

HEAD = ["time_ns", "link", "direction", "bytes", "packets", "drops", "backlog_bytes", "backlog_packets", "marks"]
FAR = "10.96.0.2"
PING_BYTES = 14 + 20 + 8 + 56  # Ethernet, IP, ICMP, ping's own


@pytest.fixture(scope="module", name="linkwatch")
def linkwatch_fixture() -> str:
    """The program that reads qdiscs, with sanitizers."""
    return str(builds.build_of("emu/linkwatch", "asan") / "landspeed-linkwatch")


@pytest.fixture(scope="module", name="launch")
def launch_fixture() -> str:
    """The program that becomes a guest's kernel, with sanitizers."""
    return str(builds.build_of("emu/launch", "asan") / "landspeed-launch")


def clean(errors: str) -> str:
    """Standard error, without a report of a sanitizer."""
    assert "Sanitizer" not in errors and "runtime error" not in errors, errors
    return errors


def run(*words: str) -> tuple[int, str]:
    """Exit status and standard error."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, clean(done.stderr)


def ip(*words: str) -> str:
    """What ip(8) prints."""
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


# --- linkwatch -------------------------------------------------------------------------------------------------------


@pytest.fixture(name="pair")
def pair_fixture() -> Iterator[list[str]]:
    """Two namespaces and a veth pair, its ends with a FIFO."""
    names = [f"lsw{os.getpid()}{end}" for end in "ab"]
    try:
        for name in names:
            ip("netns", "add", name)
        ip("link", "add", "v", "netns", names[0], "type", "veth", "peer", "name", "v", "netns", names[1])
        for number, name in enumerate(names, start=1):
            ip("-n", name, "addr", "add", f"10.96.0.{number}/24", "dev", "v")
            ip("-n", name, "link", "set", "v", "up")
            subprocess.run(["tc", "-n", name, "qdisc", "add", "dev", "v", "root", "pfifo"], check=True)
        for name, far in zip(names, reversed(names), strict=True):
            (told,) = json.loads(ip("-n", far, "-j", "link", "show", "v"))
            address = FAR if name == names[0] else "10.96.0.1"
            ip("-n", name, "neigh", "replace", address, "lladdr", told["address"], "dev", "v", "nud", "permanent")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False)


@pytest.mark.root
def test_linkwatch_counts_what_leaves_each_link(linkwatch: str, pair: list[str], tmp_path: Path) -> None:
    file = tmp_path / "links.csv"
    index = [json.loads(ip("-n", name, "-j", "link", "show", "v"))[0]["ifindex"] for name in pair]
    links = [f"{number},{number},/run/netns/{name},{index[number]}" for number, name in enumerate(pair)]
    with subprocess.Popen([linkwatch, "10000000", str(file), *links], stderr=subprocess.PIPE, text=True) as watch:

        def rows() -> list[dict[str, int]]:
            text = file.read_text().rpartition("\n")[0] if file.exists() else ""
            return [{name: int(value) for name, value in row.items()} for row in csv.DictReader(text.splitlines())]

        wait_until(rows, "the first row")
        first = rows()[:2]
        ping = ["ip", "netns", "exec", pair[0], "ping", "-n", "-q", "-c", "5", "-i", "0.01", FAR]
        subprocess.run(ping, check=True, capture_output=True)
        watch.send_signal(signal.SIGTERM)  # the last row is written then
        _, errors = watch.communicate(timeout=60)
    assert (watch.returncode, clean(errors)) == (0, "")
    last = rows()[-2:]
    assert list(last[0]) == HEAD
    for number, (before, after) in enumerate(zip(first, last, strict=True)):
        assert (after["link"], after["direction"]) == (number, number)
        packets = after["packets"] - before["packets"]
        assert packets >= 5  # and what IPv6 says by itself
        assert after["bytes"] - before["bytes"] >= 5 * PING_BYTES
        assert (after["drops"], after["backlog_bytes"], after["backlog_packets"]) == (0, 0, 0)
    times = [row["time_ns"] for row in rows() if row["link"] == 0]
    assert times == sorted(times) and abs(times[-1] / 1e9 - time.time()) < 600


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ([], 2, "usage: landspeed-linkwatch"),
        (["0", "FILE", "0,0,/proc/self/ns/net,1"], 2, "interval '0' is not a number of nanoseconds above 0"),
        (["1x", "FILE", "0,0,/proc/self/ns/net,1"], 2, "interval '1x' is not"),
        (["1", "/no/such/folder/x", "0,0,/proc/self/ns/net,1"], 1, "/no/such/folder/x: No such file"),
        (["1", "FILE", "x,0,/proc/self/ns/net,1"], 2, "'x,0,/proc/self/ns/net,1': a number and ',' are wanted there"),
        (["1", "FILE", "0,99999999999,/proc/self/ns/net,1"], 2, "a number and ',' are wanted there"),
        (["1", "FILE", "0,0,/proc/self/ns/net"], 2, "is not NETNS,IFINDEX"),
        (["1", "FILE", "0,0," + "x" * 128 + ",1"], 2, "is not NETNS,IFINDEX"),
        pytest.param(
            *(["1", "FILE", "0,0,/proc/self/ns/net,1x"], 2, "'1x': a number and '.' are wanted there"),
            marks=pytest.mark.root,  # it is in the namespace by then
        ),
        (["1", "FILE", "0,0,/no/such/namespace,1"], 1, "/no/such/namespace: No such file"),
    ],
)
def test_linkwatch_says_what_is_wrong(linkwatch: str, tmp_path: Path, words: list[str], status: int, said: str) -> None:
    found, errors = run(linkwatch, *(str(tmp_path / "links.csv") if word == "FILE" else word for word in words))
    assert (found, said in errors) == (status, True), errors


@pytest.mark.root
def test_linkwatch_takes_no_more_links_than_it_has_room_for(linkwatch: str, tmp_path: Path) -> None:
    links = [f"{number},0,/proc/self/ns/net,1" for number in range(2 * 255 + 1)]
    found, errors = run(linkwatch, "1", str(tmp_path / "links.csv"), *links)
    assert (found, "more than 510 links" in errors) == (2, True), errors


@pytest.mark.root
def test_linkwatch_ends_on_a_full_disk(linkwatch: str) -> None:
    found, errors = run(linkwatch, "1000000", "/dev/full", "0,0,/proc/self/ns/net,1")
    assert (found, "No space left on device" in errors) == (1, True), errors


# --- launch ----------------------------------------------------------------------------------------------------------

TELL = """
import json, os, sys
fixed = int(open("/proc/self/personality").read(), 16)
mounts = [line.split()[:3] for line in open("/proc/self/mounts") if line.startswith("landspeed ")]
text = os.read(int(sys.argv[1]), 100).decode() if len(sys.argv) > 1 else ""
print(json.dumps({"fixed": bool(fixed & 0x0040000), "mounts": mounts, "text": text}))
"""


def launched(launch: str, folder: Path, bytes_: int, *more: str, **options: object) -> dict[str, object]:
    """What a program that was launched tells of itself."""
    moves, arguments = [word for word in more if ":" in word], [word for word in more if ":" not in word]
    words = [launch, str(os.getpid()), str(folder), str(bytes_), *moves, "--", sys.executable, "-c", TELL, *arguments]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, clean(done.stderr)
    return json.loads(done.stdout)


def test_launch_fixes_addresses_and_moves_descriptors(launch: str, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"hello")
    told = launched(launch, tmp_path, 0, f"{reader}:63", "63", pass_fds=[reader])
    assert told == {"fixed": True, "mounts": [], "text": "hello"}
    os.close(reader)
    os.close(writer)


def test_launch_moves_descriptors_that_are_in_the_way_of_each_other(launch: str, tmp_path: Path) -> None:
    """As when a program that has 208 files open starts a guest: one of both files has the other's new number."""
    texts = (b"first", b"second")
    pipes = [os.pipe() for _ in texts]
    for (_, writer), text in zip(pipes, texts, strict=True):
        os.write(writer, text)
    one, two = readers = [reader for reader, _ in pipes]
    for moves, now in (((f"{one}:{two}", f"{two}:{two + 90}"), (two, two + 90)), ((f"{one}:{one}",), (one,))):
        for number, text in zip(now, texts, strict=False):
            told = launched(launch, tmp_path, 0, *moves, str(number), pass_fds=readers)
            assert told["text"] == text.decode()
            os.write(pipes[texts.index(text)][1], text)
    for end in (end for pipe in pipes for end in pipe):
        os.close(end)


@pytest.mark.root
def test_launch_mounts_huge_pages_for_the_program_alone(launch: str, tmp_path: Path) -> None:
    status, errors = run(launch, "--probe", str(tmp_path))
    if status:
        pytest.skip(f"no such tmpfs here: {errors}")
    told = launched(launch, tmp_path, 1 << 22)
    assert told["mounts"] == [["landspeed", str(tmp_path), "tmpfs"]]
    assert str(tmp_path) not in Path("/proc/self/mounts").read_text()


def test_launch_lets_no_program_outlive_its_parent(launch: str, tmp_path: Path) -> None:
    script = "import os, subprocess, sys, time; words = [sys.argv[1], str(os.getpid()), sys.argv[2], '0', '--']\n"
    script += "print(subprocess.Popen([*words, '/bin/sleep', '600']).pid, flush=True); time.sleep(600)"
    words = [sys.executable, "-c", script, launch, str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        program = Path("/proc", parent.stdout.readline().strip())
        try:
            wait_until(lambda: (program / "cmdline").read_bytes().startswith(b"/bin/sleep\0"), "the program")
        finally:
            parent.kill()
    wait_until(lambda: not program.exists() or " Z " in (program / "stat").read_text(), "its end")


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["PARENT", "FOLDER", "0"], 2, "usage: landspeed-launch"),
        (["PARENT", "FOLDER", "0", "--"], 2, "usage: landspeed-launch"),
        (["PARENT", "FOLDER", "0", "0:0", "--"], 2, ""),
        (["PARENT", "FOLDER", "0", "true", "true"], 1, "true: Invalid argument"),
        (["parent", "FOLDER", "0", "--", "/bin/true"], 2, "usage: landspeed-launch"),
        (["PARENT", "FOLDER", "-", "--", "/bin/true"], 2, "usage: landspeed-launch"),
        (["1", "FOLDER", "0", "--", "/bin/true"], 1, ""),
        (["PARENT", "FOLDER", "0", "900:3", "--", "/bin/true"], 1, "900:3: Bad file descriptor"),
        (["PARENT", "FOLDER", "0", "1:x", "--", "/bin/true"], 1, "1:x: Invalid argument"),
        (["PARENT", "FOLDER", "0", "--", "/no/such/program"], 1, "/no/such/program: No such file or directory"),
    ],
)
def test_launch_says_what_is_wrong(launch: str, tmp_path: Path, words: list[str], status: int, said: str) -> None:
    known = {"PARENT": str(os.getpid()), "FOLDER": str(tmp_path)}
    found, errors = run(launch, *(known.get(word, word) for word in words))
    assert (found, said in errors) == (status, True), errors
