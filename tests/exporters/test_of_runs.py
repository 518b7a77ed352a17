"""Results, series and captures of runs: each is read by the program or the reader that it is for."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from line_protocol_parser import parse_line
from prometheus_client.openmetrics.parser import text_string_to_metric_families

import landspeed as ls
from landspeed.exporters.formats.qlog import STATES
from landspeed.scenario.importers.registry import reader_of

LINE = re.compile(r"landspeed_(tcp|link)((?:,[a-z]+=[^ ,=]+)+) ([a-z_]+=[-\d.e+]+i?(?:,[a-z_]+=[-\d.e+]+i?)*) (\d+)")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ls.Run:
    """Two streams over 20 Mbit/s and 40 ms for six seconds, simulated."""
    scenario = ls.Scenario.load("first").with_(
        {
            "line_rate": "20 Mbit/s",
            "transfer.streams": 2,
            "transfer.duration": "6 s",
            "mtu": "1500 B",
            "transfer.window": "1 MB",
        }
    )
    return ls.run(scenario, world="sim", runs_dir=tmp_path_factory.mktemp("runs"))


def only(files: list[Path]) -> Path:
    (file,) = files
    return file


@pytest.mark.slow
@pytest.mark.parametrize("form", ["iperf3", "pscheduler"])
def test_a_result_is_read_back_by_the_importer(form: str, run: ls.Run, tmp_path: Path) -> None:
    file = only(ls.export(run.bundle, form, tmp_path))
    (transfer,) = reader_of(file).read(file).transfers
    assert transfer.goodput_bps == pytest.approx(run.goodput_bps, rel=1e-6)
    assert transfer.bytes == run.record.bytes
    assert transfer.retransmits == run.record.retransmits
    assert transfer.streams == 2
    assert transfer.congestion_control == "cubic"
    assert [round(each.end_s - each.start_s, 6) for each in transfer.intervals][:-1] == [1.0] * (
        len(transfer.intervals) - 1
    )
    assert sum(each.rate_bps * (each.end_s - each.start_s) for each in transfer.intervals) / 8 == pytest.approx(
        run.record.bytes, abs=len(transfer.intervals)
    )


@pytest.mark.slow
def test_flents_file_has_the_streams_and_their_sum(run: ls.Run, tmp_path: Path) -> None:
    file = only(ls.export(run.bundle, "flent", tmp_path))
    data = json.loads(gzip.decompress(file.read_bytes()))
    assert data["version"] == 4
    together = data["results"]["TCP upload sum"]
    assert len(together) == len(data["x_values"]) == 30  # six seconds, Flent's step of 0.2 s
    assert sum(together) * 0.2 * 1e6 / 8 == pytest.approx(run.record.bytes, rel=1e-3)
    (transfer,) = reader_of(file).read(file).transfers
    assert transfer.streams == 2
    assert run.samples.curves is not None  # the reader cannot know when the first step began, and leaves it out
    assert transfer.goodput_bps == pytest.approx(run.samples.curves.goodput_bps(0.2), rel=1e-3)
    flent = Path(sys.executable).with_name("flent")
    summary = subprocess.run([flent, "-f", "summary", file], capture_output=True, text=True, check=True).stdout
    row = re.search(r"TCP upload sum +: +([\d.]+) .* Mbits/s +(\d+)", summary)
    assert row and (float(row[1]), row[2]) == (pytest.approx(sum(together) / 30, abs=0.006), "30")


@pytest.mark.slow
def test_every_sample_is_a_line_of_influx(run: ls.Run, tmp_path: Path) -> None:
    lines = only(ls.export(run.bundle, "influx", tmp_path)).read_text().splitlines()
    found = [LINE.fullmatch(line) for line in lines]
    parsed = [parse_line(line) for line in lines]  # by InfluxDB's grammar
    assert {each["measurement"] for each in parsed} == {"landspeed_tcp", "landspeed_link"}
    assert [each["time"] for each in parsed] == [int(line.rpartition(" ")[2]) for line in lines]
    assert all(found), next(line for line, match in zip(lines, found, strict=True) if not match)
    samples = run.samples
    assert len(lines) == samples.sender.num_rows + samples.receiver.num_rows + samples.links.num_rows
    ends = [match for match in found if match and "end=receiver" in match[2]]
    last = {match[2]: int(re.search(r"\bbytes=(\d+)i", match[3])[1]) for match in ends}  # type: ignore[index]
    assert sum(last.values()) == run.record.bytes


@pytest.mark.slow
def test_openmetrics_are_what_prometheus_parses(run: ls.Run, tmp_path: Path) -> None:
    text = only(ls.export(run.bundle, "openmetrics", tmp_path)).read_text()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    received = [one for one in families["landspeed_tcp_bytes"].samples if one.labels["end"] == "receiver"]
    last = {one.labels["stream"]: one.value for one in received}
    assert sum(last.values()) == run.record.bytes
    assert families["landspeed_link_backlog_bytes"].type == "gauge"


@pytest.mark.slow
def test_qlog_has_each_stream_with_its_windows_and_losses(run: ls.Run, tmp_path: Path) -> None:
    told = json.loads(only(ls.export(run.bundle, "qlog", tmp_path)).read_text())
    assert told["qlog_version"] == "0.3"
    assert len(told["traces"]) == 2
    lost = 0
    for trace in told["traces"]:
        times = [event["time"] for event in trace["events"]]
        assert times == sorted(times)
        names = {event["name"] for event in trace["events"]}
        assert {"recovery:metrics_updated", "recovery:congestion_state_updated"} <= names
        states = [event["data"]["new"] for event in trace["events"] if event["name"].endswith("state_updated")]
        assert set(states) <= set(STATES.values())
        lost += sum(event["data"]["count"] for event in trace["events"] if event["name"].endswith("packet_lost"))
    assert lost == run.record.retransmits


@pytest.mark.slow
def test_a_network_has_a_file_for_each_flow(tmp_path: Path) -> None:
    run = ls.run(ls.Scenario.load("dumbbell"), world="sim", runs_dir=tmp_path / "runs")
    files = ls.export(run.bundle, "iperf3", tmp_path)
    assert {file.name for file in files} == {f"dumbbell.{flow.name}.iperf3.json" for flow in run.record.flows}
    for file, flow in zip(files, run.record.flows, strict=True):
        (transfer,) = reader_of(file).read(file).transfers
        assert transfer.bytes == flow.bytes


@pytest.mark.guest
@pytest.mark.slow
def test_wireshark_reads_both_ends_with_queues_and_drops_as_comments(tmp_path: Path) -> None:
    scenario = ls.Scenario.load("first").with_({"line_rate": "20 Mbit/s", "transfer.duration": "4 s", "queue": "50 kB"})
    run = ls.run(scenario, runs_dir=tmp_path / "runs", evidence=True)
    file = ls.export(run.bundle, "pcapng", tmp_path)[0]
    fields = ("frame.time_epoch", "frame.interface_name", "frame.comment")
    words = ["tshark", "-n", "-r", file, "-T", "fields", *(word for name in fields for word in ("-e", name))]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    captures = list((run.bundle / "evidence").glob("capture-*.pcap"))
    counted = [subprocess.run(["tshark", "-r", each], capture_output=True, text=True, check=True) for each in captures]
    assert len(rows) == sum(len(each.stdout.splitlines()) for each in counted)
    assert {row[1] for row in rows} == {"sender", "receiver"}
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    dropped = sum(int(count) for row in rows for count in re.findall(r"(\d+) dropped at", row[2]))
    assert dropped == sum(run.samples.drops_by_link().values()) > 0
    assert sum("queue " in row[2] for row in rows) > len(rows) / 2
    profile = tmp_path / "wireshark" / "profiles" / "landspeed"
    shutil.copytree(file.with_suffix(".wireshark-profile"), profile)
    words = ["tshark", "-n", "-C", "landspeed", "-r", str(file), "-Y", 'frame.comment contains "dropped"']
    environment = {**os.environ, "WIRESHARK_CONFIG_DIR": str(profile.parents[1])}
    shown = subprocess.run(words, capture_output=True, text=True, check=True, env=environment).stdout
    assert re.search(r"(sender|receiver) .* dropped at \w+ → \w+", shown)  # columns of the profile
    plain = landspeed_run_without_captures(tmp_path)
    with pytest.raises(ls.ExportError, match="--evidence"):
        ls.export(plain, "pcapng", tmp_path)


def landspeed_run_without_captures(folder: Path) -> Path:
    """A run that kept none."""
    scenario = ls.Scenario.load("first").with_({"line_rate": "20 Mbit/s", "transfer.duration": "1 s"})
    return ls.run(scenario, world="sim", runs_dir=folder / "runs").bundle
