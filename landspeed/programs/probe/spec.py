"""Specification of a probe: servers, a client, and the paths between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from landspeed.base.units import HOUR, MICROSECOND, PROBABILITY, RATE, TIME, UnitError, parse, parse_exact
from landspeed.programs.conditions import Condition
from landspeed.programs.probe.paths import ProbeError, at_rtt, usual_path
from landspeed.runs.scenario import Scenario

USUAL_RTTS = ("0.5 ms", "10 ms", "50 ms", "100 ms", "264 ms")
LEAST_RTT_NS, MOST_RTT_NS = 10 * MICROSECOND, 120 * 10**9
SHARE_OF_RTT = 16  # samples in a round trip
LEAST_INTERVAL_NS, MOST_INTERVAL_NS = 20 * MICROSECOND, 10 * 1000 * MICROSECOND
LEAST_RATE_BPS, MOST_RATE_BPS = 1000, 10**12


@dataclass(frozen=True)
class Server:
    """A program that is there before the client starts.

    Attributes:
        node: where it runs.
        words: program and arguments.
        until: what must be before the client starts: `listening(9000)`, `line("ready")`, `succeeds([…])`.
    """

    node: str
    words: Sequence[str]
    until: Condition


@dataclass(frozen=True, kw_only=True)
class Spec:
    """One probe.

    Attributes:
        scenario: the path; its delays are scaled.
        named: how the path was named; None: the usual one.
        servers: started in this order.
        at: the client's node.
        command: the client.
        rtts_ns: of propagation between the client's node and the first server's.
        rates_bps, losses: of the slowest link between them; None leaves it is.
        seed: of everything random; None takes the scenario's.
        timeout: of virtual time, for one run of the client.
        ready: of virtual time, for each server.
        interval_ns: of samples; None: a sixteenth of the RTT, at most 10 ms.
    """

    scenario: Scenario
    named: str | None
    servers: Sequence[Server]
    at: str
    command: Sequence[str]
    rtts_ns: Sequence[int]
    rates_bps: Sequence[int | None] = (None,)
    losses: Sequence[float | None] = (None,)
    seed: int | None = None
    timeout: str = "1 h"
    ready: str = "30 s"
    interval_ns: int | None = None

    @property
    def ends(self) -> tuple[str, str]:
        """The client's node and the first server's."""
        return self.at, self.servers[0].node

    @property
    def others(self) -> list[str]:
        """The servers' nodes."""
        return list(dict.fromkeys(each.node for each in self.servers))

    def cases(self) -> list[Case]:
        """Every path, the first rate and loss first; of each, every RTT."""
        return [Case(rtt_ns, rate, loss) for rate in self.rates_bps for loss in self.losses for rtt_ns in self.rtts_ns]

    def path(self, case: Case) -> Scenario:
        """The scenario of one case.

        Raises:
            ProbeError, ScenarioError: it cannot be.
        """
        return at_rtt(self.scenario, self.ends, case.rtt_ns, rate_bps=case.rate_bps, loss=case.loss)

    def interval_of(self, case: Case) -> int:
        """Sampling interval of a case, in ns."""
        if self.interval_ns is not None:
            return self.interval_ns
        return min(max(case.rtt_ns // SHARE_OF_RTT, LEAST_INTERVAL_NS), MOST_INTERVAL_NS)


@dataclass(frozen=True)
class Case:
    """One path that the client is run over."""

    rtt_ns: int
    rate_bps: int | None
    loss: float | None

    @property
    def folder(self) -> str:
        """A name for it."""
        words = [f"rtt-{self.rtt_ns / 1e6:g}ms"]
        words += [f"rate-{self.rate_bps / 1e6:g}Mbps"] if self.rate_bps is not None else []
        words += [f"loss-{self.loss:g}"] if self.loss is not None else []
        return "-".join(words)


def make_spec(
    command: Sequence[str],
    servers: Sequence[Server],
    *,
    at: str,
    path: str | Path | Scenario | None = None,
    rtts: Sequence[str] = USUAL_RTTS,
    rates: Sequence[str] = (),
    losses: Sequence[str] = (),
    seed: int | None = None,
    timeout: str = "1 h",
    ready: str = "30 s",
    interval_ns: int | None = None,
) -> Spec:
    """Check what is asked for; the arguments are those of `probe`.

    Raises:
        ProbeError: it cannot be; the message says what would be right.
        ScenarioError: the path's file is wrong.
    """
    _check_programs(command, servers, at)
    if isinstance(path, Scenario):
        scenario, named = path, str(path.loaded.path)
    elif path is not None:
        scenario, named = Scenario.load(path), str(path)
    else:
        scenario, named = usual_path(list(dict.fromkeys([at, *(each.node for each in servers)]))), None
    plan = scenario.plan(seed=seed)
    hosts = [node.name for node in plan.nodes if node.kind == "host"]
    for what, node in (("--at", at), *(("--serve", each.node) for each in servers)):
        if node not in hosts:
            raise ProbeError(f"{what} {node}: no such host; the path has {', '.join(hosts)}")
    spec = Spec(
        scenario=scenario,
        named=named,
        servers=tuple(servers),
        at=at,
        command=tuple(command),
        rtts_ns=sorted({_rtt_ns(each) for each in rtts}),
        rates_bps=tuple(_rate_bps(each) for each in rates) or (None,),
        losses=tuple(_loss(each) for each in losses) or (None,),
        seed=plan.seed,
        timeout=timeout,
        ready=ready,
        interval_ns=interval_ns,
    )
    if not spec.rtts_ns:
        raise ProbeError("no RTT is given; write for example --rtt '0.5 ms,50 ms,264 ms'")
    for each in spec.cases():
        spec.path(each)  # whatever is wrong is said before anything runs
    for text in (timeout, ready):
        _time_ns(text, 10**6, 24 * HOUR, "a limit")
    return spec


def _check_programs(command: Sequence[str], servers: Sequence[Server], at: str) -> None:
    if not command:
        raise ProbeError("no client is given; write it after --, as in: … -- ./client b")
    if not servers:
        raise ProbeError("no server is given; say where and what: --serve 'b=./server --port 9000' --listen 9000")
    if at in {each.node for each in servers}:
        raise ProbeError(f"client and server are both at {at}, and no path is between them; put one at another node")
    for each in servers:
        if not each.words:
            raise ProbeError(f"the server at {each.node} has no command: write --serve '{each.node}=./server …'")


def _time_ns(text: str, least: int, most: int, what: str) -> int:
    try:
        value = parse(TIME, text)
    except UnitError as error:
        raise ProbeError(f"{what}: {error}") from error
    if not least <= value <= most:
        raise ProbeError(f"'{text.strip()}' is not {what} of {least / 1e6:g} ms to {most / 1e9:g} s")
    return value


def _rtt_ns(text: str) -> int:
    return _time_ns(text, LEAST_RTT_NS, MOST_RTT_NS, "an RTT")


def _rate_bps(text: str) -> int:
    try:
        value = parse(RATE, text)
    except UnitError as error:
        raise ProbeError(str(error)) from error
    if not LEAST_RATE_BPS <= value <= MOST_RATE_BPS:
        raise ProbeError(f"'{text.strip()}' is not a rate of 1 kbit/s to 1 Tbit/s")
    return value


def _loss(text: str) -> float:

    if text.strip() in ("0", "0.0"):
        return 0.0
    try:
        value = float(text)
    except ValueError:
        try:
            value = float(parse_exact(PROBABILITY, text))
        except UnitError as error:
            raise ProbeError(str(error)) from error
    if not 0 <= value < 1:
        raise ProbeError(f"'{text.strip()}' is not a probability of 0 to below 1; write for example '1e-4' or '0.01 %'")
    return value
