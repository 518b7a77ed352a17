"""`landspeed mn` at a terminal: Mininet's own prompt in virtual time, which stands still while the person thinks."""

import contextlib
import re
import termios
import time
from collections.abc import Iterator

import pytest
from mininet.cli import CLI

from tests.support.terminal import Terminal

pytestmark = pytest.mark.guest

NET = ("--switch", "lxbr", "--controller", "none", "--link", "tc,bw=10,delay=5ms")
RATES = r"'[\d.]+ Mbits/sec', '9\.[56]\d* Mbits/sec'\]"  # 10 Mbit/s × 1448 / 1514
NO_SCREEN = "xterm: refused: the guest has no screen"
WALK = [
    ("nodes", "h1 h2 s1"),
    ("net", "s1 lo:  s1-eth1:h1-eth0 s1-eth2:h2-eth0"),
    ("links", r"h1-eth0<->s1-eth1 \(OK OK\)"),
    ("intfs", "h1: h1-eth0"),
    ("dump", r"<Host h1: h1-eth0:10\.0\.0\.1 pid=\d+>"),
    ("ports", "s1 lo:0 s1-eth1:1 s1-eth2:2"),
    ("dpctl show", r"\*\*\* s1 -----"),
    ("pingall", r"Results: 0% dropped \(2/2 received\)"),
    ("pingpair", r"Results: 0% dropped \(2/2 received\)"),
    ("pingallfull", r"h1->h2: 1/1, rtt min/avg/max/mdev 20\.00"),
    ("pingpairfull", r"h2->h1: 1/1, rtt min/avg/max/mdev 20\.00"),
    ("iperf", RATES),
    ("iperfudp 5M h1 h2", r"'5M', '5\.\d+ Mbits/sec', '5\.\d+ Mbits/sec'"),
    ("link s1 h1 down", ""),
    ("pingall", r"Results: 100% dropped \(0/2 received\)"),
    ("link s1 h1 up", ""),
    ("switch s1 stop", ""),
    ("switch s1 start", ""),
    ("pingall", r"Results: 0% dropped \(2/2 received\)"),
    ("sh echo a$((1+1))b", "a2b"),
    ("py h1.IP()", r"10\.0\.0\.1\b"),
    ("px print(6 * 7)", "42"),
    ("time h1 sleep 3600", r"Elapsed time: 36\d\d\.\d+ secs"),
    ("h1 python3 -m http.server 8080 &", ""),
    ("h2 curl -s -o /dev/null -w 'code=%{http_code}' 10.0.0.1:8080", "code=200"),
    ("source commands", "available nodes"),
    ("source no-such-file", "error reading file no-such-file"),
    ("noecho h1 echo once", "once"),
    ("h1 no-such-program", "command not found"),
    ("no-such-command", "Unknown command"),
    ("help pingall", "Ping between all hosts"),
    *((f"{word} h1", NO_SCREEN) for word in ("x", "xterm", "gterm")),
    ("wait", ""),  # of later versions of Mininet
]
END = {"exit", "quit", "EOF"}


@pytest.fixture(scope="module")
def prompt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """A small net, at the prompt, for both tests."""
    folder = tmp_path_factory.mktemp("lab")
    (folder / "commands").write_text("nodes\n")
    with contextlib.chdir(folder):
        made = Terminal("mn", "--out", folder, *NET)
    try:
        made.wait_for("mininet> ")
        yield made
    finally:
        made.close()


def ask(terminal: Terminal, line: str) -> str:
    """A line at the prompt, and what came until the next one was done (a prompt may be drawn twice)."""
    terminal.type(f"{line}\rsh echo done$((40+2))\r")
    return terminal.wait_for("done42")


def test_every_command_of_mininets_prompt_works_or_says_why_not(prompt: Terminal) -> None:
    own = {name.removeprefix("do_") for name in dir(CLI) if name.startswith("do_")}
    assert own - {line.split()[0] for line, _ in WALK} == END
    for line, wanted in WALK:
        answer = ask(prompt, line)
        assert re.search(wanted, answer), (line, answer)
        assert "Traceback" not in answer


def now_s(terminal: Terminal) -> float:
    """The guest's clock, by a program of a host."""
    (told,) = re.findall(r"at=([\d.]+)", ask(terminal, "h1 date +at=%s.%N"))
    return float(told)


def test_time_stands_still_at_the_prompt_and_ctrl_c_ends_a_command(prompt: Terminal) -> None:
    before_s = now_s(prompt)
    time.sleep(1)  # the person thinks
    # Between them are two lines, each with the tenth of a second before it that a person takes at least.
    assert 0.19 < now_s(prompt) - before_s < 0.23
    prompt.type("h1 ping h2\r")  # for ever
    prompt.wait_for("icmp_seq=3")
    prompt.type("\x03")
    prompt.wait_for("rtt min/avg/max/mdev = 20.0")
    prompt.wait_for("mininet> ")  # before, Ctrl-C is for a command that ends
    prompt.type("half a line\x03")
    prompt.wait_for("Interrupt")
    assert "h1 h2 s1" in ask(prompt, "nodes")
    prompt.type("exit\r")
    assert "virtual time; kept in" in prompt.wait_for("mn-")
    assert prompt.process.wait(30) == 0
    assert termios.tcgetattr(prompt.slave) == prompt.before
