"""The calibration gate: what the built path really does, measured before a transfer counts.

RTT to every hop from both ends (ICMP echo with a growing TTL, as traceroute does), path MTU with don't-fragment, and
the bottleneck rate of both directions from the spacing of a short packet train (trains.py). All from sockets of this
one process, which may belong to any node. One probe at a time is under way, so that none waits for another. What the
plan says is in scenario/theory/timing.py. What the plan itself does to packets (loss, jitter) is no error of the path.
"""

from __future__ import annotations

import contextlib
import math
import socket
import struct
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from landspeed.base.units_text import rate_text, time_text
from landspeed.judge.calibration_checks import BY_BOTH_WAYS, calibration_checks, hop_place, queue_place
from landspeed.results.check import Check
from landspeed.scenario.theory import physics as ph
from landspeed.scenario.theory.timing import (
    ECHO_PAYLOAD_BYTES,
    ICMP_HEADER_BYTES,
    TRAIN_PACKETS,
    hop_echo_ns,
    impaired,
    link_name,
    rates_bps,
    round_trip_ns,
    slowest_rate_bps,
    way,
)
from landspeed.scenario.theory.tolerances import (
    REAL_CLOCK_RATE_TOLERANCE,
    REAL_CLOCK_RTT_FLOOR_MS,
    RTT_FLOOR_MS,
    unskipped,
)
from landspeed.worlds.emu.guest.calibration.trains import SO_TIMESTAMPNS_NEW, queues, train_rate
from landspeed.worlds.emu.guest.joined_links import LEAST_TTL
from landspeed.worlds.emu.guest.network.flow_path import FlowPath
from landspeed.worlds.emu.guest.network.network import MOST_HOPS
from landspeed.worlds.emu.guest.shaping.direction_options import burst_bytes
from landspeed.worlds.emu.guest.shaping.kept_spacing import spacing_kept

if TYPE_CHECKING:
    from collections.abc import Sequence

    from landspeed.scenario.plan.plan import Plan

IP_MTU, IP_MTU_DISCOVER, IP_PMTUDISC_DO = 14, 10, 2
IPV6_MTU, IPV6_MTU_DISCOVER = 24, 23
EXCEEDED_BYTES = 152  # an answer that quotes an echo over IPv6, the largest packet of a traceroute
REAL_CLOCK_ROUNDS = 5
IMPAIRED_ROUNDS = 9  # where packets are lost or delayed by chance
MTU_ATTEMPTS = 9
MTU_SEQUENCE = 0x8000  # beyond those of the hops
JOINED_SEQUENCE = 0x4000
MOST_ATTEMPTS = JOINED_SEQUENCE >> 8  # that have numbers of their own
IDENTIFIER = 0x4C53


@dataclass
class MeasuredCalibration:
    """Measured against planned. Times in ms, rates in bit/s of IP packets."""

    rtt_ms: float | None = None
    rtt_expected_ms: float = 0.0
    tolerance: float = 0.0
    rtt_floor_ms: float = RTT_FLOOR_MS
    hops: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    reverse_hops: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    path_mtu_bytes: int | None = None
    mtu_expected_bytes: int = 0
    rate_bps: float | None = None
    rate_expected_bps: float = 0.0
    rate_reverse_bps: float | None = None
    rate_reverse_expected_bps: float = 0.0
    rate_tolerance: float = 0.0
    joined: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    queue: list[dict[str, Any]] | None = None
    checks: list[Check] = field(default_factory=list[Check])
    passed: bool = False
    failures: list[str] = field(default_factory=list[str])


def calibrate(
    network: FlowPath, joined: Sequence[bool] = (), *, with_queues: bool = False, real_clock: bool = False
) -> dict[str, Any]:
    """Measure the path and compare it with the plan.

    Args:
        network: the path of a flow.
        joined: directions (True: from the source) with links that are passed in one step; then both ways are measured,
            that one and hop by hop.
        with_queues: fill every queue until it overflows, too.
        real_clock: the host's scheduling adds to every time measured, so each hop's least RTT of several counts and the
            tolerances are the wider ones of `REAL_CLOCK_…`; in virtual time one measurement is exact.

    Returns:
        the fields of `MeasuredCalibration`; `failures` names every link out of tolerance.
    """
    plan = network.plan
    result = MeasuredCalibration(
        tolerance=plan.calibration.rtt_tolerance, rate_tolerance=plan.calibration.rate_tolerance
    )
    if real_clock:
        result.rtt_floor_ms = REAL_CLOCK_RTT_FLOOR_MS
        result.rate_tolerance = max(result.rate_tolerance, REAL_CLOCK_RATE_TOLERANCE)
    last = len(network.nodes) - 1
    result.hops = _hops(network, 0, last, real_clock=real_clock)
    result.reverse_hops = _hops(*network.from_target(), real_clock=real_clock)
    result.rtt_ms, result.rtt_expected_ms = result.hops[-1]["rtt_ms"], result.hops[-1]["expected_ms"]
    result.mtu_expected_bytes = min(link.mtu_bytes for link in plan.links[: plan.hops])
    result.path_mtu_bytes = _path_mtu(network)
    result.rate_expected_bps = slowest_rate_bps(plan, forward=True)
    result.rate_reverse_expected_bps = slowest_rate_bps(plan, forward=False)
    result.rate_bps = _rate(network, 0, last, real_clock=real_clock)
    result.rate_reverse_bps = _rate(*network.from_target(), real_clock=real_clock)
    if joined:
        result.joined = [_joined(network, joined, origin, real_clock=real_clock) for origin in (0, last)]
    if with_queues:
        result.queue = [each for link in plan.links for each in queues(network.network, link)]
        for each in result.queue:
            each["allowed_bytes"] = max(0.01 * (each["expected_bytes"] or 0), 2 * burst_bytes(plan))
    result.checks = calibration_checks(plan, result)
    result.failures = _failures(network, result)
    result.passed = not result.failures
    return asdict(result)


# --- RTT, hop by hop -------------------------------------------------------------------------------------------------


def _patience(plan: Plan) -> int:
    """Rounds after which something must have come through, for at the mean length of losses in a row it would have.

    A burst of mean length n has not ended after 10 n packets in one case of 20 000 (geometric). Where nothing ever
    arrives, it is no use to wait.
    """
    rows = [direction.losses_in_a_row for link in plan.links for direction in (link.forward, link.reverse)]
    return IMPAIRED_ROUNDS if math.isinf(max(rows)) else max(IMPAIRED_ROUNDS, math.ceil(10 * max(rows)))


def _rate(network: FlowPath, origin: int, target: int, *, real_clock: bool, ttl: int | None = None) -> float | None:
    """Rate of a train; of a later one where chance took all of one."""
    with spacing_kept(network):
        for _ in range(1 + _patience(network.plan) // TRAIN_PACKETS if impaired(network.plan) else 1):
            if (rate := train_rate(network, origin, target, real_clock=real_clock, ttl=ttl)) is not None:
                return rate
    return None


def _hops(network: FlowPath, origin: int, target: int, *, real_clock: bool) -> list[dict[str, Any]]:
    plan = network.plan
    step = 1 if target > origin else -1
    positions = list(range(origin + step, target + step, step))
    expected = [network.hop_echo_ns(origin, position) / 1e6 for position in positions]
    # In real time they are asked at once where none can hold up another for long: it would take a round trip each.
    longest_ns = max(line.takes_ns(EXCEEDED_BYTES) - line.delay_ns for line in way(plan, origin, target))
    together = real_clock and len(positions) * longest_ns / 1e6 < REAL_CLOCK_RTT_FLOOR_MS / 4
    answers: dict[int, list[tuple[float, str]]] = {}
    rounds = REAL_CLOCK_ROUNDS if real_clock else IMPAIRED_ROUNDS if impaired(plan) else 1
    for attempt in range(max(rounds, _patience(plan)) if impaired(plan) else rounds):
        wanted = [ttl for ttl in range(1, len(positions) + 1) if attempt < rounds or ttl not in answers]
        for ttls in [wanted] if together and wanted else [[ttl] for ttl in wanted]:
            wait_s = 10 * max(expected[ttls[-1] - 1] / 1e3, 0.1)
            found = _traceroute(network, origin, target, ttls, attempt=attempt, wait_s=wait_s)
            for ttl, answer in found.items():
                answers.setdefault(ttl, []).append(answer)
    # A host's scheduling only ever adds; what the plan does to packets goes both ways.
    whole = {ttl: unskipped(plan, origin, positions[ttl - 1], expected[ttl - 1], got) for ttl, got in answers.items()}
    measured = {ttl: found[0 if real_clock else len(found) // 2] for ttl, found in whole.items()}
    return [
        {
            "ttl": ttl,
            "node": network.names[position],
            "address": network.facing_address(position, viewer=origin),
            "rtt_ms": measured.get(ttl, (None, None))[0],
            "answered_by": measured.get(ttl, (None, None))[1],
            "expected_ms": expected[ttl - 1],
        }
        for ttl, position in enumerate(positions, start=1)
    ]


def _traceroute(
    network: FlowPath, origin: int, target: int, ttls: list[int], *, attempt: int, wait_s: float
) -> dict[int, tuple[float, str]]:
    """RTT in ms and answering address for each of these TTLs; a TTL without answer is left out."""
    base = attempt % MOST_ATTEMPTS << 8  # late copies of answers to the attempt before are none to this one
    version = network.plan.ip_version
    destination = network.address(target)
    level, option = (
        (socket.IPPROTO_IP, socket.IP_TTL) if version == 4 else (socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS)
    )
    answers: dict[int, tuple[float, str]] = {}
    with _icmp_socket(network, origin) as sock:
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS_NEW, 1)
        sent: dict[int, int] = {}
        for ttl in ttls:
            sock.setsockopt(level, option, ttl)
            request = echo_request(version, base + ttl, b"\0" * ECHO_PAYLOAD_BYTES)
            sent[ttl] = time.time_ns()
            sock.sendto(request, (destination, 0))
        deadline = time.monotonic() + wait_s
        while len(answers) < len(ttls) and (left := deadline - time.monotonic()) > 0:
            sock.settimeout(left)
            with contextlib.suppress(TimeoutError):
                packet, control, _, source = sock.recvmsg(2048, 64)
                seconds, nanoseconds = struct.unpack("qq", control[0][2])
                ttl = (echo_sequence(version, packet) or 0) - base
                if ttl in sent and ttl not in answers:
                    answers[ttl] = ((seconds * 1_000_000_000 + nanoseconds - sent[ttl]) / 1e6, source[0])
    return answers


def _icmp_socket(network: FlowPath, position: int) -> socket.socket:
    with network.nodes[position].inside():
        if network.plan.ip_version == 4:
            return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        return socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)


def echo_request(version: int, sequence: int, payload: bytes, identifier: int = IDENTIFIER) -> bytes:
    """ICMP (RFC 792) or ICMPv6 (RFC 4443) echo request; the kernel fills in ICMPv6's checksum."""
    kind = 8 if version == 4 else 128
    header = struct.pack("!BBHHH", kind, 0, 0, identifier, sequence)
    checksum = internet_checksum(header + payload) if version == 4 else 0
    return struct.pack("!BBHHH", kind, 0, checksum, identifier, sequence) + payload


def internet_checksum(data: bytes) -> int:
    """RFC 1071."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def echo_sequence(version: int, packet: bytes, asked: int = IDENTIFIER) -> int | None:
    """Sequence number of our echo that a reply or a time-exceeded message is about; None for other packets."""
    icmp = packet[(packet[0] & 15) * 4 :] if version == 4 else packet
    reply, exceeded, request = (0, 11, 8) if version == 4 else (129, 3, 128)
    if icmp[0] == exceeded:
        inner = icmp[8:]
        icmp = inner[(inner[0] & 15) * 4 :] if version == 4 else inner[40:]
        if len(icmp) < 8 or icmp[0] != request:
            return None
    elif icmp[0] != reply:
        return None
    _, _, _, identifier, sequence = struct.unpack("!BBHHH", icmp[:8])
    return sequence if identifier == asked else None


# --- Links that are passed in one step -------------------------------------------------------------------------------


def _joined(network: FlowPath, joined: Sequence[bool], origin: int, *, real_clock: bool) -> dict[str, Any]:
    """Measure from one end: an echo over the short ways, there and back, and a train that goes hop by hop.

    Returns:
        `rtt_ms` and the TTL with which the reply came, beside what is expected of both; the rate hop by hop, there.
    """
    plan, last = network.plan, len(network.nodes) - 1
    target = last - origin
    expected_ms = hop_echo_ns(plan, origin, target) / 1e6
    answers: list[tuple[float, int]] = []
    for attempt in range(REAL_CLOCK_ROUNDS if real_clock else IMPAIRED_ROUNDS):
        answer = _echo(network, origin, target, attempt, wait_s=10 * max(expected_ms / 1e3, 0.1))
        answers += [answer] if answer else []
        if answers and not real_clock and not impaired(plan):
            break
    answers = unskipped(plan, origin, target, expected_ms, answers)
    rtt_ms, ttl = answers[0 if real_clock else len(answers) // 2] if answers else (None, None)
    found = {
        "origin": origin,
        "rtt_ms": rtt_ms,
        "expected_ms": expected_ms,
        "reply_ttl": ttl,
        "expected_ttl": MOST_HOPS - (len(plan.returned if origin == 0 else plan.links[: plan.hops]) - 1),
    }
    if (origin == 0) in joined and last < LEAST_TTL:
        ends = network.from_target() if origin else (network, origin, target)
        found["every_hop_rate_bps"] = _rate(*ends, real_clock=real_clock, ttl=LEAST_TTL - 1)
    return found


def _echo(network: FlowPath, origin: int, target: int, attempt: int, *, wait_s: float) -> tuple[float, int] | None:
    """RTT in ms of an echo as any program sends it, and the TTL that its reply still had; None if none came."""
    version, sequence = network.plan.ip_version, JOINED_SEQUENCE + attempt
    with _icmp_socket(network, origin) as sock:
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS_NEW, 1)
        if version == 6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVHOPLIMIT, 1)
        request = echo_request(version, sequence, b"\0" * ECHO_PAYLOAD_BYTES)
        sent_ns = time.time_ns()
        sock.sendto(request, (network.address(target), 0))
        deadline = time.monotonic() + wait_s
        while (left := deadline - time.monotonic()) > 0:
            sock.settimeout(left)
            with contextlib.suppress(TimeoutError):
                packet, control, _, _ = sock.recvmsg(2048, 128)
                if echo_sequence(version, packet) == sequence:
                    told = {(level, kind): data for level, kind, data in control}
                    seconds, nanoseconds = struct.unpack("qq", told[socket.SOL_SOCKET, SO_TIMESTAMPNS_NEW])
                    hops = told.get((socket.IPPROTO_IPV6, socket.IPV6_HOPLIMIT))
                    ttl = struct.unpack("i", hops)[0] if hops else packet[8]
                    return (seconds * 1_000_000_000 + nanoseconds - sent_ns) / 1e6, ttl
    return None


# --- Path MTU --------------------------------------------------------------------------------------------------------


def _path_mtu(network: FlowPath) -> int | None:
    """Largest packet that an echo carries there and back with don't-fragment; None if none comes back."""
    plan = network.plan
    version, last = plan.ip_version, len(network.nodes) - 1
    header = ph.IP_HEADER[version] + ICMP_HEADER_BYTES
    level, discover = (socket.IPPROTO_IP, IP_MTU_DISCOVER) if version == 4 else (socket.IPPROTO_IPV6, IPV6_MTU_DISCOVER)
    size = plan.links[0].mtu_bytes
    wait_s = 2 * max(round_trip_ns(plan, 0, last, size) / 1e9, 0.1)
    with _icmp_socket(network, 0) as sock:
        sock.setsockopt(level, discover, IP_PMTUDISC_DO)
        sock.connect((network.address(last), 0))
        attempts = max(MTU_ATTEMPTS, _patience(plan))
        for sequence in range(
            MTU_SEQUENCE, MTU_SEQUENCE + len(plan.links) + attempts
        ):  # a router with a smaller link answers once
            with contextlib.suppress(OSError):
                sock.send(echo_request(version, sequence, b"\0" * (size - header)))
            deadline = time.monotonic() + wait_s
            while (left := deadline - time.monotonic()) > 0:
                sock.settimeout(left)
                try:
                    if echo_sequence(version, sock.recv(65536)) == sequence:
                        return size
                except OSError:
                    break
            known = sock.getsockopt(level, IP_MTU if version == 4 else IPV6_MTU)
            attempts -= known >= size
            if not attempts:
                return None
            size = min(size, known)
    return None


# --- Failures, in words ---------------------------------------------------------------------------------------------


def _failures(network: FlowPath, result: MeasuredCalibration) -> list[str]:
    """One sentence for each failed check: what is wrong, and which part of the path it points at."""
    plan, failures = network.plan, list[str]()
    failed = {(check.name, check.place): check for check in result.checks if not check.ok}
    for origin, hops in ((0, result.hops), (len(network.nodes) - 1, result.reverse_hops)):
        before = 0.0
        for hop in hops:
            if ("hop", hop_place(plan, origin, hop["ttl"])) in failed:
                failures.append(_hop_words(network, origin, hop, before))
                break  # the hops beyond it carry the same error
            before = hop["rtt_ms"]
    if ("mtu", "") in failed:
        failures.append(f"path MTU is {result.path_mtu_bytes} B, the plan says {result.mtu_expected_bytes} B")
    for direction in ("forward", "reverse"):
        if check := failed.get(("rate", direction)):
            seen = "too little arrived" if check.measured is None else rate_text(check.measured)
            every = rates_bps(plan, forward=direction == "forward")
            parts = [part for rate, part in every if rate <= 1.0001 * min(every)[0]]
            failures.append(
                f"{direction} bottleneck rate: {seen}, the plan says {rate_text(check.expected or 0.0)} of IP packets, "
                f"set by {', '.join(parts[:3])}{' and others' if len(parts) > 3 else ''}"
            )
    failures += [check.text for (_, place), check in failed.items() if place.endswith(BY_BOTH_WAYS)]
    for queue in result.queue or []:
        if ("queue", queue_place(plan, queue)) in failed:
            which = f"queue of {queue['name']}, {queue['direction']}"
            measured, expected = queue["measured_bytes"], queue["expected_bytes"]
            failures.append(f"{which}: overflows at {measured} B, the plan says {expected} B")
    return failures


def _hop_words(network: FlowPath, origin: int, hop: dict[str, Any], before_ms: float) -> str:
    position = network.names.index(hop["node"])
    link = position - 1 if origin < position else position
    name = link_name(network.plan.links[link])
    seen_from = f"seen from {network.names[origin]}"
    if hop["rtt_ms"] is None:
        return f"{name}: no answer from {hop['node']}, {seen_from}"
    if hop["answered_by"] != hop["address"]:
        return f"{name}: hop {hop['ttl']} is {hop['answered_by']}, not {hop['node']} ({hop['address']}), {seen_from}"
    error_ms = hop["rtt_ms"] - hop["expected_ms"]
    measured, expected, before = (time_text(ms * 1e6) for ms in (hop["rtt_ms"], hop["expected_ms"], before_ms))
    error = f"{'+' if error_ms > 0 else '−'}{time_text(abs(error_ms) * 1e6)}; the hop before it was at {before}"
    return f"{name}: RTT to {hop['node']} is {measured}, the plan says {expected} ({error}), {seen_from}"
