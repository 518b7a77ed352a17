"""Datagrams: which came, in which order, how late; paced; in the guest as many are lost as the plan says."""

import hashlib
import json
import math
import socket
import struct
import sys
from pathlib import Path
from typing import Any

import pytest

from landspeed.worlds.engine.command import ENGINE_BINARY
from tests.support.emu_fixtures import execute, plan_of, scenario
from tests.support.engine.auth import make_key
from tests.support.engine.fake_server import asked, frame, take
from tests.support.engine.fixtures import Bench, Program, children, wait_until
from tests.support.places import PROGRAMS

ACTS = PROGRAMS / "guest_script.py"
INSIDE = Path("/run/landspeed")  # the test's folder as the guest sees it
MAGIC = b"lspudp\0\1"


def measure(bench: Bench, *words: str, status: int = 0) -> dict[str, Any]:
    """One run with that exit status, and its result."""
    program = bench.start("udp", "--json", str(bench.folder / "udp.json"), *words, host="127.0.0.1")
    assert program.wait() == status, program.errors
    return json.loads((bench.folder / "udp.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [["--rate", "2M", "--size", "200"], ["--rate", "400M"], ["--rate", "40M", "--size", "40"]]
)
def test_all_of_them_come(bench: Bench, words: list[str]) -> None:
    receiver = bench.receive("--one-off")
    result = measure(bench, "--time", "0.5", *words)
    assert result["complete"] is True
    # Loopback loses none; a receiver without its processor may, and says so.
    assert result["lost"] == result["sent"] - result["received"] == result["socket_drops"]
    assert (result["duplicates"], result["foreign"], result["late"]) == (0, 0, 0)
    size, rate = result["options"]["size_bytes"], result["options"]["rate_bps"]
    # As many as have their time within the time: the number is exact, however late they leave.
    assert result["sent"] == math.ceil(0.5 * rate / (8 * size))
    assert result["one_way_delay"]["count"] == result["received"]
    assert 0 <= result["one_way_delay"]["min_s"] <= result["one_way_delay"]["p50_s"] <= result["one_way_delay"]["max_s"]
    assert receiver.wait() == 0


@pytest.mark.slow
def test_many_leave_in_one_call_where_one_by_one_would_be_too_many(bench: Bench) -> None:
    bench.receive()
    assert measure(bench, "--time", "0.1", "--rate", "1M")["datagrams_per_call"] == 1
    # 1400 B at 1 Gbit/s: one each 11.2 us, eight within a batch's 100 us.
    assert measure(bench, "--time", "0.1", "--rate", "1G")["datagrams_per_call"] == 8


@pytest.mark.slow
def test_it_sends_and_rests_in_turns_and_the_receiver_keeps_the_bytes(bench: Bench) -> None:
    """Twelve of 500 B and a thirteenth at 96 ms in each 100 ms of 1 Mbit/s, then 100 ms without."""
    rows = bench.folder / "came.csv"
    receiver = bench.receive("--one-off", "--samples", str(rows), "--interval", "50ms")
    result = measure(bench, "--time", "0.5", "--rate", "1M", "--size", "500", "--active", "100ms", "--idle", "100ms")
    assert receiver.wait() == 0
    assert (result["sent"], result["received"]) == (75, 75)
    assert 0.5 <= result["duration_s"] < 0.6  # it ends later by what else this machine does, never earlier
    series = [[int(each) for each in line.split(",")] for line in rows.read_text().splitlines()[1:]]
    counts = [count for _, _, count in series]
    assert counts == sorted(counts) and counts[-1] == 75 * 500
    # In a rest nothing comes: for 100 ms of every 200 the bytes stay as they are.
    assert len({count for count in counts if count % 12_500 == 0}) == 4
    assert 0 <= result["jitter_mean_s"] < 0.01


def test_a_rest_needs_a_time_of_sending(bench: Bench) -> None:
    program = Program([str(bench.binary), "udp", "a", "--idle", "1s"], bench.folder, "usage")
    assert program.wait() == 2
    assert "--active and --idle go together" in program.errors


@pytest.mark.slow
def test_with_a_key(bench: Bench) -> None:
    key = str(make_key(bench))
    bench.receive("--key", key)
    assert measure(bench, "--key", key, "--time", "0.2")["complete"] is True
    assert "the receiver wants a key" in measure(bench, "--time", "0.2", status=1)["error"]


def test_limits_of_the_receiver(bench: Bench) -> None:
    bench.receive("--max-time", "1", "--max-rate", "5M")
    assert "ask for --time 1.000" in measure(bench, "--time", "2", "--rate", "1M", status=1)["error"]
    assert "allows 5000000 bit/s, not 10000000" in measure(bench, "--time", "1", status=1)["error"]


def test_a_receiver_that_dies(bench: Bench) -> None:
    receiver = bench.receive()
    client = bench.start("udp", "--time", "60", "--json", str(bench.folder / "udp.json"), host="127.0.0.1")
    wait_until(lambda: children(receiver) or None, 20, client.process)
    receiver.process.kill()
    assert client.wait(20) == 1
    result = json.loads((bench.folder / "udp.json").read_text())
    assert (result["complete"], result["received"], result["lost"]) == (False, None, None)


def datagram(secret: bytes, number: int, size: int = 40) -> bytes:
    """One, as probe/datagram.h describes it."""
    head = MAGIC + struct.pack(">QQ", number, 10**18)
    return (head + hashlib.blake2b(head, digest_size=16, key=secret).digest()).ljust(size, b"\0")


def request(**changes: Any) -> dict[str, Any]:
    """A client's words."""
    words: dict[str, Any] = {"type": "request", "kind": "datagrams", "streams": 1, "window_bytes": 0, "bytes": 0}
    words |= {"duration_ns": 10**9, "receive": "discard"}
    return words | {"probe": {"request_bytes": 40, "rate_bps": 1000, "clock": "of somebody else"}} | changes


@pytest.mark.slow
def test_what_comes_twice_late_or_from_somebody_else(bench: Bench) -> None:
    bench.receive()
    with asked(bench.port, request()) as control:
        grant = take(control)
        secret, place = bytes.fromhex(grant["token"]), ("127.0.0.1", grant.get("data_port", bench.port))
        control.sendall(frame({"type": "go"}))
        with (
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as theirs,
        ):
            theirs.bind(("127.0.0.3", 0))
            for number in (0, 1, 3, 2, 2, 5):
                ours.sendto(datagram(secret, number), place)
            ours.sendto(datagram(bytes(32), 6), place)  # without the secret
            ours.sendto(b"hello", place)
            ours.sendto(b"", place)
            theirs.sendto(datagram(secret, 7), place)  # from another address
        control.sendall(frame({"type": "account", "sent": 6}))
        counted = take(control)["counted"]
    assert {name: counted[name] for name in ("received", "duplicates", "reordered", "late", "foreign")} == {
        "received": 5, "duplicates": 1, "reordered": 1, "late": 0, "foreign": 4,
    }  # fmt: skip
    assert counted["one_way_delay"] is None
    assert "do not share a clock" in counted["one_way_delay_reason"]


@pytest.mark.slow
def test_a_server_that_was_busy_hears_the_beginning_and_the_end_together(bench: Bench) -> None:
    bench.receive("--stall", "600s")
    with asked(bench.port, request()) as control:
        assert take(control)["type"] == "grant"
        control.sendall(frame({"type": "go"}) + frame({"type": "account", "sent": 3}))
        assert take(control)["counted"]["received"] == 0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"duration_ns": 0, "bytes": 1}, "have a time"),
        ({"probe": {"request_bytes": 39, "rate_bps": 1000}}, "datagrams 40 to 65000"),
        ({"probe": {"request_bytes": 65001, "rate_bps": 1000}}, "datagrams 40 to 65000"),
        ({"probe": {"request_bytes": 40}}, "rate_bps must be"),
    ],
)
def test_wrong_words_of_a_client(bench: Bench, changes: dict[str, Any], said: str) -> None:
    bench.receive()
    with asked(bench.port, request(**changes)) as control:
        answer = take(control)
    assert answer["type"] == "error"
    assert said in answer["text"]


@pytest.mark.slow
def test_a_client_that_falls_silent(bench: Bench) -> None:
    bench.receive("--stall", "0.5s")
    with asked(bench.port, request()) as control:
        assert take(control)["type"] == "grant"
        assert take(control)["text"] == "no datagram came for 0.5 s"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "udp needs the HOST that answers"),
        (["a", "--size", "39"], "--size: '39' is not an amount of bytes from 40 to 65000"),
        (["a", "--rate", "0"], "--rate: '0' is not"),
    ],
)
def test_wrong_usage(bench: Bench, words: list[str], said: str) -> None:
    program = Program([str(bench.binary), "udp", *words], bench.folder, "usage")
    assert program.wait() == 2
    assert said in program.errors


@pytest.mark.guest
def test_losses_and_delay_in_the_guest(tmp_path: Path) -> None:
    """As many are lost as the plan says: within five deviations (binomial); the delay is the path's."""
    loss, delay_s = 0.01, 0.132
    links = [{"one_way_delay": "66 ms"}, {"one_way_delay": "66 ms", "loss": "1 %"}]
    plan = plan_of(tmp_path, scenario(links, line_rate="10 Gbit/s", mtu="9000 B"), seed=7)
    send = [str(ENGINE_BINARY), "udp", "HOST", "--rate", "50M", "--size", "1000", "--json", str(INSIDE / "udp.json")]
    acts = [["receive", "r", [str(ENGINE_BINARY), "receive", "--quiet", "--one-off"]], ["send", "s", send]]
    (tmp_path / "acts.json").write_text(json.dumps([*acts, ["wait", "s"], ["wait", "r"]]))
    words = [sys.executable, str(ACTS), str(INSIDE / "acts.json"), str(INSIDE / "acted.json")]
    done = execute(plan, tmp_path, *words)
    assert done.status == 0, done.err
    result = json.loads((tmp_path / "udp.json").read_text())
    print(json.dumps(result))
    sent = result["sent"]
    assert sent == 62_500
    assert abs(result["lost"] - loss * sent) < 5 * math.sqrt(sent * loss * (1 - loss))
    assert (result["socket_drops"], result["reordered"], result["duplicates"]) == (0, 0, 0)
    # 1042 B frames at 10 Gbit/s add a microsecond for each of the links.
    assert result["one_way_delay"]["min_s"] == pytest.approx(delay_s, rel=1e-4)
    assert result["one_way_delay"]["p99_s"] == pytest.approx(delay_s, rel=1e-4)
    assert result["jitter_s"] < 1e-5
