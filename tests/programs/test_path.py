"""`landspeed.path`: programs on a path whose clock stands still but while a call waits; what goes wrong is told."""

import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

import landspeed as ls
from landspeed.results.own_logs import written_logs
from landspeed.results.packet_ring import packets, write_pcap
from landspeed.worlds.emu.session import GuestSession
from tests.support.emu_fixtures import ROOT, wait_until
from tests.support.path_functions import leave, refuse, square

pytestmark = pytest.mark.guest
# Says what it hears, and how much: a server in a few lines, which costs few system calls.
SERVER = """
import socket, sys
listening = socket.create_server(("", int(sys.argv[1])))
print("ready", flush=True)
while True:
    connection, _ = listening.accept()
    heard = 0
    while data := connection.recv(1 << 16):
        heard += len(data)
    connection.sendall(b"thanks")
    print("heard", heard, flush=True)
"""
CLIENT = """
import socket, sys
connection = socket.create_connection((sys.argv[1], int(sys.argv[2])))
connection.sendall(bytes(int(sys.argv[3])))
connection.shutdown(socket.SHUT_WR)
print(connection.recv(100).decode())
"""
PYTHON = [sys.executable, "-S", "-c"]


@pytest.fixture(scope="module")
def lan() -> Iterator[ls.NetworkPath]:
    """One path for what does not mind what was before."""
    with ls.path("lan") as path:
        yield path


def transfer(path: ls.NetworkPath, size: int = 100_000) -> ls.Program:
    """A server, and a client that sends to it."""
    path.receiver.popen([*PYTHON, SERVER, "9000"], until=ls.listening(9000))
    return path.sender.run([*PYTHON, CLIENT, path.receiver.name, "9000", str(size)], timeout="60 s")


# --- the clock -------------------------------------------------------------------------------------------------------


def test_the_clock_stands_still_while_nothing_is_asked(lan: ls.NetworkPath) -> None:
    before = lan.elapsed_s
    lan.advance("10 s")
    first = lan.elapsed_s
    lan.advance("10 s")
    assert 10 <= first - before < 10.0001
    assert 10 <= lan.elapsed_s - first < 10.0001  # the wall time between the two is not in it
    process = Path(f"/proc/{cast(GuestSession, lan.session)._guest.process.pid}")
    wait_until(lambda: (process / "stat").read_text().split()[2] == "S", "the guest's kernel to sleep")


def record(tmp_path: Path, seed: int, *, dawdle: bool) -> tuple[object, ...]:
    """All that can be seen of a small session; `dawdle`: with pauses between what is asked."""
    with ls.path("lte", seed=seed, folder=tmp_path) as path:
        path.at("0.3 s", link="modem-base-station", down="150 ms")
        pause = 0.3 if dawdle else 0.0
        time.sleep(pause)
        server = path.receiver.popen([*PYTHON, SERVER, "9000"])
        time.sleep(pause)
        server.wait_for(ls.line("^ready$"))
        done = path.sender.run([*PYTHON, CLIENT, "b", "9000", "300000"])
        time.sleep(pause)
        path.advance("1 s")
        path.session.ask("keep")
        seen = [(tmp_path / "captures" / f"{end}.ring").read_bytes() for end in path.ends]
        return path.elapsed_s, done.elapsed_s, server.stdout, done.stdout, path.story, seen


def test_the_same_seed_is_the_same_to_the_byte_however_the_host_dawdles(tmp_path: Path) -> None:
    """Captures with their times, the story, the nanoseconds."""
    first, again = (record(tmp_path / str(slow), 7, dawdle=slow) for slow in (False, True))
    other = record(tmp_path / "other", 8, dawdle=False)
    assert first == again
    assert first[2:4] == other[2:4] == ("ready\nheard 300000\n", "thanks\n")
    assert first[0] != other[0]
    assert first[5] != other[5]


def test_a_ping_takes_what_the_path_takes(tmp_path: Path) -> None:
    with ls.path("transatlantic", folder=tmp_path) as path:
        done = path.sender.run(["ping", "-c", "3", "b"])
        assert re.search(r"= 76\.00\d/76\.00\d/76\.00\d/0\.000 ms", done.stdout)
        assert done.elapsed_s == pytest.approx(2.0 + 0.076, abs=0.002)
        path.session.ask("keep")
        ring, start_ns = tmp_path / "captures" / "a.ring", path.session.start_unix_ns
        seen = list(packets(ring, start_ns))
        assert len(seen) == 6
        for sent, answered in zip(seen[::2], seen[1::2], strict=True):
            # 98 B with Ethernet's header, and 24 of framing beyond it: 976 ns at 1 Gbit/s, 98 ns at 10
            assert answered.time_ns - sent.time_ns == pytest.approx(76_000_000 + 2 * (2 * 976 + 98), abs=2000)
        assert write_pcap(ring, tmp_path / "a.pcap", start_ns) == 6
    words = ["tcpdump", "-nr", str(tmp_path / "a.pcap"), "--time-stamp-precision=nano", "-tt"]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) == 6
    assert float(lines[0].split()[0]) == pytest.approx(seen[0].time_ns / 1e9, abs=1e-9)
    assert "ICMP echo request" in lines[0]


@pytest.mark.exact
def test_an_outage_happens_at_its_nanosecond_and_loses_what_it_should() -> None:
    """One ping every 100 ms: of those at 0, 100, …, 900 ms, an outage from 250 to 550 ms takes 300, 400 and 500 ms."""
    with ls.path("lan") as path:
        path.at("0.25 s", from_="a", to="switch", down="300 ms")
        done = path.sender.run(["ping", "-c", "10", "-i", "0.1", "-W", "1", "b"])
        assert sorted(map(int, re.findall(r"icmp_seq=(\d+)", done.stdout))) == [1, 2, 3, 7, 8, 9, 10]
        (event,) = path.session.events
        assert event.at_s == pytest.approx(0.25, abs=1e-6)
        assert event.until_s == pytest.approx(0.55, abs=1e-6)
        assert event.packets_lost == 3
        assert any("a → switch: down is over, 3 packets lost" in line for line in path.story)


def test_a_line_that_becomes_slow_is_as_slow_as_it_was_told() -> None:
    """4 MB at 8 Mbit/s are 4 s, with framing a little more: 1538 B on the line for 1448 B."""
    with ls.path("lan") as path:
        path.at("0 s", link="a-switch", line_rate="8 Mbit/s")
        done = transfer(path, 4_000_000)
        assert done.stdout == "thanks\n"
        assert done.elapsed_s == pytest.approx(4.0 * 1538 / 1448, rel=0.02)


@pytest.mark.exact
@pytest.mark.parametrize("scenario", [ROOT / "scenarios/examples/dumbbell.yaml"], ids=["network"])
def test_a_network_has_its_nodes(scenario: Path) -> None:
    with ls.path(scenario) as path:
        hosts = [node.name for node in path.plan.nodes if node.kind == "host"]
        done = path[hosts[0]].run(["ping", "-c", "1", hosts[-1]])
        assert done.returncode == 0, done.stdout
        link = path.plan.links[0]
        path.at("5 s", link=(link.a, link.b), down="1 s")
        path.advance("10 s")
        assert path.session.events[-1].until_s == pytest.approx(6.0, abs=1e-6)


# --- programs --------------------------------------------------------------------------------------------------------


def test_what_is_waited_for(lan: ls.NetworkPath) -> None:
    server = lan["b"].popen([*PYTHON, SERVER, "7001"], until=ls.listening(7001))
    assert server.returncode is None
    assert lan["a"].run([*PYTHON, CLIENT, "b", "7001", "10"]).stdout == "thanks\n"
    server.wait_for(ls.line("^heard 10$"))
    lan["b"].popen(["sh", "-c", "sleep 2; touch /tmp/there; sleep 1"], until=ls.succeeds(["test", "-e", "/tmp/there"]))
    datagrams = "import socket, time; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(('', 7002)); time.sleep(9)"
    lan["b"].popen([*PYTHON, datagrams], until=ls.listening(7002, "udp"))
    assert server.stop().returncode == -signal.SIGTERM


def test_input_environment_folder_and_what_is_shared(lan: ls.NetworkPath, tmp_path: Path) -> None:
    done = lan.sender.run(
        ["sh", "-c", "cat; echo $MINE $LANDSPEED_B; pwd"], input="in\n", env={"MINE": "1"}, cwd="/usr"
    )
    assert done.stdout.split() == ["in", "1", lan["b"].address, "/usr"]
    (lan.shared / "here").write_text("from here")
    done = lan.sender.run(["sh", "-c", 'cat "$LANDSPEED_SHARED/here"; echo there > "$LANDSPEED_SHARED/there"'])
    assert done.stdout == "from here"
    assert (lan.shared / "there").read_text() == "there\n"


TLS = """
import ssl, sys
client, server = ssl.create_default_context(), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
client.check_hostname, client.verify_mode = False, ssl.CERT_NONE  # of another date than the path's calendar
server.load_cert_chain(sys.argv[1], sys.argv[2])
there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
a, b = client.wrap_bio(back, there, server_hostname="b"), server.wrap_bio(there, back, server_side=True)
for end in (a, b, a, b):
    try:
        end.do_handshake()
    except ssl.SSLWantReadError:
        pass
"""


def test_a_program_s_tls_keys_and_qlog_stay_in_the_run_s_folder(lan: ls.NetworkPath, tmp_path: Path) -> None:
    """Python's ssl is told by SSLKEYLOGFILE, as other libraries are; a program of QUIC by QLOGDIR."""
    assert written_logs(lan.folder) == []
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    words += ["-keyout", str(key), "-out", str(certificate), "-days", "36500"]
    words += ["-subj", "/CN=b"]
    subprocess.run(words, check=True, capture_output=True)
    done = lan.sender.run([*PYTHON, TLS, str(certificate), str(key)])
    assert (done.returncode, done.stderr) == (0, "")
    keys = (lan.folder / "own-logs" / "tls-keys.log").read_text()
    assert "CLIENT_TRAFFIC_SECRET_0 " in keys
    assert lan.receiver.run(["sh", "-c", 'echo {} > "$QLOGDIR/one.sqlog"; : > "$QLOGDIR/empty"']).returncode == 0
    assert written_logs(lan.folder) == ["own-logs/one.sqlog", "own-logs/tls-keys.log"]
    mine = lan.sender.run(["sh", "-c", "echo $SSLKEYLOGFILE"], env={"SSLKEYLOGFILE": "/tmp/mine"})
    assert mine.stdout == "/tmp/mine\n"


def test_a_function_runs_there(lan: ls.NetworkPath) -> None:
    assert lan.python(square, 7) == (49, "landspeed")
    with pytest.raises(KeyError, match="7") as caught:
        lan["b"].python(refuse, 7)
    assert "raise KeyError(value)" in caught.value.__notes__[0]
    with pytest.raises(ls.PathError, match=r"leave was not called to its end \(exit status 3\)"):
        lan.python(leave)
    with pytest.raises(ls.PathError, match="define it at the top of its module"):
        lan.python(lambda: 1)
    with pytest.raises(ls.PathError, match="cannot be pickled"):
        lan.python(square, open(os.devnull))  # noqa: PTH123, SIM115


# --- faults of programs ----------------------------------------------------------------------------------------------


def test_a_server_that_never_listens(lan: ls.NetworkPath) -> None:
    before = lan.elapsed_s
    with pytest.raises(ls.ProgramTimeout, match="not within 20 s that somebody listens on tcp port 7009"):
        lan["b"].popen(["sleep", "60"], until=ls.listening(7009), limit="20 s")
    assert lan.elapsed_s - before == pytest.approx(20.0, abs=0.01)


def test_a_server_that_listens_elsewhere(lan: ls.NetworkPath) -> None:
    with pytest.raises(ls.ProgramTimeout, match=r"at b somebody listens on .*tcp port 7011"):
        lan["b"].popen([*PYTHON, SERVER, "7011"], until=ls.listening(7010), limit="2 s")
    with pytest.raises(ls.ProgramTimeout, match="port 7011; at a nobody listens at all"):
        lan["a"].popen(["sleep", "9"], until=ls.listening(7011), limit="2 s")


def test_a_server_that_dies_early(lan: ls.NetworkPath) -> None:
    with pytest.raises(ls.ProgramEnded, match=r"\(exit status 3\) before .* port 7012(?s:.*)last words:\n  no licence"):
        lan["b"].popen(["sh", "-c", "echo no licence >&2; exit 3"], until=ls.listening(7012))
    with pytest.raises(ls.ProgramEnded, match=r"\(signal 9\)"):
        lan["b"].popen(["sh", "-c", "kill -9 $$"], until=ls.line("never"))


def test_a_client_that_hangs_is_ended_also_when_it_catches_signals(lan: ls.NetworkPath) -> None:
    before = lan.elapsed_s
    with pytest.raises(ls.ProgramTimeout, match="still runs after 3 s"):
        lan.sender.run(["sh", "-c", "trap '' TERM INT; while :; do sleep 1; done"], timeout="3 s")
    assert lan.programs[-1].returncode == -signal.SIGKILL
    assert lan.elapsed_s - before == pytest.approx(3.0 + 5.0, abs=0.01)


def test_a_client_that_forks_and_leaves(lan: ls.NetworkPath) -> None:
    """The call returns with it, and what it left behind goes on."""
    done = lan.sender.run(["sh", "-c", "(sleep 5; echo late) & echo early"])
    assert (done.returncode, done.stdout) == (0, "early\n")
    assert done.elapsed_s < 0.1
    lan.advance("6 s")
    assert done.stdout == "early\nlate\n"


def test_a_client_that_writes_gigabytes(tmp_path: Path) -> None:
    """64 MiB of each output are kept, and the last of what came after."""
    with ls.path("lan", folder=tmp_path) as path:
        done = path.sender.run(["sh", "-c", "head -c 300000000 /dev/zero; echo the end"])
        assert done.returncode == 0
        assert done.written_bytes == (300_000_008, 0)
        path.end()
        kept = done.stdout_bytes
        assert len(kept) < (64 << 20) + (65 << 10)
        assert kept.endswith(b"the end\n")
        assert b"[landspeed left out 232825608 bytes here]" in kept


def test_a_program_that_spins_ends_the_session() -> None:
    with ls.path("lan", stall=8.0) as path:
        with pytest.raises(ls.RunFailed, match=r"the virtual clock has stood still .* the task that ran is 'sh'"):
            path.sender.run(["sh", "-c", "while :; do :; done"])
        with pytest.raises(ls.RunFailed, match="the guest is gone"):
            path.advance("1 s")


def test_programs_that_cannot_be_started(lan: ls.NetworkPath, tmp_path: Path) -> None:
    here = ROOT / "README.md"
    cases: list[tuple[list[str], str]] = [
        (["no-such-program"], "no-such-program: No such file or directory; write its path, or install it"),
        ([str(here)], f"{here}: Permission denied; make it executable: chmod \\+x {here}"),
    ]
    foreign = lan.shared / "foreign"
    foreign.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xb7\x00" + bytes(100))  # AArch64
    foreign.chmod(foreign.stat().st_mode | stat.S_IXUSR)
    cases.append((["/run/landspeed/shared/foreign"], "Exec format error; it is for another machine"))
    for words, wanted in cases:
        with pytest.raises(ls.ProgramNotStarted, match=wanted):
            lan.sender.run(words)
    with pytest.raises(ls.ProgramNotStarted, match="no such folder"):
        lan.sender.run(["true"], cwd="/no/such")


def test_files_that_a_command_names_are_seen_wherever_they_lie(lan: ls.NetworkPath, tmp_path: Path) -> None:
    """Below /tmp, which the guest has of its own: the program, its folder, what its words name. Nobody writes there."""
    program, data = tmp_path / "a program" / "run", tmp_path / "data" / "some"
    for file, text in ((program, "#!/bin/sh\ncat $1\n"), (data, "mine\n"), (program.with_name("beside"), "beside\n")):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    program.chmod(0o755)
    assert lan.sender.run([str(program), str(data)]).stdout == "mine\n"
    assert lan.sender.run(["cat", "beside"], cwd=program.parent).stdout == "beside\n"
    assert lan.sender.run(["dd", f"if={data}", "status=none"]).stdout == "mine\n"
    assert lan.sender.run(["touch", str(data)]).returncode == 1
    own = Path(tempfile.gettempdir()) / f"landspeed-test-{os.getpid()}"
    lan.sender.run(["sh", "-c", f"echo the guest\\'s >{own}"])
    own.write_text("mine\n")
    try:
        assert lan.sender.run(["cat", str(own)]).stdout == "the guest's\n", "what is there already stays"
    finally:
        own.unlink()


def test_a_folder_below_tmp_can_be_made_visible(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("seen")
    with ls.path("lan", visible=[tmp_path]) as path:
        assert path.sender.run(["cat", str(tmp_path / "data")]).stdout == "seen"
        assert path.sender.run(["touch", str(tmp_path / "data")]).returncode == 1


# --- bad input -------------------------------------------------------------------------------------------------------


def test_bad_input(lan: ls.NetworkPath) -> None:
    def words(wrong: object) -> None:
        lan.sender.run(wrong)  # type: ignore[arg-type]

    cases = [
        (lambda: lan["rome"], "no node 'rome'; there are a, switch, b"),
        (lambda: words("ping b"), r"'ping b' is not a command: write its words as a list"),
        (lambda: words([]), "is not a command"),
        (lambda: lan.sender.run(["true"], timeout="3"), "'3' is not a time: a time needs a unit"),
        (lambda: lan.advance("soon"), "'soon' is not a time"),
        (lambda: lan.at("9 h", link="a-rome", down="1 s"), "no link 'a-rome'; there are a-switch, switch-b"),
        (lambda: lan.at("9 h", link="a-switch"), "nothing happens; add one of: loss, line_rate"),
        (lambda: lan.at("9 h", down="1 s"), "the event names no link"),
        (lambda: lan.at("9 h", link="a-switch", down="1 parsec"), "no unit of time|'parsec'"),
        (lambda: lan.at("9 h", link="a-switch", down="1 s", for_="1 s"), "down is a time itself"),
        (lambda: ls.listening(70000), "70000 is not a port"),
        (lambda: ls.line("("), "is not a regular expression"),
        (lambda: ls.succeeds("true"), "write its words as a list"),
    ]
    for call, wanted in cases:
        with pytest.raises(ls.LandspeedError, match=wanted):
            call()
    lan.advance("1 s")
    with pytest.raises(ls.PathError, match=r"path.at\('0 s'\): the path's clock is at .* already\. Times count from"):
        lan.at("0 s", link="a-switch", down="1 s")


# --- nothing is left -------------------------------------------------------------------------------------------------


def test_a_killed_test_leaves_nothing(tmp_path: Path) -> None:
    """No process, no folder: `kill -9` while a program of the guest runs."""
    script = "import landspeed as ls, time\nwith ls.path('lan') as path:\n path.sender.popen(['sleep', '9'])\n"
    script += " print(path.session._guest.process.pid, flush=True)\n time.sleep(600)\n"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    words = [sys.executable, "-c", script]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=environment, cwd=ROOT) as process:
        assert process.stdout
        guest = Path("/proc") / process.stdout.readline().decode().strip()
        assert guest.exists()
        assert len(list(tmp_path.iterdir())) == 1
        process.kill()
    wait_until(lambda: not guest.exists(), "the guest to be gone")
    wait_until(lambda: not list(tmp_path.iterdir()), "its folder to be gone")
