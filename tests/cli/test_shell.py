"""`landspeed shell`: a prompt on the path, Mininet's own with all of its commands."""

import re
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest
from mininet.cli import CLI

from tests.support.command import landspeed
from tests.support.emu_fixtures import FIRST
from tests.support.stopwatch import one_of_few, undisturbed
from tests.support.terminal import Terminal

pytestmark = [pytest.mark.guest, pytest.mark.usefixtures("scratch")]


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    """`landspeed shell` on the first example, at its prompt."""
    made = Terminal("shell", FIRST)
    try:
        made.wait_for("landspeed> ")
        yield made
    finally:
        made.close()


def test_a_session_at_the_prompt(terminal: Terminal) -> None:
    assert "amsterdam athens bari frankfurt milan" in terminal.ask("nodes")
    assert re.search(r"0\s+amsterdam\s+10\.0\.0\.1\b.*4\s+athens\s+10\.0\.0\.14", terminal.ask("path"), re.DOTALL)

    def ping(_: int) -> None:
        answer = terminal.ask("amsterdam ping -c 1 athens")
        assert "1 packets transmitted, 1 received" in answer
        (rtt_ms,) = re.findall(r"time=([\d.]+) ms", answer)
        assert float(rtt_ms) >= 50
        undisturbed(float(rtt_ms) < 100, f"{rtt_ms} ms")  # in real time: the host's scheduling adds

    one_of_few(ping)
    assert "10.0.0.5" in terminal.ask("athens traceroute -n amsterdam")
    assert "neither a node" in terminal.ask("rome ping athens")
    assert "a command is missing" in terminal.ask("amsterdam")
    said = terminal.ask("help")
    assert "EOF" in said
    assert "amsterdam ping -c 3 athens" in said
    assert "mininet>" not in said
    assert "xterm" not in said
    terminal.type("exit\r")
    assert "@landspeed" not in terminal.wait_for("Power down")
    assert terminal.process.wait(30) == 0
    assert termios.tcgetattr(terminal.slave) == terminal.before, "the terminal is as it was"


def test_ctrl_c_ends_the_program_and_not_the_prompt(terminal: Terminal) -> None:
    terminal.type("amsterdam ping athens\r")
    terminal.wait_for("icmp_seq=2")
    terminal.type("\x03")
    assert "packet loss" in terminal.wait_for("landspeed> ")
    assert "amsterdam" in terminal.ask("nodes")
    terminal.type("\x04")  # Ctrl-D
    assert terminal.process.wait(30) == 0
    assert termios.tcgetattr(terminal.slave) == terminal.before


def test_no_key_waits(terminal: Terminal) -> None:
    """A guest that sleeps wakes by every key: before patch 0020 one in a thousand waited for the next one."""
    for _ in range(2500):
        for key, echo in (("x", "x"), ("\x7f", "\b")):
            terminal.type(key)
            terminal.wait_for(echo, deadline_s=20)


def test_a_shell_that_is_killed_gives_the_terminal_back(terminal: Terminal) -> None:
    assert termios.tcgetattr(terminal.slave) != terminal.before, "the guest's console has it"
    terminal.process.terminate()
    assert terminal.process.wait(30) == 1
    assert termios.tcgetattr(terminal.slave) == terminal.before


def test_nothing_but_the_greeting_comes_before_the_prompt() -> None:
    """No kernel messages: what the machine keeps of the path's rates, then the greeting."""
    terminal = Terminal("shell", FIRST)
    try:
        shown = terminal.wait_for("landspeed> ")
        assert shown.split()[:4] == ["Rates", "of", "full", "packets,"]
        assert "The path is up, in real time." in shown
        assert "\n\n\n" not in shown.replace("\r", ""), "no screenful of empty lines"
    finally:
        terminal.close()


def test_a_shell_without_a_terminal_is_bad_input() -> None:
    done = landspeed("shell", FIRST, input="path\nexit\n")
    assert done.returncode == 2
    assert "the prompt needs a terminal" in done.stderr


RATES = r"'[\d.]+ Mbits/sec', '[\d.]+ Mbits/sec'\]"
NO_SWITCH, NO_SCREEN = "there are no switches here", "the guest has no X server"
PING = r"amsterdam -> athens \s*athens -> amsterdam"
WALK = [
    ("nodes", "amsterdam athens bari frankfurt milan"),
    ("net", r"milan milan-eth0:frankfurt-eth1 milan-eth1:bari-eth0"),
    ("links", r"amsterdam-eth1<->frankfurt-eth0 \(OK OK\)"),
    ("intfs", r"milan: eth0,eth1"),
    ("dump", r"<ShellNode athens: eth0:10\.0\.0\.14 pid=\d+>"),
    ("pingall", rf"{PING}.*Results: 0% dropped \(2/2 received\)"),
    ("pingpair", rf"{PING}.*Results: 0% dropped \(2/2 received\)"),
    ("pingallfull", r"amsterdam->athens: 1/1, rtt min/avg/max/mdev [5-9]\d\.\d+/"),
    ("pingpairfull", r"athens->amsterdam: 1/1, rtt min/avg/max/mdev [5-9]\d\.\d+/"),
    ("iperf", rf"TCP bandwidth between amsterdam and athens.*{RATES}"),
    ("iperf milan bari", rf"TCP bandwidth between milan and bari.*{RATES}"),
    ("iperf milan rome", "node 'rome' not in network"),
    ("iperf milan", "invalid number of args"),
    ("iperfudp", rf"UDP bandwidth between amsterdam and athens.*'10M', {RATES}"),
    ("iperfudp nonsense milan bari", r"\*\*\* iperfudp: no bandwidth: 'nonsense'; write"),
    ("link milan bari down", ""),
    ("links", r"milan-eth1<->bari-eth0 \(DOWN DOWN\)"),
    ("pingall", r"Results: 100% dropped \(0/2 received\)"),
    ("link milan bari up", ""),
    ("links", r"milan-eth1<->bari-eth0 \(OK OK\)"),
    ("pingall", r"Results: 0% dropped \(2/2 received\)"),
    ("link milan rome up", "dst not in network"),
    ("link milan athens up", "not connected"),
    ("link milan", "invalid number of args"),
    ("sh echo a$((1+1))b", "a2b"),
    ("py amsterdam.IP()", r"10\.0\.0\.1\b"),
    ("py net['athens'].cmd('hostname').strip() and 6*7", "42"),
    ("py nothing", "'nothing' is not defined"),
    ("py exit()", "`exit`, without py, ends the prompt"),
    ("px print(6 * 7)", "42"),
    ("px raise SystemExit(3)", r"\*\*\* px: 3"),
    ("time nodes", r"available nodes.*Elapsed time: 0\.\d+ secs"),
    ("time", r"Elapsed time"),
    ("source /no/such/file", "error reading file /no/such/file"),
    ("source", "usage: source"),
    ("noecho amsterdam echo once", "once"),
    ("amsterdam", r"amsterdam: a command is missing"),
    ("amsterdam no-such-program", "not found"),
    ("path", r"3\s+bari\s+10\.0\.0\.10"),
    ("help pingall", "Ping between all hosts"),
    *((word, NO_SWITCH) for word in ("dpctl show", "ports", "switch milan stop", "wait")),
    *((word, NO_SCREEN) for word in ("x amsterdam", "xterm amsterdam", "gterm amsterdam")),
    ("# a remark", ""),
    ("help", "amsterdam ping -c 3 athens"),
]
END = {"exit", "quit", "EOF"}
"""Commands that end the prompt: other tests."""


def test_every_command_of_mininets_prompt_works_or_says_why_not(tmp_path: Path) -> None:
    """In this order; after each of them the prompt is there. At 20 Mbit/s, which cost little in real time."""
    own = {name.removeprefix("do_") for name in dir(CLI) if name.startswith("do_")}
    assert own - {line.split()[0] for line, _ in WALK} == END
    script = tmp_path / "commands"
    script.write_text("nodes\npy 6 * 7\npy nothing\n")
    terminal = Terminal("shell", FIRST, "--set", "line_rate=20 Mbit/s")
    try:
        terminal.wait_for("landspeed> ")
        for line, wanted in [*WALK, (f"source {script}", "available nodes.*42.*not defined")]:
            answer = terminal.ask(line)
            assert re.search(wanted, answer, re.DOTALL), (line, answer)
            assert "Traceback" not in answer
        terminal.type("quit\r")
        assert terminal.process.wait(30) == 0
    finally:
        terminal.close()


def test_names_with_a_hyphen_and_addresses_of_ipv6(tmp_path: Path) -> None:
    """Mininet's own prompt would take `leaf-a` for a node `leaf`."""
    scenario = tmp_path / "hyphen.yaml"
    head = "format: 1\nname: hyphen\ntitle: hyphen\nip: 6\nmtu: 1500 B\nline_rate: 20 Mbit/s\nqueue: 100 kB\n"
    hosts = "hosts: {left-host: {role: sender, nic: 1 Gbit/s}, right-host: {role: receiver, nic: 1 Gbit/s}}\n"
    path = "path: [{from: left-host, to: right-host, one_way_delay: 1 ms}]\n"
    scenario.write_text(f"{head}{hosts}{path}transfer: {{duration: 1 s}}\n")
    made = Terminal("shell", scenario)
    try:
        made.wait_for("landspeed> ")
        assert "1 received" in made.ask("left-host ping -c 1 right-host")
        for line in ("link left-host right-host down", "link left-host right-host up"):
            made.ask(line)
        assert "Results: 0% dropped (2/2 received)" in made.ask("pingall")
    finally:
        made.close()
