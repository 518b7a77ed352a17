"""What a network of many hosts does once for all of them: its programs' start, packets by batches, tc's words."""

import contextlib
import os
import re
import socket
import struct
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from landspeed.worlds.emu.guest.calibration import batches
from landspeed.worlds.emu.guest.network import effective, netlink
from landspeed.worlds.emu.guest.network.network import Network
from landspeed.worlds.emu.guest.network.nodes import GuestNode
from landspeed.worlds.emu.guest.spawn import Starter
from landspeed.worlds.engine.command import ENGINE_BINARY
from landspeed.worlds.engine.tool import Engine
from tests.support.emu_fixtures import pairs, plan_of, transfer

HERE = cast(GuestNode, SimpleNamespace(namespace=-1, inside=contextlib.nullcontext))


@pytest.mark.guest
def test_samples_are_the_same_bytes_however_the_engines_were_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fork draws the random number that an exec would have drawn."""
    content = pairs(3) | {"transfer": {"duration": "2 s", "congestion_control": "bbr", "streams": 16}}
    found = list[bytes]()
    for each in ("forked", "executed"):
        if each == "executed":
            monkeypatch.setattr(Engine, "starter_command", lambda _: [])
        (tmp_path / each).mkdir()
        _, bundle = transfer(plan_of(tmp_path / each, content, seed=5), tmp_path / each)
        assert (bundle / "log" / "starter.log").exists() == (each == "forked")
        found.append((bundle / "samples.parquet").read_bytes())
    assert found[0] == found[1]


@pytest.mark.root
def test_a_starter_starts_children_of_who_asked(tmp_path: Path) -> None:
    here = os.open("/proc/self/ns/net", os.O_RDONLY)
    node = cast(GuestNode, SimpleNamespace(namespace=here))
    texts, statuses = list[str](), list[int]()
    with (tmp_path / "starter.log").open("wb") as log:
        starter = Starter([str(ENGINE_BINARY), "hosts"], log.fileno())
    asked = (["--version"], ["no-such-command"], ["send", "--help"])
    for number, words in enumerate(asked):
        with (tmp_path / str(number)).open("wb") as output:
            program = starter.start([str(ENGINE_BINARY), *words], output.fileno(), node, {"MORE": "1"})
        statuses.append(program.wait())
        texts.append((tmp_path / str(number)).read_text())
    starter.close()
    os.close(here)
    plain = [
        subprocess.run(
            [ENGINE_BINARY, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, text=True
        )
        for words in asked
    ]
    assert statuses == [each.returncode for each in plain]
    assert texts == [each.stdout for each in plain]


def test_a_starter_that_is_gone_is_told(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log:
        starter = Starter(["/bin/true"], log.fileno())
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            for _ in range(100):
                starter.start(["x"], log.fileno(), cast(GuestNode, SimpleNamespace(namespace=log.fileno())), {})
                time.sleep(0.01)


def test_more_packets_than_one_call_takes_arrive_in_order_with_their_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MOST", 64)
    count = 150
    with socket.socket(type=socket.SOCK_DGRAM) as receiver, socket.socket(type=socket.SOCK_DGRAM) as sender:
        receiver.setsockopt(socket.SOL_SOCKET, 64, 1)  # SO_TIMESTAMPNS_NEW
        receiver.bind(("127.0.0.1", 0))
        sender.setsockopt(socket.SOL_SOCKET, batches.SO_TXTIME, struct.pack("iI", time.CLOCK_MONOTONIC, 0))
        sender.connect(receiver.getsockname())
        begin_ns = time.time_ns()
        batches.send_at(sender, 7, [time.monotonic_ns()] * count, 100)
        found = batches.receive(receiver, count + 1)
        assert batches.receive(receiver, 1) == []
    assert [number for number, _ in found] == list(range(7, 7 + count))
    times = [at_ns for _, at_ns in found]
    assert begin_ns <= times[0] and times == sorted(times) and times[-1] <= time.time_ns()


def test_what_the_kernel_refuses_is_an_error() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as sender, pytest.raises(OSError, match="sendmmsg"):
        batches.send_at(sender, 0, [0, 0], 100)  # connected to nobody


def test_qdiscs_are_worded_as_tc_words_them_where_they_are() -> None:
    """Of this host's interfaces, counters apart: they go on counting."""
    link = netlink.Netlink(HERE)
    told: Any = SimpleNamespace(
        nodes=[HERE],
        names=["here"],
        netlink=lambda _: link,
        interface_name=lambda _, index: socket.if_indextoname(index),
    )
    text = effective.effective_qdiscs(cast(Network, told))["here"]
    shown = subprocess.run(["tc", "-s", "-d", "qdisc", "show"], capture_output=True, text=True, check=True).stdout
    link.close()
    assert shown.startswith("qdisc ")
    assert [re.sub(r"\d+", "", line) for line in text.splitlines()] == [
        re.sub(r"\d+", "", line) for line in shown.splitlines()
    ]
    names = re.compile(r"^qdisc \S+ \S+ dev (\S+)", re.MULTILINE)
    assert names.findall(text) == names.findall(shown)
