#!/usr/bin/python
"""Ansible module: loss, RTT and MTU from this host to several others, all at once. Changes nothing."""

from __future__ import annotations

DOCUMENTATION = r"""
module: landspeed_mesh
short_description: Measure the way to several hosts
description:
  - Pings each of them, with packets of the plan's MTU that may not be fragmented, too.
options:
  peers: {description: Name → address., type: dict, required: true}
  mtu_bytes: {description: The plan's., type: int, required: true}
  count: {description: Pings to each., type: int, default: 10}
author: landspeed
"""
EXAMPLES = r"""
- name: Measure
  landspeed_mesh:
    peers: {hostb: 198.51.100.2, hostc: 198.51.100.3}
    mtu_bytes: 9000
"""
RETURN = r"""
found:
  description: Name → C(loss) (0 to 1), C(rtt_ms) (least; null without an answer), C(mtu) (whether the large ones pass).
  type: dict
  returned: always
"""

import re  # noqa: E402
from concurrent.futures import ThreadPoolExecutor  # noqa: E402
from typing import TypedDict  # noqa: E402

from ansible.module_utils.basic import AnsibleModule  # noqa: E402

from ..module_utils.landspeed_host import Unavailable, run  # noqa: E402

IPV4_HEADERS, IPV6_HEADERS = 28, 48  # of a ping
AT_ONCE = 32


class Pair(TypedDict):
    """The way to a host."""

    loss: float
    rtt_ms: float | None
    mtu: bool


def measure(address: str, mtu_bytes: int, count: int) -> Pair:
    """The way to an address."""
    found: Pair = {"loss": 1.0, "rtt_ms": None, "mtu": False}
    try:
        answer = run("ping", "-n", "-q", "-c", str(count), "-i", "0.2", "-W", "3", address)
        lost, least = re.search(r"([\d.]+)% packet loss", answer), re.search(r"= ([\d.]+)/", answer)
        found["loss"] = float(lost[1]) / 100 if lost else 1.0
        found["rtt_ms"] = float(least[1]) if least else None
        size = mtu_bytes - (IPV6_HEADERS if ":" in address else IPV4_HEADERS)
        run("ping", "-n", "-q", "-M", "do", "-c", "3", "-i", "0.2", "-W", "3", "-s", str(size), address)
        found["mtu"] = True
    except Unavailable:
        pass
    return found


def main() -> None:
    """Entry."""
    module = AnsibleModule(
        argument_spec={
            "peers": {"type": "dict", "required": True},
            "mtu_bytes": {"type": "int", "required": True},
            "count": {"type": "int", "default": 10},
        },
        supports_check_mode=True,
    )
    peers: dict[str, str] = module.params["peers"]
    mtu_bytes, count = module.params["mtu_bytes"], module.params["count"]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        pairs = {name: pool.submit(measure, address, mtu_bytes, count) for name, address in peers.items()}
        found = {name: pair.result() for name, pair in pairs.items()}
    module.exit_json(changed=False, found=found)


if __name__ == "__main__":
    main()
