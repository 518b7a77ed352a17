"""Every program's file: found out by itself, read with the right values, and refused with place and remedy."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landspeed.base.errors import ScenarioError
from landspeed.scenario.importers.import_files import import_files
from landspeed.scenario.importers.path_evidence import MeasuredTransfer, MeasurementError, PathEvidence
from landspeed.scenario.importers.registry import all_readers, reader_of
from tests.support.command import landspeed_here
from tests.support.fuzzing import damaged_bytes, examples
from tests.support.importer_inputs import importer_inputs

HERE = importer_inputs()

KINDS = {
    "iperf2": ("iperf2.txt", "iperf2-old-parallel.txt", "iperf2-udp.txt", "iperf2.csv"),
    "nuttcp": ("nuttcp.txt", "nuttcp-udp.txt", "nuttcp-parse.txt"),
    "netperf": ("netperf.txt", "netperf-udp.txt", "netperf-rr.txt", "netperf-omni.txt"),
    "tc": ("tc-tbf.txt", "tc-netem.txt", "tc.json"),
    "host": ("sysctl.txt",),
    "ripe_atlas": ("atlas.json",),
    "scamper": ("scamper.json",),
    "ndt7": ("ndt7.jsonl", "ndt7-archived.json"),
    "speedtest": ("speedtest.json", "speedtest-cli.json"),
    "flent": ("tcp_nup.flent.gz", "rrul.flent.gz"),
    "mtr": ("mtr.json", "mtr.csv"),
    "tracepath": ("tracepath.txt",),
    "ping": ("ping.txt", "ping-mac.txt", "ping-german.txt", "ping-cisco.txt", "ping-routeros.txt", "ping6.txt"),
    "traceroute": ("mtr.txt", "cisco-traceroute.txt", "german-cp850-tracert.txt", "six-traceroute.txt"),
    "iperf3": ("queue-iperf3.json", "udp-iperf3.json"),
    "ss": ("queue-ss.txt", "three-peers-ss.txt"),
    "pscheduler": ("pscheduler-throughput.json", "pscheduler-trace.json"),
    "perfsonar_archive": ("archive.json",),
}
FILES = [(kind, name) for kind, names in KINDS.items() for name in names]


def read(name: str) -> PathEvidence:
    return reader_of(HERE / name).read(HERE / name)


def transfer(name: str) -> MeasuredTransfer:
    (found,) = read(name).transfers
    return found


def test_every_reader_has_an_input_here() -> None:
    assert set(all_readers()) == {*KINDS, "capture"}  # test_import_captures.py makes these


@pytest.mark.parametrize(("kind", "name"), FILES)
def test_a_file_is_found_out(kind: str, name: str) -> None:
    assert reader_of(HERE / name).kind == kind


@pytest.mark.parametrize("name", sorted(each.name for each in HERE.iterdir()))
def test_no_input_is_of_two_programs(name: str) -> None:
    assert reader_of(HERE / name).kind in KINDS


@pytest.mark.parametrize(
    ("name", "mbps", "seconds", "counts"),
    [
        ("iperf2.txt", 86.0, 5.1022, (1, 12, 5)),
        ("iperf2-old-parallel.txt", 471, 10, (2, None, 0)),
        ("iperf2.csv", 94.37184, 2, (1, None, 2)),
        ("nuttcp.txt", 84.1434, 4.05, (1, 3, 4)),
        ("nuttcp-parse.txt", 905.5953, 10.04, (1, 0, 0)),
        ("netperf.txt", 93.87, 10.05, (1, None, 3)),
        ("netperf-omni.txt", 412.5, 10.02, (1, 37, 0)),
        ("ndt7.jsonl", 37, 2, (1, 5, 8)),
        ("ndt7-archived.json", 37, 2, (1, 5, 8)),
        ("speedtest.json", 93, 10, (4, None, 0)),
        ("speedtest-cli.json", 93, 10, (4, None, 0)),
        ("tcp_nup.flent.gz", 90.24, 10, (2, None, 50)),
    ],
)
def test_transfers_over_tcp(name: str, mbps: float, seconds: float, counts: tuple[int, int | None, int]) -> None:
    """`counts`: streams, packets sent again, intervals."""
    found = transfer(name)
    assert found.goodput_bps == pytest.approx(mbps * 1e6, rel=1e-6)
    assert found.duration_s == pytest.approx(seconds, abs=1e-9)
    assert (found.streams, found.retransmits, len(found.intervals)) == counts
    assert not found.udp


@pytest.mark.parametrize(
    ("name", "mbps", "lost", "packets", "packet_bytes"),
    [
        ("iperf2-udp.txt", 9.48, 8946, 17007, 1470),
        ("nuttcp-udp.txt", 9.957, 9, 2440, 1024),
        ("netperf-udp.txt", 10.71, 9096, 18192, 1472),
    ],
)
def test_transfers_over_udp(name: str, mbps: float, lost: int, packets: int, packet_bytes: int) -> None:
    found = transfer(name)
    assert found.udp
    assert found.goodput_bps == pytest.approx(mbps * 1e6)
    assert (found.lost, found.packets, found.packet_bytes) == (lost, packets, packet_bytes)
    assert found.offered_bps == pytest.approx(found.goodput_bps * packets / (packets - lost), rel=1e-3)


def test_what_iperf2_tells_of_its_connection() -> None:
    found, (socket,) = transfer("iperf2.txt"), read("iperf2.txt").sockets
    assert (found.sender, found.receiver, found.sender_ports) == ("198.51.100.10", "192.0.2.80", (41878,))
    assert (found.mss_bytes, found.asked_window_bytes) == (1448, 2 * 2**20)
    assert socket.min_rtt_s == pytest.approx(0.04008)
    assert (found.intervals[1].rtt_s, found.intervals[1].cwnd_bytes) == (pytest.approx(0.095233), 1204 * 1024)


def test_what_the_kernel_tells_in_ndt7() -> None:
    found, (socket,) = transfer("ndt7.jsonl"), read("ndt7.jsonl").sockets
    assert (found.sender, found.receiver) == ("192.0.2.80", "198.51.100.10")
    assert (found.congestion_control, found.mtu_bytes) == ("bbr", 1500)
    assert transfer("ndt7-archived.json").congestion_control is None  # no BBRInfo in it
    assert socket.min_rtt_s == pytest.approx(0.02)
    assert (found.intervals[2].rate_bps, found.intervals[2].rtt_s) == (pytest.approx(40e6), pytest.approx(0.023))


@pytest.mark.parametrize(
    ("name", "hops", "mtu"),
    [
        ("atlas.json", [("198.51.100.1", 0.325), ("", None), ("203.0.113.5", 10.913), ("192.0.2.80", 34.9)], None),
        ("scamper.json", [("198.51.100.1", 0.412), ("", None), ("203.0.113.5", 20.1), ("192.0.2.80", 41.75)], None),
        ("mtr.json", [("198.51.100.1", 0.3), ("", None), ("192.0.2.80", 25.1)], None),
        ("mtr.csv", [("198.51.100.1", 0.31), ("", None), ("192.0.2.80", 25.11)], None),
        ("tracepath.txt", [("gw.example.org", 0.398), ("", None), ("203.0.113.5", 10.105), ("host.example.net", 25.31)],
         1492),
    ],
)  # fmt: skip
def test_traceroutes(name: str, hops: list[tuple[str, float | None]], mtu: int | None) -> None:
    (trace,) = read(name).traces
    assert [(hop.label, min(hop.rtts_ms, default=None)) for hop in trace.hops] == hops
    assert (trace.reached, trace.address, trace.mtu_bytes) == (True, "192.0.2.80", mtu)


@pytest.mark.parametrize(
    ("name", "least_ms", "sent", "lost", "address"),
    [
        ("ping.txt", 40.123, 4, 1, "192.0.2.80"),
        ("ping-mac.txt", 40.123, 2, 0, "192.0.2.80"),
        ("ping-german.txt", 40, 2, 0, "192.0.2.80"),
        ("ping-cisco.txt", 40, 5, 1, ""),
        ("ping-routeros.txt", 11.98, 4, 1, ""),
        ("ping6.txt", 40.4, 1, 0, "2001:db8::80"),
        ("netperf-rr.txt", 40, 1, 0, "192.0.2.80"),
        ("atlas.json", 34.7, 3, 0, "192.0.2.80"),
        ("rrul.flent.gz", 30, 60, 0, ""),
        ("speedtest.json", 8.8, 1, 0, "192.0.2.80"),
    ],
)
def test_probes(name: str, least_ms: float, sent: int, lost: int, address: str) -> None:
    (probes,) = read(name).probes
    assert probes.min_s == pytest.approx(least_ms / 1e3)
    assert (probes.sent, probes.lost, probes.address) == (sent, lost, address)


def test_settings() -> None:
    (bucket,) = read("tc-tbf.txt").disciplines
    assert (bucket.kind, bucket.place, bucket.rate_bps, bucket.dropped) == ("tbf", "eth1", 100e6, 420)
    assert bucket.limit_bytes == 50e-3 * 100e6 / 8 + 32 * 1024
    *_, leaf = read("tc-netem.txt").disciplines
    assert (leaf.kind, leaf.limit_packets, leaf.loss) == ("netem", 1000, 0.001)
    told = {each.kind: each for each in read("tc.json").disciplines}  # -j
    assert (told["tbf"].rate_bps, told["tbf"].limit_bytes, told["tbf"].dropped) == (100e6, 625_000 + 32_768, 420)
    netem = told["netem"]
    assert (netem.place, netem.rate_bps, netem.limit_packets, netem.loss) == ("eth2", 10e6, 1000, 0.001)
    (host,) = read("sysctl.txt").hosts
    assert (host.congestion_control, host.nic_bps, host.mtu_bytes) == ("bbr", 10e9, 9000)
    assert (host.send_buffer_bytes, host.receive_buffer_bytes) == (33_554_432, 67_108_864)


def imported(*names: str) -> str:
    return import_files({}, found=[HERE / name for name in names]).text


def test_a_queue_in_iperf2_s_round_trips_is_a_line_s_rate() -> None:
    text = imported("iperf2.txt")
    assert "Bound by: line rate (certain)." in text
    assert "line_rate: 99948.8 kbit/s" in text  # 94.1 Mbit/s × 1538/1448 of framing and headers
    assert "queue: 723.4 kB" in text  # (98.1 − 40.19) ms at that rate
    assert "rtt: 40.0643 ms  # iperf2.txt: its connect" in text
    assert "a queue that others' traffic filled" in text


def test_flent_s_ping_shows_the_queue_of_its_streams() -> None:
    text = imported("tcp_nup.flent.gz")
    assert "Bound by: line rate (" in text
    assert "rtt: 29.9804 ms  # tcp_nup.flent.gz: Flent's Ping (ms) ICMP, least of 60" in text
    assert "line_rate: 99842.5 kbit/s" in text  # 94 Mbit/s × 1538/1448
    assert "queue: 373 kB" in text  # (60 − 30.11) ms at that rate


def test_without_round_trips_nobody_says_that_there_was_no_queue() -> None:
    text = imported("netperf-omni.txt", "ping-mac.txt")
    assert "Bound by: loss (one of two)." in text
    assert "no file tells whether a queue stood" in text
    assert "Second reading: overflows of a queue at the bottleneck." in text
    assert "and no queue stood" not in text


def test_a_shaper_s_rate_and_queue_are_the_path_s() -> None:
    text = imported("ping-mac.txt", "tc-tbf.txt")
    assert "line_rate: 101.585 Mbit/s  # tc-tbf.txt: tbf at eth1, 100.00 Mbit/s as configured" in text
    assert "queue: 657.8 kB  # tc-tbf.txt: tbf at eth1, its limit as configured" in text
    assert "dropped 420 of 302120 packets" in text


def test_what_files_contradict_each_other_in_is_said() -> None:
    assert "Contradiction. tc-tbf.txt: tbf at eth1" in imported("nuttcp-parse.txt", "tc-tbf.txt")
    text = imported("tracepath.txt", "sysctl.txt")
    assert "Contradiction. MTU: tracepath.txt says 1492 B, sysctl.txt says 9000 B; the least is taken." in text
    assert "\nmtu: 1492 B  # tracepath.txt" in text
    text = imported("nuttcp-parse.txt", "netperf-omni.txt")
    assert "Contradiction. goodput: nuttcp-parse.txt says 905.60 Mbit/s, netperf-omni.txt says 412.50 Mbit/s" in text
    assert "Contradiction. receiver" in imported("ping6.txt", "iperf2.txt")
    assert "Contradiction" not in imported("iperf2.txt", "ping-mac.txt", "mtr.txt")


def test_the_traceroute_back_is_the_one_to_the_sender(tmp_path: Path) -> None:
    (tmp_path / "back.txt").write_text(
        "traceroute to 198.51.100.10 (198.51.100.10), 30 hops max\n 1  192.0.2.1  0.5 ms\n 2  203.0.113.5  20 ms\n"
        " 3  198.51.100.1  40 ms\n 4  198.51.100.10  41 ms\n"
    )
    back = import_files({}, found=[tmp_path / "back.txt", HERE / "iperf2.txt", HERE / "scamper.json"])
    forth = import_files({}, found=[HERE / "iperf2.txt", HERE / "scamper.json", tmp_path / "back.txt"])
    assert back.loaded.scenario == forth.loaded.scenario
    assert "reverse_traceroute" in back.text


def test_what_no_file_gives_is_assumed() -> None:
    text = imported("ping-cisco.txt")
    for key in ("ip: 4", "mtu: 1500 B", "line_rate: 1 Gbit/s", "streams: 1", "duration: 30 s"):
        (line,) = (each for each in text.splitlines() if each.strip().startswith(key))
        assert "assumed" in line, line
    assert "loss:" not in text.partition("path:")[2].partition("transfer:")[0]  # of 5 probes, none is made
    for topic in ("Loss.", "Hops.", "Transfer.", "Bottleneck.", "Queue.", "Congestion control."):
        (line,) = (each for each in text.splitlines() if each.startswith(f'  - "{topic}'))
        assert "assumed" in line, line


def test_the_library_and_the_door_tell_what_each_file_is() -> None:
    made = import_files({}, found=[HERE / "ping.txt", HERE / "tc-tbf.txt"])
    assert [what for _, what in made.files] == ["what ping prints", "what `tc -s qdisc` prints"]
    values = {key: (value, source) for key, value, source in made.values()}
    assert values["rtt"][1].startswith("ping.txt: ping, least of 4; ± ")
    assert values["queue"] == ("657.8 kB", "tc-tbf.txt: tbf at eth1, its limit as configured")


def test_a_stranger_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("hello\n")
    with pytest.raises(MeasurementError, match="give one of: "):
        reader_of(tmp_path / "x.txt")


ATLAS = (HERE / "atlas.json").read_text()
SCAMPER = (HERE / "scamper.json").read_text()
UDP = (HERE / "iperf2-udp.txt").read_text()


REFUSED = {
    "both ways at once": "Server listening on TCP port 5001\n" + (HERE / "iperf2.txt").read_text(),
    "without the server's report": UDP.partition("[  3] Server Report")[0],
    "none of its 17007 packets arrived": UDP.replace("8946/17007", "17007/17007"),
    "no line over the whole 2 s": "\n".join((HERE / "iperf2.txt").read_text().splitlines()[:10]),
    "no result of nuttcp": "\n".join((HERE / "nuttcp.txt").read_text().splitlines()[:6]),
    "no row of netperf's table": (HERE / "netperf.txt").read_text().partition("131072")[0],
    "results of 2 probes": ATLAS.replace('"prb_id":1001', '"prb_id":1002', 1),
    "cut off": ATLAS[:700],
    "2 targets (192.0.2.80, 192.0.2.81": SCAMPER + SCAMPER.replace("192.0.2.80", "192.0.2.81"),
    "is no rate of a line": (HERE / "tc-tbf.txt").read_text().replace("100Mbit", "100000000Mbit"),
    "devices of 2 speeds": (HERE / "sysctl.txt").read_text() + "\tSpeed: 1000Mb/s\n",
    "a path MTU of 12 B": (HERE / "tracepath.txt").read_text().replace("1492", "12"),
    "no answer to a ping": "PING 192.0.2.80 (192.0.2.80) 56(84) bytes of data.\n\n2 packets transmitted, 0 received",
    "no download with TCPInfo": '{"Key": "measurement", "Value": {"AppInfo": {"ElapsedTime": 1}, "Test": "download"}}',
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_tells_no_path_is_refused_with_its_remedy(said: str, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text(REFUSED[said])
    with pytest.raises(MeasurementError) as error:
        import_files({}, found=[tmp_path / "bad.txt"])
    assert said in str(error.value)
    assert "bad.txt" in str(error.value)
    assert "give" in str(error.value) or "import a run" in str(error.value)


@pytest.mark.slow
def test_the_door_of_the_command_line(tmp_path: Path) -> None:
    done = landspeed_here("import", HERE / "ping-mac.txt", HERE / "tc-tbf.txt", "--out", tmp_path / "a.yaml")
    assert done.returncode == 0
    told = done.stdout.splitlines()
    assert told[0] == f"{HERE / 'ping-mac.txt'}: what ping prints"
    assert "  queue: 657.8 kB (tc-tbf.txt: tbf at eth1, its limit as configured)" in told
    assert landspeed_here("import", "--as", "ping", HERE / "ping-mac.txt").stdout == imported("ping-mac.txt")
    (tmp_path / "x.txt").write_text("hello\n")
    for words in ([tmp_path / "x.txt"], ["--as", "pong", HERE / "ping.txt"], [tmp_path / "none"], [tmp_path]):
        done = landspeed_here("import", *words)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert "give" in done.stderr or "right is one of" in done.stderr


@examples(40)
@given(st.data(), st.sampled_from([pair for pair in FILES if pair[0] not in ("iperf3", "ss", "pscheduler")]))
def test_whatever_stands_in_it_there_is_an_error_with_its_file(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, pair: tuple[str, str]
) -> None:
    kind, name = pair
    file = tmp_path_factory.getbasetemp() / "fuzzed.dat"
    content = (HERE / name).read_bytes()
    inside = content.startswith(b"\x1f\x8b") and data.draw(st.booleans())
    if inside:
        file.write_bytes(gzip.compress(data.draw(damaged_bytes(gzip.decompress(content)))))
    else:
        file.write_bytes(data.draw(damaged_bytes(content)))
    ways: list[dict[str, list[Path]]] = [{kind: [file]}, {}]
    for given_ in ways:
        try:
            import_files(given_, found=[] if given_ else [file])
        except MeasurementError as error:
            told = str(error)
            assert ("fuzzed.dat" in told and ("give" in told or "import" in told or "say" in told)) or (
                "no round-trip time" in told
            )
        except ScenarioError as error:  # more hops than there can be
            assert all(problem.place and problem.right for problem in error.problems)
