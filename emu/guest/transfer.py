"""One transfer in the guest: the receiving and the sending program, and the watch over the links meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import Any

from .files import OUT
from .network import Network
from .shaping import shaped_device


def run_transfer(network: Network, job: Any) -> dict[str, Any]:
    """Run the job's two commands, the receiver's first.

    Returns:
        exit statuses of both programs, and what became of the plan's events.
    """
    sender, receiver = network.nodes[0], network.nodes[-1]
    addresses = {"{receiver}": network.address(len(network.nodes) - 1), "{sender}": network.address(0)}
    watch = _start_watch(network, job) if job.watch_command else None
    events = None
    if network.plan.events:
        from .events import Events

        events = Events(network)
    receiving = _start(receiver, job.receiver_command, addresses, "receiver")
    _wait_listening(network, receiving, job.port)
    sending = _start(sender, job.sender_command, addresses, "sender")
    statuses: dict[str, Any] = {"sender": events.follow(sending) if events else sending.wait()}
    if statuses["sender"] != 0 and receiving.poll() is None:
        receiving.send_signal(signal.SIGTERM)  # it would wait for a sender that is gone
    statuses["receiver"] = receiving.wait()
    if watch:
        watch.send_signal(signal.SIGTERM)
        watch.wait()
    return statuses | {"events": events.records if events else []}


def _start(node: Any, command: list[str], addresses: dict[str, str], name: str) -> subprocess.Popen[bytes]:
    words = [addresses.get(word, word) for word in command]
    with (OUT / "log" / f"{name}.log").open("wb") as log, node.inside():
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)


def _wait_listening(network: Network, program: subprocess.Popen[bytes], port: int) -> None:
    """Wait until somebody listens on the port in the receiver's namespace, or the program is gone."""
    pattern = f":{port:04X} "
    tables = ("/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6")
    with network.nodes[-1].inside():
        while program.poll() is None:
            for table in tables:
                if not os.path.exists(table):  # noqa: PTH110
                    continue
                with open(table) as handle:  # noqa: PTH123
                    if any(pattern in line and line.split()[3] == "0A" for line in handle):
                        return
            signal.sigtimedwait([], 0.01)  # in virtual time this costs nothing


def _start_watch(network: Network, job: Any) -> subprocess.Popen[bytes]:
    """The program that reads every link's qdisc counters at an interval (emu/linkwatch)."""
    words = list(job.watch_command)
    for link in network.plan.links:
        for number, forward in enumerate((True, False)):
            position, device = shaped_device(network, link.index, forward=forward)
            words.append(
                f"{link.index},{number},/run/netns/{network.names[position]},{network.interface(position, device)}"
            )
    with (OUT / "log" / "linkwatch.log").open("wb") as log:
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
