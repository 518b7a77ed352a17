"""What the plays' modules say of a path and of an attempt, from what ping, traceroute and systemctl show there."""

import json
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support import play_modules
from tests.support.real_modules import CHRONY, Host

PING = """PING 192.0.2.2 (192.0.2.2) from 192.0.2.1 eth7: 56(84) bytes of data.

--- 192.0.2.2 ping statistics ---
10 packets transmitted, {} received, {}% packet loss, time 1811ms
rtt min/avg/max/mdev = 264.012/264.100/264.400/0.100 ms
"""
REPLY = "64 bytes from 192.0.2.2: icmp_seq=1 ttl=61 time=264 ms\n"
TRACE = """traceroute to 192.0.2.2 (192.0.2.2), 7 hops max, 60 byte packets
 1  192.0.2.9  0.204 ms  0.101 ms  0.150 ms
 2  10.1.0.1  60.3 ms 10.2.0.1  61.0 ms  60.1 ms
 3  * * *
 4  192.0.2.2  264.2 ms !X * 264.1 ms
"""


# --- Hops -----------------------------------------------------------------------------------------------------------


def hops(
    shared: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, shown: Sequence[str], *wanted: tuple[str, float]
) -> tuple[dict[str, Any], list[tuple[str, ...]]]:
    """What is said of routers that one traceroute after the other shows so, and the words of each of these."""
    module, asked = play_modules.library("landspeed_hops", monkeypatch), list[tuple[str, ...]]()

    def run(*words: str) -> str:
        asked.append(words)
        if not (said := shown[min(len(asked), len(shown)) - 1]):
            raise shared["host"].Unavailable("traceroute is not installed")
        return said

    monkeypatch.setattr(module, "run", run)
    monkeypatch.setattr(module, "BETWEEN_ROUNDS_S", 0.0)
    listed = [{"address": address, "rtt_ms": rtt} for address, rtt in wanted]
    return play_modules.call(module, monkeypatch, peer="192.0.2.2", hops=listed, tolerance_ms=0.5), asked


def test_each_hop_answers_at_the_plans_rtt(shared: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever of a router's answers came first; the least of three counts."""
    told, asked = hops(shared, monkeypatch, [TRACE], ("10.2.0.1", 60.0), ("10.1.0.1", 60.0))
    assert told["wrong"] == []
    assert told["found"] == {"192.0.2.9": 0.101, "10.1.0.1": 60.3, "10.2.0.1": 60.1, "192.0.2.2": 264.1}
    ((*_, last, peer),) = asked
    assert (last, peer) == ("6", "192.0.2.2")  # the two, the box twice, the peer, and one to spare


def test_a_hop_that_is_late_or_silent_is_named(shared: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    """When it was so in all of six rounds."""
    told, asked = hops(shared, monkeypatch, [TRACE], ("10.2.0.1", 59.0), ("10.3.0.1", 131.0))
    assert told["wrong"] == [
        "hop 1 (10.2.0.1): RTT 60.100 ms, the plan's 59.000 ms ± 0.500 ms",
        "hop 2 (10.3.0.1) does not answer a traceroute",
    ]
    assert len(asked) == 6


def test_a_hop_that_is_early_is_not_asked_again(shared: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    """No box that stands still makes it so."""
    told, asked = hops(shared, monkeypatch, [TRACE], ("10.2.0.1", 61.0))
    assert told["wrong"] == ["hop 1 (10.2.0.1): RTT 60.100 ms, the plan's 61.000 ms ± 0.500 ms"]
    assert len(asked) == 1


def test_an_early_hop_among_late_ones_ends_no_round(
    shared: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was late is measured again; the early one alone is wrong then."""
    late = TRACE.replace("60.3 ms", "70.3 ms")
    told, asked = hops(shared, monkeypatch, [late, TRACE], ("10.2.0.1", 61.0), ("10.1.0.1", 60.0))
    assert told["wrong"] == ["hop 1 (10.2.0.1): RTT 60.100 ms, the plan's 61.000 ms ± 0.500 ms"]
    assert len(asked) == 2


def test_a_traceroute_that_fails_later_loses_nothing(
    shared: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    told, asked = hops(shared, monkeypatch, [TRACE.replace("60.3 ms", "70.3 ms"), "", TRACE], ("10.1.0.1", 60.0))
    assert (told["wrong"], len(asked)) == ([], 3)


def test_a_box_that_stood_still_is_asked_again(shared: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    """All probes of a round were late, or had no answer; the least of all rounds counts for each hop."""
    late = TRACE.replace("61.0 ms", "66.4 ms").replace("60.1 ms", "65.5 ms").replace("60.3 ms", "60.9 ms")
    silent = "traceroute to 192.0.2.2\n 1  192.0.2.9  0.2 ms  0.2 ms  0.2 ms\n 2  10.2.0.1  60.2 ms * *\n"
    wanted = ("10.2.0.1", 60.0), ("10.1.0.1", 60.0)
    told, asked = hops(shared, monkeypatch, [late, silent, late, TRACE], *wanted)
    assert (told["wrong"], len(asked)) == ([], 4)
    assert told["found"]["10.2.0.1"] == 60.1
    told, asked = hops(shared, monkeypatch, [silent, late.replace("60.9", "60.5")], *wanted)
    assert (told["wrong"], len(asked)) == ([], 2)
    assert told["found"]["10.2.0.1"] == 60.2


def test_without_traceroute_it_says_what_to_install(
    shared: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared["packages"], "text", lambda _: "ID=debian")
    told, _ = hops(shared, monkeypatch, [""], ("10.2.0.1", 61.0))
    assert (told["failed"], told["msg"]) == (True, "traceroute is not installed; apt-get install traceroute")


# --- The path, by preflight ------------------------------------------------------------------------------------------


class PathHost(Host):
    """A host of which pings go out; those that `refused` names fail with these words."""

    def __init__(self, folder: Path, unavailable: type[Exception]) -> None:
        """All answer."""
        super().__init__(folder)
        self.unavailable, self.refused = unavailable, dict[str, str]()
        self.turns: list[str] = []  # what pings say before they say what they always do
        self.said |= {"ping -n -c 10": REPLY + PING.format(10, 0), "ping -n -q -M do": ""}

    def run(self, *words: str) -> str:
        """What a command says."""
        line = " ".join(words)
        if line.startswith("ping -n -c 10") and self.turns:
            return self.turns.pop(0)
        for command, said in self.refused.items():
            if line.startswith(command):
                raise self.unavailable(said)
        if not any(line.startswith(command) for command in self.said):
            raise self.unavailable(f"{words[0]} is not installed")
        return super().run(*words)


@pytest.fixture
def host(tmp_path: Path, shared: dict[str, ModuleType]) -> PathHost:
    """The host."""
    return PathHost(tmp_path, shared["host"].Unavailable)


@pytest.fixture
def preflight(host: PathHost, shared: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Looks at the host as it is then: what it says, and its findings by check."""
    module = play_modules.library("landspeed_preflight", monkeypatch)
    for each in (
        module,
        *(shared[name] for name in ("preflight_nic", "preflight_machine", "kinds_nic", "findings", "tracking")),
    ):
        monkeypatch.setattr(each, "Path", host.path, raising=False)
        monkeypatch.setattr(each, "run", host.run, raising=False)

    def call(**more: Any) -> tuple[dict[str, Any], dict[str, tuple[str, str, str]]]:
        asked: dict[str, Any] = {"peer": "192.0.2.2", "mtu_bytes": 9000, "rtt_ms": 264.0, "rate_bps": 10**10}
        asked |= {"memory_bytes": 10**9, "congestion_control": "cubic"}
        told = play_modules.call(module, monkeypatch, **(asked | more))
        return told, {each["check"]: (each["state"], each["found"], each["remedy"]) for each in told["findings"]}

    return call


def test_a_path_as_planned_passes(preflight: Any) -> None:
    told, found = preflight()
    assert (told["changed"], told["measured"]) == (False, {"rtt_ms": 264.012, "path_mtu_bytes": 9000})
    assert told["nic"]["name"] == "eth7"
    assert found["loss"] == ("pass", "0 % of 10 pings", "")
    assert found["rtt"] == ("pass", "264.012 ms", "")
    assert found["hops"] == ("pass", "3 routers on the way back from 192.0.2.2", "")
    assert found["path mtu"] == ("pass", "9000 B", "")


def test_a_path_that_is_not_the_plans(preflight: Any, host: PathHost) -> None:
    host.said["ping -n -c 10"] = REPLY + PING.format(9, 10)
    host.refused["ping -n -q -M do"] = "ping: local error: message too long, mtu=1500"
    told, found = preflight(rtt_ms=250.0)
    assert found["loss"][:2] == ("warn", "10 % of 10 pings")
    assert found["rtt"][:2] == ("fail", "264.012 ms")
    assert "rehearse with the RTT that the path has" in found["rtt"][2]
    assert found["path mtu"][:2] == ("fail", "at most 1500 B")
    assert "a hop to 192.0.2.2 takes no 9000 B packets" in found["path mtu"][2]
    assert "path_mtu_bytes" not in told["measured"]


def test_a_path_that_was_late_is_asked_again(preflight: Any, host: PathHost) -> None:
    """Who stood still during ten pings; what these say of losses stays."""
    late = PING.format(9, 10).replace("264.012", "271.4")
    host.turns = [REPLY + late, REPLY + late, REPLY + PING.format(10, 0)]
    told, found = preflight(rtt_ms=264.0)
    assert found["rtt"][:2] == ("pass", "264.012 ms") and told["measured"]["rtt_ms"] == 264.012
    assert found["loss"][:2] == ("warn", "10 % of 10 pings")
    assert not host.turns
    host.turns = [REPLY + late] * 4
    assert preflight(rtt_ms=264.0)[1]["rtt"][:2] == ("fail", "271.400 ms")
    assert len(host.turns) == 1
    assert preflight(rtt_ms=264.0)[1]["rtt"][:2] == ("pass", "264.012 ms")


def test_a_path_mtu_that_nobody_tells_or_that_is_the_hosts_own(preflight: Any, host: PathHost) -> None:
    host.refused["ping -n -q -M do"] = "no answer"
    host.said["ip route get"] = "192.0.2.2 dev eth7 src 192.0.2.1 uid 0 cache mtu 1400"
    assert preflight()[1]["path mtu"][:2] == ("fail", "at most 1400 B")
    host.said["ip route get"] = "192.0.2.2 dev eth7"
    host.write("sys/class/net/eth7/mtu", "1500")
    assert preflight()[1]["path mtu"] == ("warn", "9000 B do not pass", "`tune` raises this host's own first")


def test_a_path_that_is_not_there_yet(preflight: Any, host: PathHost) -> None:
    assert preflight(rtt_ms=0.0)[1]["rtt"] == ("pass", "264.012 ms", "")
    host.refused["ping -n -c 10"] = "10 packets transmitted, 0 received\n100% packet loss"
    told, found = preflight()
    assert found["path"][:2] == ("fail", "no answer to ping from 192.0.2.2 (100% packet loss)")
    assert told["measured"] == {}
    host.refused["ip -o route get"] = "RTNETLINK answers: Network is unreachable"
    told, found = preflight()
    assert found["route"][0] == "fail"
    assert (told["nic"], "path" in found) == ({}, False)


def test_a_host_that_lacks_programs_and_modules(
    preflight: Any, host: PathHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.refused |= {"/sbin/ldconfig": "/sbin/ldconfig is not installed", "ethtool -g": "not supported"}
    monkeypatch.setattr("platform.release", lambda: "4.19.0-21-amd64")
    _, found = preflight(congestion_control="bbr", with_path=False)
    assert found["kernel"][:2] == ("warn", "4.19.0-21-amd64")
    assert found["tools"][:2] == ("fail", "missing: ip, tc, ethtool, ping, nft")  # of this folder
    assert found["tools"][2] == "apt-get install iproute2 ethtool iputils-ping nftables"
    assert found["libraries"][:2] == ("warn", "/sbin/ldconfig is not installed")
    assert found["rings"][1] == "the driver has none to set"
    assert "path" not in found
    host.said["modprobe --dry-run tcp_bbr"] = ""
    found = preflight(congestion_control="bbr")[1]["congestion control"]
    assert found == ("warn", "reno, cubic", "`tune` loads its module")
    host.refused["modprobe"] = "module not found"
    state, _, remedy = preflight(congestion_control="bbr")[1]["congestion control"]
    assert (state, "a kernel with bbr" in remedy) == ("fail", True)


def test_a_container_may_not_choose_every_congestion_control(preflight: Any, host: PathHost) -> None:
    """Its kernel refuses what the machine does not allow (tcp_set_default_congestion_control)."""
    (host.folder / "proc/sys/net/core/netdev_max_backlog").unlink()
    assert preflight(congestion_control="reno")[1]["congestion control"][0] == "pass"
    state, found, remedy = preflight(congestion_control="cubic")[1]["congestion control"]
    assert (state, found) == ("fail", "allowed here: reno")
    assert remedy.startswith("add cubic to net.ipv4.tcp_allowed_congestion_control of this container's machine")


def test_a_virtual_nic_has_no_rate_and_a_wrong_one_is_told(preflight: Any, host: PathHost) -> None:
    (host.folder / "sys/class/net/eth7/device/driver").unlink()
    host.write("sys/class/net/eth7/speed", "nonsense")
    _, found = preflight()
    assert found["speed"][:2] == ("warn", "unknown (virtual)")
    (host.folder / "sys/class/net/eth1").mkdir()
    assert preflight(interface="eth1")[1]["route"][:2] == ("fail", "by eth7")


def test_a_host_that_cannot_be_read_breaks_with_what_was_found(preflight: Any, host: PathHost) -> None:
    host.write("proc/meminfo", "nothing of the kind")
    told, found = preflight()
    assert told["failed"] is True
    assert told["msg"].startswith("preflight broke: nothing like 'MemAvailable")
    assert found["interface"][0] == "pass"


@pytest.mark.parametrize(
    ("release", "command", "tools", "library"),
    [
        ("ID=ubuntu\nID_LIKE=debian", "apt-get install", "iproute2 ethtool iputils-ping nftables", "libssl3"),
        (
            'ID="rocky"\nID_LIKE="rhel fedora"',
            "dnf install",
            "iproute iproute-tc ethtool iputils nftables",
            "openssl-libs",
        ),
        ('ID="opensuse-leap"', "zypper install", "iproute2 ethtool iputils nftables", "libopenssl3"),
        ("ID=arch", "pacman -S", "iproute2 ethtool iputils nftables", "openssl"),
    ],
)
def test_remedies_are_the_distributions_own(  # noqa: PLR0917
    preflight: Any, host: PathHost, release: str, command: str, tools: str, library: str
) -> None:
    host.write("etc/os-release", release)
    _, found = preflight(libraries=["libcrypto.so.3", "libnew.so.1"], clock={"offset_s": 9.0, "within_s": 0.1})
    assert found["tools"][2] == f"{command} {tools}"
    assert found["libraries"][2] == f"{command} {library} libnew.so.1"
    assert f"({command} chrony)" in found["clock"][2]


def test_an_unknown_distribution_is_told_all(preflight: Any, host: PathHost) -> None:
    host.write("etc/os-release", "ID=void")
    assert preflight(libraries=["libmnl.so.0"])[1]["libraries"][2] == (
        "Debian, Ubuntu: apt-get install libmnl0; EL, Fedora: dnf install libmnl; openSUSE: zypper install libmnl0; "
        "Arch: pacman -S libmnl"
    )


# --- Clock -----------------------------------------------------------------------------------------------------------

PMC = """sending: GET TIME_STATUS_NP
	0c42a1.fffe.81f05a-0 seq 0 RESPONSE MANAGEMENT TIME_STATUS_NP
		master_offset -142
		gmPresent {}
"""


@pytest.mark.parametrize(
    ("said", "kernel", "kept", "state"),
    [
        ({"chronyc": CHRONY}, None, "kept by chrony, at most 6 ms off", "pass"),
        ({"chronyc": CHRONY.replace("Normal", "Not synchronised")}, None, "kept by nothing", "warn"),
        ({"pmc": PMC.format("true")}, None, "kept by PTP, at most 0.000142 ms off", "pass"),
        ({"pmc": PMC.format("false")}, ("NTP", 0.25), "kept by NTP, at most 250 ms off", "pass"),
        ({}, None, "kept by nothing", "warn"),
    ],
)
def test_a_clock_is_judged_by_what_keeps_it(  # noqa: PLR0917
    preflight: Any,
    host: PathHost,
    shared: dict[str, ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    said: dict[str, str],
    kernel: tuple[str, float] | None,
    kept: str,
    state: str,
) -> None:
    del host.said["chronyc -c -n tracking"]
    host.said |= said
    monkeypatch.setattr(shared["tracking"], "_kernel", lambda: kernel)
    assert preflight()[1]["clock"][:2] == (state, kept)


@pytest.mark.parametrize(
    ("offset_s", "within_s", "state"),
    [(1.05, 0.1, "pass"), (-1.2, 0.1, "fail"), (5.0, 4.5, "pass"), (3600.0, 0.01, "fail")],
)
def test_a_clock_is_as_far_off_as_round_trips_say(preflight: Any, offset_s: float, within_s: float, state: str) -> None:
    """How long a login takes says nothing of it."""
    told, text, _ = preflight(clock={"offset_s": offset_s, "within_s": within_s})[1]["clock"]
    assert told == state
    assert (
        text == f"{offset_s:+.3f} s ± {within_s:.3f} s against the operator's machine, kept by chrony, at most 6 ms off"
    )


def test_the_kernel_tells_whether_its_clock_is_kept(shared: dict[str, ModuleType]) -> None:
    """Of this machine: the status that adjtimex(2) gives timedatectl, too."""
    told = shared["tracking"]._kernel()
    assert told is None or (told[0] == "NTP" and 0 <= told[1] < 17)  # 16 s is where the kernel stops to count


# --- Progress of an attempt ------------------------------------------------------------------------------------------


@pytest.fixture
def look(host: PathHost, shared: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Looks at an attempt as it is then."""
    module = play_modules.library("landspeed_progress", monkeypatch)
    monkeypatch.setattr(module, "Path", host.path)
    monkeypatch.setattr(module, "run", host.run)
    host.said["systemctl show"] = "ActiveState=active\nExecMainStatus=0\nResult=success"
    host.said["ping -n -q -c 3"] = ""
    asked: dict[str, Any] = {"unit": "u", "live": "/live", "interface": "eth7"}
    return lambda **more: play_modules.call(module, monkeypatch, **(asked | more))


def live(host: PathHost, *lines: tuple[float, int], age_s: float = 0.0) -> None:
    """The engine's progress: times and bytes; the last line was written so long ago, the next one is half there."""
    text = "".join(json.dumps({"time_s": time_s, "bytes": count}) + "\n" for time_s, count in lines)
    (host.folder / "live").write_text(text + '{"time_')
    os.utime(host.folder / "live", (0, time.time() - age_s))


def test_an_attempt_that_moves_gives_no_alarm(look: Any, host: PathHost) -> None:
    live(host, (1.0, 100), (2.0, 200))
    told = look(peer="192.0.2.2")
    assert (told["alarm"], told["ended"], told["errors"]) == ("", False, 7)
    assert told["live"] == {"time_s": 2.0, "bytes": 200}


def test_a_peer_that_is_silent_and_answers_nothing_is_an_alarm(look: Any, host: PathHost) -> None:
    """By the lines that bring no byte, and by the time since the last one."""
    live(host, (1.0, 100), (2.0, 200), (5.5, 200), age_s=2.0)
    assert look(peer="192.0.2.2")["alarm"] == ""  # it answers a ping
    host.refused["ping -n -q -c 3"] = "100% packet loss"
    alarm = look(peer="192.0.2.2")["alarm"]
    assert re.match(r"for [5-9] s nothing has arrived at 192\.0\.2\.2, and it answers no ping\. Remedy: ", alarm)
    assert look()["alarm"] == ""  # nobody said whom to ask
    live(host, (1.0, 100), (2.0, 200), age_s=2.0)
    assert look(peer="192.0.2.2")["alarm"] == ""


def test_progress_that_is_not_there_yet_is_none(look: Any, host: PathHost) -> None:
    assert look()["live"] == {}
    live(host)
    assert look()["live"] == {}
    (host.folder / "live").write_text("nonsense\n")
    assert look()["live"] == {}


def test_a_nic_that_is_down_or_gone_is_an_alarm(look: Any, host: PathHost) -> None:
    host.write("sys/class/net/eth7/operstate", "down")
    assert look()["alarm"].startswith("the NIC eth7 is down. Remedy: look at cable, optics")
    assert look(interface="eth8")["alarm"].startswith("the NIC eth8 is gone. Remedy: ")


def test_the_engine_s_end_is_told(look: Any, host: PathHost) -> None:
    host.said["systemctl show"] = "ActiveState=failed\nExecMainStatus=9\nResult=signal"
    told = look()
    assert (told["ended"], told["status"], told["result"]) == (True, 9, "signal")
    host.refused["systemctl"] = "systemctl is not installed"
    assert (look()["failed"], look()["msg"]) == (True, "systemctl is not installed")
