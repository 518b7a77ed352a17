"""One transfer in the guest: the receiving and the sending program, and the watch over the links meanwhile."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

from . import clock
from .files import OUT
from .joined import device_name
from .network import Network
from .nodes import Node
from .programs import Program
from .shaping import shaped_device

if TYPE_CHECKING:
    from ..job import Job
    from ..runs import Run


def run_transfer(network: Network, job: Job, runs: list[Run]) -> dict[str, Any]:
    """Run the job's two commands, the receiver's first; `runs` are the links that are passed in one step.

    Returns:
        exit statuses of both programs, and what became of the plan's events.
    """
    sender, receiver = network.nodes[0], network.nodes[-1]
    addresses = {"{receiver}": network.address(len(network.nodes) - 1), "{sender}": network.address(0)}
    watch = _start_watch(network, job, runs) if job.watch_command else None
    events = None
    if network.plan.events:
        from .events import Events

        events = Events(network)
    if job.clock == "virtual":
        clock.start_afresh()
    receiving = _start(receiver, job.receiver_command, addresses, "receiver")
    _wait_listening(network, receiving, job.port)
    if job.clock == "virtual":
        clock.start_afresh()
    sending = _start(sender, job.sender_command, addresses, "sender", whole_second=job.clock == "virtual")
    statuses: dict[str, Any] = {"sender": events.follow(sending) if events else sending.wait()}
    if statuses["sender"] != 0 and receiving.poll() is None:
        receiving.send_signal(signal.SIGTERM)  # it would wait for a sender that is gone
    statuses["receiver"] = receiving.wait()
    if watch:
        watch.send_signal(signal.SIGTERM)
        watch.wait()
    return statuses | {"events": events.records if events else []}


def _start(
    node: Node, command: list[str], addresses: dict[str, str], name: str, *, whole_second: bool = False
) -> Program:
    """Start one end; `whole_second`: the engine begins at one, however its libraries were loaded."""
    words = [addresses.get(word, word) for word in command]
    environment = {**os.environ, **({"LANDSPEED_WHOLE_SECOND": "1"} if whole_second else {})}
    with open(f"{OUT}/log/{name}.log", "wb") as log:  # noqa: PTH123
        return Program(words, log.fileno(), node, environment)


def _wait_listening(network: Network, program: Program, port: int) -> None:
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


def _start_watch(network: Network, job: Job, runs: list[Run]) -> Program:
    """The program that reads every link's qdisc counters at an interval (emu/linkwatch)."""
    words = list(job.watch_command)
    short = {
        (index, run.forward): (run.enters, network.interface(run.enters, device_name(number)), line)
        for number, run in enumerate(runs)
        for line, index in enumerate(run.links)
    }
    for link in network.plan.links:
        for number, forward in enumerate((True, False)):
            position, device = shaped_device(network, link.index, forward=forward)
            word = f"{link.index},{number},/run/netns/{network.names[position]},{network.interface(position, device)}"
            if (link.index, forward) in short:
                enters, interface, line = short[link.index, forward]
                word += f",/run/netns/{network.names[enters]},{interface},{line}"
            words.append(word)
    if job.clock == "virtual":
        clock.start_afresh()
    with open(f"{OUT}/log/linkwatch.log", "wb") as log:  # noqa: PTH123
        return Program(words, log.fileno())
