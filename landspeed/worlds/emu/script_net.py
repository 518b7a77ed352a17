"""The net that a Mininet script started: in words, with what is odd about it, and as a scenario."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from typing import Any

from landspeed.base.units_text import rate_text, time_text
from landspeed.scenario.theory import physics as ph

FRAME_BYTES = 1514  # a full packet of Ethernet, as netem and tc count it
PACKET_BYTES = 1500
SUPER_PACKETS = (
    "note: a packet of these queues can be a super-packet of many segments, as on any veth pair: "
    "`ethtool -K INTERFACE tso off gso off gro off` at the hosts makes them single packets"
)
SUPER_PACKET_BYTES = 65_536  # that the kernel hands to an interface with TSO at once
SLOW_QUEUE_NS = 100_000_000  # what a queue of netem's default size may add before it is worth a word
NETEM_LIMIT = 1000  # packets, its default
QUANTUM_BYTES = (1_000, 200_000)  # the kernel's htb cuts what is outside, and says so
UNLIMITED_BPS = 100_000_000_000  # a scenario's line where the script's has no rate: 100 Gbit/s


@dataclass
class LinkEnd:
    """One direction of a link: what its sending end does.

    Attributes:
        node, interface: the end that sends.
        rate_bps: of the line; None: none is set.
        delay_ns, jitter_ns, loss: of netem.
        limit_packets: of netem's queue, in which packets also wait for their delay.
        burst_bytes: of the token bucket.
        quantum_bytes: of each class of htb by its rate and r2q, before the kernel cuts it.
        police_bytes: burst of a policer for what comes in here; None: there is none.
        tso: whether the interface takes super-packets.
        words: each queue discipline.
    """

    node: str
    interface: str
    rate_bps: float | None = None
    delay_ns: int = 0
    jitter_ns: int = 0
    loss: float = 0.0
    limit_packets: int | None = None
    burst_bytes: int = 0
    quantum_bytes: list[float] = field(default_factory=list[float])
    police_bytes: int | None = None
    tso: bool = True
    words: list[str] = field(default_factory=list[str])


def ways(net: dict[str, Any]) -> list[tuple[LinkEnd, LinkEnd]]:
    """Both directions of each link of `net.json`."""
    return [(_way(first), _way(second)) for first, second in (link["ends"] for link in net["links"])]


def _way(end: dict[str, Any]) -> LinkEnd:
    way = LinkEnd(end["node"], end["interface"], tso=end.get("tso", True))
    r2q = next((each["options"]["r2q"] for each in end["qdiscs"] if "r2q" in each.get("options", {})), None)
    for line in end["classes"]:  # iproute2 before 6.4 has no JSON of classes
        rates = [_number(each[1], each[2], 1000) for each in re.finditer(r" (?:rate|m2) ([\d.]+)(\w*)bit", line)]
        burst = re.search(r" burst ([\d.]+)(\w*?)b", line)
        if rates:
            burst_bytes = round(_number(burst[1], burst[2], 1024)) if burst else 0
            _take_rate(way, rates[-1], line.split()[1], burst_bytes)
            if r2q:
                way.quantum_bytes.append(rates[-1] / 8 / r2q)
    for line in end.get("filters", []):
        if police := re.search(r"police .* rate ([\d.]+)(\w*)bit burst ([\d.]+)(\w*?)b ", line):
            way.police_bytes = round(_number(police[3], police[4], 1024))
            rate = rate_text(_number(police[1], police[2], 1000))
            way.words.append(f"policer of what comes in: {rate}, burst {way.police_bytes} B")
    for each in end["qdiscs"]:
        options = each.get("options", {})
        if each["kind"] == "netem":
            _take_netem(way, options)
        elif each["kind"] == "tbf":
            _take_rate(way, 8 * float(options["rate"]), "tbf", int(options.get("burst", 0)))
        elif each["kind"] not in ("htb", "hfsc", "noqueue", "ingress", "clsact"):
            way.words.append(each["kind"])
    return way


def _number(digits: str, prefix: str, step: int) -> float:
    """15K with steps of 1024: 15360."""
    return float(digits) * step ** ("KMGT".index(prefix) + 1 if prefix else 0)


def _take_rate(way: LinkEnd, rate_bps: float, kind: str, burst_bytes: int) -> None:
    way.rate_bps = min(rate_bps, way.rate_bps or rate_bps)
    way.burst_bytes = max(way.burst_bytes, burst_bytes)
    way.words.append(f"{kind} {rate_text(rate_bps)}" + (f", burst {burst_bytes} B" if burst_bytes else ""))


def _take_netem(way: LinkEnd, options: dict[str, Any]) -> None:
    way.limit_packets = options.get("limit")
    told = [f"at most {way.limit_packets} packets"]
    if delay := options.get("delay"):
        way.delay_ns, way.jitter_ns = round(delay["delay"] * 1e9), round(delay.get("jitter", 0) * 1e9)
        jitter = f" ± {time_text(way.jitter_ns)}" if way.jitter_ns else ""
        told.insert(0, f"delay {time_text(way.delay_ns)}{jitter}")
    if loss := options.get("loss-random"):
        way.loss = loss["loss"]
        told.append(f"loss {100 * way.loss:g} %")
    if rate := options.get("rate"):
        rate_bps = 8 * float(rate["rate"])
        way.rate_bps = min(rate_bps, way.rate_bps or rate_bps)
        told.append(f"line {rate_text(rate_bps)}")
    way.words.append("netem: " + ", ".join(told))


def explained(net: dict[str, Any]) -> list[str]:
    """Lines about each link and its oddities, then round-trip time and BDP between the first and the last host."""
    lines: list[str] = []
    for pair in ways(net):
        for way, other in (pair, reversed(pair)):
            lines.append(f"{way.node} → {other.node} ({way.interface}): {'; '.join(way.words) or 'no queue, no line'}")
            lines += [f"  warning: {each}" for each in _warnings(way) + _policed(way, other)]
    if any(way.limit_packets is not None for pair in ways(net) for way in pair):
        lines += [SUPER_PACKETS] if any(way.tso for pair in ways(net) for way in pair) else []
    return lines + _first_to_last(net)


def _warnings(way: LinkEnd) -> list[str]:
    told: list[str] = []
    if way.rate_bps and way.delay_ns and way.limit_packets is not None:
        needed = way.rate_bps / 8 * way.delay_ns / 1e9 / FRAME_BYTES
        if needed > way.limit_packets:
            told.append(
                f"netem holds {way.limit_packets} packets, and {needed:.0f} are on their way at the full rate: "
                f"max_queue_size={2 * round(needed)} would hold them and a queue of one BDP"
            )
    if way.rate_bps and way.limit_packets == NETEM_LIMIT:
        full_ns = round(NETEM_LIMIT * FRAME_BYTES * 8e9 / way.rate_bps) - way.delay_ns
        if full_ns > SLOW_QUEUE_NS:
            told.append(f"the queue is netem's default; full, it adds {time_text(full_ns)}: set max_queue_size")
    if way.jitter_ns:
        told.append("jitter of netem lets packets overtake each other: TCP takes that for loss")
    if way.rate_bps and way.burst_bytes > 2 * FRAME_BYTES:
        told.append(f"{way.burst_bytes} B in a burst pass at once, without the line's rate")
    if way.delay_ns and way.rate_bps is None:
        told.append("a delay without bw: the line is infinitely fast; set bw too")
    for quantum in way.quantum_bytes[:1]:
        if not QUANTUM_BYTES[0] <= quantum <= QUANTUM_BYTES[1]:
            cut = QUANTUM_BYTES[quantum > QUANTUM_BYTES[1]]
            told.append(
                f"htb's quantum (rate / r2q) is {quantum:.0f} B, cut to {cut} B (`Consider r2q change`): "
                + ("of no effect with one class" if len(way.quantum_bytes) == 1 else "its classes share unevenly")
            )
    return told


def _policed(way: LinkEnd, other: LinkEnd) -> list[str]:
    """Warning of what a policer at this end does to the super-packets of the other."""
    if way.police_bytes is None or way.police_bytes >= SUPER_PACKET_BYTES or not other.tso:
        return []
    return [
        f"super-packets over a policer: {other.interface} sends up to {SUPER_PACKET_BYTES} B at once, and all above "
        f"{way.police_bytes} B are dropped whole; `ethtool -K {other.interface} tso off gso off` at {other.node}"
    ]


def _route(net: dict[str, Any]) -> list[tuple[LinkEnd, LinkEnd]]:
    """The links from the first host to the last, by the fewest of them; empty: there are none."""
    if len(net["hosts"]) < 2:
        return []
    first, last = net["hosts"][0], net["hosts"][-1]
    found: dict[str, list[tuple[LinkEnd, LinkEnd]]] = {first: []}
    edge = [first]
    while edge and last not in found:
        here = edge.pop(0)
        for pair in ways(net):
            for way, back in (pair, pair[::-1]):
                if way.node == here and back.node not in found:
                    found[back.node] = [*found[here], (way, back)]
                    edge.append(back.node)
    return found.get(last, [])


def _first_to_last(net: dict[str, Any]) -> list[str]:
    route = _route(net)
    if not route:
        return []
    delay_ns = sum(way.delay_ns + back.delay_ns for way, back in route)
    rates = [way.rate_bps for way, _ in route if way.rate_bps]
    line = f"{net['hosts'][0]} to {net['hosts'][-1]}: round-trip time {time_text(delay_ns)} by the delays alone"
    if not rates:
        return [line]
    bdp = ph.bdp_bytes(round(min(rates)), round(delay_ns))
    return [f"{line}, slowest line {rate_text(min(rates))}, BDP {bdp} B ({bdp / PACKET_BYTES:.0f} packets)"]


def as_scenario(net: dict[str, Any], name: str) -> str:
    """The net as a scenario file: its links as they were built, and a flow from the first host to the last."""
    lines = [
        f"# Made by `landspeed mn --as-scenario` of the net that {name} started.",
        "format: 1",
        f"name: {name}",
        f"title: The net of {name}, one flow from its first host to its last",
        "links:",
    ]
    for way, back in ways(net):
        there, again = _values(way), _values(back)
        words = [f"from: {way.node}", f"to: {back.node}", *itertools.starmap("{}: {}".format, there.items())]
        if there != again:
            words.append("reverse: {" + ", ".join(itertools.starmap("{}: {}".format, again.items())) + "}")
        lines.append("  - {" + ", ".join(words) + "}")
    lines += ["transfer: {duration: 10 s}", "flows:"]
    lines.append(f"  - {{name: first, from: {net['hosts'][0]}, to: {net['hosts'][-1]}}}")
    return "\n".join(lines) + "\n"


def _values(way: LinkEnd) -> dict[str, str]:
    """Keys of a link for one direction. What netem holds is on its way or waits: the queue is what is over."""
    rate_bps = round(way.rate_bps or UNLIMITED_BPS)
    values = {"one_way_delay": f"{way.delay_ns} ns", "line_rate": f"{rate_bps} bit/s"}
    if way.limit_packets is not None:
        waiting = way.limit_packets * FRAME_BYTES - rate_bps * way.delay_ns // 8_000_000_000
        values["queue"] = f"{max(waiting, 10 * FRAME_BYTES)} B"
    if way.jitter_ns:
        values["jitter"] = f"{way.jitter_ns} ns"
    if way.loss:
        values["loss"] = f"{100 * way.loss:g} %"
    return values
