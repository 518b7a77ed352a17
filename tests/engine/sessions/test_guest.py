"""The engine in virtual time: outages of a minute and for ever, sampling on the dot, keys of a scenario.

In the guest a minute without packets costs no wall time, and nothing else takes the processor.
"""

import csv
import json
import os
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.emu_fixtures import plan_of, scenario, transfer
from tests.support.engine.files_fixtures import BLOCK, describe, leftovers, write_file
from tests.support.engine.guest import (
    ENGINE,
    INSIDE,
    perform,
    result,
)

pytestmark = pytest.mark.guest

RTT_S = 0.02
STALL_S = 600  # looked at four times (transfer/stall.h)
FAREWELL_S = 10  # for a receiver's last word to arrive (receive/transfer.c)
RECEIVE = [ENGINE, "receive", "--quiet", "--json", str(INSIDE / "receive.json")]
SEND = [ENGINE, "send", "HOST", "--quiet", "--json", str(INSIDE / "send.json")]


def samples(file: Path) -> list[dict[str, int]]:
    """Rows of a file of samples."""
    with file.open() as handle:
        return [{name: int(value) for name, value in row.items() if value} for row in csv.DictReader(handle)]


def test_an_outage_of_a_minute_is_outlived_without_a_fault(tmp_path: Path) -> None:
    """TCP asks again at intervals that double (RFC 6298), so it goes on within twice the outage."""
    patient = ["--stall", "300s"]
    receive = [*RECEIVE, "--one-off", "--samples", str(INSIDE / "receive.csv"), "--interval", "100ms", *patient]
    send = [*SEND, "--bytes", "20M", "--receive", "verify", *patient]
    acts = [["receive", "r", receive], ["send", "s", send], ["sleep", 1], ["dark"], ["sleep", 60], ["light"]]
    ended = perform(tmp_path, [*acts, ["wait", "s"], ["wait", "r"]])
    assert (ended["s"]["status"], ended["r"]["status"]) == (0, 0)
    sent = result(tmp_path, "send")
    assert sent["complete"] is True
    assert sent["bytes"] == 20_000_000
    assert sent["verification"]["faults"] == 0
    assert sent["retransmits"] > 0
    rows = samples(tmp_path / "receive.csv")
    dark = next(row["bytes"] for row in rows if row["time_ns"] > 2e9)
    assert 0 < dark < 20_000_000
    assert next(row["bytes"] for row in reversed(rows) if row["time_ns"] < 60e9) == dark
    again_s = next(row["time_ns"] for row in rows if row["bytes"] > dark) / 1e9
    assert 60.9 < again_s < 1 + 2 * 60 + 1
    # What was left goes at the path's rate: slow start and the retransmissions cost some round trips.
    left_s = (20_000_000 - dark) * 8 / 100e6 * 9038 / 8948
    assert left_s < sent["duration_s"] - again_s + 0.1 < left_s + 30 * RTT_S


def test_a_way_back_full_of_acknowledgments_ends_nothing(tmp_path: Path) -> None:
    """For 200 s no answer to a probe of the control connection comes through, and the receiver's word comes late."""
    links = [
        {"one_way_delay": "20 ms", "line_rate": "40 Mbit/s", "reverse": {"line_rate": "50 kbit/s", "queue": "4 kB"}}
    ]
    asked = {"duration": "200 s", "congestion_control": "reno", "window": "16 MB"}
    _, bundle = transfer(plan_of(tmp_path, scenario(links, nic="1 Gbit/s", transfer=asked)), tmp_path)
    told = json.loads((bundle / "engine.json").read_text())
    assert (told["complete"], told["error"], told["duration_s"]) == (True, None, 200)
    assert told["bytes"] > 100e6


def test_an_outage_for_ever_ends_both_ends_with_what_was_measured(tmp_path: Path) -> None:
    acts = [
        ["receive", "r", [*RECEIVE, "--one-off", "--stall", f"{STALL_S}s"]],
        ["send", "s", [*SEND, "--time", "100000", "--receive", "memory", "--stall", f"{STALL_S}s"]],
        ["sleep", 2],
        ["dark"],
        ["wait", "s"],
        ["wait", "r"],
    ]
    ended = perform(tmp_path, acts)
    for name, end, said in (("s", "send", "the receiver took no data for"), ("r", "receive", "no data came from the")):
        assert ended[name]["status"] == 1
        assert 2 + STALL_S < ended[name]["end_s"] < 2 + 1.25 * STALL_S + FAREWELL_S + 1
        told = result(tmp_path, end)
        assert told["complete"] is False
        assert said in told["error"], end
        # Two seconds at the path's rate, less slow start.
        assert 0.7 * 2 * 100e6 / 8 < told["bytes"] < 1.05 * 2 * 100e6 / 8
    assert result(tmp_path, "send")["bytes_source"] == "sender"


def test_files_are_resumed_after_an_outage_that_ended_the_transfer(tmp_path: Path) -> None:
    source, target = tmp_path / "tree", tmp_path / "target"
    source.mkdir()
    target.mkdir()
    for number in range(3):
        write_file(source / f"file-{number}", 8 * BLOCK + number)
    for path in (*source.iterdir(), source):  # the guest's file system (hostfs) sets whole seconds
        os.utime(path, (10**9, 10**9))
    receive = [*RECEIVE, "--directory", str(INSIDE / "target"), "--anonymous"]
    first = [*SEND[:-1], str(INSIDE / "first.json"), "--files", str(INSIDE / "tree")]
    acts = [
        ["receive", "r", receive],
        ["send", "s", first],
        ["sleep", 1.2],
        ["dark"],
        ["wait", "s"],
        ["light"],
        # The receiver's session holds the tree until it has given up itself.
        ["sleep", 30],
        ["send", "again", [*SEND, "--files", str(INSIDE / "tree")]],
        ["wait", "again"],
    ]
    ended = perform(tmp_path, acts)
    assert ended["s"]["status"] == 1
    assert result(tmp_path, "first")["complete"] is False
    assert ended["again"]["status"] == 0, result(tmp_path, "send")["error"]
    files = result(tmp_path, "send")["files"]
    assert files["blocks_skipped"] >= 5  # a second at 100 Mbit/s is 12
    assert files["blocks_skipped"] + files["blocks_sent"] == 3 * 9 - 1
    assert describe(target / "tree") == describe(source)
    assert leftovers(target) == []


def test_all_of_tcp_info_exactly_every_10_ms(tmp_path: Path) -> None:
    def files(end: str) -> list[str]:
        return ["--interval", "10ms", "--tcp-info", str(INSIDE / f"{end}.tcp"), "--samples", str(INSIDE / f"{end}.csv")]

    acts = [
        ["receive", "r", [*RECEIVE, "--one-off", *files("receive")]],
        ["send", "s", [*SEND, "--time", "2", "--streams", "2", *files("send")]],
        ["wait", "s"],
        ["wait", "r"],
    ]
    perform(tmp_path, acts)
    for name in ("send.tcp", "send.csv", "receive.tcp", "receive.csv"):
        for stream in (0, 1):
            times = [row["time_ns"] for row in samples(tmp_path / name) if row["stream"] == stream]
            assert 199 <= len(times) <= 201, name
            steps = [after - before for before, after in pairwise(times)]
            assert steps[:-1] == pytest.approx([10_000_000] * (len(steps) - 1), abs=100_000)


def test_a_scenario_chooses_the_way_of_sending_and_the_control_of_each_stream(tmp_path: Path) -> None:
    links = [{"one_way_delay": "5 ms", "line_rate": "100 Mbit/s"}] * 2
    asked = {"duration": "1 s", "streams": 3, "congestion_controls": ["cubic", "reno"], "send": "write"}
    record, bundle = transfer(plan_of(tmp_path, scenario(links, nic="1 Gbit/s", transfer=asked)), tmp_path)
    assert [stream.congestion_control for stream in record.streams] == ["cubic", "reno", "cubic"]
    sending = json.loads((bundle / "engine.json").read_text())["sending"]
    assert (sending["asked"], sending["way"], sending["reason"]) == ("write", "write", "asked for")
