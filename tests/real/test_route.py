"""The way of a flow by its own ports, in network namespaces with two routers between."""

import importlib
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from landspeed.worlds.real.runner import PLAYBOOKS
from landspeed.worlds.real.watched import path_check
from tests.support.emu_fixtures import wait_until

FILES = PLAYBOOKS / "roles" / "watch" / "files"
NODES = ("a", "r1", "r2", "b")


@pytest.fixture(name="route")
def route_fixture(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """landspeed_route."""
    monkeypatch.syspath_prepend(str(FILES))
    for name in ("landspeed_look", "landspeed_route"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("landspeed_route")


def run(*words: str) -> str:
    """Output of a command that has to work."""
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


@pytest.fixture(name="chain")
def chain_fixture() -> Iterator[dict[str, str]]:
    """Two hosts with two routers between, IPv4 and IPv6: node → name of its namespace."""
    names = {node: f"landspeed-test-{os.getpid()}-{node}" for node in NODES}
    try:
        for name in names.values():
            run("ip", "netns", "add", name)
            for setting in ("ipv4/ip_forward", "ipv6/conf/all/forwarding"):
                run("ip", "netns", "exec", name, "sh", "-c", f"echo 1 >/proc/sys/net/{setting}")
        for number, (left, right) in enumerate(itertools.pairwise(NODES), start=1):
            pair = ["type", "veth", "peer", "name", "east", "netns", names[left]]
            run("ip", "-n", names[right], "link", "add", "west", *pair)
            for node, device, side in ((left, "east", 1), (right, "west", 2)):
                run("ip", "-n", names[node], "addr", "add", f"10.9.{number}.{side}/24", "dev", device)
                run("ip", "-n", names[node], "addr", "add", f"fd09:{number}::{side}/64", "dev", device, "nodad")
                run("ip", "-n", names[node], "link", "set", device, "up")
        for node, device, to, via in (
            ("a", "east", 3, "1.2"),
            ("a", "east", 2, "1.2"),
            ("r1", "east", 3, "2.2"),
            ("r2", "west", 1, "2.1"),
            ("b", "west", 1, "3.1"),
            ("b", "west", 2, "3.1"),
        ):
            far, side = via.split(".")
            run("ip", "-n", names[node], "route", "add", f"10.9.{to}.0/24", "via", f"10.9.{via}", "dev", device)
            run("ip", "-n", names[node], "route", "add", f"fd09:{to}::/64", "via", f"fd09:{far}::{side}", "dev", device)
        for peer in ("10.9.3.2", "fd09:3::2"):  # links settle: duplicate addresses are looked for, neighbours found
            ping = ["ip", "netns", "exec", names["a"], "ping", "-q", "-c", "1", "-W", "1", peer]
            wait_until(lambda ping=ping: not subprocess.run(ping, check=False, capture_output=True).returncode, peer)
        yield names
    finally:
        for name in names.values():
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


TRACE = """
import json, sys
from landspeed_route import trace
found = [{"source": sys.argv[1], "source_port": port} for port in (40001, 40002)]
trace(found, sys.argv[2], 5201)
print(json.dumps(found))
"""


def traced(chain: dict[str, str], source: str, peer: str) -> list[str]:
    """The command that traces two connections from the chain's first node."""
    python = ["env", f"PYTHONPATH={FILES}", sys.executable, "-c", TRACE]
    return ["ip", "netns", "exec", chain["a"], *python, source, peer]


@pytest.mark.root
@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "peer", "routers"),
    [
        ("10.9.1.1", "10.9.3.2", ["10.9.1.2", "10.9.2.2"]),
        ("fd09:1::1", "fd09:3::2", ["fd09:1::2", "fd09:2::2"]),
    ],
)
def test_each_connection_is_traced_to_its_receiver(
    chain: dict[str, str], source: str, peer: str, routers: list[str]
) -> None:
    found = json.loads(run(*traced(chain, source, peer)))
    assert [stream["source_port"] for stream in found] == [40001, 40002]
    assert all(stream["hops"] == [*routers, peer] and stream["reached"] for stream in found), found


@pytest.mark.root
@pytest.mark.slow
def test_a_receiver_that_drops_the_probe_is_not_reached(chain: dict[str, str]) -> None:
    run("ip", "-n", chain["b"], "link", "set", "west", "down")
    for stream in json.loads(run(*traced(chain, "10.9.1.1", "10.9.3.2"))):
        assert stream["hops"][:1] == ["10.9.1.2"] and not stream["reached"]


SS = """0      0      10.78.1.2:43160 10.78.2.2:5201
\t reno wscale:10,10 rto:464 rtt:264/0.1 mss:8948 pmtu:9000 rcvmss:536 advmss:8948 cwnd:300 bytes_sent:1
0      9      [fd00::1]:43162 [fd00::2]:5201
\t cubic wscale:10,10 mss:1428 pmtu:1500
"""
TCPDUMP = """12:00:00.1 eth1 Out IP6 (flowlabel 0x7c01b, hlim 64, next-header TCP (6) payload length: 1460) fd00::1.43162 > fd00::2.5201: tcp
12:00:00.1 eth1 Out IP6 (flowlabel 0x00001, hlim 64, next-header TCP (6) payload length: 32) fd00::1.9 > fd00::2.5201: tcp
"""  # noqa: E501 (as it is printed)


def test_connections_are_noted_with_mtu_and_flow_label(route: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route, "told", lambda *words: SS if words[0] == "ss" else TCPDUMP)
    found = route.streams("10.78.2.2", 5201)
    route.add_flow_labels(found, 5201)
    assert found == [
        {"source": "10.78.1.2", "source_port": 43160, "pmtu_bytes": 9000, "mss_bytes": 8948},
        {"source": "fd00::1", "source_port": 43162, "pmtu_bytes": 1500, "mss_bytes": 1428, "flow_label": 0x7C01B},
    ]


def streams(*hops: list[str | None], pmtu: int = 9000, reached: bool = True) -> dict[str, object]:
    """A flow's connections with their ways."""
    found = [{"source_port": n, "pmtu_bytes": pmtu, "hops": each, "reached": reached} for n, each in enumerate(hops)]
    return {"peer": "b", "port": 5201, "streams": found}


def test_ways_of_a_flow_are_told() -> None:
    one = path_check("f", streams(["r1", "r2", "b"], ["r1", "r2", "b"]), 9000)
    assert (one.ok, one.text) == (True, "flow f: 2 connections, all over r1 → r2 → b; path MTU 9000 B")
    two = path_check("f", streams(["r1", "r2", "b"], ["r1", "r3", "b"], ["r1", None, "b"]), 9000)
    assert two.text == "flow f: 3 connections over 2 ways: r1 → r2 → b; r1 → r3 → b; path MTU 9000 B"


def test_a_smaller_mtu_than_the_plans_is_a_fault() -> None:
    check = path_check("f", streams(["b"], pmtu=1500), 9000)
    assert (check.ok, check.text) == (False, "flow f: 1 connection, over b; path MTU 1500 B, the plan's 9000 B")


def test_a_way_that_does_not_end_at_the_receiver_is_told() -> None:
    check = path_check("f", streams(["r1"], reached=False), 9000)
    assert (check.ok, check.text) == (None, "flow f: 1 connection, over r1 → …; path MTU 9000 B")
