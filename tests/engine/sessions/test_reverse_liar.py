"""A server that sends and lies: more than was asked for, nothing, no account or a wrong one."""

import socket

import pytest

from tests.support.engine.fake_server import frame, take
from tests.support.engine.fixtures import Bench
from tests.support.engine.reverse import fail, send
from tests.support.programs.fake_sender import liar


@pytest.mark.slow
def test_a_server_that_sends_more_than_was_asked_for(bench: Bench) -> None:
    with liar(bench, lambda _, data: data.sendall(bytes(1_000_000 + 5000))):
        result = fail(bench, "--reverse", "--bytes", "1M", "--receive", "memory")
    assert result.error == "stream 0 brings more than was asked for"
    assert result.bytes == 1_000_000


@pytest.mark.slow
def test_a_server_that_sends_nothing(bench: Bench) -> None:
    with liar(bench, lambda *_: None):
        result = fail(bench, "--reverse", "--bytes", "1M", "--stall", "0.5s")
    assert result.error == "no data came from the sender for 0.5 s"


def test_a_server_without_an_account(bench: Bench) -> None:
    def act(control: socket.socket, data: socket.socket) -> None:
        data.sendall(bytes(1_000_000))
        assert take(control)["type"] == "result"
        control.close()

    with liar(bench, act):
        result = fail(bench, "--reverse", "--bytes", "1M")
    assert "the server gave no account of what it sent" in (result.error or "")
    assert (result.bytes, result.bytes_source) == (1_000_000, "receiver")


@pytest.mark.parametrize(
    "account", [{}, {"bytes": 10**15, "goodput_bps": 10**15, "streams": [{"bytes": 10**15}, 7]}, 7]
)
def test_what_was_read_is_what_the_client_read(bench: Bench, account: object) -> None:
    def act(control: socket.socket, data: socket.socket) -> None:
        data.sendall(bytes(1_000_000))
        assert take(control)["type"] == "result"
        control.sendall(frame({"type": "account", "account": account}))

    with liar(bench, act):
        program = bench.send("--reverse", "--bytes", "1M")
        assert program.wait() in (0, 1)
    result = bench.result()
    assert result["bytes"] == 1_000_000
    assert result["goodput_bps"] < 10**14
    assert all(stream["bytes"] <= 1_000_000 for stream in result["streams"])
    assert result["complete"] is isinstance(account, dict), result["error"]


def test_data_overtake_the_word_that_they_begin(bench: Bench) -> None:
    """They travel on another connection: a client may have all before it hears of the beginning."""

    def act(control: socket.socket, data: socket.socket) -> None:
        data.sendall(bytes(1_000_000))
        assert take(control)["type"] == "result"
        control.sendall(frame({"type": "go"}) + frame({"type": "account", "account": {}}))

    with liar(bench, act, go=False):
        result = send(bench, "--reverse", "--bytes", "1M")
    assert result.bytes == 1_000_000
