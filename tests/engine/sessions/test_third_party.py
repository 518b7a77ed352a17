"""One host asked to send to another: who may, what is passed on, what comes back."""

import json
import signal

import pytest

from tests.support.engine.auth import Client, make_key
from tests.support.engine.fixtures import Bench, Program, children, wait_until
from tests.support.engine.third_party import Three

# Linux does not pace a connection's first ten segments, and those of the loopback device have that many bytes.
UNPACED_BITS = 10 * 65483 * 8


def test_a_sends_to_b_and_the_result_comes_back(three: Three) -> None:
    client = three.ask("--bytes", "3000001", "--streams", "2", "--receive", "memory", "--window", "1M")
    assert client.wait() == 0, client.errors
    result = json.loads(client.output)
    assert result["role"] == "send"
    assert result["complete"] is True
    assert result["bytes"] == 3_000_001
    assert len(result["streams"]) == 2
    assert result["receive_mode"] == "memory"
    assert result["window"]["asked_bytes"] == 1_000_000
    assert result["options"]["port"] == three.b.port
    assert type(result["start_unix_ns"]) is int  # as it was told: no double has it
    three.receiver.wait_for("0.003 GB")


def test_a_signal_ends_the_transfer_and_the_result_comes(three: Three) -> None:
    client = three.ask("--time", "60", "--pacing", "50M")
    wait_until(lambda: three.moving() or None, 20, client.process)
    client.process.send_signal(signal.SIGINT)
    assert client.wait() == 1
    result = json.loads(client.output)
    assert result["signal"] == "SIGINT"
    assert result["complete"] is False
    assert result["duration_s"] < 59


def test_a_client_that_vanishes_ends_the_transfer(three: Three) -> None:
    client = three.ask("--time", "60", "--pacing", "50M")
    wait_until(lambda: three.moving() or None, 20, client.process)
    client.process.kill()
    three.receiver.wait_for("Error: session with .*: stopped by the sender")
    wait_until(lambda: None if children(three.a) else True, 20, three.a.process)


def test_it_ends_when_the_time_that_a_allows_is_over(bench: Bench) -> None:
    """--max-time binds what is sent for others, too: it ends as after Ctrl-C, and the result comes."""
    three = Three(bench, "--third-party", "--max-time", "1s")
    try:
        asked = three.ask("--time", "60", "--pacing", "80M")
        assert asked.wait(20) != 0
        result = json.loads(asked.output)
        assert result["signal"] == "SIGINT"
        assert 5 < result["duration_s"] < 6.5  # with ADMISSION_GRACE_NS, less the time to connect
    finally:
        three.b.close()


@pytest.mark.parametrize("direction", [[], ["--reverse"], ["--bidir"]], ids=["forward", "reverse", "both"])
@pytest.mark.parametrize("asked", [[], ["--pacing-total", "10G"], ["--pacing", "10G", "--streams", "2"]], ids=str)
def test_it_keeps_to_the_rate_that_a_allows(bench: Bench, direction: list[str], asked: list[str]) -> None:
    """--max-rate binds what is sent for others, whoever of the two sends."""
    three = Three(bench, "--third-party", "--max-rate", "80M", receiver=["--may-send"])
    try:
        client = three.ask("--time", "1", *direction, *asked)
        assert client.wait() == 0, client.errors
        result = json.loads(client.output)
        for told in [result, *([result["reverse"]] if result["reverse"] else [])]:
            assert 60e6 < told["goodput_bps"] <= 80e6 + len(told["streams"]) * UNPACED_BITS
    finally:
        three.b.close()


def test_a_lower_rate_than_a_allows_is_kept(bench: Bench) -> None:
    three = Three(bench, "--third-party", "--max-rate", "800M")
    try:
        client = three.ask("--time", "1", "--pacing-total", "40M")
        assert client.wait() == 0, client.errors
        assert 30e6 < json.loads(client.output)["goodput_bps"] <= 40e6 + UNPACED_BITS
    finally:
        three.b.close()


@pytest.mark.parametrize("asked", [["--streams", "3"], ["--streams", "2", "--bidir"]], ids=str)
def test_it_has_no_more_streams_than_a_allows(bench: Bench, asked: list[str]) -> None:
    three = Three(bench, "--third-party", "--max-streams", "2")
    try:
        client = three.ask("--bytes", "1M", *asked)
        assert client.wait() == 1
        assert "this receiver allows 2 streams, not" in client.errors
    finally:
        three.b.close()


def test_b_is_not_there(three: Three) -> None:
    three.receiver.process.terminate()
    three.receiver.wait()
    client = three.ask("--bytes", "1M")
    assert client.wait() == 1
    assert "Connection refused" in json.loads(client.output)["error"]


def test_only_with_the_option_and_only_with_the_key(bench: Bench) -> None:
    three = Three(bench)
    client = three.ask("--bytes", "1M")
    assert client.wait() == 1
    assert "this host sends for nobody: start it with --third-party" in client.errors
    client = three.ask("--bytes", "1M", key=make_key(bench, "other"))
    assert client.wait() == 1
    assert "key is not the receiver's" in client.errors
    alone = bench.start("receive", "--third-party")
    assert alone.wait() == 2
    assert "--key FILE is needed too" in alone.errors
    three.b.close()


@pytest.mark.parametrize(
    "change",
    [
        {"options": {"samples": "/tmp/x"}},
        {"options": {"key": "/etc/shadow"}},
        {"options": {"bytes": 7}},
        {"host": "--json=/tmp/x"},
        {"host": ""},
        {"port": 0},
    ],
)
def test_nothing_else_is_passed_on(three: Three, change: dict) -> None:
    client = Client(three.bench, three.key)
    client.greet()
    client.prove()
    order = {"type": "request", "kind": "third-party", "host": "127.0.0.1", "port": 9, "options": {"bytes": "1M"}}
    client.tagged(order | change)
    answer = client.get(tagged=True)
    assert answer["type"] == "error"
    assert answer["text"].startswith("request: ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "third-party needs --from, --to and --key"),
        (["--from", "a", "--to", "b", "--key", "k", "--streams", "0"], "--streams: '0' is not"),
        (["--from", "a", "--to", "b", "--key", "k", "--samples", "x"], "'--samples' is not an option"),
        (["--from-port", "0"], "--from-port: '0' is not a port"),
    ],
)
def test_wrong_usage(bench: Bench, words: list[str], said: str) -> None:
    program = Program([str(bench.binary), "third-party", *words], bench.folder, "usage")
    assert program.wait() == 2
    assert said in program.errors
