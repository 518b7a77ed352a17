"""Crowds of strangers from many addresses, beside a client that is far away and has the key."""

import contextlib
import json
import os
import resource
import statistics
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support import builds
from tests.support.engine.crowd import PLACES, RATE, Place, Strangers, all_of_a_network, far
from tests.support.engine.faults import frame
from tests.support.engine.fixtures import PROTOCOL, Bench, Program
from tests.support.stopwatch import contention

TRIES = 2  # of each client
GETS_IN_S = 3  # a far client, whole program: half of all tries, as a busy machine may hold up some (bench: all of them)
GREETING = {"type": "greeting", "protocol": PROTOCOL, "nonce": "5a" * 32, "share": "09" + "00" * 31, "key": True}


@pytest.fixture(name="descriptors")
def descriptors_fixture() -> Iterator[None]:
    """As many as both ends of a crowd take."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2 * PLACES:
        pytest.skip(f"needs {2 * PLACES} descriptors (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


CROWDS = {
    "two-hundred": [f"127.{1 + number}.7.7" for number in range(200)],
    "one-network": [f"127.9.9.{1 + number}" for number in range(200)],
    "a-thousand": [f"127.{1 + number // 200}.{number % 200}.7" for number in range(1000)],
}
CROWDS_6 = {
    "one-64": [f"2001:db8:1::{1 + number:x}" for number in range(1000)],
    "one-56": [f"2001:db8:1:{number:x}::7" for number in range(256)],
    "one-48": [f"2001:db8:1:{number << 4:x}::7" for number in range(1000)],
    "a-thousand-48s": [f"2001:db8:{number:x}::7" for number in range(1000)],
}
WORDS = pytest.mark.parametrize("words", [b"", frame(GREETING)], ids=["silent", "greeted"])


def crowd_keeps_out_nobody(bench: Bench, place: Place, addresses: list[str], words: bytes) -> None:
    """A far client gets in at the first try, each time, while strangers come and take each other's places.

    There are three, each of a network of its own: of a network with more places than others some are taken.
    """
    key = bench.folder / "key"
    subprocess.run([str(bench.binary), "key", str(key)], check=True)
    receive = [*place.under(), str(bench.binary), "receive", "--port", str(bench.port), "--quiet"]
    server = Program([*receive, "--key", str(key), "--clients", "4"], bench.folder, "server")
    bench.programs.append(server)
    server.wait_for("listening")
    crowd = Strangers(bench.port, addresses, words, place)
    crowd.start()
    try:
        with contextlib.ExitStack() as ways:
            ports = [ways.enter_context(far(bench.port, each)) for each in place.of_networks(3)]
            assert crowd.full.wait(60)
            slower = contention()
            begun, before = time.monotonic(), crowd.count

            def wait_s(port: int) -> float:
                send = [*place.under(), str(bench.binary), "send", place.server, "--port", str(port)]
                started = time.monotonic()
                run = subprocess.run(
                    [*send, "--key", str(key), "--bytes", "1M", "--quiet", "--json", "-"],
                    capture_output=True,
                    text=True,
                    timeout=60,
                    check=False,
                )
                assert run.returncode == 0, run.stderr
                result = json.loads(run.stdout)
                assert result["bytes"] == 1_000_000
                return time.monotonic() - started - result["duration_s"]

            with ThreadPoolExecutor(len(ports)) as clients:
                tries = clients.map(lambda port: [wait_s(port) for _ in range(TRIES)], ports)
                waits = [each for of_one in tries for each in of_one]
            # The client and its server take their turns beside the crowd's own programs, and whatever else runs.
            assert statistics.median(waits) <= GETS_IN_S * max(slower, contention()) * builds.patience(), waits
            assert crowd.count - before >= 0.8 * RATE * (time.monotonic() - begun)
            # Under a sanitizer strangers may go as fast as the server takes them, so that its places are never full.
            assert builds.sanitized() or server.wait_for("too many connections")
    finally:
        crowd.stop.set()
        crowd.join(20)


@pytest.mark.slow
@WORDS
@pytest.mark.parametrize("addresses", list(CROWDS.values()), ids=list(CROWDS))
@pytest.mark.usefixtures("descriptors")
def test_strangers_do_not_keep_out_who_is_far_away(bench: Bench, addresses: list[str], words: bytes) -> None:
    """Each place of theirs is taken from them; the client's own is not, at the first try."""
    crowd_keeps_out_nobody(bench, Place(), addresses, words)


@pytest.mark.slow
@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="makes a network namespace")
@WORDS
@pytest.mark.parametrize("addresses", list(CROWDS_6.values()), ids=list(CROWDS_6))
@pytest.mark.usefixtures("descriptors")
def test_nor_do_strangers_of_ipv6(bench: Bench, addresses: list[str], words: bytes) -> None:
    """Whoever has a /48 has 65 536 sites, and another one may be had; the client has one address of another."""
    with all_of_a_network() as place:
        crowd_keeps_out_nobody(bench, place, addresses, words)
        bench.close()
