"""Round trips: counted, spread, over connections that stay or new ones; in the guest to the hundredth of a percent."""

import json
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from landspeed.worlds.engine.command import ENGINE_BINARY
from tests.support.emu_fixtures import execute, plan_of, scenario
from tests.support.engine.auth import make_key
from tests.support.engine.fake_server import asked, frame, take
from tests.support.engine.fixtures import (
    Bench,
    Program,
    challenged,
    children,
    numbered,
    say_hello,
    wait_until,
)
from tests.support.engine.limits_hostile import PROBE, Client
from tests.support.places import PROGRAMS

ACTS = PROGRAMS / "guest_script.py"
INSIDE = Path("/run/landspeed")  # the test's folder as the guest sees it


def measure(bench: Bench, *words: str, status: int = 0) -> dict[str, Any]:
    """One run with that exit status, and its result."""
    program = bench.start("rr", "--json", str(bench.folder / "rr.json"), *words, host="127.0.0.1")
    assert program.wait() == status, program.errors
    return json.loads((bench.folder / "rr.json").read_text())


def answering(bench: Bench, *words: str) -> Program:
    """A server that may answer."""
    return bench.receive("--may-send", *words)


@pytest.mark.slow
@pytest.mark.parametrize("connect", [[], ["--connect"]], ids=["kept", "new"])
@pytest.mark.parametrize("words", [[], ["--streams", "3", "--request", "700", "--response", "100k"]], ids=["1", "3"])
def test_round_trips_are_counted_at_both_ends(bench: Bench, connect: list[str], words: list[str]) -> None:
    server = answering(bench, "--one-off")
    result = measure(bench, "--time", "0.3", *connect, *words)
    assert (result["complete"], result["error"], result["duration_s"]) == (True, None, 0.3)
    streams = 3 if words else 1
    # What was under way when the time was over is not counted, one for each stream at most.
    assert 0 < result["round_trips"] <= result["answered"] <= result["round_trips"] + streams
    assert sum(stream["count"] for stream in result["streams"]) == result["round_trips"]
    assert len(result["streams"]) == streams
    assert result["round_trips_per_s"] == pytest.approx(result["round_trips"] / 0.3)
    times = result["round_trip"]
    order = [times[f"{name}_s"] for name in ("min", "p50", "p90", "p99", "p999", "max")]
    assert order == sorted(order)
    assert times["min_s"] <= times["mean_s"] <= times["max_s"]
    # One after the other: all together have taken the streams' time, and no more. The mean is told in whole
    # nanoseconds.
    assert (times["mean_s"] - 0.5e-9) * times["count"] <= 0.3 * streams
    assert server.wait() == 0
    assert "round trips answered" in server.errors


@pytest.mark.slow
@pytest.mark.parametrize("connect", [[], ["--connect"]], ids=["kept", "new"])
def test_with_a_key(bench: Bench, connect: list[str]) -> None:
    key = str(make_key(bench))
    answering(bench, "--key", key)
    assert measure(bench, "--key", key, "--time", "0.2", *connect)["complete"] is True
    other = str(make_key(bench, "other"))
    assert "key is not the receiver's" in measure(bench, "--key", other, "--time", "0.2", status=1)["error"]


def test_a_server_must_be_told_that_it_may_answer(bench: Bench) -> None:
    bench.receive()
    error = measure(bench, "--time", "0.2", status=1)["error"]
    assert error == "the peer refused: this server answers nothing: start it with --may-send"


def test_limits_of_the_server(bench: Bench) -> None:
    answering(bench, "--max-time", "1", "--max-streams", "2")
    assert "ask for --time 1.000" in measure(bench, "--time", "2", status=1)["error"]
    assert "allows 2 streams, not 3" in measure(bench, "--time", "1", "--streams", "3", status=1)["error"]


@pytest.mark.parametrize("connect", [[], ["--connect"]], ids=["kept", "new"])
def test_a_server_that_dies(bench: Bench, connect: list[str]) -> None:
    server = answering(bench)
    client = bench.start("rr", "--time", "60", "--json", str(bench.folder / "rr.json"), *connect, host="127.0.0.1")
    wait_until(lambda: children(server) or None, 20, client.process)
    server.process.kill()
    assert client.wait(20) == 1
    result = json.loads((bench.folder / "rr.json").read_text())
    assert result["complete"] is False
    # A new connection is refused as soon as the sockets of the server are closed; its session, which dies last,
    # may still tell its count.
    assert result["answered"] is None or connect


def test_a_client_that_leaves_an_answer_unread_has_ended(bench: Bench) -> None:
    """Its end, then the reset by what it did not read: EPIPE at the server, which is no stream lost."""
    answering(bench)
    probe = PROBE | {"response_bytes": 1 << 24}
    client = Client(bench.port, kind="round-trips", probe=probe, duration_ns=10 * 10**9)
    try:
        data = client.connect()
        assert take(client.control)["type"] == "ready"
        data.sendall(b"x")
        assert data.recv(1)
        data.shutdown(socket.SHUT_WR)
        data.close()
        client.control.settimeout(0.3)
        with pytest.raises(TimeoutError):
            take(client.control)
        client.control.settimeout(20)
        client.say("stop")
        assert take(client.control)["type"] == "result"
    finally:
        client.close()


def request(**changes: Any) -> dict[str, Any]:
    """A client's words."""
    words: dict[str, Any] = {"type": "request", "kind": "round-trips", "streams": 1, "window_bytes": 0, "bytes": 0}
    words |= {"duration_ns": 10**9, "receive": "discard"}
    return words | {"probe": {"request_bytes": 1, "response_bytes": 1, "fresh": True}} | changes


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"duration_ns": 0, "bytes": 1}, "have a time"),
        ({"direction": "reverse"}, "one direction"),
        ({"probe": 7}, "sizes of round trips"),
        ({"probe": {"request_bytes": 0, "response_bytes": 1}}, "sizes of round trips"),
        ({"probe": {"request_bytes": 1, "response_bytes": 1 << 25}}, "sizes of round trips"),
    ],
)
def test_wrong_words_of_a_client(bench: Bench, changes: dict[str, Any], said: str) -> None:
    answering(bench)
    with asked(bench.port, request(**changes)) as control:
        answer = take(control)
    assert answer["type"] == "error"
    assert said in answer["text"]


def test_a_new_connection_serves_once(bench: Bench) -> None:
    """What was seen on the way is of no use: a number must grow; without the secret there is no answer at all."""
    answering(bench)
    with asked(bench.port, request()) as control:
        grant = take(control)
        secret, place = bytes.fromhex(grant["token"]), ("127.0.0.1", bench.port)
        with socket.create_connection(place, timeout=20) as first:
            say_hello(first, 0, secret, grant["session"])
            assert take(control)["type"] == "ready"

            def trip(secret: bytes, number: int) -> bytes:
                with socket.create_connection(place, timeout=20) as data:
                    data.sendall(numbered(secret, number, grant["session"]) + b"?")
                    challenged(data)  # which it does not wait for
                    try:
                        return data.recv(1)
                    except ConnectionResetError:
                        return b""

            assert trip(secret, 1) == b"\0"
            assert trip(secret, 1) == b""
            assert trip(bytes(32), 2) == b""
            assert trip(secret, 5) == b"\0"
            assert trip(secret, 4) == b""
            control.sendall(frame({"type": "stop"}))
            assert take(control)["answered"] == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "rr needs the HOST that answers"),
        (["a", "b"], "'b' is too much"),
        (["a", "--request", "0"], "--request: '0' is not"),
        (["a", "--samples", "x"], "'--samples' is not an option of 'rr'"),
    ],
)
def test_wrong_usage(bench: Bench, words: list[str], said: str) -> None:
    program = Program([str(bench.binary), "rr", *words], bench.folder, "usage")
    assert program.wait() == 2
    assert said in program.errors


@pytest.mark.guest
@pytest.mark.parametrize(("connect", "trips"), [([], 1), (["--connect"], 2)], ids=["kept", "new"])
def test_264_ms_in_the_guest(tmp_path: Path, connect: list[str], trips: int) -> None:
    """± 0.01 % of the plan's RTT; a new connection costs one more."""
    links = [{"one_way_delay": "66 ms"}] * 2
    plan = plan_of(tmp_path, scenario(links, line_rate="10 Gbit/s", mtu="9000 B"))
    (tmp_path / "acts.json").write_text(
        json.dumps(
            [
                ["receive", "r", [str(ENGINE_BINARY), "receive", "--quiet", "--one-off", "--may-send"]],
                ["send", "s", [str(ENGINE_BINARY), "rr", "HOST", "--json", str(INSIDE / "rr.json"), *connect]],
                ["wait", "s"],
                ["wait", "r"],
            ]
        )
    )
    words = [sys.executable, str(ACTS), str(INSIDE / "acts.json"), str(INSIDE / "acted.json")]
    done = execute(plan, tmp_path, *words)
    assert done.status == 0, done.err
    result = json.loads((tmp_path / "rr.json").read_text())
    print(json.dumps(result["round_trip"]))
    rtt_s = 0.264 * trips
    assert result["complete"] is True
    for name in ("mean_s", "min_s", "p50_s", "p99_s", "max_s"):
        assert result["round_trip"][name] == pytest.approx(rtt_s, rel=1e-4), name
    assert result["round_trips"] == int(10 / result["round_trip"]["mean_s"])
