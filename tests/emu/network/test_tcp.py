"""TCP over the emulated path against theory, and the same run twice."""

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.command import landspeed
from tests.support.emu_fixtures import busy_host, plan_of, scenario, transfer, write_scenario

pytestmark = pytest.mark.guest

MSS = 9000 - 52


def sender_samples(bundle: Path) -> list[dict[str, Any]]:
    """Rows of the first stream's sender, in order."""
    rows = pq.read_table(bundle / "samples.parquet").to_pylist()
    return [row for row in rows if row["end"] == "sender" and row["stream"] == 0]


def two_links(**second: Any) -> list[dict[str, Any]]:
    """100 ms round trip, 10 Gbit/s."""
    link = {"one_way_delay": "25 ms", "line_rate": "10 Gbit/s"}
    return [link, {**link, **second}]


def test_slow_start_doubles_the_window_every_round_trip(tmp_path: Path) -> None:
    """Ten packets, and twice as many in each round trip of 100 ms (RFC 6928, RFC 5681)."""
    asked = {"duration": "2 s", "window": "200 MB", "congestion_control": "reno", "sample_interval": "100 ms"}
    _, bundle = transfer(plan_of(tmp_path, scenario(two_links(), mtu="9000 B", transfer=asked)), tmp_path)
    windows = [row["cwnd_packets"] for row in sender_samples(bundle)][:11]
    assert windows == pytest.approx([10 * 2**n for n in range(11)], rel=0.001)
    sent = [row["bytes"] for row in sender_samples(bundle)][:11]
    assert sent == pytest.approx([(2**n - 1) * 10 * MSS for n in range(11)], rel=0.001, abs=MSS)


@pytest.mark.parametrize("streams", [1, 4])
def test_goodput_of_a_small_window_is_window_over_round_trip(tmp_path: Path, streams: int) -> None:
    """RFC 1323: what the kernel granted, each round trip, to 0.5 %."""
    asked = {"duration": "4 s", "window": "8 MB", "streams": streams, "congestion_control": "reno"}
    record, bundle = transfer(plan_of(tmp_path, scenario(two_links(), mtu="9000 B", transfer=asked)), tmp_path)
    rows = pq.read_table(bundle / "samples.parquet").to_pylist()
    window = max(row["snd_wnd_bytes"] for row in rows if row["end"] == "sender")
    assert window >= 8_000_000
    for stream in range(streams):
        steady = [row for row in rows if row["end"] == "receiver" and row["stream"] == stream and row["time_ns"] > 2e9]
        moved, took_s = steady[-1]["bytes"] - steady[0]["bytes"], (steady[-1]["time_ns"] - steady[0]["time_ns"]) / 1e9
        assert moved / took_s == pytest.approx(window // MSS * MSS / 0.1, rel=0.005)
    assert record.limited_by == "window"
    assert record.retransmits == 0


def test_reno_halves_at_the_full_queue_and_adds_a_packet_each_round_trip(tmp_path: Path) -> None:
    """The sawtooth: it turns at path plus queue, ssthresh is half of that, and grows by one packet a round trip."""
    links = [
        {"one_way_delay": "5 ms", "line_rate": "10 Gbit/s"},
        {"one_way_delay": "5 ms", "line_rate": "1 Gbit/s", "queue": "1 MB"},
    ]
    asked = {"duration": "30 s", "window": "60 MB", "congestion_control": "reno", "sample_interval": "20 ms"}
    _, bundle = transfer(plan_of(tmp_path, scenario(links, mtu="9000 B", transfer=asked)), tmp_path)
    rows = sender_samples(bundle)
    windows = [row["cwnd_packets"] for row in rows]
    turns = [n for n in range(5, len(rows)) if windows[n] < 0.6 * max(windows[n - 5 : n]) and rows[n]["time_ns"] > 3e9]
    turns = [n for n, before in zip(turns, [0, *turns], strict=False) if n > before + 10]
    assert len(turns) >= 3
    full = 1e9 * 0.02 / 8 / 9038 + 1e6 / 9014
    for turn in turns:
        before = max(windows[turn - 5 : turn])
        assert before == pytest.approx(full, rel=0.03)
        assert rows[turn]["ssthresh_packets"] == pytest.approx(before / 2, abs=2)
    climb = rows[turns[0] + 10 : turns[1] - 10]
    mean_rtt_s = sum(row["srtt_us"] for row in climb) / len(climb) / 1e6
    trips = (climb[-1]["time_ns"] - climb[0]["time_ns"]) / 1e9 / mean_rtt_s
    assert climb[-1]["cwnd_packets"] - climb[0]["cwnd_packets"] == pytest.approx(trips, rel=0.03)


def test_a_host_as_fast_as_its_line_builds_no_queue_behind_it(tmp_path: Path) -> None:
    """Framing is counted for each packet, also where the host takes many as one: else 0.2 % too much goes out.

    TCP itself keeps a millisecond of its pacing rate below the socket (tcp_small_queue_check): a level, not a climb.
    """
    asked = {"duration": "8 s", "window": "200 MB", "congestion_control": "reno", "sample_interval": "100 ms"}
    content = scenario(two_links(), nic="10 Gbit/s", mtu="9000 B", transfer=asked)
    _, bundle = transfer(plan_of(tmp_path, content), tmp_path)
    steady = [row for row in sender_samples(bundle) if row["time_ns"] > 3e9]
    assert abs(steady[-1]["srtt_us"] - steady[0]["srtt_us"]) < 100  # of 11 000 µs that 0.2 % are in 5 s


def test_bbr_fills_a_gigabit_over_100_ms(tmp_path: Path) -> None:
    """With HZ=100 and without fq, others saw a fifteenth of it."""
    asked = {"duration": "10 s", "congestion_control": "bbr"}
    links = [{"one_way_delay": "25 ms", "queue": "4 BDP"}] * 2
    record, bundle = transfer(plan_of(tmp_path, scenario(links, nic="10 Gbit/s", transfer=asked)), tmp_path)
    assert record.retransmits == 0
    rows = [row for row in pq.read_table(bundle / "samples.parquet").to_pylist() if row["end"] == "receiver"]
    late = [row for row in rows if row["time_ns"] > 2e9]
    goodput = (late[-1]["bytes"] - late[0]["bytes"]) * 8e9 / (late[-1]["time_ns"] - late[0]["time_ns"])
    assert goodput > 0.9 * 1e9 * 1448 / 1538


@pytest.mark.parametrize("fidelity", ["packets", "super-packets"])
def test_a_bus_shapes_and_drops_nothing(tmp_path: Path, fidelity: str) -> None:
    """A machine's own limit: goodput is bus × MSS / MTU, no packet is lost, fq stays on the sender, and all is told."""
    asked = {"duration": "4 s", "window": "100 MB", "congestion_control": "reno"}
    content = scenario(two_links(), mtu="9000 B", nic="10 Gbit/s", bus="2 Gbit/s", transfer=asked, fidelity=fidelity)
    record, bundle = transfer(plan_of(tmp_path, content), tmp_path)
    rows = [row for row in pq.read_table(bundle / "samples.parquet").to_pylist() if row["end"] == "receiver"]
    late = [row for row in rows if row["time_ns"] > 2e9]
    goodput = (late[-1]["bytes"] - late[0]["bytes"]) * 8e9 / (late[-1]["time_ns"] - late[0]["time_ns"])
    assert goodput == pytest.approx(2e9 * MSS / 9000, rel=0.002)
    assert record.retransmits == 0
    assert record.limited_by == "bus"
    assert sum(row["drops"] for row in pq.read_table(bundle / "links.parquet").to_pylist()) == 0
    shown = json.loads((bundle / "result.json").read_text())
    alpha = shown["world_facts"]["guest"]["qdiscs"]["alpha"]
    assert re.search(r"qdisc fq \S+ dev eth1 parent", alpha)
    assert "netem" not in alpha
    assert set(re.findall(r"dropped (\d+)", alpha)) == {"0"}
    assert shown["fidelity"] == fidelity
    merged = fidelity == "super-packets"
    segment = {"tso": merged, "gso": merged}
    # Where packets are single, what a receiver's card hands on at once is joined all the same.
    expected = {"alpha:eth1": segment | {"gro": merged}, "omega:eth0": segment | {"gro": True}}
    assert shown["world_facts"]["guest"]["offloads"] == expected


# --- The same run twice ----------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bytes_also_under_load(tmp_path: Path) -> None:
    """Four CUBIC streams with losses, corruption and jitter: samples and links to the byte; another seed differs."""
    links = [
        {"one_way_delay": "5 ms", "line_rate": "10 Gbit/s"},
        {"one_way_delay": "20 ms", "loss": "0.01 %", "corrupt": "0.005 %", "queue": "0.3 BDP"},
        {"one_way_delay": "5 ms", "jitter": "20 us"},
    ]
    asked = {"duration": "3 s", "streams": 4, "window": "16 MB"}
    file = write_scenario(tmp_path, scenario(links, mtu="9000 B", transfer=asked))

    def samples(name: str, seed: int) -> tuple[bytes, bytes, int]:
        done = landspeed("run", file, "--json", "--quiet", "--seed", seed, "--out", tmp_path / name)
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout)
        bundle = Path(result["bundle"])
        return (bundle / "samples.parquet").read_bytes(), (bundle / "links.parquet").read_bytes(), result["retransmits"]

    idle = samples("a", 3)
    with busy_host():
        loaded = samples("a-longer-name", 3)
    other = samples("c", 4)
    assert idle[2] > 0, "there were losses to repeat"
    assert idle == loaded
    assert all(one != two for one, two in zip(idle[:2], other[:2], strict=True))


def test_reading_twice_is_not_the_same_as_running_twice(tmp_path: Path) -> None:
    """The comparison above would be worthless if all samples were alike."""
    links = [{"one_way_delay": "5 ms"}, {"one_way_delay": "5 ms", "loss": "0.5 %"}]
    plan = plan_of(tmp_path, scenario(links, transfer={"duration": "1 s"}))
    _, bundle = transfer(plan, tmp_path)
    rows = sender_samples(bundle)
    assert len({tuple(row.values()) for row in rows}) == len(rows)
    assert all(one["time_ns"] < two["time_ns"] for one, two in itertools.pairwise(rows))
