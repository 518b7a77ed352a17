"""The queue is for all: no address fills it, and none that waits there in great numbers comes first."""

import contextlib
import socket
from collections.abc import Iterator

import pytest

from tests.support import builds
from tests.support.engine.fake_server import frame, take
from tests.support.engine.fixtures import Bench, control_connection
from tests.support.engine.limits_hostile import REQUEST

GREETING = frame({"type": "greeting", "nonce": "00" * 32, "key": False})
PLACES = 8
NEXT_S = 2  # less than an idle session lasts


def ask(port: int, source: str) -> socket.socket:
    """A client that has asked, and only holds what it gets."""
    control = control_connection(port, source)
    control.sendall(GREETING + frame(REQUEST | {"duration_ns": 10**12}))
    return control


@pytest.fixture(name="waiting")
def waiting_fixture(bench: Bench) -> Iterator[list[socket.socket]]:
    """A client that is served, and a queue full of others, all of one address."""
    bench.receive("--queue", str(PLACES), "--idle-timeout", "3s")
    with contextlib.ExitStack() as stack:
        served = stack.enter_context(ask(bench.port, "127.7.7.7"))
        assert take(served)["type"] == "grant"
        waiting = [stack.enter_context(ask(bench.port, "127.7.7.7")) for _ in range(PLACES)]
        assert [take(control)["type"] for control in waiting] == ["queued"] * PLACES
        yield [served, *waiting]


@pytest.mark.usefixtures("waiting")
def test_its_own_address_gets_no_more_places(bench: Bench) -> None:
    with ask(bench.port, "127.7.7.7") as more:
        assert take(more)["text"] == f"the receiver is busy with 1 transfers, and {PLACES} wait already"


def test_others_take_places_until_each_address_has_as_many(bench: Bench, waiting: list[socket.socket]) -> None:
    with contextlib.ExitStack() as stack:
        others = [stack.enter_context(ask(bench.port, "127.9.9.9")) for _ in range(PLACES // 2)]
        # Between those of the first address, which is served already: before its first, before its second, …
        assert [take(other)["place"] for other in others] == [1, 3, 5, 7]
        for leaver in reversed(waiting[1 + PLACES // 2 :]):  # the latest first
            assert take(leaver)["text"] == "others came, who had fewer places in the queue"
        with ask(bench.port, "127.9.9.9") as more:
            assert take(more)["type"] == "error"
        # One of a third address: of the two that have most, the latest one gives way.
        with ask(bench.port, "127.5.5.5") as third:
            assert take(third)["place"] == 2


@pytest.mark.parametrize("address", ["127.9.9.9", "127.7.7.8"], ids=["elsewhere", "neighbour"])
def test_the_next_one_is_of_another_address(bench: Bench, waiting: list[socket.socket], address: str) -> None:
    """And the one after the next one of its own: whoever was served is not the first again."""
    with ask(bench.port, address) as first, ask(bench.port, address) as second:
        assert [take(each)["place"] for each in (first, second)] == [1, 3]
        running = waiting[0]
        for following in (first, waiting[1], second, waiting[2]):
            running.close()
            following.settimeout(NEXT_S * builds.patience())
            assert take(following)["type"] == "grant"
            running = following
