"""Real transfers over the loopback device: bytes, limits, both receive modes, both address families, the samples."""

import json
import time
from itertools import pairwise

import pytest

from landspeed.scenario.plan.plan import Transfer
from landspeed.worlds.engine.command import engine_commands, seconds_text
from tests.support.engine.fixtures import PACED, Bench
from tests.support.engine.result import read_result
from tests.support.stopwatch import one_of_few, undisturbed

HOSTS = ("127.0.0.1", "::1")
RING_BYTES = 32 << 20  # the payload file: transfers around its size cross its end


def transfer(bench: Bench, *options: str, host: str = "127.0.0.1") -> None:
    """One transfer that both ends call complete."""
    receiver = bench.receive("--one-off")
    sender = bench.send(*options, host=host)
    assert sender.wait() == 0, sender.errors
    assert receiver.wait() == 0, receiver.errors


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("mode", ["discard", "memory"])
@pytest.mark.parametrize("total", [3, RING_BYTES, 100_000_007])
def test_every_byte_arrives_and_is_counted_once(bench: Bench, host: str, mode: str, total: int) -> None:
    transfer(bench, "--bytes", str(total), "--streams", "3", "--receive", mode, host=host)
    result = read_result(bench.folder / "send.json")
    share, rest = divmod(total, 3)
    assert [s.bytes for s in result.streams] == [share + (number < rest) for number in range(3)]
    assert result.bytes == total
    assert result.bytes_source == "receiver"
    assert result.complete
    assert result.error is None
    assert result.receive_mode == mode
    assert bench.result("receive")["bytes"] == total
    last = {row["stream"]: row["bytes"] for row in bench.rows("receive")}
    assert sum(last.values()) == total


@pytest.mark.slow
def test_time_limit_is_exact_at_the_receiver(bench: Bench) -> None:
    def attempt(_: int) -> None:
        transfer(bench, "--time", "0.7", "--streams", "4", "--interval", "50ms")
        result = read_result(bench.folder / "send.json")
        assert result.duration_s == 0.7
        assert result.bytes == sum(s.bytes for s in result.streams) > 0
        assert result.goodput_bps == pytest.approx((result.bytes - result.early_bytes) * 8 / 0.7, rel=1e-6)
        for stream in result.streams:
            assert 0 < stream.duration_s <= 0.7
            assert stream.goodput_bps == pytest.approx(
                (stream.bytes - stream.early_bytes) * 8 / stream.duration_s, rel=1e-6
            )
        shortest_s = min(stream.duration_s for stream in result.streams)
        undisturbed(shortest_s > 0.5, f"a stream's thread began late: {shortest_s:.2f} s")

    one_of_few(attempt)


def test_the_first_limit_to_come_ends_the_transfer(bench: Bench) -> None:
    transfer(bench, "--time", "60", "--bytes", "1M")
    assert bench.result()["bytes"] == 1_000_000
    assert bench.result()["duration_s"] < 60


@pytest.mark.slow
def test_samples_lie_on_the_grid_and_grow(bench: Bench) -> None:
    def attempt(_: int) -> None:
        transfer(bench, "--time", "1", *PACED, "--streams", "2", "--interval", "100ms")
        fewest = 30
        for command in ("send", "receive"):
            rows = [row for row in bench.rows(command) if row["stream"] == 1]
            assert len(rows) <= 30
            fewest = min(fewest, len(rows))
            for before, after in pairwise(rows):
                assert after["time_ns"] > before["time_ns"]
                assert after["bytes"] >= before["bytes"]
        sender = [row for row in bench.rows("send") if row["stream"] == 0]
        assert sender[-1]["time_ns"] >= 10**9  # at the end, never before it
        assert sender[-1]["cwnd_packets"] > 0
        assert sender[-1]["mss_bytes"] > 500
        assert sender[-1]["snd_wnd_bytes"] > 0
        undisturbed(fewest >= 9, f"{fewest} samples in a second")
        undisturbed(sender[-1]["time_ns"] < 1.2e9, f"the last one at {sender[-1]['time_ns'] / 1e9:.2f} s")

    one_of_few(attempt)


@pytest.mark.slow
def test_live_lines_are_json_of_each_second(bench: Bench) -> None:
    live = bench.folder / "live.jsonl"

    def attempt(_: int) -> None:
        before_ns = time.monotonic_ns()
        transfer(bench, "--time", "2", *PACED, "--live", str(live))
        after_ns = time.monotonic_ns()
        start, *lines = [json.loads(line) for line in live.read_text().splitlines()]
        assert (start["time_s"], start["bytes"]) == (0, 0)
        assert before_ns < start["start_monotonic_ns"] <= after_ns - 2 * 10**9
        times = [line["time_s"] for line in lines]
        assert times[0] >= 1
        assert times[-1] >= 2
        undisturbed(len(times) == 2 and times[0] < 1.2 and times[1] < 2.2, f"lines at {times}")
        assert lines[0].keys() == {"time_s", "bytes", "goodput_bps", "retransmits", "streams_open", "streams"}
        assert [stream["bytes"] for stream in lines[0]["streams"]] == [lines[0]["bytes"]]
        assert lines[0]["streams"][0]["busy_us"] > 0
        assert lines[1]["bytes"] > lines[0]["bytes"] > 0
        assert lines[0]["streams_open"] == 1

    one_of_few(attempt)


@pytest.mark.slow
def test_json_and_progress_on_standard_output(bench: Bench) -> None:
    receiver = bench.receive("--one-off")
    sender = bench.start("send", "--time", "1.2", *PACED, "--live", "-", "--json", "-", host="127.0.0.1")
    assert sender.wait() == 0, sender.errors
    assert receiver.wait() == 0
    *lines, result = [json.loads(line) for line in sender.output.splitlines()]
    assert lines[0]["streams_open"] == 1
    assert result["complete"] is True


def test_the_window_is_read_back(bench: Bench) -> None:
    transfer(bench, "--bytes", "50M", "--window", "1M")
    window = read_result(bench.folder / "send.json").window
    assert window.asked_bytes == 1_000_000
    assert window.receiver_granted_bytes == 1_000_000
    assert window.receiver_rcvbuf_bytes == 2_000_000
    assert window.sender_granted_bytes == 1_000_000
    assert window.advertised_bytes is not None
    assert 500_000 < window.advertised_bytes <= 2_000_000


@pytest.mark.slow
def test_pacing_holds_the_rate(bench: Bench) -> None:
    def attempt(_: int) -> None:
        transfer(bench, "--time", "2", "--pacing", "80M", "--streams", "2", "--interval", "10ms")
        assert bench.rows("send")[-1]["pacing_rate_bps"] <= 80_000_000
        goodput_bps = bench.result()["goodput_bps"]
        assert goodput_bps < 1.1 * 160e6
        undisturbed(goodput_bps > 0.9 * 160e6, f"{goodput_bps / 1e6:.1f} Mbit/s")

    one_of_few(attempt)


@pytest.mark.slow
def test_stagger_delays_the_later_streams(bench: Bench) -> None:
    def attempt(_: int) -> None:
        transfer(bench, "--time", "1", "--stagger", "0.3", "--streams", "3", "--pacing", "100M")
        durations = [stream["duration_s"] for stream in bench.result()["streams"]]
        assert bench.result()["duration_s"] == 1.0
        # The second is the receiver's, from the first byte that it reads: a late one lengthens the others' part of it.
        assert max(durations) <= 1.0, durations
        undisturbed(durations == pytest.approx([1.0, 0.7, 0.4], abs=0.1), f"streams of {durations} s")

    one_of_few(attempt)


def test_congestion_control_is_set_and_reported(bench: Bench) -> None:
    transfer(bench, "--bytes", "1M", "--congestion", "reno")
    assert bench.result()["streams"][0]["congestion_control"] == "reno"


def test_many_streams(bench: Bench) -> None:
    transfer(bench, "--bytes", "64000001", "--streams", "128", "--interval", "20ms")
    assert [s["bytes"] for s in bench.result()["streams"]] == [500001] + [500000] * 127


def test_a_receiver_serves_one_transfer_after_the_other(bench: Bench) -> None:
    receiver = bench.receive()
    for total in (1000, 2_000_000, 30_000_000):
        sender = bench.send("--bytes", str(total), "--window", "500k")
        assert sender.wait() == 0, sender.errors
        assert bench.result()["bytes"] == total
    receiver.process.terminate()
    assert receiver.wait() == 0
    assert bench.result("receive")["bytes"] == 30_000_000


def test_data_port_for_firewalls(bench: Bench) -> None:
    other = Bench(bench.binary, bench.folder)
    receiver = bench.receive("--one-off", "--data-port", str(other.port))
    sender = bench.send("--bytes", "1M")
    assert sender.wait() == 0, sender.errors
    assert receiver.wait() == 0


def test_plan_to_command_line_to_result(bench: Bench) -> None:
    plan = Transfer(
        streams=2,
        window_bytes=2_000_000,
        congestion_control="reno",
        bytes=3_000_001,
        receive="memory",
        sample_interval_ns=10**7,
        pacing_rate_bps=10**9,
        start_stagger_ns=10**7,
    )
    receiving, sending = engine_commands(plan, str(bench.folder), receiver="::1", binary=bench.binary)
    for words in (receiving, sending):
        words[words.index("--port") + 1] = str(bench.port)
    receiver = bench.start("receive", *receiving[2:])
    receiver.wait_for("listening")
    sender = bench.start("send", *sending[3:], host="::1")
    assert sender.wait() == 0, sender.errors
    assert receiver.wait() == 0
    result = read_result(bench.folder / "engine.json")
    assert result.bytes == 3_000_001
    assert result.window.asked_bytes == 2_000_000
    assert {path.name for path in bench.folder.iterdir()} >= {
        "sender.csv",
        "receiver.csv",
        "live.jsonl",
        "receiver.json",
    }


def test_a_plan_without_a_limit_is_refused() -> None:
    plan = Transfer(streams=1, congestion_control="reno", receive="discard", sample_interval_ns=10**8)
    with pytest.raises(ValueError, match="bytes or duration_ns"):
        engine_commands(plan, "/out")


@pytest.mark.parametrize(("ns", "text"), [(10**8, "0.1"), (1037 * 10**9, "1037"), (1, "0.000000001"), (0, "0")])
def test_seconds_text(ns: int, text: str) -> None:
    assert seconds_text(ns) == text
