"""Verified payload: a proxy behind the TCP checksum damages blocks, and each fault is found where it was made."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from tests.support.engine.fixtures import Bench, free_port
from tests.support.engine.result import read_result
from tests.support.engine.verify import (
    BLOCK,
    HEADER,
    PROXY,
    RECEIVER,
    Harm,
    Proxy,
    found,
    key,
)


@dataclass
class Stream:
    """One data connection as the proxy sees it: `damage` maps a block's number to what happens to it."""

    number: int = -1
    damage: dict[int, str] = field(default_factory=dict)


@contextmanager
def proxy_between(bench: Bench, harm: Callable[[int, int, bytes], list[bytes]]) -> Iterator[int]:
    """A proxy for the bench's control port and a data port, which is yielded."""
    data_port = free_port()
    proxy = Proxy(bench.port, data_port, harm)
    try:
        yield data_port
    finally:
        proxy.close()


@pytest.mark.parametrize("seed", [1, 2])
def test_every_injected_fault_is_found_and_located(bench: Bench, seed: int) -> None:
    """A repeated block and a dropped one in each stream keep its length as the receiver expects it."""
    streams, blocks = 3, 60
    kinds = ["flip", "flip_header", "swap", "repeat", "drop", "flip", "swap", "flip_header"]
    draw = random.Random(seed)
    plan = {}
    for stream in range(streams):
        draw.shuffle(kinds)
        # Every third block at most, so that faults cannot hide one another.
        places = sorted(draw.sample(range(1, blocks // 3 - 1), len(kinds)))
        plan[stream] = {3 * place: kind for place, kind in zip(places, kinds, strict=True)}
    harm = Harm(plan, seed)
    with proxy_between(bench, harm) as data_port:
        receiver = bench.receive("--one-off", "--bind", RECEIVER, "--data-port", str(data_port))
        total = streams * (blocks * BLOCK - 12345)
        sender = bench.send("--receive", "verify", "--streams", str(streams), "--bytes", str(total), host=PROXY)
        assert sender.wait() == 1
        assert receiver.wait() == 1
    assert len(harm.expected) == streams * (len(kinds) + 2)
    assert {key(fault) for fault in found(bench)} == {key(fault) for fault in harm.expected}
    verification = bench.result()["verification"]
    assert verification["faults"] == len(harm.expected)
    for kind, count in Counter(fault.kind for fault in harm.expected).items():
        assert verification[kind] == count
    lost = sum(fault.kind in {"damaged", "missing"} for fault in harm.expected)
    again = sum(fault.kind == "repeated" for fault in harm.expected)
    assert verification["blocks"] == streams * blocks - lost + again
    error = bench.result()["error"]
    assert f"verification found {len(harm.expected)} faults" in error
    assert "stream" in error
    assert not bench.result()["complete"]


def test_a_cut_block_is_found_and_the_next_ones_are_right(bench: Bench) -> None:
    harm = Harm({0: {2: "cut", 5: "cut"}}, 7)
    with proxy_between(bench, harm) as data_port:
        receiver = bench.receive("--one-off", "--bind", RECEIVER, "--data-port", str(data_port))
        sender = bench.send("--receive", "verify", "--bytes", str(10 * BLOCK), host=PROXY)
        assert sender.wait() == 1
        assert receiver.wait() == 1
    assert [key(fault) for fault in found(bench)] == [key(fault) for fault in harm.expected]
    assert bench.result()["verification"]["blocks"] == 8


@pytest.mark.parametrize("way", ["write", "zerocopy", "io_uring"])
@pytest.mark.parametrize("total", [3 * (BLOCK + 48), 300_000_007])
def test_no_false_alarm_and_every_byte_is_in_a_block(bench: Bench, way: str, total: int) -> None:
    receiver = bench.receive("--one-off")
    sender = bench.send("--receive", "verify", "--send", way, "--bytes", str(total), "--streams", "3")
    assert sender.wait() == 0, sender.errors
    assert receiver.wait() == 0, receiver.errors
    result = read_result(bench.folder / "send.json")
    assert result.bytes == total
    assert result.receive_mode == "verify"
    assert result.delivery
    assert result.verification is not None
    assert result.verification.faults == 0
    assert result.verification.payload_bytes == total - HEADER * result.verification.blocks
    assert result.sending.way == way
    if way != "write":
        assert result.sending.zerocopy is not None
        assert 0 < result.sending.zerocopy.completed <= result.sending.zerocopy.calls
        # Nothing leaves this machine, so the kernel had to copy after all, and says so.
        assert result.sending.zerocopy.copied == result.sending.zerocopy.completed


@pytest.mark.slow
def test_a_time_limit_in_the_middle_of_a_block_is_no_fault(bench: Bench) -> None:
    receiver = bench.receive("--one-off")
    sender = bench.send("--receive", "verify", "--time", "0.5", "--streams", "4")
    assert sender.wait() == 0, sender.errors
    assert receiver.wait() == 0, receiver.errors
    verification = bench.result()["verification"]
    assert verification["faults"] == 0
    unfinished = bench.result()["bytes"] - verification["payload_bytes"] - HEADER * verification["blocks"]
    assert 0 <= unfinished < 4 * BLOCK


@pytest.mark.parametrize("way", ["write", "sendfile", "splice", "zerocopy", "io_uring"])
def test_every_way_of_sending_brings_the_same_count(bench: Bench, way: str) -> None:
    receiver = bench.receive("--one-off")
    sender = bench.send("--receive", "memory", "--send", way, "--bytes", "100000007", "--streams", "2")
    assert sender.wait() == 0, sender.errors
    assert receiver.wait() == 0, receiver.errors
    assert bench.result()["bytes"] == 100_000_007
    assert bench.result()["sending"]["way"] == way


def test_auto_says_what_it_took_and_why(bench: Bench) -> None:
    """Which of the first two it is hangs on whether this host has huge pages; the result says so itself."""
    said = {True: "huge pages", False: "sealed file"}
    for mode in ("discard", "verify"):
        receiver = bench.receive("--one-off")
        sender = bench.send("--receive", mode, "--bytes", "5M")
        assert sender.wait() == 0, sender.errors
        assert receiver.wait() == 0, receiver.errors
        assert bench.result()["sending"]["asked"] == "auto"
        way = bench.result()["sending"]["way"]
        huge = bench.result()["sending"]["pages"] is not None
        assert way == ("write" if mode == "verify" else "splice")
        why = "device lo would copy" if mode == "verify" else said[huge]
        assert why in bench.result()["sending"]["reason"]
        assert bench.result()["delivery"] is (mode == "verify")


def test_a_file_cannot_be_sent_as_verified_blocks(bench: Bench) -> None:
    sender = bench.send("--receive", "verify", "--send", "splice")
    assert sender.wait() != 0
    assert "use write, zerocopy or io_uring" in sender.errors
