"""A name whose servers do not answer keeps nobody from leaving."""

import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.engine.fixtures import Bench, Program

ALONE = ["unshare", "--mount", "--propagation", "private", "sh", "-c"]
BIND = 'mount --bind "$1" "$(readlink -f /etc/resolv.conf)" && mount --bind "$2" /etc/nsswitch.conf'
LONG_S = 5.0  # the C library asks again after that


@pytest.fixture(name="silent")
def silent_fixture(bench: Bench) -> Iterator[socket.socket]:
    """A server of names that takes questions, at an address that no other test has."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind((f"127.{bench.port >> 8}.{bench.port & 255}.7", 53))
        server.settimeout(20)
        yield server


def start(bench: Bench, server: socket.socket, *words: str) -> Program:
    """The engine where names are that server's."""
    resolver, order = bench.folder / "resolv.conf", bench.folder / "nsswitch.conf"
    resolver.write_text(f"nameserver {server.getsockname()[0]}\n")
    order.write_text("hosts: files dns\n")
    program = Program(
        [*ALONE, f'{BIND} && shift 2 && exec "$@"', "sh", str(resolver), str(order), str(bench.binary), *words],
        bench.folder,
        "asks",
    )
    bench.programs.append(program)
    return program


ASKING = {
    "send": ["send", "far.example.org", "--time", "1", "--json"],
    "rr": ["rr", "far.example.org", "--time", "1", "--json"],
    "from an address": ["send", "127.0.0.1", "--bind", "far.example.org", "--time", "1", "--json"],
    "receive": ["receive", "--bind", "far.example.org", "--json"],
}


@pytest.mark.root
@pytest.mark.parametrize("words", ASKING.values(), ids=ASKING)
def test_a_signal_ends_a_look_up(bench: Bench, silent: socket.socket, words: list[str]) -> None:
    told = bench.folder / "told.json"
    if "127.0.0.1" in words:
        bench.receive()
        words = [*words[:2], "--port", str(bench.port), *words[2:]]
    program = start(bench, silent, *words, str(told))
    assert b"far" in silent.recv(512)
    begun = time.monotonic()
    program.process.send_signal(signal.SIGINT)
    assert program.wait(20) == 1
    assert time.monotonic() - begun < LONG_S - 1
    assert "interrupted" in program.errors
    if words[0] in ("send", "rr") and "--bind" not in words:
        assert '"SIGINT"' in Path(told).read_text()
