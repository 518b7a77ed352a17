"""Flow completion times: in the simulated world by arithmetic, in the emulated one by what the hosts captured."""

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from landspeed.report.summary import summary_lines
from landspeed.results.record import RunRecord
from landspeed.runs.run import Run
from tests.support.command import landspeed
from tests.support.emu_fixtures import plan_of, scenario, transfer, write_scenario

ONE_WAY_S, LINKS, SEGMENT_BYTES, SERIALIZED_S = 0.020, 2, 1448, 1538 * 8 / 1e9
ACK_S = 90 * 8 / 1e9
SYN, SECOND_NS = 0x02, 1_000_000_000


def short(size: str, **more: Any) -> dict[str, Any]:
    """20 ms each way over two lines of 1 Gbit/s."""
    return scenario([{"one_way_delay": "10 ms"}] * LINKS, nic="1 Gbit/s", transfer={"bytes": size} | more)


def simulated(folder: Path, size: str) -> Run:
    file = write_scenario(folder, short(size, congestion_control="reno"))
    done = landspeed("run", file, "--world", "sim", "--json", "--quiet", "--out", folder / "runs")
    return Run.load(json.loads(done.stdout)["bundle"])


@pytest.mark.parametrize(("segments", "rounds"), [(1, 0), (10, 0), (25, 1), (55, 2)])
def test_the_simulated_one_is_handshake_and_rounds_of_slow_start(tmp_path: Path, segments: int, rounds: int) -> None:
    """An initial window of 10 packets (RFC 6928) doubles each round trip; then one way, and the last round's line."""
    run = simulated(tmp_path, f"{segments * SEGMENT_BYTES} B")
    last_round = segments - 10 * (2**rounds - 1)
    exact_s = (2 * rounds + 1) * ONE_WAY_S + (last_round + LINKS - 1) * SERIALIZED_S + 2 * rounds * SERIALIZED_S
    assert run.completion_from_start_s == pytest.approx(exact_s, abs=3 * SERIALIZED_S)
    assert run.completion_s is not None and run.completion_from_start_s is not None
    # SYN, its acknowledgment, and the acknowledgment of that: three ways until both ends are connected.
    opening_s = run.completion_s - run.completion_from_start_s
    assert opening_s == pytest.approx(3 * (ONE_WAY_S + LINKS * ACK_S), abs=2e-6)


@pytest.mark.guest
def test_the_emulated_one_is_what_the_hosts_captured(tmp_path: Path) -> None:
    """From the SYN of the connection with the payload, at the sender, until the last payload came to the receiver."""
    record, bundle = transfer(plan_of(tmp_path, short("100 kB")), tmp_path, evidence=True)
    sent, came = (list(packets(bundle / "evidence" / f"capture-{end}.pcap")) for end in ("sender", "receiver"))
    bytes_by_port: dict[int, int] = {}
    for _, port, _, size in came:
        bytes_by_port[port] = bytes_by_port.get(port, 0) + size
    port = max(bytes_by_port, key=lambda each: bytes_by_port[each])
    syn_ns = min(at for at, source, flags, _ in sent if source == port and flags & SYN)
    last_ns = max(at for at, source, _, size in came if source == port and size)
    assert record.completion_s == pytest.approx((last_ns - syn_ns) / SECOND_NS, abs=5e-6)
    data_ns = min(at for at, source, _, size in sent if source == port and size >= SEGMENT_BYTES)
    assert record.completion_from_start_s == pytest.approx((last_ns - data_ns) / SECOND_NS, abs=50e-6)
    assert any(
        line.startswith("Completed after: ") and " from the first SYN, " in line for line in summary_lines(record)
    )


@pytest.mark.guest
@pytest.mark.parametrize("size", ["100 B", "14480 B"])
def test_a_transfer_of_one_flight_has_no_rate_and_says_why(tmp_path: Path, size: str) -> None:
    """Neither 3125 Mbit/s nor 104 on a line of 100 Mbit/s; its completion time is what it is."""
    content = short(size) | {"line_rate": "100 Mbit/s"}
    emulated, _ = transfer(plan_of(tmp_path, content), tmp_path)
    file = write_scenario(tmp_path, content)
    done = landspeed("run", file, "--world", "sim", "--json", "--quiet", "--out", tmp_path / "runs")
    for record in (emulated, Run.load(json.loads(done.stdout)["bundle"]).record):
        assert record.goodput_bps is None
        assert (record.tool_result.goodput_reason or "").startswith("too short for a rate")
        assert record.completion_from_start_s == pytest.approx(ONE_WAY_S, abs=0.0025)


@pytest.mark.guest
def test_a_transfer_by_time_has_none(tmp_path: Path) -> None:
    record, _ = transfer(plan_of(tmp_path, scenario([{"one_way_delay": "1 ms"}])), tmp_path)
    assert record.completion_s is None and record.completion_from_start_s is None
    assert not any(line.startswith("Completed") for line in summary_lines(RunRecord.model_validate(record)))


def packets(capture: Path) -> Iterator[tuple[int, int, int, int]]:
    """Time in ns, source port, flags and payload bytes of each TCP packet over IPv4 (pcap-savefile(5))."""
    content = capture.read_bytes()
    scale = 1 if struct.unpack_from("<I", content)[0] == 0xA1B23C4D else 1000
    at = 24
    while at < len(content):
        seconds, part, kept, _ = struct.unpack_from("<IIII", content, at)
        frame = content[at + 16 : at + 16 + kept]
        at += 16 + kept
        ip = frame[14:]
        if frame[12:14] != b"\x08\x00" or ip[9] != 6:
            continue
        tcp = ip[(ip[0] & 15) * 4 :]
        size = struct.unpack_from(">H", ip, 2)[0] - (ip[0] & 15) * 4 - (tcp[12] >> 4) * 4
        yield seconds * SECOND_NS + part * scale, struct.unpack_from(">H", tcp)[0], tcp[13], size
