#!/usr/bin/python
"""Ansible module: RTT to each router of a path that `landspeed_path` made. Changes nothing."""

from __future__ import annotations

DOCUMENTATION = r"""
module: landspeed_hops
short_description: Compare each hop of a shaped path with the plan
description:
  - Traces the route to the peer and compares the least RTT of each hop with the plan's.
  - A traceroute sends its probes at once, so that one stall of the box delays them all; while a hop answers too late,
    or not at all, the route is traced again, a few times.
options:
  peer: {description: Address of the other host., type: str, required: true}
  hops: {description: Each with C(address) and C(rtt_ms)., type: list, elements: dict, required: true}
  tolerance_ms: {description: How far a hop may be off., type: float, required: true}
author: landspeed
"""
EXAMPLES = r"""
- name: Compare
  landspeed_hops:
    peer: 198.51.100.1
    hops: [{address: 198.18.0.2, rtt_ms: 20}]
    tolerance_ms: 0.5
"""
RETURN = r"""
wrong: {description: A sentence for each hop that is missing or off., type: list, returned: always}
found: {description: Least RTT in ms by address., type: dict, returned: always}
"""

import ipaddress  # noqa: E402
import time  # noqa: E402
from typing import TypedDict  # noqa: E402

from ansible.module_utils.basic import AnsibleModule  # noqa: E402

from ..module_utils.landspeed_host import Unavailable, run  # noqa: E402
from ..module_utils.landspeed_packages import how_to_install  # noqa: E402

MORE_HOPS = 4  # the box itself, twice, and the peer
ROUNDS = 6
BETWEEN_ROUNDS_S = 0.5  # longer than a stall, as a rule


class Hop(TypedDict):
    """A router, as `landspeed_path` made it."""

    address: str
    rtt_ms: float


class Wanted(TypedDict):
    """The module's parameters."""

    peer: str
    hops: list[Hop]
    tolerance_ms: float


def least_rtt_ms(shown: str, before: dict[str, float]) -> dict[str, float]:
    """Least RTT by address, of what was found before and of the lines of `traceroute -n`.

    These have a number, then address and times in any order of answers.
    """
    found = dict(before)
    for line in shown.splitlines()[1:]:
        address, number = "", "0"
        for word in line.split()[1:]:
            if word == "ms" and address:
                found[address] = min(float(number), found.get(address, float(number)))
            try:
                address = str(ipaddress.ip_address(word))
            except ValueError:
                number = word
    return found


def trace(wanted: Wanted) -> str:
    """Trace the route, to a few hops beyond those of the plan."""
    last = str(len(wanted["hops"]) + MORE_HOPS)
    return run("traceroute", "-n", "-q", "3", "-w", "2", "-m", last, wanted["peer"])


def compare(wanted: Wanted, found: dict[str, float]) -> tuple[list[str], bool]:
    """A sentence for each hop that is not the plan's, and whether all of these were early, which no round mends."""
    wrong: list[str] = []
    early = 0
    for number, hop in enumerate(wanted["hops"], start=1):
        rtt = found.get(hop["address"])
        if rtt is None:
            wrong.append(f"hop {number} ({hop['address']}) does not answer a traceroute")
        elif abs(rtt - hop["rtt_ms"]) > wanted["tolerance_ms"]:
            off = f"{rtt:.3f} ms, the plan's {hop['rtt_ms']:.3f} ms ± {wanted['tolerance_ms']:.3f} ms"
            wrong.append(f"hop {number} ({hop['address']}): RTT {off}")
            early += rtt < hop["rtt_ms"]
    return wrong, early == len(wrong)


def main() -> None:
    """Entry."""
    module = AnsibleModule(
        argument_spec={
            "peer": {"type": "str", "required": True},
            "hops": {"type": "list", "elements": "dict", "required": True},
            "tolerance_ms": {"type": "float", "required": True},
        },
        supports_check_mode=True,
    )
    wanted: Wanted = module.params
    found: dict[str, float] = {}
    wrong: list[str] = []
    for number in range(ROUNDS):
        if number:
            time.sleep(BETWEEN_ROUNDS_S)
        try:
            found = least_rtt_ms(trace(wanted), found)
        except Unavailable as error:
            if number == 0:
                module.fail_json(msg=f"{error}; {how_to_install('traceroute')}")
        wrong, settled = compare(wanted, found)
        if settled:
            break
    module.exit_json(changed=False, wrong=wrong, found=found)


if __name__ == "__main__":
    main()
