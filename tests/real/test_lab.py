"""The plays against real Debian servers with systemd and sshd, booted here, in the order of a molecule scenario.

Create (the fixtures), what changes nothing, converge, idempotence, verify, bad days, cleanup (after kill -9 in the
middle of each role), destroy. One lab for all tests of this file; they use it in this order, one after the other.
"""

import re
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from landspeed.results.facts import RealFacts
from landspeed.worlds.real.runner import PLAYBOOKS
from landspeed.worlds.real.variables import read_variables, write_variables
from tests.support.emu_fixtures import wait_until
from tests.support.lab_fixtures import (  # noqa: F401  (fixtures)
    assert_as_before,
    before_fixture,
    beside_fixture,
    bundle_of,
    converged_fixture,
    key_fixture,
    leave_nothing_uncollected,
    lend,
    servers_fixture,
)
from tests.support.real_fixtures import Servers, changes, kill_session, read_until
from tests.support.real_kills import FLEET_KILL, KILLS, Kill
from tests.support.stalls import RETRANSMISSION_S, Beside

UNIT_EXPOSURE_AT_MOST = 2.5


# --- Before anything is changed --------------------------------------------------------------------------------------


def test_preflight_names_host_and_remedy(
    servers: Servers, before: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unreachable, without sudo, too little memory, clock off (which the operator's time zone is not)."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    other = servers.make_inventory(
        servers.folder / "unreachable",
        sender=servers.host("sender", login="vera@sender"),
        receiver=servers.host("receiver", login="otto@10.77.0.99", address="10.78.2.2"),
    )
    done = servers.play("preflight", inventory=other)
    assert done.returncode == 1
    assert "10.77.0.99: cannot be reached over ssh" in done.stderr
    assert "sender: sudo asks vera for a password. Remedy: --ask-become-pass; " in done.stderr
    assert "allow sudo (usermod -aG sudo vera)" in done.stderr  # as Debian names the group

    # Of the lab's servers the shaper alone has a kernel and so a clock of its own: here it is the receiver, of itself
    # (its NICs' driver panics when it is asked for rings, which lo is not).
    hungry = servers.make_inventory(
        servers.folder / "hungry",
        *("--set", "transfer.window=1GB", "--set", "transfer.streams=128"),
        sender=servers.host("sender", address="10.78.1.1"),
        receiver=servers.host("shaper", address="10.78.2.1"),
    )
    servers.lab.root("shaper", "date --set=+1hour")
    try:
        done = servers.play("preflight", inventory=hungry)
    finally:
        servers.lab.root("shaper", "date --set=-1hour")
    assert done.returncode == 1
    assert re.search(r"sender: memory: .* GB available, wanted 512.00 GB.*Remedy: free memory", done.stderr)
    assert re.search(
        r"shaper: clock: \+3[56]\d\d\.\d+ s ± \d\.\d+ s .*Remedy: set up time synchronisation", done.stderr
    ), done.stderr
    assert "sender: clock" not in done.stderr
    assert_as_before(servers, before)


def test_check_mode_changes_nothing(servers: Servers, before: dict[str, str]) -> None:
    """And says what would change; an attempt is refused on servers that nobody made ready."""
    plays = dict.fromkeys(("tune", "deploy", "shape", "advise"), "--check") | {"attempt": "--attempt=unready"}
    with ThreadPoolExecutor() as pool:
        dry = dict(zip(plays, pool.map(servers.play, plays, plays.values()), strict=True))
    unready = dry.pop("attempt")
    for done in dry.values():
        assert done.returncode == 0, done.stderr
    assert re.search(r"tcp_congestion_control: \w+ → reno", dry["tune"].stderr)
    assert re.search(r"    sysctl net\.ipv4\.tcp_congestion_control: \w+ → reno: the plan's \(", dry["advise"].stderr)
    assert "deploy: Install the engine: sender changed" in dry["deploy"].stderr
    assert "shape: Make this box the path: shaper changed" in dry["shape"].stderr
    assert unready.returncode == 1
    wanted = "not made ready since it was started or restored. Remedy: landspeed real tune, landspeed real deploy"
    assert wanted in unready.stderr, unready.stderr
    assert_as_before(servers, before)


def test_a_link_of_another_rate(servers: Servers, before: dict[str, str]) -> None:
    """The box is told to make one direction of one link a tenth slower than the plan's: its calibration names it."""
    links = read_variables(servers.inventory / "group_vars" / "all" / "plan.yml")["landspeed_shape"]
    slower = links[1]["reverse"][-1].replace("rate 100000000bit", "rate 90000000bit")
    assert slower != links[1]["reverse"][-1]
    links[1]["reverse"][-1] = slower
    told = servers.inventory / "host_vars" / "shaper.yml"
    write_variables(told, "Not the plan's.", {"landspeed_shape": links})
    try:
        done = servers.play("shape")
        assert done.returncode == 2 and f"{told}: landspeed_shape is the plan's figure" in done.stderr
        done = servers.measured("shape", plain=True)
    finally:
        told.unlink()
    assert done.returncode == 2  # a task failed
    wrong = r"shaper: rate of link 2 \(r1 – r2\), reverse: (\d+\.\d+) Mbit/s, the plan's 99\.58 Mbit/s ± 2%\. Remedy: "
    (found, *_) = re.findall(wrong, done.stdout)
    assert float(found) == pytest.approx(90.0 * 9000 / 9038, rel=0.02)


# --- Converge, idempotence, verify -----------------------------------------------------------------------------------


def test_converge(servers: Servers, converged: subprocess.CompletedProcess[str], key: str) -> None:
    """The first run changes every server; what it installed is hardened, bounded and keeps its secret."""
    said = re.findall(r"^([a-z]+): ", converged.stderr, re.MULTILINE)
    plays = ["preflight", "tune", "deploy", "shape", "attempt", "watch", "collect"]
    assert [role for role in dict.fromkeys(said) if role != "lease"] == plays
    assert all(count > 0 for count in changes("site", converged.stdout).values())
    for host, side in (("sender", "send"), ("receiver", "receive")):
        unit = f"landspeed-{side}@first.service"
        shown = servers.lab.root(host, f"systemd-analyze security {unit} | tail -n 1")
        exposure = re.search(r"exposure level for \S+: ([0-9.]+)", shown)
        assert exposure and float(exposure[1]) <= UNIT_EXPOSURE_AT_MOST, shown
        limit = servers.lab.root(host, f"systemctl show --property=RuntimeMaxUSec {unit}")
        assert limit.strip() == "RuntimeMaxUSec=1min 9s"  # a minute, and half as long again as the plan's 6 s
        assert servers.lab.root(host, "cat /etc/landspeed/key").strip() == key
        assert servers.lab.root(host, "stat -c '%a %U' /etc/landspeed/key").strip() == "400 root"


def test_the_firewall_lets_the_peer_alone_in(servers: Servers, converged: object) -> None:
    """To the engine's ports: who else knocks there gets no answer, elsewhere he does."""
    listen = "import socket; each = [socket.create_server(('', port)) for port in (5201, 5203)]; each[0].accept()"
    connect = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 1).close()"
    with ThreadPoolExecutor() as pool:
        listening = pool.submit(servers.lab.root, "receiver", f'timeout 120 python3 -c "{listen}"')
        wait_until(lambda: ":5201" in servers.lab.root("receiver", "ss --no-header -ltn"), "somebody to listen")
        stranger = f'python3 -c "{connect}" 10.77.0.12'
        assert servers.lab.ssh("shaper", f"{stranger} 5203").returncode == 0
        assert "TimeoutError" in servers.lab.ssh("shaper", f"{stranger} 5201").stderr
        servers.lab.root("sender", f'python3 -c "{connect}" 10.78.2.2 5201')
        listening.result()


def test_idempotence(servers: Servers, converged: object) -> None:
    """The second run changes nothing; an attempt that was made is not made again."""
    plays = ("tune", "deploy", "shape")
    with ThreadPoolExecutor() as pool:
        for play, again in zip(plays, pool.map(servers.must, plays), strict=True):
            assert set(again.values()) == {0}, f"{play}, the second time: {again}"
    done = servers.play("attempt", "--attempt", "first")
    assert done.returncode == 1
    assert "there is an attempt first already; nothing was sent. Remedy: another name" in done.stderr


def test_somebody_else_gets_no_host(servers: Servers, converged: object) -> None:
    """Another inventory of the same hosts: it takes nothing, stops nothing, removes nothing."""
    other = servers.make_inventory(servers.folder / "other")
    for play, *words in (["tune"], ["stop"], ["restore", "--remove-engine"], ["deploy", "--unrehearsed", "x"]):
        done = servers.play(play, *words, inventory=other)
        assert done.returncode == 1, play
        found = re.findall(
            r"(sender|receiver): the host is (\S+)'s until .* for lab \(\w+\) \(inventory (\S+)\)\.", done.stderr
        )
        assert {(host, where) for host, _, where in found} >= {("sender", str(servers.inventory))}, done.stderr
        assert "--force takes it" in done.stderr
    assert servers.lab.root("sender", "ls /var/lib/landspeed/attempts/first/sender.csv")


def test_what_is_not_in_force_stops_an_attempt(servers: Servers, converged: object) -> None:
    """As somebody else's change, or a reboot, leaves it."""
    former = servers.lab.root("receiver", "sysctl -n net.ipv4.tcp_rmem").strip()
    servers.lab.root("receiver", "sysctl -w net.ipv4.tcp_rmem='4096 131072 262144'")
    servers.lab.root("sender", "nft delete table inet landspeed")
    try:
        done = servers.play("attempt", "--attempt", "bare")
    finally:
        servers.lab.root("receiver", f"sysctl -w net.ipv4.tcp_rmem='{former}'")
    assert done.returncode == 1
    assert re.search(
        r"receiver: settings are not in force \(sysctl net.ipv4.tcp_rmem: 4096 131072 262144\)", done.stderr
    )
    assert "Remedy: landspeed real tune" in done.stderr
    done = servers.play("attempt", "--attempt", "bare")
    assert "sender: the firewall table that closes port 5201 is not in force" in done.stderr
    servers.must("deploy")


def test_verify(servers: Servers, converged: object, key: str, beside: Beside) -> None:
    """An attempt across the shaped path is a bundle like any other: verified payload, RTT, goodput, submission."""
    record, bundle = bundle_of(servers, "first")
    assert record.complete and record.passed
    assert record.calibration is not None and record.calibration.path_mtu_bytes == 9000
    verified = record.tool_result.model_dump()["verification"]
    assert verified["blocks"] > 100 and verified["faults"] == 0 and verified["missing"] == 0
    assert verified["payload_bytes"] == pytest.approx(record.bytes, rel=0.01)
    verdicts = {verdict.name: verdict for verdict in record.verdicts}
    assert verdicts["rehearsal"].ok is True
    for role, peer in (("sender", "10.78.2.2"), ("receiver", "10.78.1.2")):  # the box, two routers, the box
        assert isinstance(record.world_facts, RealFacts)
        findings = {each["check"]: each["found"] for each in record.world_facts.hosts[role].findings}
        assert findings["hops"] == f"4 routers on the way back from {peer}"
    logs = {file.name for file in (bundle / "log").iterdir()}
    assert logs >= {f"{host}-{when}.txt" for host in ("sender", "receiver") for when in ("before", "after")}
    assert logs >= {"sender-capture.pcap", "receiver-capture.pcap"}
    assert "report of an attempt" in (bundle / "report.html").read_text()
    made = servers.landspeed("submission", str(bundle))
    assert made.returncode == 0, made.stderr
    assert "lab" in (bundle / "submission.html").read_text()

    for host in ("sender", "receiver"):
        traces = servers.lab.root(host, f"journalctl --no-pager | grep -v grep | grep -c {key} || true")
        assert traces.strip() == "0"
    written = [file for folder in (servers.runs, servers.inventory) for file in folder.rglob("*") if file.is_file()]
    assert len(written) > 20
    assert not [file for file in written if key.encode() in file.read_bytes()]

    # What real time decides. As the rehearsal: after slow start what pacing lets through, and nothing sent again.
    asked = verdicts["rehearsed beside real"]
    assert record.rtt_ms is not None and asked.measured is not None and asked.expected is not None
    beside.judge("the RTT", abs(record.rtt_ms / 264.0 - 1), 0.01, beside.longest_s / 0.264)
    beside.judge("goodput beside the rehearsal's", abs(asked.measured / asked.expected - 1), 0.1)
    if record.retransmits or record.limited_by != "pacing":
        assert beside.longest_s > RETRANSMISSION_S, (record.retransmits, record.limited_by)
        pytest.skip(f"the machine's, not the lab's: a stall of {beside.longest_s:.3f} s made TCP send again")


def test_the_comparison_says_why_the_real_path_was_slower(servers: Servers, converged: object) -> None:
    """The path loses what the rehearsed one did not: it is worse, loss is named, and iperf3 finds as little."""
    lend(servers, "iperf3")
    change = "tc -n landspeed-hop1 qdisc change dev lspeed1a root netem limit 70000 delay 71000us"
    servers.lab.root("shaper", f"{change} loss 2%")
    try:
        servers.must("attempt", "--attempt", "lossy", "--iperf3", "3")
    finally:
        servers.lab.root("shaper", change)
    servers.play("collect")
    record, _ = bundle_of(servers, "lossy")
    (verdict,) = [each for each in record.verdicts if each.name == "rehearsed beside real"]
    assert verdict.ok is None and verdict.measured is not None and verdict.expected is not None
    assert verdict.measured < 0.8 * verdict.expected
    (beside,) = [each for each in record.verdicts if each.name == "iperf3"]
    assert beside.expected is not None and 0 < beside.expected < 0.8 * verdict.expected, beside.text
    assert re.search(r"; loss: \d\.\d\de-0[12] of the bytes were sent again, 0\.00e\+00 in the rehearsal", verdict.text)


# --- Bad days --------------------------------------------------------------------------------------------------------


def test_a_hop_with_a_small_mtu(servers: Servers, converged: object) -> None:
    """One router of the path takes 1500 B: the attempt is not begun."""
    servers.lab.root("shaper", "ip -n landspeed-hop1 link set lspeed1a mtu 1500")
    try:
        done = servers.play("attempt", "--attempt", "small")
    finally:
        servers.lab.root("shaper", "ip -n landspeed-hop1 link set lspeed1a mtu 9000")
        servers.lab.root("sender", "ip route flush cache")
    assert done.returncode == 1
    wanted = r"sender: path mtu: at most 1500 B, wanted 9000 B. Remedy: a hop to 10.78.2.2 takes no 9000 B packets"
    assert re.search(wanted, done.stderr), done.stderr


def test_a_changed_binary(servers: Servers, converged: object) -> None:
    """Somebody has put another engine there."""
    servers.lab.root("receiver", "cp /usr/local/bin/landspeed-engine /root/e; echo x >>/usr/local/bin/landspeed-engine")
    try:
        done = servers.play("attempt", "--attempt", "changed")
    finally:
        servers.lab.root("receiver", "cat /root/e >/usr/local/bin/landspeed-engine; rm /root/e")
    assert done.returncode == 1
    assert "receiver: /usr/local/bin/landspeed-engine is not the engine that was rehearsed and deployed" in done.stderr
    assert "Remedy: landspeed real deploy" in done.stderr


def test_a_wrong_key(servers: Servers, converged: object, key: str) -> None:
    """The receiver has another key; neither is told."""
    other = "tr 0-9a-f 1-9a-f0 </root/k >/etc/landspeed/key"
    servers.lab.root("receiver", f"cp -p /etc/landspeed/key /root/k; {other}")
    try:
        done = servers.play("attempt", "--attempt", "wrong")
    finally:
        servers.lab.root("receiver", "cat /root/k >/etc/landspeed/key; rm /root/k")
    assert done.returncode == 1
    assert re.search(r"sender: the engine ended with status 1: .*key", done.stderr), done.stderr
    assert "Remedy: landspeed real deploy" in done.stderr
    assert key not in done.stderr + done.stdout


def test_the_receiver_dies_during_the_attempt(servers: Servers, converged: object) -> None:
    """kill -9 of its engine: the sender ends at once, and both say what they know."""
    play = servers.start("attempt", "--attempt", "dead")
    try:
        read_until(play, "sender: time_s")
        servers.lab.root("receiver", "systemctl kill --signal=KILL landspeed-receive@dead.service")
        said, _ = play.communicate(timeout=60)
    finally:
        kill_session(play.pid)
    assert play.returncode == 1
    assert re.search(r"receiver: the engine ended with status 9.*Remedy: ", said, re.DOTALL), said
    assert re.search(r"sender: the engine ended with status 1: landspeed-engine: .*Remedy: ", said, re.DOTALL), said


def test_the_cable_is_pulled_during_the_attempt(servers: Servers, converged: object) -> None:
    """The receiver's NIC loses its carrier: the sender notices that nobody is there, the receiver says why."""
    play = servers.start("attempt", "--attempt", "cable")
    try:
        read_until(play, "sender: time_s")
        servers.lab.wire("ip link set d-receiver down")
        said, _ = play.communicate(timeout=120)
    finally:
        kill_session(play.pid)
        servers.lab.wire("ip link set d-receiver up")
    assert play.returncode == 1
    assert re.search(r"receiver: ended, since the NIC data0 has lost its link\. Remedy: look at cable", said), said
    assert re.search(r"sender: for \d+ s nothing has arrived at 10\.78\.2\.2, .*Remedy: look at the NIC there", said), (
        said
    )
    for host in ("sender", "receiver"):
        assert not servers.lab.root(host, "pgrep -x landspeed-engin || true")


def test_the_operator_ends_an_attempt(servers: Servers, converged: object) -> None:
    """Ctrl-C: the play ends, and both engines with it."""
    play = servers.start("attempt", "--attempt", "ended")
    try:
        read_until(play, "sender: time_s")
        play.send_signal(signal.SIGINT)
        said, _ = play.communicate(timeout=120)
    finally:
        kill_session(play.pid)
    assert play.returncode == 1 and "Error: interrupted" in said
    for host in ("sender", "receiver"):
        assert not servers.lab.root(host, "pgrep -x landspeed-engin || true")


# --- Cleanup, destroy ------------------------------------------------------------------------------------------------


def test_every_role_is_killed() -> None:
    """A new role needs a row; that of several flows is killed in test_fleet_lab.py."""
    rows = [*KILLS, [FLEET_KILL]]
    assert {kill.role for row in rows for kill in row} == {folder.name for folder in (PLAYBOOKS / "roles").iterdir()}
    for row in rows:
        for kill in row:
            tasks = "".join(file.read_text() for file in (PLAYBOOKS / "roles" / kill.role / "tasks").iterdir())
            assert re.search(rf"^- name: {re.escape(kill.left)}( # noqa: .*)?$", tasks, re.MULTILINE), kill.left


@pytest.mark.parametrize("row", KILLS, ids=lambda row: "-".join(kill.role for kill in row))
def test_restore_after_kill_in_the_middle_of(
    row: list[Kill], servers: Servers, before: dict[str, str], request: pytest.FixtureRequest
) -> None:
    """kill -9 of the play and of everything it started on the operator's machine, while it is at this role."""
    if row is KILLS[0]:
        request.getfixturevalue("converged")
    for kill in row:
        said = servers.kill_during(kill.play or kill.role, kill.line, *kill.words)
        assert f"\n{kill.role}: " in f"\n{said}" and f"{kill.role}: {kill.left}: " not in said, said
        assert len(list(servers.temporary.iterdir())) == 1  # its own; the next command removes it
        if kill.role == "attempt":
            assert servers.lab.root("sender", "pgrep -x landspeed-engin || pgrep -x tcpdump")
    if row is KILLS[0]:  # settings are back, the engine stays until asked
        servers.must("restore")
        for host in ("sender", "receiver"):
            servers.lab.root(host, "test -x /usr/local/bin/landspeed-engine")
            assert not servers.lab.root(host, "pgrep -x landspeed-engin || pgrep -x tcpdump || true")
        leave_nothing_uncollected(servers)
    servers.must("restore", "--remove-engine")
    assert_as_before(servers, before)
    if row is KILLS[-1]:  # nothing is left to restore
        assert set(servers.must("restore", "--remove-engine").values()) == {0}


def test_the_lab_leaves_nothing(servers: Servers) -> None:
    """Taken down by kill -9 of its first process and `down`, beside others. The last test here: its servers go."""
    lab = servers.lab
    children = Path(f"/proc/{lab.pid}/task/{lab.pid}/children").read_text().split()
    lab.down()
    # Reaped by the host's first process, in its own time.
    wait_until(lambda: not any(Path("/proc", child).exists() for child in children), "the lab's processes to be gone")
    assert not lab.folder.exists()
    mounts = Path("/proc/self/mounts").read_text()
    assert lab.folder.name not in mounts
    assert not list(Path("/sys/fs/cgroup").glob(f"*/landspeed-lab-{lab.folder.name}"))
    assert shutil.which("systemd-nspawn")
