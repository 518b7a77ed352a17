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

from ansible.module_utils.basic import AnsibleModule  # noqa: E402

ETHERTYPE = 0x88B5
SO_SNDBUFFORCE, SO_RCVBUFFORCE, SO_TIMESTAMPNS = 32, 33, 35
CLONE_NEWNET = 0x40000000
BUFFER_BYTES = 1 << 27
FASTER = 1.5  # than the link, so that its queue is never empty
TRAIN_S = 0.2
MOST_BYTES = 32 << 20  # of a train; what arrives waits in a socket's buffer
BEHIND_S = 0.05  # so far behind its schedule: the box cannot fill this link
SILENT_S = 0.1  # so long without a frame: that was the train
ROUNDS = 5  # a stall longer than the bucket is deep only ever slows a train down: the fastest counts
MORE_THAN_SLOWEST = 1.1


def open_socket(end):
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


def enter(descriptor):
    """Enter a network namespace; closes its descriptor."""
    try:
        if ctypes.CDLL(None, use_errno=True).setns(descriptor, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
    finally:
        os.close(descriptor)


def seconds_each(times):
    """Slope of the line below all times that is closest to them: the lower hull's edge over their middle."""
    hull = []
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


def train(sender, receiver, link, rate_bps, bucket_s):
    """Bit/s at which a train arrives, for how many seconds, and bit/s at which it was sent; 0 when too little arrived.

    What is lost or dropped on the way never was on the line: the queue is before it.
    """
    mtu_bytes = link["mtu_bytes"]
    packet_s = mtu_bytes * 8 / rate_bps
    full_bucket_s = 2 * (bucket_s + 2 * packet_s) / (FASTER - 1)
    packets = min(int(FASTER * (TRAIN_S + full_bucket_s) / packet_s) + 20, MOST_BYTES // mtu_bytes)
    target = receiver.getsockname()[4]
    frame = target + sender.getsockname()[4] + struct.pack("!H", ETHERTYPE) + b"\0" * mtu_bytes
    begin, number = time.monotonic(), 0
    for number in range(packets):
        wait = begin + number * packet_s / FASTER - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        elif wait < -BEHIND_S:
            break
        try:
            sender.send(frame)
        except OSError as error:
            if error.errno != errno.ENOBUFS:  # the queue is full, as it should be
                raise
    sent_bps = (number + 1) * mtu_bytes * 8 / (time.monotonic() - begin)
    times = []
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


def examine(link, ends, slowest, late_timers_s, tolerance):
    """A line for each direction of a link, and whether it is wrong."""
    for way, near, far in (("forward", ends["near"], ends["far"]), ("reverse", ends["far"], ends["near"])):
        wanted = link[f"{way}_bps"]
        found, allowed, enough = 0.0, tolerance, False
        bucket_s = late_timers_s if any(" tbf " in line for line in link.get(way, [])) else 0.0
        with open_socket(near) as sender, open_socket(far) as receiver:
            for _ in range(ROUNDS):
                arrived, lasted_s, sent = train(sender, receiver, link, wanted, bucket_s)
                found = max(found, arrived)
                allowed = tolerance + 2 * link["jitter_ms"] / 1e3 / lasted_s  # it moves both ends of a train
                enough = sent < wanted and found >= MORE_THAN_SLOWEST * slowest[way]
                if enough or found >= wanted * (1 - allowed):
                    break
        wrong = not enough and abs(found / wanted - 1) > allowed
        least = "at least " if enough else ""
        text = f"{link['name']}, {way}: {least}{found / 1e6:.2f} Mbit/s, the plan's {wanted / 1e6:.2f} Mbit/s"
        yield f"{text} ± {allowed:.0%}" if wrong else text, wrong


def main():
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
    links, tolerance = module.params["links"], module.params["tolerance"]
    slowest = {way: min(link[f"{way}_bps"] for link in links) for way in ("forward", "reverse")}
    lines = []
    try:
        for link, ends in zip(links, module.params["ends"], strict=True):
            lines += examine(link, ends, slowest, module.params["late_timers_s"], tolerance)
    except OSError as error:
        module.fail_json(msg=f"the rates cannot be measured: {error}")
    module.exit_json(changed=False, shown=[text for text, _ in lines], wrong=[text for text, wrong in lines if wrong])


if __name__ == "__main__":
    main()
