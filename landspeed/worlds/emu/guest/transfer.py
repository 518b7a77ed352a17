"""The transfer in the guest: receiving and sending programs of each flow, and the watch over the links meanwhile."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, Any

from landspeed.scenario.theory.timing import idle_ns
from landspeed.worlds.emu.guest import clock
from landspeed.worlds.emu.guest.files import OUT, make_key
from landspeed.worlds.emu.guest.link_samplers import link_words
from landspeed.worlds.emu.guest.network.network import Network
from landspeed.worlds.emu.guest.network.nodes import GuestNode
from landspeed.worlds.emu.guest.spawn import Programs, SpawnedProgram, StartedProgram, Starter

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Flow
    from landspeed.worlds.emu.guest.job import FlowJob, Job
    from landspeed.worlds.emu.guest.joined_links import JoinedLinks
    from landspeed.worlds.emu.guest.pinger import Pinger


SECOND_NS = 1_000_000_000


def run_transfer(network: Network, job: Job, runs: list[JoinedLinks]) -> dict[str, Any]:
    """Run the commands of the job's flows, the receivers' first; `runs` are the links that are passed in one step.

    Returns:
        exit statuses of both programs of each flow, and what became of the plan's events.
    """
    flows = {flow.name: flow for flow in network.plan.flows}
    watch = _start_watch(network, job, runs) if job.watch_command else None
    events = None
    if network.plan.changes:
        # saves 20 ms where it is not needed
        from landspeed.worlds.emu.guest.event_clock import EventClock

        events = EventClock(network, [each.folder for each in job.flows])
    # What engines send is one file of zeros that have no memory: 32 MiB are dear to touch. It is made before the
    # numbers are new, since Linux draws a random one for it.
    payload = os.memfd_create("payload", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    starter = _open_starter(job, payload)
    if job.clock == "virtual":
        clock.start_afresh()
    receiving = [_start(network, flows[each.flow], each, "receiver", starter=starter) for each in job.flows]
    for each, receiver in zip(job.flows, receiving, strict=True):
        _wait_listening(network.node(flows[each.flow].target), receiver, each.port)
    if job.clock == "virtual":
        clock.start_afresh()
    pingers = _start_pingers(network, job) if idle_ns(network.plan) else []
    senders, started, start_ns = _start_senders(network, job, payload, starter)
    if starter:
        starter.close()
    sending = Programs(list(senders.values()))
    _ = events.follow(sending, start_ns) if events else sending.wait()
    for pinger in pingers:
        pinger.stop()
    statuses: dict[str, Any] = {}
    for each, receiver in zip(job.flows, receiving, strict=True):
        sender = senders[each.flow]
        if sender.wait() != 0 and receiver.poll() is None:
            receiver.send_signal(signal.SIGTERM)  # it would wait for a sender that is gone
        statuses[each.flow] = {"sender": sender.wait(), "receiver": receiver.wait(), **started.get(each.flow, {})}
    if watch:
        watch.send_signal(signal.SIGTERM)
        watch.wait()
    return {"flows": statuses, "events": events.records if events else []}


def _start_pingers(network: Network, job: Job) -> list[Pinger]:
    """Start the echoes of those flows that ask for them, and let them go over the idle path for a while."""
    # saves 5 ms where it is not needed
    from landspeed.worlds.emu.guest.pinger import Pinger

    folders = {each.flow: each.folder for each in job.flows}
    asked = [(number, flow) for number, flow in enumerate(network.plan.flows) if flow.transfer.ping]
    pingers = [Pinger(network, flow, number, folders[flow.name]) for number, flow in asked]
    begin_ns = (clock.now_ns() // SECOND_NS + 1) * SECOND_NS
    for pinger in pingers:
        pinger.start(begin_ns)
    clock.sleep_until(begin_ns + idle_ns(network.plan))
    if job.clock == "virtual":
        clock.start_afresh()
    return pingers


def _start_senders(
    network: Network, job: Job, payload: int | None, starter: Starter | None
) -> tuple[dict[str, StartedProgram], dict[str, dict[str, int]], int | None]:
    """Start all senders, those that do not wait for their second at that second.

    Returns:
        the programs by flow; when those were started that do not tell when they begin; and when the first of their
        transfers begins, by the monotonic clock.
    """
    flows = {flow.name: flow for flow in network.plan.flows}
    programs, started = dict[str, StartedProgram](), dict[str, dict[str, int]]()
    begins: list[int] = []
    now_ns = 0 if all(each.speaks_ns is None for each in job.flows) else clock.now_ns()
    for each in sorted(job.flows, key=lambda each: 0 if each.speaks_ns is None else each.seconds):
        seconds = each.seconds if job.clock == "virtual" or each.seconds > 1 else 0
        if each.speaks_ns is not None:
            clock.sleep_until((now_ns // SECOND_NS + seconds) * SECOND_NS)
            started[each.flow] = {"started_unix_ns": time.time_ns()}
            begins.append(clock.now_ns() + each.speaks_ns)
            seconds = 0
        flow = flows[each.flow]
        programs[each.flow] = _start(network, flow, each, "sender", seconds=seconds, payload=payload, starter=starter)
    return programs, started, min(begins, default=None)


def _open_starter(job: Job, payload: int | None) -> Starter | None:
    """Load the flows' program once for all of them, if it can be."""
    if not job.starter_command:
        return None
    with open(f"{OUT}/log/starter.log", "wb") as log:  # noqa: PTH123
        return Starter(job.starter_command, log.fileno(), given=[] if payload is None else [payload])


def _start(
    network: Network,
    flow: Flow,
    job: FlowJob,
    end: str,
    *,
    seconds: int = 0,
    payload: int | None = None,
    starter: Starter | None,
) -> StartedProgram:
    """Start one end of a flow; `seconds`: the engine begins at that whole second, however its libraries were loaded.

    `payload`: a descriptor of the memory that all of them send from.
    """
    addresses = {
        "{receiver}": network.flow_address(flow, target=True),
        "{sender}": network.flow_address(flow, target=False),
    }
    sends = end == "sender"
    node = network.node(flow.source if sends else flow.target)
    words = job.sender_command if sends else job.receiver_command
    known = addresses | ({"{key}": make_key()} if "{key}" in words else {})
    words = [known.get(word, word) for word in words]
    asked = {"LANDSPEED_WHOLE_SECOND": seconds, "LANDSPEED_PAYLOAD": payload}
    more = {name: str(value) for name, value in asked.items() if value}
    with open("/".join(filter(None, (OUT, job.folder, "log", f"{end}.log"))), "wb") as log:  # noqa: PTH123
        if starter:
            return starter.start(words, log.fileno(), node, more)
        given = [] if payload is None else [payload]
        return SpawnedProgram(words, log.fileno(), node, {**os.environ, **more}, given=given)


def _wait_listening(node: GuestNode, program: StartedProgram, port: int) -> None:
    """Wait until somebody listens on the port in the receiver's namespace, or the program is gone."""
    pattern = f":{port:04X} "
    tables = ("/proc/thread-self/net/tcp6", "/proc/thread-self/net/tcp")  # the engine is in the first one
    with node.inside():
        while program.poll() is None:
            for table in tables:
                if not os.path.exists(table):  # noqa: PTH110
                    continue
                with open(table) as handle:  # noqa: PTH123
                    if any(pattern in line and line.split()[3] == "0A" for line in handle):
                        return
            signal.sigtimedwait([], 0.01)  # in virtual time this costs nothing


def _start_watch(network: Network, job: Job, runs: list[JoinedLinks]) -> SpawnedProgram:
    """The program that reads every link's qdisc counters at an interval (emu/linkwatch)."""
    words = [*job.watch_command, *link_words(network, runs)]
    if job.clock == "virtual":
        clock.start_afresh()
    with open(f"{OUT}/log/linkwatch.log", "wb") as log:  # noqa: PTH123
        return SpawnedProgram(words, log.fileno())
