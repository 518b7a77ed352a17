"""`landspeed mn`: Mininet scripts as they are, in virtual time."""

import re
import subprocess
from pathlib import Path

import pytest

from landspeed.cli.main import split_program
from landspeed.judge.sockets.series import SocketSamples
from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.resolve.resolve import make_plan
from landspeed.worlds.emu.evidence_decoding import packet_ends
from landspeed.worlds.emu.guest.script import run_script
from landspeed.worlds.emu.mininet import distribution_packages
from landspeed.worlds.emu.script_net import as_scenario, explained
from tests.support.command import landspeed, landspeed_here


@pytest.mark.parametrize(
    ("words", "own", "scripts"),
    [
        ("mn lab.py --seed 3 -v", "mn", "lab.py --seed 3 -v"),
        ("mn --seed 3 lab.py a", "mn --seed 3", "lab.py a"),
        ("mn --seed=3 --quiet lab.py", "mn --seed=3 --quiet", "lab.py"),
        ("mn --topo tree,2 --test pingall", "mn", "--topo tree,2 --test pingall"),
        ("-v mn --memory 2GiB -- --seed 3", "-v mn --memory 2GiB", "--seed 3"),
        ("mn --help", "mn --help", ""),
    ],
)
def test_words_from_the_first_foreign_one_on_are_the_scripts(words: str, own: str, scripts: str) -> None:
    assert split_program(words.split()) == (own.split(), scripts.split())


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "no script given; write one, as in: landspeed mn lab.py"),
        (("nowhere.py",), "nowhere.py: no such file; write a Mininet script's path, or options of mn"),
        (("--line", "fast", "--test", "none"), "--line fast: "),
        (("--as-scenario", str(Path(__file__)), "--test", "none"), "it is there already; write another name"),
    ],
)
def test_bad_words_are_told_before_anything_starts(words: tuple[str, ...], complaint: str) -> None:
    done = landspeed_here("mn", *words)
    assert done.returncode == 2
    assert complaint in done.stderr


def end(node: str, interface: str, limit: int, delay_s: float, rate: str) -> dict[str, object]:
    """One end of a link as tc tells it, of a TCLink of Mininet."""
    netem = {"kind": "netem", "options": {"limit": limit, "delay": {"delay": delay_s, "jitter": 0}}}
    htb = f"class htb 5:1 root leaf 10: prio 0 rate {rate} ceil {rate} burst 15Kb cburst 1600b "
    return {"node": node, "interface": interface, "qdiscs": [{"kind": "htb"}, netem], "classes": [htb]}


NET = {
    "hosts": ["h1", "h2"],
    "switches": ["s1"],
    "links": [
        {"ends": [end("h1", "h1-eth0", 1000, 0.05, "1Gbit"), end("s1", "s1-eth1", 1000, 0.05, "1Gbit")]},
        {
            "ends": [
                {"node": "h2", "interface": "h2-eth0", "qdiscs": [], "classes": []},
                end("s1", "s1-eth2", 100, 0.01, "10Mbit"),
            ]
        },
    ],
}


def test_a_net_is_explained_with_what_is_odd_about_it() -> None:
    told = "\n".join(explained(NET))
    assert "h1 → s1 (h1-eth0): htb 1.000 Gbit/s, burst 15360 B; netem: delay 50.000 ms, at most 1000 packets" in told
    # 1 Gbit/s × 50 ms / 1514 B = 4128 packets on their way
    assert "netem holds 1000 packets, and 4128 are on their way at the full rate: max_queue_size=8256" in told
    assert "15360 B in a burst pass at once" in told
    assert "h2 → s1 (h2-eth0): no queue, no line" in told
    # 50 + 50 + 10 + 0 ms; 10 Mbit/s × 110 ms / 8
    assert "h1 to h2: round-trip time 110.000 ms by the delays alone, slowest line 10.00 Mbit/s, BDP 137500 B" in told


def test_what_htb_netem_and_a_policer_do_is_told() -> None:
    slow = end("h1", "h1-eth0", 1000, 0.01, "10Mbit")
    slow["qdiscs"][0]["options"] = {"r2q": 10}  # pyright: ignore[reportIndexIssue,reportArgumentType]
    fast = end("s1", "s1-eth1", 1000, 0.01, "1Gbit") | {"tso": False}
    fast["qdiscs"][0]["options"] = {"r2q": 10}  # pyright: ignore[reportIndexIssue,reportArgumentType]
    fast["filters"] = ["action order 1:  police 0x1 rate 10Mbit burst 20Kb mtu 2Kb action drop overhead 0b"]
    net = {"hosts": [], "switches": ["s1"], "links": [{"ends": [slow, fast]}]}
    there, _, again = "\n".join(explained(net)).partition("s1 → h1")
    # 1000 × 1514 B take 1211.2 ms at 10 Mbit/s; 10 ms of that is the delay
    assert "the queue is netem's default; full, it adds 1.201 s: set max_queue_size" in there
    assert "quantum" not in there  # 10 Mbit/s / 8 / 10 = 125 kB
    assert "htb's quantum (rate / r2q) is 12500000 B, cut to 200000 B" in again
    assert "netem's default" not in again  # 1.2 ms
    assert "policer of what comes in: 10.00 Mbit/s, burst 20480 B" in again
    assert "h1-eth0 sends up to 65536 B at once, and all above 20480 B are dropped whole" in again
    slow["tso"] = False
    quiet = "\n".join(explained(net))
    assert "super-packet" not in quiet


def test_a_net_becomes_a_scenario(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(as_scenario(NET, "lab"))
    links = load_scenario(file).scenario.all_links
    assert [link.one_way_delay for link in links] == [50_000_000, 0]
    assert [link.line_rate for link in links] == [10**9, 10**11]
    assert links[1].reverse is not None
    assert (links[1].reverse.one_way_delay, links[1].reverse.line_rate) == (10_000_000, 10_000_000)
    # 100 packets of 1514 B, less the 12.5 kB that are on their way
    assert links[1].reverse.queue is not None
    assert links[1].reverse.queue.bytes == 138_900


LAB = """
import os, sys, time
from mininet.link import TCLink
from mininet.net import Mininet
from mininet.nodelib import LinuxBridge
from mininet.term import makeTerm

began = time.time()
net = Mininet(switch=LinuxBridge, controller=None)
h1, h2, s1 = net.addHost("h1"), net.addHost("h2"), net.addSwitch("s1")
net.addLink(h1, s1, cls=TCLink, bw=10, delay="10ms", max_queue_size=100)
net.addLink(h2, s1)
net.start()
time.sleep(3600)
print("dropped", net.pingAll())
print(h1.cmd("ping -c 3", h2.IP()))
print("iperf", *net.iperf(seconds=10))
makeTerm(h1)
print(h2.cmd("tc qdisc add dev h2-eth0 root tbf rate 5mbit burst 5000 latency 100ms; tc qdisc show dev h2-eth0"))
print("xterm", h1.cmd("xterm"))
print("nat", h1.cmd("iptables -t nat -A POSTROUTING -j MASQUERADE; iptables -t nat -S POSTROUTING"))
print("user", os.getuid(), "took", time.time() - began > 3600, "words", sys.argv[1:], "draws", os.urandom(4).hex())
for name in ("here.txt", "/tmp/there.txt", "/etc/landspeed-test"):
    with open(name, "w") as file:
        file.write(name)
net.stop()
sys.exit(3)
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[subprocess.CompletedProcess[str], Path, Path]]:
    """Two runs of the lab, with the folder of the script and that of the run."""
    made: list[tuple[subprocess.CompletedProcess[str], Path, Path]] = []
    for out in ("one", "two"):
        folder = tmp_path_factory.mktemp("lab", numbered=False) if not made else made[0][1]
        (folder / "lab.py").write_text(LAB)
        done = landspeed("mn", "--explain", "--out", out, "lab.py", "a", "b", cwd=folder)
        made.append((done, folder, next((folder / out).iterdir())))
    return made


@pytest.mark.guest
def test_a_script_runs_as_it_is(runs: list[tuple[subprocess.CompletedProcess[str], Path, Path]]) -> None:
    done, folder, run = runs[0]
    assert done.returncode == 3, done.stderr
    assert "dropped 0.0" in done.stdout
    # And 8 µs each way of h2's line, with 78 ns of a packet at 10 Gbit/s; ping tells whole microseconds.
    (trips,) = re.findall(r"rtt min/avg/max/mdev = ([\d.]+)/[\d.]+/([\d.]+)/0.000 ms", done.stdout)
    assert [float(each) for each in trips] == pytest.approx([20.0162] * 2, abs=0.0011)
    rates = [float(each) for each in re.findall(r"([\d.]+) Mbits/sec", done.stdout)]
    assert all(rate == pytest.approx(9.56, rel=0.02) for rate in rates), rates  # 10 Mbit/s × 1448 / 1514
    assert len(rates) == 2
    assert "user 0 took True words ['a', 'b']" in done.stdout
    assert "qdisc tbf" in done.stdout
    assert "nat -P POSTROUTING ACCEPT" in done.stdout
    assert "-A POSTROUTING -j MASQUERADE" in done.stdout
    assert done.stdout.count("refused: the guest has no screen") + done.stderr.count("refused: the guest has no") == 2
    assert "links without bw and delay: 10 Gbit/s, 8 µs each way (--line)" in done.stderr
    assert "h1 → s1 (h1-eth0): htb 10.00 Mbit/s, burst 15360 B; netem: delay 10.000 ms, at most 100" in done.stdout
    kept = {str(file.relative_to(run / "files")) for file in (run / "files").rglob("*") if file.is_file()}
    here = str((folder / "here.txt").relative_to("/"))
    assert {here, "tmp/there.txt", "etc/landspeed-test"} <= kept
    assert not (folder / "here.txt").exists()
    assert not Path("/etc/landspeed-test").exists()


@pytest.mark.guest
def test_a_script_prints_the_same_every_time(
    runs: list[tuple[subprocess.CompletedProcess[str], Path, Path]],
) -> None:
    first, second = (done for done, _, _ in runs)
    assert first.stdout == second.stdout
    outputs = [(run / "log" / "stderr").read_bytes() for _, _, run in runs]
    assert outputs[0] == outputs[1]


SYSTEM_LAB = """
import os, subprocess, sys
from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo

def say(words):
    done = subprocess.run(words, shell=True, capture_output=True, text=True)
    print(words, "->", done.returncode, (done.stdout + done.stderr).strip())

say("sudo -E modprobe sch-htb")
say("sudo modprobe no-such-module")
say("getent hosts $(hostname)")
say("grep -c CONFIG_NET_NS=y /boot/config-$(uname -r)")
say("ulimit -Sn")
net = Mininet(SingleSwitchTopo(2))  # Open vSwitch with the default controller, and no waiting for it
net.start()
print("dropped", net.pingAll(), net["h1"].cmd("ulimit -Sn; ls /sys/class/net | xargs").split())
say("tc qdisc show dev s1-eth1; cat /proc/[1-9]*/maps | grep -c 'xp .*polled'")
net["h1"].cmd("python3 -m http.server 8080 &")
print("packages", *sys.path, "code", net["h2"].cmd("curl -s -o /dev/null -w '%{http_code}' 10.0.0.1:8080"))
print(net["s1"].cmd("ovs-ofctl del-flows s1; ovs-ofctl dump-flows s1"), "flows end")
net.stop()
"""


@pytest.mark.guest
def test_the_guest_is_a_system_as_scripts_expect_it(tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text(SYSTEM_LAB)
    said = landspeed("mn", "--quiet", "--out", tmp_path / "out", "lab.py", cwd=tmp_path).stdout
    assert "sudo -E modprobe sch-htb -> 0" in said
    assert "modprobe: no-such-module: not in the guest's kernel" in said
    assert re.search(r"getent hosts .* -> 0 127\.0\.1\.1(.*\n)+.* netem fffe: .* rate 10Gbit\s+2$", said, re.MULTILINE)
    assert "CONFIG_NET_NS=y /boot/config-$(uname -r) -> 0 1" in said
    assert all(each in said for each in ("ulimit -Sn -> 0 1024", "code 200"))
    assert " ".join(["site-packages", *distribution_packages()]) in said
    assert "dropped 0.0 ['16384', 'h1-eth0', 'lo']" in said
    assert re.search(r"^(NXST_FLOW.*)?\s* flows end$", said, re.MULTILINE)


LARGE_WINDOW_LAB = """
import os
from mininet.net import Mininet
net = Mininet(controller=None)
h1, h2 = net.addHost("h1"), net.addHost("h2")
net.addLink(h1, h2)
net.start()
os.system("sysctl -q -w net.core.rmem_max=2147483647 net.core.wmem_max=2147483647")
h1.cmd("tc qdisc add dev h1-eth0 root netem rate 100mbit delay 10ms limit 100000")
h2.cmd("iperf3 -s -D")
print(h1.cmd("iperf3 -f k -w 100M -t 2 -c", h2.IP()))
net.stop()
"""


@pytest.mark.guest
def test_a_window_larger_than_a_small_machines_share_for_tcp_is_filled(tmp_path: Path) -> None:
    """200 MB of send buffer, of 2 GB; the line of 100 Mbit/s counts 1514 B with each 1448 B, for all but the start."""
    (tmp_path / "lab.py").write_text(LARGE_WINDOW_LAB)
    said = landspeed("mn", "--quiet", "--out", tmp_path / "out", "lab.py", cwd=tmp_path).stdout
    received = re.search(r"0\.00-(\S+)\s+sec .* (\d+) Kbits/sec\s+receiver", said)
    assert received and float(received[1]) == pytest.approx(2.0, abs=0.2)
    assert int(received[2]) == pytest.approx(100_000 * 1448 / 1514, rel=0.02)


COMMANDS_LAB = """
from mininet.cli import CLI
from mininet.link import TCLink
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.node import CPULimitedHost
from mininet.nodelib import LinuxBridge

setLogLevel("output")
net = Mininet(switch=LinuxBridge, controller=None, host=CPULimitedHost)
h1, h2, s1 = net.addHost("h1", cpu=0.2, cores=0), net.addHost("h2", cpu=0.2), net.addSwitch("s1")
for host in h1, h2:
    net.addLink(host, s1, cls=TCLink, bw=10, delay="5ms")
net.start()
CLI(net)
print("shell", h1.popen("echo $SHELL", shell=True).communicate()[0])
try:
    net.runCpuLimitTest(0.2)
except NotImplementedError as error:
    print(error)
net.stop()
"""
COMMANDS = """h1 ping -c 2 h2
h1 python -c 'import mininet.net; print(6 * 7)'
h2 vconfig add h2-eth0 7
h2 ip -brief link show h2-eth0.7
sh ping -c 1 127.0.0.1
h1 ps -o start,args $$
iperf
xterm h1
exit
this is read by nobody
"""


@pytest.mark.guest
def test_commands_come_from_a_file_and_the_report_shows_what_they_did(tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text(COMMANDS_LAB)
    (tmp_path / "commands").write_text(COMMANDS)
    with (tmp_path / "commands").open() as commands:
        done = landspeed("mn", "--report", "--out", tmp_path / "out", "lab.py", cwd=tmp_path, stdin=commands)
        assert commands.read() == COMMANDS  # a loop of the shell around it reads on
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    assert "rtt min/avg/max/mdev = 20.000/30.000/40.000/10.000 ms" in said  # the first one asks for the address, too
    assert "\n42" in said
    assert "h2-eth0.7@h2-eth0" in said
    assert "1 packets transmitted, 1 received" in done.stdout
    assert "STARTED COMMAND" in said
    assert "00:00:1" in said  # of the guest's day
    assert "xterm: refused: the guest has no screen" in said
    assert "cores=0 has no effect: the guest has one processor" in said
    assert "runCpuLimitTest: refused: the guest has one processor, and computing takes no virtual time" in said
    assert "shell b'/bin/bash" in said
    assert "nobody" not in said
    (run,) = (tmp_path / "out").iterdir()
    assert f"landspeed: report: {run}/report.html" in done.stderr
    ends = SocketSamples(run / "nets" / "0").between("h1", "h2")
    rate_bps = 8 * ends[0].bytes / (ends[0].ends_s - ends[0].begins_s)
    assert rate_bps == pytest.approx(9.56e6, rel=0.03)
    page = (run / "report.html").read_text()
    for shown in ("What it printed", "h1 → s1 (h1-eth0): htb 10.00 Mbit/s", "waiting or under way", "h1 – s1: rate"):
        assert shown in page


EVIDENCE_LAB = """
import sys
from mininet.net import Mininet
from mininet.nodelib import LinuxBridge
from mininet.topo import SingleSwitchTopo

for stops in True, False:
    net = Mininet(SingleSwitchTopo(2), switch=LinuxBridge, controller=None)
    net.start()
    print(net["h1"].cmd("ping -c 3 -i 0.2", net["h2"].IP()))
    if stops:
        net.stop()
"""


def echoes(capture: Path) -> int:  # ICMP's requests and answers in a pcap file
    content = capture.read_bytes()
    begins = [24, *packet_ends(content)[:-1]]
    return sum(content[each + 16 + 23] == 1 and content[each + 16 + 12 : each + 30] == b"\x08\0" for each in begins)


@pytest.mark.guest
def test_evidence_has_every_packet_also_of_a_net_that_is_never_stopped(tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text(EVIDENCE_LAB)
    done = landspeed("mn", "--evidence", "--out", tmp_path / "out", "lab.py", cwd=tmp_path)
    assert done.stdout.count("3 received") == 2, done.stdout + done.stderr
    assert "packets in 4 captures: " in done.stderr
    (run,) = (tmp_path / "out").iterdir()
    for net in "0", "1":
        folder = run / "nets" / net / "evidence"
        assert [echoes(folder / f"capture-{name}-eth0.pcap") for name in ("h1", "h2")] == [6, 6]
        assert "qdisc netem fffe: dev h1-eth0" in (folder / "settings-h1-before.txt").read_text()
    after = (run / "nets" / "0" / "evidence" / "settings-h1-after.txt").read_text()
    assert "10.0.0.2 dev h1-eth0 lladdr" in after


MNEXEC_LAB = """
import os, sys
os.unlink("/usr/bin/mnexec")
os.symlink(sys.argv[1], "/usr/bin/mnexec")  # instead of the distribution's
from mininet.net import Mininet
from mininet.node import CPULimitedHost
from mininet.nodelib import LinuxBridge
from mininet.topo import SingleSwitchTopo

net = Mininet(SingleSwitchTopo(2), switch=LinuxBridge, controller=None, host=CPULimitedHost)
net["h1"].setCPUFrac(0.5)
net.start()
print("dropped", net.pingAll())
h1 = net["h1"]
print("popen", h1.popen("pwd; ip -o link | wc -l; ls /sys/class/net", shell=True, cwd="/usr").communicate()[0])
print("pexec", h1.pexec("sh", "-c", "exit 7")[2], "priority", h1.cmd("mnexec -r 5 chrt -p 0").split()[-1])
print("group", h1.cmd("grep -o cpu.*/h1 /proc/self/cgroup"), "open", h1.cmd("mnexec -c ls /proc/self/fd").split())
net.stop()
"""


@pytest.mark.guest
def test_a_system_without_a_package_of_mininet_has_its_mnexec(tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text(MNEXEC_LAB)
    program = Path(run_script.__file__).parent / "programs" / "mnexec"
    done = landspeed("mn", "--out", tmp_path / "out", "lab.py", program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "dropped 0.0" in done.stdout
    assert r"popen b'/usr\n2\nh1-eth0\nlo\n'" in done.stdout
    assert "pexec 7 priority 5" in done.stdout
    assert "cpu,cpuacct:/h1" in done.stdout
    assert "open ['0', '1', '2', '3']" in done.stdout  # 3 is of ls, which reads the folder


@pytest.mark.guest
def test_import_runs_a_script_wherever_it_is_and_has_its_links(tmp_path: Path) -> None:
    """Below /tmp, where the guest has a folder of its own, with a module of its own beside it."""
    (tmp_path / "values.py").write_text("LINK = {'bw': 10, 'delay': '20ms', 'loss': 1, 'max_queue_size': 50}\n")
    (tmp_path / "lab.py").write_text(
        "from mininet.link import TCLink\nfrom mininet.net import Mininet\nfrom values import LINK\n"
        "net = Mininet(controller=None)\nnet.addLink(net.addHost('h1'), net.addHost('h2'), cls=TCLink, **LINK)\n"
        "net.start()\nnet.stop()\n"
    )
    done = landspeed("import", tmp_path / "lab.py", "--out", tmp_path / "lab.yaml")
    assert done.returncode == 0, done.stderr
    (link,) = make_plan(load_scenario(tmp_path / "lab.yaml")).links
    assert (link.a, link.b) == ("h1", "h2")
    assert (link.forward.delay_ns, link.forward.rate_bps, link.forward.loss) == (20_000_000, 10_000_000, 0.01)
    assert link.forward.queue_bytes == 50 * 1514 - 25_000  # netem counts what is in its delay, too


@pytest.mark.guest
def test_mn_itself_with_open_vswitch_and_a_controller(tmp_path: Path) -> None:
    done = landspeed("mn", "--out", str(tmp_path), "--controller", "default", "--topo", "linear,2", "--test", "pingall")
    assert done.returncode == 0, done.stderr
    assert "Results: 0% dropped (2/2 received)" in done.stdout + done.stderr
    assert not (next(tmp_path.iterdir()) / "line").exists() or "links without bw and delay" in done.stderr


@pytest.mark.guest
def test_a_script_that_never_ends_is_ended(tmp_path: Path) -> None:
    (tmp_path / "ever.py").write_text("import time\nprint('begun', flush=True)\nwhile True: time.sleep(1)\n")
    done = landspeed("mn", "--out", str(tmp_path / "out"), "--time-limit", "100", "ever.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (124, "begun\n")
    assert "landspeed: 100.00" in done.stderr
