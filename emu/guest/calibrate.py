"""The calibration gate: what the built path really does, measured before a transfer counts.

RTT to every hop from both ends (ICMP echo with a growing TTL, as traceroute does), path MTU with don't-fragment, and
the bottleneck rate of both directions from the spacing of a short packet train (trains.py). All from sockets of this
one process, which may belong to any node. What the plan itself does to packets (loss, jitter) is no error of the path.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from .network import Network
from .shaping import burst_bytes
from .trains import link_name, planned_rate_error, queues, rates, slowest_rate, train_rate

RTT_FLOOR_MS = 0.05  # a tolerance in per cent of a hop next door would be less than one packet's serialization
ECHO_BYTES = 84  # an ordinary ping: IPv4 20 + ICMP 8 + 56
IP_MTU, IP_MTU_DISCOVER, IP_PMTUDISC_DO = 14, 10, 2
IPV6_MTU, IPV6_MTU_DISCOVER = 24, 23
REAL_CLOCK_RTT_FLOOR_MS = 2.0
REAL_CLOCK_RATE_TOLERANCE = 0.05
REAL_CLOCK_ROUNDS = 5
IMPAIRED_ROUNDS = 9  # where packets are lost or delayed by chance
MTU_ATTEMPTS = 9
MTU_SEQUENCE = 0x8000  # beyond those of the hops
IDENTIFIER = 0x4C53


@dataclass
class Calibration:
    """Measured against planned. Times in ms, rates in bit/s of IP packets."""

    rtt_ms: float | None = None
    rtt_expected_ms: float = 0.0
    tolerance: float = 0.0
    rtt_floor_ms: float = RTT_FLOOR_MS
    hops: list[dict[str, Any]] = field(default_factory=list)
    reverse_hops: list[dict[str, Any]] = field(default_factory=list)
    path_mtu_bytes: int | None = None
    mtu_expected_bytes: int = 0
    rate_bps: float | None = None
    rate_expected_bps: float = 0.0
    rate_reverse_bps: float | None = None
    rate_reverse_expected_bps: float = 0.0
    rate_tolerance: float = 0.0
    queue: list[dict[str, Any]] | None = None
    passed: bool = False
    failures: list[str] = field(default_factory=list)


def calibrate(network: Network, *, with_queues: bool = False, real_clock: bool = False) -> dict[str, Any]:
    """Measure the path and compare it with the plan.

    Args:
        network: the built path.
        with_queues: fill every queue until it overflows, too.
        real_clock: the host's scheduling adds to every time measured, so each hop's least RTT of several counts and the
            tolerances are the wider ones of `REAL_CLOCK_…`; in virtual time one measurement is exact.

    Returns:
        the fields of `Calibration`; `failures` names every link out of tolerance.
    """
    plan = network.plan
    result = Calibration(tolerance=plan.calibration.rtt_tolerance, rate_tolerance=plan.calibration.rate_tolerance)
    if real_clock:
        result.rtt_floor_ms = REAL_CLOCK_RTT_FLOOR_MS
        result.rate_tolerance = max(result.rate_tolerance, REAL_CLOCK_RATE_TOLERANCE)
    last = len(network.nodes) - 1
    result.hops = _hops(network, 0, last, real_clock=real_clock)
    result.reverse_hops = _hops(network, last, 0, real_clock=real_clock)
    result.rtt_ms, result.rtt_expected_ms = result.hops[-1]["rtt_ms"], result.hops[-1]["expected_ms"]
    result.mtu_expected_bytes = min(link.mtu_bytes for link in plan.links)
    result.path_mtu_bytes = _path_mtu(network)
    result.rate_expected_bps = slowest_rate(plan, forward=True)
    result.rate_reverse_expected_bps = slowest_rate(plan, forward=False)
    result.rate_bps = train_rate(network, 0, last, real_clock=real_clock)
    result.rate_reverse_bps = train_rate(network, last, 0, real_clock=real_clock)
    if with_queues:
        result.queue = [each for link in plan.links for each in queues(network, link)]
    result.failures = _failures(network, result)
    result.passed = not result.failures
    return asdict(result)


# --- RTT, hop by hop -------------------------------------------------------------------------------------------------


def _expected_rtt_ms(plan: Any, origin: int, hop: int) -> float:
    """Propagation both ways between two nodes, and an echo's serialization on every link."""
    total_ns = 0.0
    for link in plan.links[min(origin, hop) : max(origin, hop)]:
        for direction in (link.forward, link.reverse):
            total_ns += direction.delay_ns
            if not direction.can_queue:  # a token bucket sends a lone packet at once
                total_ns += (ECHO_BYTES - 14 + link.framing_bytes + 14) * 8e9 / direction.rate_bps
    return total_ns / 1e6


def _lanes(plan: Any, origin: int, hop: int) -> list[Any]:
    """All directions of links that an echo and its answer pass."""
    between = plan.links[min(origin, hop) : max(origin, hop)]
    return [lane for link in between for lane in (link.forward, link.reverse)]


def _jitter_ms(plan: Any, origin: int, hop: int) -> float:
    """How far the plan itself lets the RTT between two nodes vary, up and down."""
    return sum(lane.jitter_ns for lane in _lanes(plan, origin, hop)) / 1e6


def _impaired(plan: Any) -> bool:
    """Whether chance has a part in what happens to a packet."""
    lanes = _lanes(plan, 0, len(plan.links))
    return any(lane.loss or lane.corrupt or lane.duplicate or lane.reorder or lane.jitter_ns for lane in lanes)


def _hops(network: Network, origin: int, target: int, *, real_clock: bool) -> list[dict[str, Any]]:
    step = 1 if target > origin else -1
    positions = list(range(origin + step, target + step, step))
    answers: dict[int, list[tuple[float, str]]] = {}
    for attempt in range(REAL_CLOCK_ROUNDS if real_clock else IMPAIRED_ROUNDS if _impaired(network.plan) else 1):
        for ttl, answer in _traceroute(network, origin, target, len(positions), attempt).items():
            answers.setdefault(ttl, []).append(answer)
    # A host's scheduling only ever adds; what the plan does to packets goes both ways.
    measured = {ttl: sorted(found)[0 if real_clock else len(found) // 2] for ttl, found in answers.items()}
    return [
        {
            "ttl": ttl,
            "node": network.names[position],
            "address": network.facing_address(position, viewer=origin),
            "rtt_ms": measured.get(ttl, (None, None))[0],
            "answered_by": measured.get(ttl, (None, None))[1],
            "expected_ms": _expected_rtt_ms(network.plan, origin, position),
        }
        for ttl, position in enumerate(positions, start=1)
    ]


def _traceroute(network: Network, origin: int, target: int, count: int, attempt: int) -> dict[int, tuple[float, str]]:
    """RTT in ms and answering address for each TTL; a TTL without answer is left out."""
    base = attempt << 8  # late copies of answers to the attempt before are none to this one
    version = network.plan.ip_version
    destination = network.address(target)
    answers: dict[int, tuple[float, str]] = {}
    with _icmp_socket(network, origin) as sock:
        sent: dict[int, int] = {}
        for ttl in range(1, count + 1):
            level, option = (
                (socket.IPPROTO_IP, socket.IP_TTL) if version == 4 else (socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS)
            )
            sock.setsockopt(level, option, ttl)
            sent[ttl] = time.monotonic_ns()
            sock.sendto(echo_request(version, base + ttl, b"\0" * 56), (destination, 0))
        deadline = time.monotonic() + 10 * max(_expected_rtt_ms(network.plan, origin, target) / 1e3, 0.1)
        while len(answers) < count and (left := deadline - time.monotonic()) > 0:
            sock.settimeout(left)
            with contextlib.suppress(TimeoutError):
                packet, source = sock.recvfrom(2048)
                now = time.monotonic_ns()
                ttl = (echo_sequence(version, packet) or 0) - base
                if ttl in sent and ttl not in answers:
                    answers[ttl] = ((now - sent[ttl]) / 1e6, source[0])
    return answers


def _icmp_socket(network: Network, position: int) -> socket.socket:
    with network.nodes[position].inside():
        if network.plan.ip_version == 4:
            return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        return socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)


def echo_request(version: int, sequence: int, payload: bytes) -> bytes:
    """ICMP (RFC 792) or ICMPv6 (RFC 4443) echo request; the kernel fills in ICMPv6's checksum."""
    kind = 8 if version == 4 else 128
    header = struct.pack("!BBHHH", kind, 0, 0, IDENTIFIER, sequence)
    checksum = internet_checksum(header + payload) if version == 4 else 0
    return struct.pack("!BBHHH", kind, 0, checksum, IDENTIFIER, sequence) + payload


def internet_checksum(data: bytes) -> int:
    """RFC 1071."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def echo_sequence(version: int, packet: bytes) -> int | None:
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
    return sequence if identifier == IDENTIFIER else None


# --- Path MTU --------------------------------------------------------------------------------------------------------


def _path_mtu(network: Network) -> int | None:
    """Largest packet that an echo carries there and back with don't-fragment; None if none comes back."""
    plan = network.plan
    version, last = plan.ip_version, len(network.nodes) - 1
    header = 28 if version == 4 else 48
    level, discover = (socket.IPPROTO_IP, IP_MTU_DISCOVER) if version == 4 else (socket.IPPROTO_IPV6, IPV6_MTU_DISCOVER)
    size = plan.links[0].mtu_bytes
    wait_s = 2 * max(_expected_rtt_ms(plan, 0, last) / 1e3, 0.1)
    with _icmp_socket(network, 0) as sock:
        sock.setsockopt(level, discover, IP_PMTUDISC_DO)
        sock.connect((network.address(last), 0))
        attempts = MTU_ATTEMPTS
        for sequence in range(
            MTU_SEQUENCE, MTU_SEQUENCE + len(plan.links) + MTU_ATTEMPTS
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


# --- Verdict ---------------------------------------------------------------------------------------------------------


def _failures(network: Network, result: Calibration) -> list[str]:
    failures: list[str] = []
    for origin, hops in ((0, result.hops), (len(network.nodes) - 1, result.reverse_hops)):
        before = 0.0
        for hop in hops:
            failure = _hop_failure(network, origin, hop, result, before)
            if failure:
                failures.append(failure)
                break  # the hops beyond it carry the same error
            before = hop["rtt_ms"]
    if result.path_mtu_bytes != result.mtu_expected_bytes:
        failures.append(f"path MTU is {result.path_mtu_bytes} B, the plan says {result.mtu_expected_bytes} B")
    for name, measured, expected in (
        ("forward", result.rate_bps, result.rate_expected_bps),
        ("reverse", result.rate_reverse_bps, result.rate_reverse_expected_bps),
    ):
        allowed = result.rate_tolerance + planned_rate_error(network.plan, forward=name == "forward")
        if measured is None or abs(measured / expected - 1) > allowed:
            seen = "too little arrived" if measured is None else f"{measured / 1e6:.2f} Mbit/s"
            every = rates(network.plan, forward=name == "forward")
            parts = [part for rate, part in every if rate <= 1.0001 * min(every)[0]]
            failures.append(
                f"{name} bottleneck rate: {seen}, the plan says {expected / 1e6:.2f} Mbit/s of IP packets, "
                f"set by {', '.join(parts[:3])}{' and others' if len(parts) > 3 else ''}"
            )
    for queue in result.queue or []:
        expected, measured = queue["expected_bytes"], queue["measured_bytes"]
        if expected is not None and abs(measured - expected) > max(0.01 * expected, 2 * burst_bytes(network.plan)):
            which = f"queue of {queue['name']}, {queue['direction']}"
            failures.append(f"{which}: overflows at {measured} B, the plan says {expected} B")
    return failures


def _hop_failure(
    network: Network, origin: int, hop: dict[str, Any], result: Calibration, before_ms: float
) -> str | None:
    position = network.names.index(hop["node"])
    link = position - 1 if origin < position else position
    name = link_name(network.plan.links[link])
    seen_from = f"seen from {network.names[origin]}"
    if hop["rtt_ms"] is None:
        return f"{name}: no answer from {hop['node']}, {seen_from}"
    if hop["answered_by"] != hop["address"]:
        return f"{name}: hop {hop['ttl']} is {hop['answered_by']}, not {hop['node']} ({hop['address']}), {seen_from}"
    error_ms = hop["rtt_ms"] - hop["expected_ms"]
    planned_ms = _jitter_ms(network.plan, origin, position)
    if abs(error_ms) > max(result.tolerance * hop["expected_ms"], result.rtt_floor_ms) + planned_ms:
        return (
            f"{name}: RTT to {hop['node']} is {hop['rtt_ms']:.3f} ms, the plan says {hop['expected_ms']:.3f} ms "
            f"({error_ms:+.3f}; the hop before it was at {before_ms:.3f}), {seen_from}"
        )
    return None
