"""The server sends: `--reverse` and `--bidir`, with all that holds in the other direction."""

import json
import os
import signal
import socket
from pathlib import Path

import pytest

from tests.support.engine.auth import make_key
from tests.support.engine.fake_server import asked, take
from tests.support.engine.fixtures import PACED, Bench, Program, children, only_child, wait_until
from tests.support.engine.result import read_result
from tests.support.engine.reverse import (
    fail,
    send,
)
from tests.support.stopwatch import one_of_few, undisturbed

MODES = ["discard", "memory", "verify"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("streams", [1, 3])
def test_the_server_sends_every_byte(bench: Bench, mode: str, streams: int) -> None:
    total = 30_000_001
    receiver = bench.receive("--may-send", "--one-off")
    result = send(bench, "--reverse", "--bytes", str(total), "--streams", str(streams), "--receive", mode)
    assert (result.complete, result.direction, result.reverse) == (True, "reverse", None)
    assert (result.bytes, result.bytes_source, result.receive_mode) == (total, "receiver", mode)
    share, rest = divmod(total, streams)
    assert [stream.bytes for stream in result.streams] == [share + (n < rest) for n in range(streams)]
    assert (result.verification is not None) == (mode == "verify")
    assert result.sending.way is not None
    assert receiver.wait() == 0
    # The client's rows are those of the end that reads, the server has the sender's.
    last = {row["stream"]: row["bytes"] for row in bench.rows("send")}
    assert sum(last.values()) == total
    sent = bench.result("receive")
    assert (sent["role"], sent["direction"], sent["bytes"], sent["complete"]) == ("send", "reverse", total, True)
    assert "sent 0.030 GB" in receiver.errors


@pytest.mark.parametrize("direction", ["--reverse", "--bidir"])
@pytest.mark.parametrize("protect", ["none", "mac", "aead"])
def test_with_a_key_and_protected(bench: Bench, direction: str, protect: str) -> None:
    key = str(make_key(bench))
    bench.receive("--may-send", "--key", key)
    words = ["--key", key, "--protect", protect, "--receive", "verify", "--bytes", "20000000", "--streams", "2"]
    result = send(bench, direction, *words)
    assert result.bytes == 20_000_000
    assert result.verification is not None
    assert result.verification.faults == 0
    if direction == "--bidir":
        assert result.reverse is not None
        assert result.reverse.bytes == 20_000_000


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_both_send_at_once(bench: Bench, mode: str) -> None:
    receiver = bench.receive("--may-send", "--one-off")
    result = send(bench, "--bidir", "--time", "0.5", "--receive", mode, "--streams", "2")
    other = result.reverse
    assert other is not None
    assert (result.direction, result.complete, other.complete) == ("both", True, True)
    for each in (result, other):
        assert each.duration_s == 0.5
        assert len(each.streams) == 2
        assert sum(stream.bytes for stream in each.streams) == each.bytes > 0
    # At the same time: each began while the other had more than half of its time to go.
    assert abs((result.receiver_start_unix_ns or 0) - (other.receiver_start_unix_ns or 0)) < 60e9  # type: ignore[attr-defined]
    assert receiver.wait() == 0
    theirs = bench.result("receive")
    assert (theirs["bytes"], theirs["reverse"]["bytes"]) == (result.bytes, other.bytes)


@pytest.mark.slow
def test_a_time_limit_and_a_warm_up(bench: Bench) -> None:
    bench.receive("--may-send")

    def attempt(_: int) -> None:
        result = send(bench, "--reverse", "--time", "0.3", "--omit", "0.1", "--receive", "memory")
        assert (result.duration_s, result.omitted_s) == (0.3, 0.1)
        assert result.goodput_bps == pytest.approx((result.bytes - result.early_bytes) * 8 / 0.3, abs=1)
        undisturbed(result.omitted_bytes, "nothing came within the warm-up")

    one_of_few(attempt)


def test_what_the_client_asks_of_the_servers_sockets(bench: Bench) -> None:
    bench.receive("--may-send")
    words = ["--congestion", "reno", "--pacing", "400M", "--dscp", "10", "--send", "write", "--window", "1M"]

    def attempt(_: int) -> None:
        result = send(bench, "--reverse", "--bytes", "3M", "--mss", "1400", *words)
        (stream,) = result.streams
        assert stream.congestion_control == "reno"
        assert stream.mss_bytes <= 1400
        assert (result.sending.way, result.path.stream_pacing_bps) == ("write", 400_000_000)
        assert result.window.asked_bytes == 1_000_000
        assert result.window.receiver_rcvbuf_bytes == 2_000_000
        assert result.path.dscp == 10  # type: ignore[attr-defined]
        # The rate is the payload's over the time that its reader took: one that comes late finds much at once.
        assert result.goodput_bps is not None
        undisturbed(result.goodput_bps < 1.2 * 400e6, f"{result.goodput_bps / 1e6:.0f} Mbit/s of 400")

    one_of_few(attempt)


def test_a_server_says_what_it_sends(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    bench.receive("--directory", str(tmp_path / "there"), "--anonymous")
    for direction in ("--reverse", "--bidir"):
        result = fail(bench, direction, "--bytes", "1M")
        assert result.error == "the peer refused: this server sends nothing: start it with --may-send"
        assert result.bytes == 0


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["--reverse", "--bidir"])
def test_what_the_server_tells_is_exact(bench: Bench, direction: str) -> None:
    """Also integers that no double has, such as its start in nanoseconds since 1970."""
    receiver = bench.receive("--may-send", "--one-off")
    send(bench, direction, "--bytes", "1M")
    assert receiver.wait() == 0
    ours, theirs = bench.result("send"), bench.result("receive")
    if direction == "--bidir":
        ours, theirs = ours["reverse"], theirs["reverse"]
    assert type(ours["start_unix_ns"]) is int
    assert ours["start_unix_ns"] == theirs["start_unix_ns"] > 1 << 60
    assert ours["packets_sent"] == theirs["packets_sent"] > 0


def test_no_larger_window_than_allowed_is_sent_with_either(bench: Bench) -> None:
    bench.receive("--may-send", "--max-window", "1M")
    said = "this receiver allows a window of 1000000 bytes, not 2000000"
    assert said in (fail(bench, "--reverse", "--window", "2M", "--bytes", "1M").error or "")
    send(bench, "--reverse", "--window", "1M", "--bytes", "1M")


def test_limits_of_the_server_hold_in_both_directions(bench: Bench) -> None:
    bench.receive("--may-send", "--max-streams", "3", "--max-time", "2", "--max-rate", "100M")
    assert "allows 3 streams, not 4" in (fail(bench, "--bidir", "--time", "1", "--streams", "2").error or "")
    assert "ask for --time 2.000" in (fail(bench, "--reverse", "--time", "3").error or "")
    result = send(bench, "--reverse", "--bytes", "1M", "--time", "2", "--streams", "2")
    assert result.path.stream_pacing_bps == 50_000_000


def test_the_client_chooses_no_module_of_the_servers_kernel(bench: Bench) -> None:
    bench.receive("--may-send")
    error = fail(bench, "--reverse", "--bytes", "1M", "--congestion", "nonsense").error
    assert "this server sends with one of '" in (error or "")
    assert send(bench, "--reverse", "--bytes", "1M").complete


def running(bench: Bench, *options: str) -> tuple[Program, Program]:
    """A server and a client in the middle of a long transfer."""
    receiver = bench.receive("--may-send")
    live = bench.folder / "live.jsonl"
    client = bench.send(*options, "--time", "60", *PACED, "--live", str(live))
    wait_until(lambda: (live.exists() and live.read_text().count("\n") > 1) or None, 30, client.process)
    return receiver, client


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["--reverse", "--bidir"])
def test_the_server_dies_in_the_middle(bench: Bench, direction: str) -> None:
    receiver, client = running(bench, direction, "--streams", "2")
    receiver.process.kill()
    assert client.wait(20) == 1
    result = read_result(bench.folder / "send.json")
    assert result.complete is False
    assert result.error
    reverse = result if direction == "--reverse" else result.reverse
    assert reverse is not None
    assert (reverse.bytes > 0, reverse.bytes_source, reverse.streams) == (True, "receiver", [])


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["--reverse", "--bidir"])
def test_the_client_dies_in_the_middle(bench: Bench, direction: str) -> None:
    receiver, client = running(bench, direction)
    child = only_child(receiver)
    client.process.kill()
    receiver.wait_for("Error: session with")
    wait_until(lambda: None if child in children(receiver) else True, 20, receiver.process)
    assert send(bench, direction, "--bytes", "1M").complete


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["--reverse", "--bidir"])
@pytest.mark.parametrize("who", ["client", "server"])
def test_a_signal_ends_it_with_what_was_read(bench: Bench, direction: str, who: str) -> None:
    receiver, client = running(bench, direction)
    (client if who == "client" else receiver).process.send_signal(signal.SIGINT)
    assert client.wait(20) == 1
    result = bench.result()
    assert result["complete"] is False
    assert result["bytes"] > 0
    assert "SIGINT" in result["error"] or "stopped by the sender" in result["error"]
    reverse = result if direction == "--reverse" else result["reverse"]
    # The server still gave its account.
    assert (len(reverse["streams"]), reverse["bytes"] > 0) == (1, True)


@pytest.mark.parametrize("direction", ["--reverse", "--bidir"])
def test_a_second_signal_does_not_wait_for_the_server(bench: Bench, direction: str) -> None:
    """Not for its result, nor for its account."""
    receiver, client = running(bench, direction)
    session = only_child(receiver)
    os.kill(session, signal.SIGSTOP)
    client.process.send_signal(signal.SIGINT)
    client.process.send_signal(signal.SIGTERM)
    try:
        assert client.wait(5) == 1
    finally:
        os.kill(session, signal.SIGCONT)
    result = bench.result()
    assert result["complete"] is False
    assert result["signal"] in ("SIGINT", "SIGTERM")
    assert (result if direction == "--reverse" else result["reverse"])["bytes"] > 0


def test_wrong_words_of_a_client(bench: Bench) -> None:
    bench.receive("--may-send")
    request = {"type": "request", "kind": "memory", "streams": 1, "window_bytes": 0, "bytes": 1000, "duration_ns": 0}
    for change, said in [
        ({"direction": "sideways"}, "direction must be"),
        ({"direction": "both", "streams": 65, "bytes": 10**6}, "128 at most"),
        ({"direction": "reverse", "wishes": 7}, "wishes.send"),
        ({"direction": "reverse", "wishes": {"send": "by mail"}}, "wishes.send"),
        ({"direction": "reverse", "wishes": {"congestion": "../x" * 90}}, "wishes.congestion"),
        ({"direction": "reverse", "wishes": {"pacing_bps": -1}}, "wishes must be integers"),
        ({"direction": "reverse", "wishes": {"dscp": 65}}, "wishes.dscp"),
        ({"direction": "both", "kind": "files"}, "files go in one direction"),
    ]:
        with asked(bench.port, request | {"receive": "discard"} | change) as control:
            answer = take(control)
        assert answer["type"] == "error", change
        assert said in answer["text"], answer


def test_of_which_family(bench: Bench) -> None:
    bench.receive("--bind", "::1")
    assert "Connection refused" in (fail(bench, "--bytes", "1M").error or "")
    program = bench.start("send", "--bytes", "1M", "-4", host="::1")
    assert program.wait() == 1
    assert "cannot find an IPv4 address of '::1'" in program.errors
    program = bench.start("send", "--bytes", "1M", "--ipv6", "--flow-label", "4711", host="::1")
    assert program.wait() == 0, program.errors
    for words, said in [(["-4", "-6"], "exclude each other"), (["--flow-label", "1048576"], "RFC 6437")]:
        program = bench.start("send", *words, host="::1")
        assert program.wait() == 2
        assert said in program.errors


@pytest.mark.slow
def test_one_that_does_not_answer(bench: Bench) -> None:
    """A listener whose kernel connects and whose program never says a word."""
    with socket.create_server(("127.0.0.1", bench.port)):
        result = fail(bench, "--bytes", "1M", "--key", str(make_key(bench)), "--answer-timeout", "200ms")
    assert "no 'challenge' from the peer within" in (result.error or "")


@pytest.mark.slow
def test_one_that_cannot_be_reached(bench: Bench) -> None:
    """A listener with a full queue takes no connection more: Linux drops the SYN."""
    with socket.create_server(("127.0.0.1", bench.port), backlog=0) as full:
        held = []
        for _ in range(4):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(full.getsockname())
            held.append(one)
        result = fail(bench, "--bytes", "1M", "--connect-timeout", "200ms")
        for one in held:
            one.close()
    assert "Connection timed out" in (result.error or "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--reverse", "--bidir"], "has the direction of --reverse too"),
        (["--bidir", "--reverse"], "--bidir has that direction too"),
        (["--bidir", "--streams", "65"], "at most 64 streams each way"),
        (["--reverse", "--files", "x"], "use 'get' to have files sent here"),
        (["--connect-timeout", "0"], "--connect-timeout: '0' is not"),
    ],
)
def test_wrong_usage(bench: Bench, words: list[str], said: str) -> None:
    program = bench.start("send", *words, host="127.0.0.1")
    assert program.wait() == 2
    assert said in program.errors


def test_a_third_party_may_have_it_reversed(bench: Bench) -> None:
    """Host A asks host B to send, since a third party said so."""
    key = str(make_key(bench))
    server = bench.start("receive", "--quiet", "--key", key, "--third-party", "--may-send", "--clients", "2")
    server.wait_for("listening")
    words = [str(bench.binary), "third-party", "--from", "127.0.0.1", "--from-port", str(bench.port), "--key", key]
    words += ["--to", "127.0.0.1", "--to-port", str(bench.port), "--reverse", "--bytes", "2M"]
    program = Program(words, bench.folder, "ask")
    bench.programs.append(program)
    assert program.wait() == 0, program.errors
    result = json.loads(program.output)
    assert (result["direction"], result["bytes"]) == ("reverse", 2_000_000)
