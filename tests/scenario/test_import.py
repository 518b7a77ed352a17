"""Imports: outputs of iperf3, traceroute and ss from the guest, pScheduler's formats, and files that are no result."""

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import landspeed as ls
from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.importers.fit_traceroute import fit_scenario
from landspeed.scenario.importers.import_files import import_files
from landspeed.scenario.importers.infer import infer, settled
from landspeed.scenario.importers.path_evidence import MeasuredTransfer, MeasurementError, PathEvidence, Traceroute
from landspeed.scenario.importers.readers.iperf3 import read_iperf3
from landspeed.scenario.importers.readers.perfsonar_archive import read_archive
from landspeed.scenario.importers.readers.pscheduler import read_pscheduler
from landspeed.scenario.importers.readers.ss import read_ss
from landspeed.scenario.importers.readers.traceroute import read_traceroute
from landspeed.scenario.importers.reading import seconds_of
from tests.support.command import landspeed, landspeed_here
from tests.support.importer_inputs import importer_inputs

HERE = importer_inputs()
RTT_MS = 50.006  # of first.yaml, a ping's serialization counted
LINE_BPS = 1e9


def imported(name: str, *more: str) -> Any:
    """The scenario of a run in the guest, from iperf3's file and those named."""
    files: dict[str, list[Path]] = {"iperf3": [HERE / f"{name}-iperf3.json"]}
    if "ss" in more:
        files["ss"] = [HERE / f"{name}-ss.txt"]
    if "traceroute" in more:
        files["traceroute"] = [HERE / f"{name}-traceroute.txt", HERE / f"{name}-traceroute-back.txt"]
    return import_files(files, "imported")


def bottleneck(made: Any) -> Any:
    """The link whose rate the import gave."""
    (link,) = [link for link in made.loaded.scenario.path if link.line_rate is not None]
    return link


def total_ms(made: Any) -> float:
    return sum(link.rtt for link in made.loaded.scenario.path) / 1e6


# --- what the guest's programs told of a path that is known -----------------------------------------------------------


def test_a_queue_shows_the_line_s_rate_and_the_traceroutes_its_hops() -> None:
    made = imported("queue", "ss", "traceroute")
    scenario = made.loaded.scenario
    assert total_ms(made) == pytest.approx(RTT_MS, rel=0.001)
    hops_ms = [link.rtt / 1e6 for link in scenario.path]
    assert hops_ms == pytest.approx([8, 12, 16, 14], abs=0.05)  # as first.yaml has them
    narrow = bottleneck(made)
    assert narrow.line_rate == pytest.approx(LINE_BPS, rel=0.005)
    assert scenario.mtu == 9000
    assert narrow.queue.bytes == pytest.approx(6.25e6, rel=0.25)  # 1 BDP; at least what was seen of it
    assert scenario.transfer.streams == 1
    assert scenario.transfer.congestion_control == "cubic"
    assert scenario.expect.measured
    assert scenario.expect.retransmits > 0
    assert "Bound by: line rate" in made.text
    for line in made.text.splitlines():
        if any(key in line for key in ("line_rate:", "queue:", "goodput:")):
            assert "#" in line, line  # its source


def test_a_window_is_found_and_the_line_is_only_assumed() -> None:
    made = imported("window", "ss")
    scenario = made.loaded.scenario
    # iperf3 asks for 1 MiB, Linux doubles it, and takes each packet's overhead from that.
    assert "Bound by: window" in made.text
    assert 2**20 <= scenario.transfer.window <= 2 * 2**20
    assert scenario.transfer.window_exact
    goodput_bps = scenario.transfer.window * 8 / (total_ms(made) / 1e3)
    assert scenario.expect.goodput == pytest.approx(goodput_bps, rel=0.06)
    assert "assumed" in next(line for line in made.text.splitlines() if "    line_rate" in line)
    assert total_ms(made) == pytest.approx(50, rel=0.005)


def test_losses_without_a_queue_are_chance() -> None:
    made = imported("loss", "ss", "traceroute")
    scenario = made.loaded.scenario
    assert scenario.transfer.streams == 8
    assert scenario.transfer.congestion_control == "reno"
    assert "Bound by: loss" in made.text
    link = bottleneck(made)
    transfer = read_iperf3(HERE / "loss-iperf3.json").transfers[0]
    lost = sum(each.retransmits or 0 for each in settled(transfer))
    assert lost > 20
    assert link.loss == pytest.approx(1e-3, abs=1e-3 * 3 / math.sqrt(lost))  # three standard deviations of the count
    assert scenario.expect.tolerance >= 0.05


@pytest.mark.guest
@pytest.mark.parametrize("name", ["queue", "window"])
def test_run_again_it_is_as_it_was_measured(name: str, tmp_path: Path) -> None:
    """The figure promised: goodput within 5 %, RTT within 1 %."""
    made = imported(name, "ss", "traceroute")
    file = tmp_path / "again.yaml"
    file.write_text(made.text)
    done = landspeed("run", file, "--json", "--out", tmp_path)
    told = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    measured = read_iperf3(HERE / f"{name}-iperf3.json").transfers[0]
    assert told["goodput_bps"] == pytest.approx(measured.goodput_bps, rel=0.05)
    assert told["rtt_ms"] == pytest.approx(RTT_MS, rel=0.01)
    (rtt,) = [verdict for verdict in told["verdicts"] if verdict["name"] == "rtt"]
    assert ", measured " in rtt["text"]
    shown = landspeed("report", told["bundle"])
    assert "measured" in Path(shown.stdout.strip()).read_text()


def test_iperf3_alone_gives_a_bound_of_the_delay_and_says_so() -> None:
    made = imported("queue")
    assert total_ms(made) >= 0.999 * 50
    assert "its own queue may be in it" in made.text
    assert "No traceroute" in made.text


# --- formats ----------------------------------------------------------------------------------------------------------


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_traceroutes_of_several_systems(tmp_path: Path) -> None:
    linux = """traceroute to b.example.net (192.0.2.9), 30 hops max, 60 byte packets
 1  gw (192.0.2.1)  0.431 ms  0.401 ms  0.377 ms
 2  * * *
 3  r3.example.net (198.51.100.3)  10.2 ms r4.example.net (198.51.100.4)  11.2 ms !X 10.9 ms
 4  b.example.net (192.0.2.9)  20.11 ms  20.03 ms  *
"""
    (trace,) = read_traceroute(write(tmp_path, "linux.txt", linux)).traces
    assert [hop.label for hop in trace.hops] == ["gw [192.0.2.1]", "", "r3.example.net [198.51.100.3]",
                                                 "b.example.net [192.0.2.9]"]  # fmt: skip
    assert trace.hops[2].rtts_ms == (10.2, 11.2, 10.9)
    assert trace.reached
    numeric = """traceroute to 2001:db8::9 (2001:db8::9), 30 hops max, 80 byte packets
 1  2001:db8::1  0.5 ms  0.4 ms  0.4 ms
 2  2001:db8:1::2  5.5 ms  5.4 ms  5.4 ms
 3  * * *
"""
    (trace,) = read_traceroute(write(tmp_path, "six.txt", numeric)).traces
    assert [hop.label for hop in trace.hops] == ["2001:db8::1", "2001:db8:1::2"]
    assert not trace.reached
    windows = """
Tracing route to b.example.net [192.0.2.9]
over a maximum of 30 hops:

  1    <1 ms    <1 ms     1 ms  192.0.2.1
  2    20 ms    21 ms    20 ms  b.example.net [192.0.2.9]

Trace complete.
"""
    (trace,) = read_traceroute(write(tmp_path, "windows.txt", windows)).traces
    assert trace.hops[0].rtts_ms == (0.5, 0.5, 1.0)
    assert trace.reached
    with pytest.raises(MeasurementError, match="no hop"):
        read_traceroute(write(tmp_path, "none.txt", "traceroute to x (192.0.2.1), 30 hops max\n 1  * * *\n"))


def test_ss_takes_the_connection_that_sent(tmp_path: Path) -> None:
    (socket, *_) = read_ss(HERE / "queue-ss.txt").sockets
    assert socket.min_rtt_s == pytest.approx(0.05, rel=0.01)
    assert socket.congestion_control == "cubic"
    assert socket.mss_bytes == 8948
    idle = (
        "ESTAB 0 0 10.0.0.1:1 10.0.0.2:2\n\t cubic wscale:7,7 rto:200 rtt:0.1/0.05 mss:1448 cwnd:10 bytes_acked:300\n"
    )
    busy = (
        "tcp ESTAB 0 0 10.0.0.1:3 10.0.0.2:2\n\t bbr wscale:7,7 rto:200 rtt:33.5/0.05 mss:1448 pmtu:1500 cwnd:10 "
        "bytes_sent:9000000 bytes_acked:9000000 data_segs_out:6300 retrans:0/12 minrtt:31.2 snd_wnd:3145728\n"
    )
    found = read_ss(write(tmp_path, "ss.txt", f"State Recv-Q Send-Q\n{idle}{busy}")).sockets
    assert [(each.min_rtt_s, each.retransmits, each.congestion_control) for each in found] == [(0.0312, 12, "bbr")]
    with pytest.raises(MeasurementError, match="no connection with an rtt"):
        read_ss(write(tmp_path, "empty.txt", "State Recv-Q Send-Q Local Address:Port\n"))


def test_pscheduler_s_results() -> None:
    (transfer,) = read_pscheduler(HERE / "pscheduler-throughput.json").transfers
    (own,) = read_iperf3(HERE / "queue-iperf3.json").transfers
    assert transfer.goodput_bps == own.goodput_bps
    assert (transfer.sender, transfer.receiver, transfer.asked_s) == ("amsterdam", "athens", 10)
    assert [each.rtt_s for each in transfer.intervals] == pytest.approx([each.rtt_s for each in own.intervals])
    (probes,) = read_pscheduler(HERE / "pscheduler-rtt.json").probes
    assert (probes.min_s, probes.sent, probes.lost) == (0.050006, 4, 1)
    (trace,) = read_pscheduler(HERE / "pscheduler-trace.json").traces
    assert trace.reached
    first = [hop.rtts_ms[0] if hop.rtts_ms else None for hop in trace.hops]
    assert first == [pytest.approx(8.006), pytest.approx(20.006), None, pytest.approx(36.006), pytest.approx(50.006)]
    (latency,) = read_pscheduler(HERE / "pscheduler-latency.json").probes
    assert latency.one_way
    assert latency.min_s == pytest.approx(0.02501)
    assert (latency.sent, latency.lost) == (600, 6)
    made = infer(PathEvidence(probes=[latency]))
    assert made.round_trip.delay.value == pytest.approx(0.05002)
    assert made.round_trip.delay.plus == pytest.approx(2 * 0.27e-3)
    assert made.loss is not None
    assert made.loss.value == 0.01
    # Wilson's interval of 6 in 600 (a table of binomial intervals: 0.46 % to 2.16 %).
    assert made.loss.value - made.loss.minus == pytest.approx(0.0046, abs=1e-4)
    assert made.loss.value + made.loss.plus == pytest.approx(0.0216, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "word", "odd"),
    [("pscheduler-latency.json", '"25.01"', '"25.<"'), ("pscheduler-trace.json", "PT0.008006S", "PT1E400S")],
)
def test_a_figure_of_pscheduler_that_is_none_is_left_out(name: str, word: str, odd: str, tmp_path: Path) -> None:
    text = (HERE / name).read_text()
    assert word in text
    (tmp_path / name).write_text(text.replace(word, odd))
    assert read_pscheduler(tmp_path / name)


def test_counts_that_cannot_be_are_none(tmp_path: Path) -> None:
    """More packets lost than sent; fewer streams than one, beside what `ss` says of none of them."""
    text = (HERE / "pscheduler-latency.json").read_text()
    assert '"packets-lost": 6' in text
    file = write(tmp_path, "latency.json", text.replace('"packets-lost": 6', '"packets-lost": 6000'))
    assert import_files({}, found=[file]).loaded.scenario.path
    whole = whole_iperf3()
    whole["start"]["test_start"]["num_streams"] = -1
    assert read_iperf3(write(tmp_path, "few.json", json.dumps(whole))).transfers[0].streams == 1


def test_the_archive_s_transfers_are_one_with_their_spread() -> None:
    found = read_archive(HERE / "archive.json")
    assert len(found.transfers) == 3
    made = import_files({"perfsonar_archive": [HERE / "archive.json"]}, "archive")
    assert made.loaded.scenario.expect is not None
    assert made.loaded.scenario.expect.goodput == 950_000_000
    assert "the median of 3 transfers; ± 10 Mbit/s" in made.text
    assert total_ms(made) == pytest.approx(50.006, rel=1e-4)


def test_durations_as_iso_8601_has_them() -> None:
    assert [seconds_of(text) for text in ("PT0.0012S", "PT10S", "PT1M30S", "P1DT1S", "PT1.2E-05S", 3)] == [
        0.0012, 10, 90, 86401, 1.2e-5, 3,
    ]  # fmt: skip
    assert [seconds_of(text) for text in ("PT", "P", "10 s", "", None, True)] == [None] * 6


def test_json_stream_is_the_same_transfer(tmp_path: Path) -> None:
    whole = json.loads((HERE / "queue-iperf3.json").read_text())
    events = [{"event": "start", "data": whole["start"]}]
    events += [{"event": "interval", "data": each} for each in whole["intervals"]]
    lines = [json.dumps(each) for each in [*events, {"event": "end", "data": whole["end"]}]]
    lines = [line.replace('{"event": ', '{"event":') for line in lines]
    file = write(tmp_path, "queue-iperf3.json", "\n".join(lines))
    assert read_iperf3(file).transfers == read_iperf3(HERE / "queue-iperf3.json").transfers
    with pytest.raises(MeasurementError, match="cut off"):
        read_iperf3(write(tmp_path, "cut.json", "\n".join(lines[:-1])))
    with pytest.raises(MeasurementError, match="cut off in line 3"):
        read_iperf3(write(tmp_path, "cut2.json", "\n".join([*lines[:2], lines[2][:40]])))


# --- what follows from figures ----------------------------------------------------------------------------------------


def transfer_of(rates_bps: list[float], rtts_s: list[float], **more: Any) -> MeasuredTransfer:
    from landspeed.scenario.importers.path_evidence import GoodputInterval

    parts = tuple(
        GoodputInterval(number, number + 1, rate, rtt, more.get("window"), more.get("lost", 0))
        for number, (rate, rtt) in enumerate(zip(rates_bps, rtts_s, strict=True))
    )
    mean = sum(rates_bps) / len(rates_bps)
    known = {key: value for key, value in more.items() if key not in ("window", "lost")}
    return MeasuredTransfer(
        "x.json", "iperf 3.12", mean, round(mean * len(parts) / 8), float(len(parts)),
        mss_bytes=1448, intervals=parts, retransmits=more.get("lost", 0) * len(parts), **known,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("transfer", "bound", "rate_bps"),
    [
        (transfer_of([5e8] * 8, [0.02] * 8, asked_pacing_bps=5e8), "pacing", 1e9),
        (transfer_of([941.48e6] * 8, [0.02] * 8), "line rate", 1e9),  # 1500 B: 941.48 Mbit/s of payload on 1 Gbit/s
        (transfer_of([4e8] * 8, [0.02] * 8, window=1_000_000), "window", 1e9),
        (transfer_of([4e8] * 8, [0.02] * 8, window=9_000_000, lost=3), "loss", 1e9),
        (transfer_of([4e8] * 8, [0.02] * 8, window=9_000_000), "host", 1e9),
        (transfer_of([4e8] * 8, [0.02, *[0.03, 0.04] * 3, 0.02], window=9_000_000), "line rate", 4e8 * 1538 / 1448),
    ],
)
def test_what_bound_a_transfer(transfer: MeasuredTransfer, bound: str, rate_bps: float) -> None:
    made = infer(PathEvidence(transfers=[transfer]))
    assert made.bound_by == bound
    assert made.rate is not None
    assert made.rate.value == pytest.approx(rate_bps, rel=1e-4)
    assert made.rate_known == (bound == "line rate")
    assert (made.queue is not None) == (rate_bps == 4e8 * 1538 / 1448)
    if made.queue is not None:
        assert made.queue.value == pytest.approx(0.02 * rate_bps / 8, rel=0.01)
    if bound == "host":
        assert made.host is not None
        assert made.host.value == pytest.approx(4e8 * 1500 / 1448)


def test_a_traceroute_that_ends_early_leaves_the_rest_to_the_last_link() -> None:
    (trace,) = read_traceroute(HERE / "queue-traceroute.txt").traces
    short = Traceroute("short.txt", "athens", trace.hops[:-2], reached=False)
    made = infer(PathEvidence(traces=[short], transfers=read_iperf3(HERE / "queue-iperf3.json").transfers))
    assert len(made.round_trip.links_ms) == len(short.hops) + 1
    assert sum(made.round_trip.links_ms) == pytest.approx(made.round_trip.delay.value * 1e3, abs=1e-6)
    assert any("did not reach athens" in each for each in made.assumptions)


def test_the_file_s_own_traceroutes_fit_its_path(tmp_path: Path) -> None:
    """What is written as recorded is what fit_traceroute reads: both give the same links."""
    made = imported("queue", "ss", "traceroute")
    file = write(tmp_path, "again.yaml", made.text)
    fitted = fit_scenario(load_scenario(file).scenario)
    assert fitted.links_ms == pytest.approx([link.rtt / 1e6 for link in made.loaded.scenario.path], abs=0.02)


# --- bad input --------------------------------------------------------------------------------------------------------


def whole_iperf3() -> dict[str, Any]:
    return json.loads((HERE / "queue-iperf3.json").read_text())


@pytest.mark.guest
@pytest.mark.parametrize(
    ("option", "text", "said"),
    [
        ("--iperf3", (HERE / "queue-iperf3.json").read_text()[:3000], "cut off in line"),
        ("--iperf3", '{"start": {"connected": []}, "intervals": [], "end": {}, "error": "unable to connect to server"}',
         "this run of iperf3 failed: unable to connect to server"),
        ("--iperf3", json.dumps({**whole_iperf3(), "end": {}}), "has no result"),
        ("--iperf3", '{"hello": 1}', "not iperf3's JSON"),
        ("--iperf3", "[  5]   0.00-5.00   sec   585 MBytes", "not JSON"),
        ("--iperf3", "", "empty"),
        ("--pscheduler", '{"succeeded": false, "error": "no route", "summary": {}}', "failed: no route"),
        ("--pscheduler", '{"succeeded": true, "records": []}', "no result of pScheduler"),
        ("--pscheduler", '{"test": {"type": "dns"}, "result": {}}', "a test of kind dns"),
        ("--perfsonar-archive", '{"hits": {"hits": []}}', "no measurement of throughput"),
        ("--traceroute", "PING athens", "no hop of a traceroute"),
        ("--ss", "Netid State", "no connection with an rtt"),
    ],
)  # fmt: skip
def test_bad_files_are_said(option: str, text: str, said: str, tmp_path: Path) -> None:
    done = landspeed_here("import", option, write(tmp_path, "bad.txt", text))
    assert done.returncode == 2
    assert "bad.txt" in done.stderr
    assert said in done.stderr


@pytest.mark.guest
def test_bad_words_are_said(tmp_path: Path) -> None:
    good = HERE / "queue-iperf3.json"
    for words, said in (
        ((), "nothing to import"),
        (("--iperf3", tmp_path / "none.json"), "No such file"),
        (("--iperf3", good, "--name", "A B"), "write lower-case letters"),
        (("--iperf3", good, "--out", good), "exists already"),
        (("--iperf3", good, "--out", tmp_path / "no" / "x.yaml"), "give another name"),
    ):
        done = landspeed_here("import", *words)
        assert done.returncode == 2, words
        assert said in done.stderr
    udp = whole_iperf3()
    udp["start"]["test_start"]["bidir"] = 1
    done = landspeed_here("import", "--iperf3", write(tmp_path, "both.json", json.dumps(udp)))
    assert "both ways at once" in done.stderr


@pytest.mark.guest
def test_by_the_library_and_the_command_alike(tmp_path: Path) -> None:
    made = ls.import_measured(
        iperf3=HERE / "queue-iperf3.json",
        ss=[HERE / "queue-ss.txt"],
        traceroute=[HERE / "queue-traceroute.txt", HERE / "queue-traceroute-back.txt"],
    )
    out = subprocess.run(
        [Path(sys.executable).parent / "landspeed", "import", "--iperf3", HERE / "queue-iperf3.json", "--ss",
         HERE / "queue-ss.txt", "--traceroute", HERE / "queue-traceroute.txt", HERE / "queue-traceroute-back.txt"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert out == made.text
    assert made.save(tmp_path / "mine.yaml").read_text() == out
    assert load_scenario(tmp_path / "mine.yaml").scenario == made.scenario.contents
    assert made.scenario.with_({"transfer.streams": 2}).contents.transfer.streams == 2
