#!/usr/bin/python
"""Ansible module: the rate of each link of a path that `landspeed_path` made, by packet trains. Changes nothing."""

from __future__ import annotations

DOCUMENTATION = r"""
module: landspeed_rates
short_description: Compare the rate of each link of a shaped path with the plan
description:
  - Sends a short train of full-size frames over each link inside the box, both ways, half as fast again as the link,
    and takes the rate from the times at which they arrive (packet-pair dispersion; Keshav, SIGCOMM 1991). A stall of
    the box makes some frames late and none early, so the line below all times is the link's (Moon, Skelly and Towsley,
    INFOCOM 1999).
  - How long the box stands still meanwhile is measured beside it (C(landspeed_scheduling_pauses)).
    A train that is off by no more
    than that explains is sent again; if it stays so, the box could not be measured, which is not the same as wrong.
  - The frames have an EtherType for experiments (IEEE 802, 0x88B5), so that nothing takes them for its own.
  - A link that the box cannot fill has to carry a tenth more than the slowest of the path.
options:
  links:
    description:
      - From the sender to the receiver, each with C(name), C(mtu_bytes), C(rtt_ms), C(jitter_ms), and the plan's rates
        C(forward_bps) and C(reverse_bps) in bit/s of IP packets of full size; from the lines C(forward) and C(reverse)
        for C(tc qdisc add dev VETH) is seen which have a token bucket.
    type: list
    elements: dict
    required: true
  ends:
    description: The devices of each link, C(near) the sender and C(far), each with C(device) and C(namespace) or null.
    type: list
    elements: dict
    required: true
  late_timers_s:
    description: How late the box's timers may be in seconds, which is what its token buckets hold beside a packet.
    type: float
    default: 0.001
  tolerance: {description: How far a rate may be off (0 to 1)., type: float, default: 0.02}
author: landspeed
"""
EXAMPLES = r"""
- name: Compare
  landspeed_rates:
    links: [{name: link 1, mtu_bytes: 1500, rtt_ms: 20, jitter_ms: 0, forward_bps: 1000000, reverse_bps: 1000000}]
    ends: [{near: {device: lspeed0a, namespace: null}, far: {device: lspeed0b, namespace: landspeed-hop1}}]
"""
RETURN = r"""
wrong: {description: A sentence for each link and direction that is out of tolerance., type: list, returned: always}
stalled:
  description: A sentence for each link and direction that is off by no more than stalls of the box explain.
  type: list
  returned: always
shown: {description: A line for each link and direction., type: list, returned: always}
"""

import contextlib  # noqa: E402
import ctypes  # noqa: E402
import errno  # noqa: E402
import itertools  # noqa: E402
import os  # noqa: E402
import socket  # noqa: E402
import struct  # noqa: E402
import time  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from typing import NamedTuple, TypedDict  # noqa: E402

from ansible.module_utils.basic import AnsibleModule  # noqa: E402

from ..module_utils.landspeed_scheduling_pauses import StallWatch  # noqa: E402

ETHERTYPE = 0x88B5
SO_SNDBUFFORCE, SO_RCVBUFFORCE, SO_TIMESTAMPNS = 32, 33, 35
CLONE_NEWNET = 0x40000000
BUFFER_BYTES = 1 << 27
FASTER = 1.5  # than the link, so that its queue is never empty
TRAIN_S = 0.2
MOST_BYTES = 32 << 20  # of a train; what arrives waits in a socket's buffer
BEHIND_S = 0.05  # so far behind its schedule: the box cannot fill this link
SILENT_S = 0.1  # so long without a frame: that was the train
ROUNDS = 5  # so many trains that are off, without a stall that explains it: the link is
MOST_ROUNDS = 15
MORE_THAN_SLOWEST = 1.1


class End(TypedDict):
    """One end of a link; the namespace None is the box itself."""

    device: str
    namespace: str | None


class Ends(TypedDict):
    """Ends of a link: `near` is the sender's."""

    near: End
    far: End


class Lines(TypedDict, total=False):
    """The lines for tc of each direction."""

    forward: list[str]
    reverse: list[str]


class Link(Lines):
    """Link, as the plan has it."""

    name: str
    mtu_bytes: int
    rtt_ms: float
    jitter_ms: float
    forward_bps: float
    reverse_bps: float


class Wanted(TypedDict):
    """The module's parameters."""

    links: list[Link]
    ends: list[Ends]
    late_timers_s: float
    tolerance: float


def open_socket(end: End) -> socket.socket:
    """A packet socket on a device, in its namespace (None: the box's own)."""
    here = os.open("/proc/self/ns/net", os.O_RDONLY)
    try:
        if end["namespace"]:
            enter(os.open(f"/run/netns/{end['namespace']}", os.O_RDONLY))
        opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
        opened.bind((end["device"], ETHERTYPE))
    finally:
        enter(here)
    opened.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, BUFFER_BYTES)
    opened.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
    opened.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    return opened


def enter(descriptor: int) -> None:
    """Enter a network namespace; closes its descriptor."""
    try:
        if ctypes.CDLL(None, use_errno=True).setns(descriptor, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
    finally:
        os.close(descriptor)


def seconds_each(times: list[float]) -> float:
    """Slope of the line below all times that is closest to them: the lower hull's edge over their middle."""
    hull: list[tuple[int, float]] = []
    for number, seconds in enumerate(times):
        while len(hull) > 1:
            (before, above), (last, at) = hull[-2:]
            if (at - above) * (number - before) < (seconds - above) * (last - before):
                break
            hull.pop()
        hull.append((number, seconds))
    middle = (len(times) - 1) / 2
    (first, begin), (last, end) = next(edge for edge in itertools.pairwise(hull) if edge[1][0] >= middle)
    return (end - begin) / (last - first)


def train(
    sender: socket.socket, receiver: socket.socket, link: Link, rate_bps: float, bucket_s: float
) -> tuple[float, float, float]:
    """Bit/s at which a train arrives, for how many seconds, and bit/s at which it was sent; 0 when too little arrived.

    What is lost or dropped on the way never was on the line: the queue is before it. After a stall it goes on as if it
    had begun later.
    """
    mtu_bytes = link["mtu_bytes"]
    packet_s = mtu_bytes * 8 / rate_bps
    full_bucket_s = 2 * (bucket_s + 2 * packet_s) / (FASTER - 1)
    packets = min(int(FASTER * (TRAIN_S + full_bucket_s) / packet_s) + 20, MOST_BYTES // mtu_bytes)
    target = receiver.getsockname()[4]
    frame = target + sender.getsockname()[4] + struct.pack("!H", ETHERTYPE) + b"\0" * mtu_bytes
    begin, number, behind_s = time.monotonic(), 0, 0.0
    for number in range(packets):
        wait = begin + number * packet_s / FASTER - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        elif -wait - behind_s > BEHIND_S / 2:  # at once: the box stood still
            begin -= wait
            wait = 0.0
        elif wait < -BEHIND_S:
            break
        behind_s = max(-wait, 0.0)
        try:
            sender.send(frame)
        except OSError as error:
            if error.errno != errno.ENOBUFS:  # the queue is full, as it should be
                raise
    sent_bps = (number + 1) * mtu_bytes * 8 / (time.monotonic() - begin)
    times: list[float] = []
    receiver.settimeout(link["rtt_ms"] / 1e3 + SILENT_S + 5 * packet_s)
    with contextlib.suppress(TimeoutError):
        while len(times) <= number:
            _, control, _, _ = receiver.recvmsg(16, 64)
            seconds, nanoseconds = struct.unpack("qq", control[0][2])
            times.append(seconds + nanoseconds / 1e9)
    steady = [each for each in times if each >= times[0] + full_bucket_s]
    if len(steady) < 10 or steady[-1] == steady[0]:
        return 0.0, TRAIN_S, sent_bps
    return mtu_bytes * 8 / seconds_each(steady), steady[-1] - steady[0], sent_bps


class Train(NamedTuple):
    """Measurement of a link by one train.

    Attributes:
        found_bps: its rate where it arrived.
        allowed: how far that may be off, relative.
        explained: how far it may be off by the stalls of the box, relative.
        sent_bps: its rate where it was sent.
        stalled_s: seconds that the box stood still meanwhile, in all.
        longest_s: seconds at once.
    """

    found_bps: float
    allowed: float
    explained: float
    sent_bps: float
    stalled_s: float
    longest_s: float


def judge(trains: list[Train], wanted_bps: float, slowest_bps: float) -> str:
    """Judge a link by the trains so far.

    Returns:
        "right"; "at least" where the box cannot fill the link but shows enough of it; "wrong" when so many were off
        without stalls that explain it; "stalled" when none was right in as many as are worth it; "" for one more.
    """
    last = trains[-1]
    if abs(last.found_bps / wanted_bps - 1) <= last.allowed:
        return "right"
    if last.sent_bps < wanted_bps and last.found_bps >= MORE_THAN_SLOWEST * slowest_bps:
        return "at least"
    off = [each for each in trains if abs(each.found_bps / wanted_bps - 1) > each.allowed + each.explained]
    if len(off) >= ROUNDS:
        return "wrong"
    return "stalled" if len(trains) >= MOST_ROUNDS else ""


def measure(way: tuple[End, End], link: Link, wanted_bps: float, bucket_s: float, watch: StallWatch) -> Train:
    """Send a train over a link and see how it arrives, and how the box is meanwhile."""
    with open_socket(way[0]) as sender, open_socket(way[1]) as receiver:
        begin = time.monotonic()
        found_bps, lasted_s, sent_bps = train(sender, receiver, link, wanted_bps, bucket_s)
        stalled_s, longest_s = watch.between(begin, time.monotonic())
    jitter = 2 * link["jitter_ms"] / 1e3 / lasted_s  # it moves both ends of a train
    # Too few frames to tell: only a stall that breaks a train off explains that.
    explained = stalled_s / lasted_s if found_bps else float(longest_s > BEHIND_S / 2)
    return Train(found_bps, jitter, explained, sent_bps, stalled_s, longest_s)


def examine(
    link: Link, ends: Ends, slowest: dict[str, float], late_timers_s: float, tolerance: float
) -> Iterator[tuple[str, str]]:
    """A line for each direction of a link, and what the judge says of it."""
    for way, near, far, wanted, shaping in (
        ("forward", ends["near"], ends["far"], link["forward_bps"], link.get("forward", [])),
        ("reverse", ends["far"], ends["near"], link["reverse_bps"], link.get("reverse", [])),
    ):
        bucket_s = late_timers_s if any(" tbf " in line for line in shaping) else 0.0
        trains: list[Train] = []
        verdict = ""
        with StallWatch() as watch:
            while not verdict:
                one = measure((near, far), link, wanted, bucket_s, watch)
                trains.append(one._replace(allowed=tolerance + one.allowed))
                verdict = judge(trains, wanted, slowest[way])
        best = min(trains, key=lambda each: abs(each.found_bps / wanted - 1))
        least = "at least " if verdict == "at least" else ""
        text = f"{link['name']}, {way}: {least}{best.found_bps / 1e6:.2f} Mbit/s, the plan's {wanted / 1e6:.2f} Mbit/s"
        if verdict in ("wrong", "stalled"):
            text += f" ± {best.allowed:.0%}"
        if verdict == "stalled":
            text += f"; the box stood still for {best.stalled_s * 1e3:.0f} ms meanwhile"
            text += f", up to {best.longest_s * 1e3:.0f} ms at once"
        yield text, verdict


def main() -> None:
    """Entry."""
    module = AnsibleModule(
        argument_spec={
            "links": {"type": "list", "elements": "dict", "required": True},
            "ends": {"type": "list", "elements": "dict", "required": True},
            "late_timers_s": {"type": "float", "default": 0.001},
            "tolerance": {"type": "float", "default": 0.02},
        },
        supports_check_mode=True,
    )
    wanted: Wanted = module.params
    links = wanted["links"]
    slowest = {
        "forward": min(link["forward_bps"] for link in links),
        "reverse": min(link["reverse_bps"] for link in links),
    }
    lines: list[tuple[str, str]] = []
    try:
        for link, ends in zip(links, wanted["ends"], strict=True):
            lines += examine(link, ends, slowest, wanted["late_timers_s"], wanted["tolerance"])
    except OSError as error:
        module.fail_json(msg=f"the rates cannot be measured: {error}")
    module.exit_json(
        changed=False,
        shown=[text for text, _ in lines],
        wrong=[text for text, verdict in lines if verdict == "wrong"],
        stalled=[text for text, verdict in lines if verdict == "stalled"],
    )


if __name__ == "__main__":
    main()
