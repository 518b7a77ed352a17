"""Results, series and captures of runs: each is read by the program or the reader that it is for."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from line_protocol_parser import parse_line
from prometheus_client.openmetrics.parser import text_string_to_metric_families

import landspeed as ls
from landspeed.exporters.formats.qlog import STATES
from landspeed.scenario.importers.registry import reader_of
from tests.support.debian import debian_program

pytestmark = pytest.mark.slow

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


def test_iperf3s_json_has_what_iperf3_itself_prints(run: ls.Run, tmp_path: Path) -> None:
    """But what landspeed does not know: sizes of socket buffers, and windows of the receiver and MTU at each second."""
    script = """ip link set lo up; iperf3 -s -1 > server & server=$!
        until grep -q sum_received out 2> /dev/null; do kill -0 $server; iperf3 -c 127.0.0.1 -n 64K -P 2 -J > out; done
        wait $server"""
    subprocess.run(["unshare", "-n", "sh", "-ec", script], cwd=tmp_path, check=True, timeout=30)
    real = places(json.loads((tmp_path / "out").read_text()))
    ours = places(json.loads(only(ls.export(run.bundle, "iperf3", tmp_path)).read_text()))
    assert {place.rpartition(".")[2] for place in real - ours} == {
        "max_snd_wnd", "snd_wnd", "pmtu", "rcvbuf_actual", "sndbuf_actual",
    }  # fmt: skip
    assert ours - real == {"title", "start.test_start.bidir"}  # one that is asked for, one of later versions


def places(told: Any, at: str = "") -> set[str]:
    """The places of values in JSON; of lists, those of the first."""
    if isinstance(told, list):
        return places(told[0], at) if told else set()
    if not isinstance(told, dict):
        return {at}
    return {place for key, each in told.items() for place in places(each, f"{at}.{key}".strip("."))}


def test_a_result_of_pscheduler_has_the_members_that_its_schema_asks_for(run: ls.Run, tmp_path: Path) -> None:
    """As pscheduler-test-throughput checks it before it prints a result (commit 1e8b192)."""
    result = json.loads(only(ls.export(run.bundle, "pscheduler", tmp_path)).read_text())["result"]
    assert {"succeeded", "diags", "intervals", "summary"} <= set(result)
    assert set(result) <= {"schema", "succeeded", "diags", "mss", "intervals", "summary"}  # no others but mtu and error
    known = {"throughput-bits", "throughput-bytes", "receiver-throughput-bits", "stream-id", "start", "end", "rtt"}
    for part in [*result["intervals"], result["summary"]]:
        assert set(part) == {"summary", "streams"}
        for each in [part["summary"], *part["streams"]]:
            assert set(each) <= known | {"tcp-window-size", "retransmits", "omitted"}
            assert {"throughput-bits", "start", "end"} <= set(each)


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


def test_influxdb_takes_every_line(run: ls.Run, tmp_path: Path) -> None:
    """InfluxDB itself, on a loopback of its own."""
    server, client = debian_program("influxdb", "influxd"), debian_program("influxdb-client", "influx")
    lines = only(ls.export(run.bundle, "influx", tmp_path)).read_text()
    (tmp_path / "import").write_text(f"# DDL\nCREATE DATABASE landspeed\n# DML\n# CONTEXT-DATABASE: landspeed\n{lines}")
    settings = "\n".join(
        [
            "reporting-disabled = true",
            f'[meta]\ndir = "{tmp_path}/meta"',
            f'[data]\ndir = "{tmp_path}/data"\nwal-dir = "{tmp_path}/wal"',
        ]
    )
    (tmp_path / "settings").write_text(settings)
    script = f"""
        ip link set lo up
        {server} run -config settings 2> log & server=$!
        until {client} -execute 'show databases' > tried 2>&1; do kill -0 $server || exit 3; sleep 0.05; done
        {client} -import -path import -precision ns > told 2>&1
        {client} -database landspeed -format json -execute \
            "select sum(last) from (select last(bytes) from landspeed_tcp where \\"end\\"='receiver' group by stream)"
        kill $server; wait $server"""
    done = subprocess.run(
        ["unshare", "-n", "sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    told = (tmp_path / "told").read_text()
    assert f"Processed {lines.count(chr(10))} inserts" in told and "Failed 0 inserts" in told
    (series,) = json.loads(done.stdout)["results"][0]["series"]
    assert series["values"][0][1] == run.record.bytes


def test_openmetrics_are_what_prometheus_parses(run: ls.Run, tmp_path: Path) -> None:
    text = only(ls.export(run.bundle, "openmetrics", tmp_path)).read_text()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    received = [one for one in families["landspeed_tcp_bytes"].samples if one.labels["end"] == "receiver"]
    last = {one.labels["stream"]: one.value for one in received}
    assert sum(last.values()) == run.record.bytes
    assert families["landspeed_link_backlog_bytes"].type == "gauge"


def test_promtool_puts_openmetrics_into_a_database_of_prometheus(run: ls.Run, tmp_path: Path) -> None:
    promtool, file = debian_program("prometheus", "promtool"), only(ls.export(run.bundle, "openmetrics", tmp_path))
    words = [promtool, "tsdb", "create-blocks-from", "openmetrics", file, tmp_path / "database"]
    made = subprocess.run(words, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    listed = subprocess.run(
        [promtool, "tsdb", "list", tmp_path / "database"], capture_output=True, text=True, check=True
    )
    _, begins, ends, _, samples, *_ = listed.stdout.splitlines()[1].split()
    counted = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    assert (int(begins), int(samples)) == (0, len(counted)) and 6000 <= int(ends) <= 6002


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


def test_a_network_has_a_file_for_each_flow(tmp_path: Path) -> None:
    run = ls.run(ls.Scenario.load("dumbbell"), world="sim", runs_dir=tmp_path / "runs")
    files = ls.export(run.bundle, "iperf3", tmp_path)
    assert {file.name for file in files} == {f"dumbbell.{flow.name}.iperf3.json" for flow in run.record.flows}
    for file, flow in zip(files, run.record.flows, strict=True):
        (transfer,) = reader_of(file).read(file).transfers
        assert transfer.bytes == flow.bytes


@pytest.mark.guest
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
