"""The sampler of sockets: it sees every connection, and no program can tell that it is there."""

import hashlib
import json
import sys
from pathlib import Path

import pytest

from landspeed.judge.sockets.series import SocketSamples
from landspeed.results.socket_columns import RAW_LINKS, RAW_OWNERS, RAW_SOCKETS, SOCKET_COLUMNS, keep_samples
from tests.support.command import landspeed, landspeed_here
from tests.support.places import PROGRAMS

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = PROGRAMS / "probe_program.py"
PATH = """
format: 1
name: sampled
title: Two hosts and a slow line that loses
mtu: 1500 B
line_rate: 1 Gbit/s
hosts:
  a: {role: sender}
  b: {role: receiver}
path:
  - {from: a, to: middle, rtt: 10 ms}
  - {from: middle, to: b, rtt: 10 ms, line_rate: 100 Mbit/s, queue: 200 kB, loss: 0.02 %}
transfer: {duration: 5 s}
"""
# Two ends, several processes, a capture of every packet to the nanosecond: whatever disturbs any of them is seen. (Not
# iperf3: where programs want to run in the same instant, and one of them reads the clock, another may go first.)
BUSY = """
ip netns exec b {python} {program} serve 9000 &
ip netns exec b tcpdump --time-stamp-precision=nano -i eth0 -n -tt -l >/tmp/packets 2>/dev/null &
sleep 1
{python} {program} call b 9000 --window 100000 --bytes 3000000
date +%s.%N
sleep 1
wc -l </tmp/packets; md5sum </tmp/packets
echo {{}} > "$QLOGDIR/one.sqlog"
"""


@pytest.fixture(name="path_file")
def path_file_fixture(tmp_path: Path) -> Path:
    """A scenario file."""
    file = tmp_path / "sampled.yaml"
    file.write_text(PATH)
    return file


@pytest.mark.slow
def test_rows_become_parquet_with_who_holds_each_socket(tmp_path: Path) -> None:
    numbers = [
        dict.fromkeys(SOCKET_COLUMNS, 0) | {"time_ns": at, "socket": socket} for at in (0, 5) for socket in (1, 0)
    ]
    for name in SOCKET_COLUMNS[10:]:
        numbers[0][name] = ""  # pyright: ignore[reportArgumentType]
    rows = [",".join(SOCKET_COLUMNS), *(",".join(str(row[name]) for name in SOCKET_COLUMNS) for row in numbers), "9,9"]
    (tmp_path / RAW_SOCKETS).write_text("\n".join(rows))
    (tmp_path / RAW_OWNERS).write_text(
        "socket,node,protocol,local,local_port,remote,remote_port,pid,program\n"
        "1,1,17,::ffff:10.0.0.2,9000,::,0,12,server\n0,0,6,10.0.0.1,40000,10.0.0.2,9000,,\n"
    )
    (tmp_path / RAW_LINKS).write_text(
        "time_ns,link,direction,bytes,packets,drops,backlog_bytes,backlog_packets,marks\n"
    )
    first = tmp_path / "first"
    for folder in (first, tmp_path / "second"):
        folder.mkdir()
        keep_samples(tmp_path, folder, ["a", "b"])
    assert all((tmp_path / "second" / file.name).read_bytes() == file.read_bytes() for file in first.iterdir())
    a, b = SocketSamples(first).ends
    assert (a.node, a.protocol, a.program, a.remote, a.rows["time_ns"]) == (
        "a",
        "tcp",
        None,
        ("10.0.0.2", 9000),
        [0, 5],
    )
    assert (b.node, b.protocol, b.program, b.local, b.pid) == ("b", "udp", "server", ("10.0.0.2", 9000), 12)
    assert b.rows["bytes_sent"] == [None, 0]


@pytest.mark.guest
def test_nothing_in_the_guest_changes_when_it_is_sampled(path_file: Path, tmp_path: Path) -> None:
    script = BUSY.format(python=sys.executable, program=PROGRAM)
    words = ["exec", str(path_file), "--at", "a", "--no-calibration", "--quiet", "--seed", "3"]
    found: list[str] = []
    samples: list[str] = []
    for number, interval in enumerate(("", "7 ms", "7 ms", "1 ms")):  # at 100 us a tick meets fq's slack
        more = ["--samples", str(tmp_path / f"s{number}"), "--sample-interval", interval] if interval else []
        done = landspeed(*words, *more, "--", "sh", "-c", script)
        assert done.returncode == 0, done.stderr
        found.append(done.stdout)
        if interval:
            kept = tmp_path / f"s{number}"
            assert {file.name for file in kept.iterdir()} == {"links.parquet", "sockets.parquet", "own-logs"}
            assert (kept / "own-logs" / "one.sqlog").read_text() == "{}\n"  # the program's, of its own connections
            content = b"".join(file.read_bytes() for file in sorted(kept.glob("*.parquet")))
            samples.append(hashlib.sha256(content).hexdigest())
    assert found == found[:1] * 4
    assert int(found[0].splitlines()[1]) > 2000  # packets that were captured
    assert samples[0] == samples[1]
    seen = SocketSamples(tmp_path / "s1")
    windowed = next(each for each in seen.between("a", "b") if each.sender.remote[1] == 9000)
    assert windowed.bytes >= 3_000_000
    assert windowed.receiver is not None
    assert windowed.sender.program == windowed.receiver.program == Path(sys.executable).name
    assert max(windowed.in_flight) <= 100_000 + 200  # its first line of words is under way, too
    steps = {
        after - before for before, after in zip(windowed.rows["time_ns"], windowed.rows["time_ns"][1:], strict=False)
    }
    assert steps == {7_000_000}
    assert seen.links["link"].to_pylist()[-1] == 1


@pytest.mark.guest
def test_the_interval_doubles_and_times_count_from_the_programs_start(path_file: Path, tmp_path: Path) -> None:
    from landspeed.scenario.file.load import load_scenario
    from landspeed.worlds.emu.options import EmuOptions
    from landspeed.worlds.emu.world import EmuWorld
    from landspeed.worlds.program_world import SocketSampling
    from landspeed.worlds.registry import plan_for

    world, plan = EmuWorld(EmuOptions()), plan_for(load_scenario(path_file), "emu")
    status = world.execute(
        plan,
        tmp_path,
        at="b",
        command=["sleep", "0.1"],
        calibrate=False,
        sampling=SocketSampling(interval_ns=1_000_000, double_after=16),
    )
    assert status == 0
    keep_samples(tmp_path, tmp_path, [node.name for node in plan.nodes])
    times = sorted(set(SocketSamples(tmp_path).links["time_ns"].to_pylist()))
    wanted, interval = [0], 1_000_000
    while len(wanted) < len(times):
        interval *= 2 if len(wanted) % 16 == 0 else 1
        wanted.append(wanted[-1] + interval)
    assert times == wanted
    assert times[-1] >= 100_000_000
    assert json.loads((tmp_path / "guest.json").read_text())["sampler"] == 0


@pytest.mark.guest
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--sample-interval", "1 ms"], "add --samples DIR"),
        (["--samples", "/proc/no", "--sample-interval", "1 ns"], "write 10 us to 1 h"),
        (["--samples", "/proc/no", "--sample-interval", "10"], "a time needs a unit"),
        (["--samples", "/proc/no"], "/proc/no: samples cannot be kept there"),
    ],
)
def test_wrong_words_are_bad_input(path_file: Path, words: list[str], said: str) -> None:
    done = landspeed_here("exec", str(path_file), "--at", "a", *words, "--", "true")
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
