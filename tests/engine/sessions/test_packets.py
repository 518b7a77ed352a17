"""What the engine gives TCP at once is what TCP hands a device as one packet, seen on a device of the test's own."""

import json
import os
import subprocess
from collections.abc import Iterator

import pytest

from tests.support.engine.fixtures import Bench, Program
from tests.support.stopwatch import one_of_few, undisturbed

pytestmark = pytest.mark.root
SENDER, RECEIVER = f"lsk{os.getpid()}s", f"lsk{os.getpid()}r"
RECORD_EXTRA_BYTES = 8 + 16  # head and tag; a block of either MTU is four records
HEADERS_BYTES = 14 + 20 + 32  # Ethernet, IPv4, TCP with timestamps: a packet has them once before it is segmented


def ip(*words: str) -> str:
    """What ip(8) prints."""
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


@pytest.fixture(name="cable", params=[1500, 9000])
def cable_fixture(request: pytest.FixtureRequest) -> Iterator[int]:
    """Two namespaces and a veth pair of that MTU."""
    mtu: int = request.param
    try:
        for namespace in (SENDER, RECEIVER):
            ip("netns", "add", namespace)
        ip(*f"link add v mtu {mtu} netns {SENDER} type veth peer name v mtu {mtu} netns {RECEIVER}".split())
        for number, namespace in enumerate((SENDER, RECEIVER), 1):
            ip(*f"-n {namespace} addr add 10.98.9.{number}/24 dev v".split())
            ip(*f"-n {namespace} link set v up".split())
        yield mtu
    finally:
        for namespace in (SENDER, RECEIVER):
            subprocess.run(["ip", "netns", "delete", namespace], check=False)


def sent() -> tuple[int, int]:
    """Packets and bytes that the sender's device has taken."""
    (link,) = json.loads(ip("-n", SENDER, "-s", "-j", "link", "show", "v"))
    return link["stats64"]["tx"]["packets"], link["stats64"]["tx"]["bytes"]


def transfer(bench: Bench, *options: str, key: tuple[str, ...]) -> dict:
    """A gigabyte across the cable; the sender's result."""

    def start(namespace: str, command: str, *words: str) -> Program:
        whole = ["ip", "netns", "exec", namespace, str(bench.binary), command, *words, "--port", str(bench.port)]
        result = ["--json", str(bench.folder / f"{command}.json")]
        program = Program([*whole, *result], bench.folder, f"{command}-{namespace}")
        bench.programs.append(program)
        return program

    receiver = start(RECEIVER, "receive", "--one-off", *key)
    receiver.wait_for("listening")
    sender = start(SENDER, "send", "10.98.9.2", "--bytes", "1G", *options, *key)
    assert sender.wait() == 0, sender.errors
    assert receiver.wait() == 0, receiver.errors
    return bench.result()


@pytest.mark.parametrize(
    "options",
    [
        ("--send", "splice"),
        ("--receive", "verify", "--send", "write"),
        ("--receive", "verify", "--protect", "mac"),
        ("--receive", "verify", "--protect", "aead"),
    ],
)
def test_packets_are_as_large_as_they_can_be(bench: Bench, cable: int, options: tuple[str, ...]) -> None:
    """Full ones are 45 × 1448 or 7 × 8948 bytes; 64 KiB at a time would make two of it, half as large on average.

    Less than all are full: the beginning with its small window, what a busy machine makes wait, the last one.
    """
    full = {1500: 45 * 1448, 9000: 7 * 8948}[cable]
    key = ("--key", str(bench.folder / "key")) if "--protect" in options else ()
    if key:
        subprocess.run([str(bench.binary), "key", key[1]], check=True)
    records_bytes = 4 * RECORD_EXTRA_BYTES if key else 0

    def attempt(_: int) -> None:
        before = sent()
        result = transfer(bench, "--congestion", "cubic", *options, key=key)
        packets, wire_bytes = (count - earlier for count, earlier in zip(sent(), before, strict=True))
        if "verify" in options:
            assert result["sending"]["block_bytes"] == 4 * full - records_bytes
            assert result["verification"]["faults"] == 0
        else:
            assert result["sending"]["packet_bytes"] == full
        each = wire_bytes / packets - HEADERS_BYTES
        assert each <= full
        undisturbed(each > 0.9 * full, f"{each:.0f} B a packet, of {full} B that it may have")

    one_of_few(attempt)
