"""--protect ktls: records that the kernel makes and opens. What runs needs a kernel that has TLS: the guest's."""

import errno
import os
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from landspeed.results.samples_reader import Samples
from landspeed.scenario.theory import physics as ph
from landspeed.worlds.emu.kernel_build import Kernel, find_kernel
from landspeed.worlds.emu.kernel_source import KernelError
from landspeed.worlds.emu.refusals import check_kernel
from landspeed.worlds.engine.command import ENGINE_BINARY
from tests.support.emu_fixtures import execute, plan_of, scenario, transfer
from tests.support.engine.auth import Client, make_key
from tests.support.engine.faults import REQUEST
from tests.support.engine.files_fixtures import BLOCK, describe, write_file
from tests.support.engine.fixtures import Bench
from tests.support.engine.guest import ENGINE, INSIDE, perform, result
from tests.support.places import PROGRAMS

UNIT_TEST = ENGINE_BINARY.parent / "test_ktls"
KEY = "/run/test-key"  # in the guest's memory: of its root, and of nobody else
MEDDLER_PORT = "7000"
NO_TLS = "the kernel of this host has no TLS (CONFIG_TLS"
HEAD, FULL, BESIDE = 5, 16384, 22  # RFC 8446, 5.2: head, payload at most, and head with type and tag
DAMAGE = ["flip", "flip the tag", "flip the head", "repeat", "leave out", "move"]


def host_has_tls() -> bool:
    """Whether this host's kernel has it."""
    with socket.socket() as plain:
        try:
            plain.setsockopt(socket.IPPROTO_TCP, 31, b"tls\0")
        except OSError as error:
            return error.errno != errno.ENOENT
        return True


@pytest.mark.parametrize(
    ("command", "words", "said"),
    [
        ("send", ["--receive", "memory"], "--protect ktls needs --key FILE"),
        ("send", ["--key", "k"], "the receiver has to look at the data: --receive memory or verify"),
        ("send", ["--key", "k", "--receive", "memory", "--send", "zerocopy"], "--send zerocopy does not go with it"),
        ("send", ["--key", "k", "--receive", "memory", "--send", "io_uring"], "--send io_uring does not go with it"),
        ("send", ["--key", "k", "--receive", "memory", "--mptcp"], "Linux has TLS over TCP, not over MPTCP"),
        (
            "send",
            ["--key", "k", "--receive", "memory", "--bytes", "600G", "--streams", "2"],
            "--protect ktls: the key of a stream protects 274 GB at most (RFC 8446, 5.5)",
        ),
        ("receive", ["--key", "k"], "--protect: 'ktls' is not 'none', 'mac' or 'aead' (which ktls is, too)"),
    ],
)
def test_wrong_usage(bench: Bench, command: str, words: list[str], said: str) -> None:
    program = bench.start(command, "--protect", "ktls", *words, host="127.0.0.1" if command == "send" else None)
    assert program.wait() == 2
    assert said in program.errors


@pytest.mark.skipif(host_has_tls(), reason="this host's kernel has TLS")
def test_a_host_without_it_says_so_at_either_end(bench: Bench) -> None:
    key = str(make_key(bench))
    bench.receive("--key", key)
    sender = bench.send("--key", key, "--protect", "ktls", "--receive", "memory", "--bytes", "1M")
    assert sender.wait() == 1
    assert NO_TLS in bench.result()["error"]
    client = Client(bench, bench.folder / "key")
    client.greet()
    client.prove()
    client.tagged(REQUEST | {"protect": "ktls", "receive": "memory"})
    assert NO_TLS in client.get(tagged=True)["text"]


def test_a_request_over_multipath_tcp_is_none(bench: Bench) -> None:
    bench.receive("--key", str(make_key(bench)))
    client = Client(bench, bench.folder / "key")
    client.greet()
    client.prove()
    client.tagged(REQUEST | {"protect": "ktls", "receive": "memory", "mptcp": True})
    assert client.get(tagged=True)["text"] == "request: ktls does not go over MPTCP"


def gigabit(**asked: Any) -> dict[str, Any]:
    """1 Gbit/s over 50 ms, whose queue takes two windows."""
    links = [{"one_way_delay": "25 ms", "queue": "20 MB"}]
    return scenario(links, nic="10 Gbit/s", transfer={"duration": "3 s", "receive": "memory", **asked})


def test_a_guest_s_kernel_without_it_is_refused_by_name(tmp_path: Path) -> None:
    bare = tmp_path / "linux"
    bare.write_bytes(b"\0mptcp_pm\0")
    kernel = Kernel(bare, "0123456789abcdef", "6.12.117", {})
    said = "protect: ktls: Linux 6.12.117 .* lacks it: it was built without CONFIG_TLS"
    with pytest.raises(KernelError, match=said):
        check_kernel(plan_of(tmp_path, gigabit(protect="ktls")), kernel)
    check_kernel(plan_of(tmp_path, gigabit(protect="aead")), kernel)


def test_theory_has_the_records_share(tmp_path: Path) -> None:
    """1448 of 1538 bytes are TCP's, and of these 16384 of 16406 the payload."""
    physics = plan_of(tmp_path, gigabit(protect="ktls", window="1 MB")).flows[0].physics
    without = plan_of(tmp_path, gigabit(window="1 MB")).flows[0].physics
    assert physics.line_rate_limit_bps == pytest.approx(1e9 * 1448 / 1538 * FULL / (FULL + BESIDE), abs=2)
    assert physics.expected_goodput_bps == pytest.approx(without.expected_goodput_bps * FULL / (FULL + BESIDE), abs=2)
    assert ph.record_share("aead") == ph.record_share("mac") == 65536 / 65560
    assert ph.record_share("none") == 1


@pytest.mark.guest
def test_records_of_the_guest_s_kernel_are_tls_s_and_open_once(tmp_path: Path) -> None:
    """engine/tests/test_ktls.c: libcrypto opens them; every bit that is flipped is found."""
    assert find_kernel().can_tls
    assert UNIT_TEST.exists(), "ninja -C engine/build"
    done = execute(plan_of(tmp_path, gigabit()), tmp_path, "sh", "-c", f"ip link set lo up && {UNIT_TEST}")
    assert done.status == 0, done.out + done.err
    assert "PASSED" in done.out + done.err


def engine(command: str, name: str, *words: str) -> list[str]:
    """An engine's words."""
    host = [] if command == "receive" else ["HOST"]
    return [ENGINE, command, *host, "--quiet", "--json", str(INSIDE / f"{name}.json"), "--key", KEY, *words]


def ktls(name: str, *words: str, command: str = "send") -> list[list[Any]]:
    """Acts: one transfer, to its end."""
    return [["send", name, engine(command, name, "--protect", "ktls", *words)], ["wait", name]]


@pytest.mark.guest
def test_memory_blocks_and_files_arrive_whole_in_every_direction(tmp_path: Path) -> None:
    for folder in ("tree", "target", "served", "here"):
        (tmp_path / folder).mkdir()
    for folder in ("tree", "served"):
        write_file(tmp_path / folder / "large", 3 * BLOCK + 17)
        write_file(tmp_path / folder / "empty", 0)
        for path in (*(tmp_path / folder).iterdir(), tmp_path / folder):
            os.utime(path, (10**9, 10**9))  # the guest's file system (hostfs) sets whole seconds
    total = 7_000_001
    some = ["--bytes", str(total), "--receive"]
    folders = ["--directory", str(INSIDE / "target"), "--serve-directory", str(INSIDE / "served")]
    acts = [
        ["run", [ENGINE, "key", KEY]],
        ["receive", "r", engine("receive", "receive", "--protect", "aead", "--may-send", *folders)],
        *ktls("memory", *some, "memory", "--streams", "3"),
        *ktls("written", *some, "memory", "--send", "write"),
        *ktls("spliced", *some, "memory", "--send", "splice"),
        *ktls("blocks", *some, "verify", "--streams", "3"),
        *ktls("timed", "--time", "1", "--omit", "0.2", "--receive", "verify"),
        *ktls("reverse", *some, "verify", "--reverse"),
        *ktls("both", *some, "verify", "--bidir", "--streams", "2"),
        *ktls("files", "--files", str(INSIDE / "tree"), "--streams", "2"),
        *ktls("got", "--directory", str(INSIDE / "here"), "large", "empty", command="get"),
    ]
    ended = perform(tmp_path, acts)
    for name in ended:
        told = result(tmp_path, name)
        assert ended[name]["status"] == 0, (name, told["error"])
        assert (told["complete"], told["protect"]) == (True, "ktls"), name
    for name in ("memory", "written", "spliced", "blocks", "reverse", "both"):
        assert result(tmp_path, name)["bytes"] == total, name
    for name in ("blocks", "timed", "reverse", "both"):
        assert result(tmp_path, name)["verification"]["faults"] == 0, name
    assert result(tmp_path, "both")["reverse"]["verification"]["faults"] == 0
    assert result(tmp_path, "timed")["duration_s"] == 1.0
    ways = {name: result(tmp_path, name)["sending"]["way"] for name in ("memory", "written", "spliced", "blocks")}
    assert ways == {"memory": "sendfile", "written": "write", "spliced": "splice", "blocks": "write"}
    assert describe(tmp_path / "target" / "tree") == describe(tmp_path / "tree")
    got, served = describe(tmp_path / "here"), describe(tmp_path / "served")
    assert {name: got[name] for name in ("large", "empty")} == {name: served[name] for name in ("large", "empty")}


def records(wire: bytes) -> list[bytes]:
    """What a stream carried, by the lengths in the heads."""
    found: list[bytes] = []
    while wire:
        whole = HEAD + int.from_bytes(wire[3:5], "big")
        found.append(wire[:whole])
        wire = wire[whole:]
    return found


@pytest.mark.guest
def test_whoever_carries_it_cannot_read_change_or_cut_it(tmp_path: Path) -> None:
    secret = b"nobody shall read this on the way" * 9000
    (tmp_path / "secret").write_bytes(secret)
    (tmp_path / "target").mkdir()
    words = [sys.executable, str(PROGRAMS / "ktls_meddler.py")]
    acts: list[list[Any]] = [
        ["run", [ENGINE, "key", KEY]],
        ["receive", "r", engine("receive", "receive", "--directory", str(INSIDE / "target"))],
    ]
    kinds = ["none", *DAMAGE, "cut"]
    for number, harm in enumerate(kinds):
        port = str(int(MEDDLER_PORT) + number)
        kept = str(INSIDE / f"wire-{number}")
        acts.append(["start", f"meddler {number}", [*words, port, "HOST", "5201", harm, kept]])
        way = [port if word == "PORT" else word for word in ("--port", "PORT", "--stall", "20s")]
        more = [*way, "--bytes", "1000000", "--receive", "memory"]
        send = engine("send", f"sent-{number}", "--protect", "ktls", *more)
        acts += [["send", f"sent-{number}", ["127.0.0.1" if word == "HOST" else word for word in send]]]
        acts += [["wait", f"sent-{number}"]]
    send = engine("send", "file", "--protect", "ktls", "--port", MEDDLER_PORT, "--files", str(INSIDE / "secret"))
    acts += [["send", "file", ["127.0.0.1" if word == "HOST" else word for word in send]], ["wait", "file"]]
    ended = perform(tmp_path, [["run", ["ip", "link", "set", "lo", "up"]], *acts])
    assert ended["file"]["status"] == 0, result(tmp_path, "file")["error"]
    assert (tmp_path / "target" / "secret").read_bytes() == secret
    wire = (tmp_path / "wire-0").read_bytes()
    assert secret[:33] not in wire
    found = records(wire)
    assert {record[:3] for record in found} == {b"\x17\3\3"}
    assert sum(len(record) - BESIDE for record in found) > 1_000_000 + len(secret)
    assert max(len(record) for record in found) == FULL + BESIDE
    # A million bytes are 61 full records and one more; then comes the alert that ends them.
    first = [len(record) - BESIDE for record in found[:63]]
    assert first == [FULL] * 61 + [1_000_000 - 61 * FULL, 2]
    for number, harm in enumerate(kinds):
        told = result(tmp_path, f"sent-{number}")
        assert ended[f"sent-{number}"]["status"] == (0 if harm == "none" else 1), harm
        if harm in DAMAGE:
            what = "it was changed, moved, repeated or left out on the way"
            assert told["error"] == f"stream 0: a record is not as it was sealed: {what}", harm
            intact = 6 if harm == "repeat" else 4 if harm == "move" else 5
            assert told["bytes"] == intact * FULL, harm
        elif harm == "cut":
            assert told["error"] == "stream 0 was cut: its last record did not come"
            assert told["bytes"] == 5 * FULL


def steady_bps(bundle: Path, begin_s: float, end_s: float) -> float:
    """Mean goodput between two samples of the receiver."""
    table = Samples(bundle).receiver
    rows = zip(table["time_ns"].to_pylist(), table["bytes"].to_pylist(), strict=True)
    within = [(time_ns, count) for time_ns, count in rows if begin_s <= time_ns / 1e9 <= end_s]
    (first_ns, first), (last_ns, last) = within[0], within[-1]
    return (last - first) * 8e9 / (last_ns - first_ns)


@pytest.mark.guest
@pytest.mark.parametrize("protect", ["ktls", "aead"])
def test_the_records_take_their_share_of_the_line(tmp_path: Path, protect: str) -> None:
    """1 Gbit/s, packets of 1500 + 38 B with 1448 of TCP; of these the records leave 16384 in 16406, 65536 in 65560."""
    plan = plan_of(tmp_path, gigabit(protect=protect, window="14 MB"))
    record, bundle = transfer(plan, tmp_path)
    payload, whole = (FULL, FULL + BESIDE) if protect == "ktls" else (65536, 65560)
    expected = 1e9 * 1448 / 1538 * payload / whole
    assert record.limited_by == "line rate"
    assert steady_bps(bundle, 1.0, 2.9) == pytest.approx(expected, rel=1e-4)
