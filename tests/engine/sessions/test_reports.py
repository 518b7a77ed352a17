"""What the engine tells: intervals, NTttcp's table, verdicts, all of TCP_INFO, the hosts' figures."""

import json
import os
import pty
import re
import select
import time
from itertools import pairwise

import pytest

from tests.support.engine.fixtures import PACED, Bench
from tests.support.engine.result import read_result
from tests.support.stopwatch import one_of_few, undisturbed


def told(bench: Bench, *options: str) -> tuple[str, str]:
    """Standard output of the sender and of the receiver after one transfer."""
    receiver = bench.receive("--one-off")
    sender = bench.send(*options)
    assert sender.wait() == 0, sender.errors
    assert receiver.wait() == 0, receiver.errors
    return sender.output, receiver.output


def section(text: str, end: str) -> list[list[str]]:
    """The figures of one end's table: a list of numbers per line."""
    body = text.split(f"\n{end}\n", 1)[1]
    rows = [line.split() for line in body.splitlines()]
    return [row for row in rows if row and re.fullmatch(r"[0-9.]+", row[0])]


@pytest.mark.slow
def test_intervals_table_and_verdict(bench: Bench) -> None:
    sender, receiver = told(
        bench, "--time", "1", *PACED, "--streams", "2", "--report-interval", "250ms", "--receive", "memory"
    )
    result = read_result(bench.folder / "send.json")
    lines = re.findall(
        r"^\[( *\d+|SUM)\] +([\d.]+)-([\d.]+) +sec +([\d.]+) (\S*)Bytes +([\d.]+) (\S*)bits/sec", sender, re.M
    )
    sums = [line for line in lines if line[0] == "SUM"]
    assert len(lines) == 3 * (len(sums) - 1) + 1  # two streams and their sum, and the last line
    for before, after in pairwise(sums[:-1]):
        assert before[2] == after[1]
    scale = {"": 1, "K": 1, "M": 2, "G": 3}
    total = sums[-1]
    assert float(total[3]) * 1024 ** scale[total[4]] == pytest.approx(result.bytes, rel=0.006)
    assert float(total[5]) * 1000 ** scale[total[6]] == pytest.approx(result.goodput_bps, rel=0.006)

    assert len(re.findall(r"^Stream [01] was limited by: [a-zA-Z ]+ \(.+\)$", sender, re.M)) == 2
    for text in (sender, receiver):
        rows = section(text, "receiver")
        for number, stream in enumerate(result.streams):
            assert rows[number] == [
                str(number),
                f"{stream.duration_s:.3f}",
                f"{(stream.goodput_bps or 0) / 8e3:.3f}",
                f"{(stream.goodput_bps or 0) / 1e6:.3f}",
            ]
        megabytes, seconds, frame, rate = map(float, rows[2])
        infos = [stream.receiver_tcp_info for stream in result.streams]
        assert megabytes == result.bytes / 1e6
        assert seconds == 1.0
        assert frame == pytest.approx(result.bytes / sum(info["data_segs_in"] for info in infos), abs=0.001)
        assert rate == pytest.approx((result.goodput_bps or 0) / 1e6, abs=0.001)
        assert int(rows[3][0]) == sum(stream.receiver_calls for stream in result.streams)  # type: ignore[attr-defined]
        assert int(rows[4][0]) == sum(info["segs_out"] for info in infos)
        assert int(rows[4][1]) == sum(info["segs_in"] for info in infos) == result.packets_received
    ours = section(sender, "sender")
    assert int(ours[4][0]) == result.packets_sent
    assert int(ours[4][2]) == result.retransmits
    assert ours[4][3] == "0"


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_is_no_file_stays_what_it_is(bench: Bench, kind: str) -> None:
    """--json FILE: a pipe or a device is written to; to put a whole file in its place would be the end of /dev/null."""
    place = bench.folder / "place"
    bench.receive()
    if kind == "device":
        ends = pty.openpty()
        place.symlink_to(os.ttyname(ends[1]))
    else:
        os.mkfifo(place)
        ends = (os.open(place, os.O_RDONLY | os.O_NONBLOCK),)
    try:
        before = place.stat()
        sender = bench.start("send", "--bytes", "1M", "--quiet", "--json", str(place), host="127.0.0.1")
        told = b""
        while b'"complete":' not in told:
            assert select.select([ends[0]], [], [], 20)[0]
            told += os.read(ends[0], 1 << 16)
        while sender.process.poll() is None:
            if select.select([ends[0]], [], [], 0.05)[0]:
                os.read(ends[0], 1 << 16)
        assert sender.wait() == 0, sender.errors
        after = place.stat()
        assert (after.st_mode, after.st_rdev, after.st_ino) == (before.st_mode, before.st_rdev, before.st_ino)
        assert place.is_symlink() == (kind == "device")
    finally:
        for end in ends:
            os.close(end)


@pytest.mark.parametrize("options", [["--quiet"], ["--json", "-"], ["--live", "-"]])
def test_nothing_for_people_where_programs_read(bench: Bench, options: list[str]) -> None:
    receiver = bench.receive("--one-off", "--quiet")
    sender = bench.start("send", "--bytes", "1M", *options, host="127.0.0.1")
    assert sender.wait() == 0
    assert receiver.wait() == 0
    assert receiver.output == ""
    for line in sender.output.splitlines():
        json.loads(line)


@pytest.mark.slow
def test_the_verdict_names_pacing_and_window(bench: Bench) -> None:
    def attempt(_: int) -> None:
        told(bench, "--time", "2", "--pacing", "80M", "--interval", "10ms")
        limit = bench.result()["streams"][0]["limited_by"]
        undisturbed(limit == "pacing", f"limited by {limit}")

    one_of_few(attempt)


@pytest.mark.slow
def test_hosts_are_accounted_for(bench: Bench) -> None:
    begun = time.monotonic()
    told(bench, "--time", "1", *PACED)
    whole_s = time.monotonic() - begun
    result = bench.result()
    for end in ("sender", "receiver"):
        host = result["hosts"][end]
        assert 1.0 <= host["elapsed_s"] < whole_s
        assert 0 < host["cpu_percent"] <= 100
        assert host["interrupts"] > 0
        assert host["interrupts_per_s"] == pytest.approx(host["interrupts"] / host["elapsed_s"], rel=1e-3)
        assert host["cycles_source"] in ("host", "process", "estimated", "unknown")
        if host["cycles_source"] != "unknown":
            assert host["cycles_per_byte"] > 0
    stream = result["streams"][0]
    assert 0 < stream["sender_cpu_s"] < 1.5
    assert 0 < stream["receiver_cpu_s"] < 1.5
    assert stream["sender_calls"] > 0
    assert bench.result("receive")["hosts"]["receiver"] == pytest.approx(result["hosts"]["receiver"])


@pytest.mark.slow
def test_all_of_tcp_info_of_both_ends_every_10_ms(bench: Bench) -> None:
    one_of_few(lambda _: all_of_tcp_info(bench))


def all_of_tcp_info(bench: Bench) -> None:
    """One transfer, and what its files have."""
    files = {command: bench.folder / f"{command}.tcp.csv" for command in ("send", "receive")}
    receiver = bench.receive("--one-off", "--interval", "10ms", "--tcp-info", str(files["receive"]))
    sender = bench.send("--time", "1", "--streams", "2", "--interval", "10ms", "--tcp-info", str(files["send"]))
    assert sender.wait() == 0
    assert receiver.wait() == 0
    result = bench.result()
    for command, end in (("send", "sender"), ("receive", "receiver")):
        head, *lines = files[command].read_text().splitlines()
        names = head.split(",")
        info = result["streams"][1][f"{end}_tcp_info"]
        known = set(info) - {"delivery_rate_app_limited", "snd_wscale", "rcv_wscale"}
        assert known <= set(names)  # a column for each member that this kernel has
        assert len(names) > 50
        rows = [dict(zip(names, line.split(","), strict=True)) for line in lines]
        mine = [row for row in rows if row["stream"] == "1"]
        for name in known:
            assert mine[-1][name] == ("" if info[name] is None else str(info[name]))
        times = [int(row["time_ns"]) for row in mine]
        assert len(mine) <= times[-1] / 10_000_000 + 2
        # A busy machine skips some; exactly: test_guest.py.
        undisturbed(len(mine) >= 80, f"{len(mine)} rows in a second")
        assert min(after - before for before, after in pairwise(times)) >= 2_500_000  # never crowded
