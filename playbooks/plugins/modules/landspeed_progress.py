#!/usr/bin/python
"""Ansible module: how far an attempt is, and whether something is wrong with the host. Changes nothing."""

from __future__ import annotations

DOCUMENTATION = r"""
module: landspeed_progress
short_description: Progress of an attempt on this host
description:
  - Looks at the attempt's unit, at the last line of its progress, and at the NIC's state and error counters.
options:
  unit: {description: The systemd unit of the attempt., type: str, required: true}
  live: {description: The engine's progress file., type: str, default: ""}
  interface: {description: NIC of the path., type: str, required: true}
  errors_before: {description: Sum of the NIC's error counters before., type: int, default: -1}
  peer: {description: Address of the other host; pinged when nothing arrives there any more., type: str, default: ""}
author: landspeed
"""
EXAMPLES = r"""
- name: Look
  landspeed_progress:
    unit: landspeed-send@first.service
    interface: eth1
"""
RETURN = r"""
ended: {description: Whether the unit has ended., type: bool, returned: always}
status: {description: Its exit status once it has ended., type: int, returned: always}
alarm: {description: What is wrong with the host; empty when nothing is., type: str, returned: always}
errors: {description: Sum of the NIC's error counters., type: int, returned: always}
live: {description: The last line of the engine's progress., type: dict, returned: always}
"""

import json  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any, TypedDict  # noqa: E402

from ansible.module_utils.basic import AnsibleModule  # noqa: E402

from ..module_utils.landspeed_host import Unavailable, nic_errors, run  # noqa: E402

SILENT_S = 5.0  # no byte for so long: is the peer there?


class Wanted(TypedDict):
    """The module's parameters."""

    unit: str
    live: str
    interface: str
    errors_before: int
    peer: str


def progress(path: str) -> tuple[dict[str, Any], float]:
    """The last whole line of the progress, and for how many seconds no byte has arrived."""
    try:
        # What the engine says of its transfer: its words, kept as they are for the operator.
        lines: list[dict[str, Any]] = [json.loads(line) for line in Path(path).read_text().split("\n")[:-1]]
        written_unix_s = Path(path).stat().st_mtime  # nothing is written any more once the sender waits for the peer
    except (OSError, ValueError):
        return {}, 0.0
    if not lines:
        return {}, 0.0
    arrived = next((line for line in lines if line.get("bytes") == lines[-1].get("bytes")), lines[-1])
    return lines[-1], lines[-1].get("time_s", 0.0) - arrived.get("time_s", 0.0) + time.time() - written_unix_s


def answers(peer: str) -> bool:
    """Return whether the peer answers one of three pings."""
    try:
        run("ping", "-n", "-q", "-c", "3", "-i", "0.5", "-W", "2", peer)
    except Unavailable:
        return False
    return True


def main() -> None:
    """Entry."""
    module = AnsibleModule(
        argument_spec={
            "unit": {"type": "str", "required": True},
            "live": {"type": "str", "default": ""},
            "interface": {"type": "str", "required": True},
            "errors_before": {"type": "int", "default": -1},
            "peer": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )
    wanted: Wanted = module.params
    try:
        shown = run("systemctl", "show", "--property=ActiveState,ExecMainStatus,ExecMainCode,Result", wanted["unit"])
    except Unavailable as error:
        module.fail_json(msg=str(error))
    unit = dict(line.split("=", 1) for line in shown.splitlines())
    device = Path("/sys/class/net", wanted["interface"])
    errors = nic_errors(device)
    alarm, name = "", wanted["interface"]
    operstate = (device / "operstate").read_text().strip() if device.exists() else "gone"
    if operstate not in ("up", "unknown"):
        remedy = f"look at cable, optics and switch port, then ip link set {name} up"
        alarm = f"the NIC {name} is {operstate}. Remedy: {remedy}"
    elif wanted["errors_before"] >= 0 and errors > wanted["errors_before"]:
        more = errors - wanted["errors_before"]
        alarm = f"the NIC {name} counts {more} errors since the start. Remedy: cable and optics (ethtool -S {name})"
    live, silent_s = progress(wanted["live"])
    ended = unit["ActiveState"] in ("inactive", "failed")
    if not alarm and not ended and silent_s >= SILENT_S and wanted["peer"] and not answers(wanted["peer"]):
        remedy = "look at the NIC there, and at what is between"
        alarm = (
            f"for {silent_s:.0f} s nothing has arrived at {wanted['peer']}, and it answers no ping. Remedy: {remedy}"
        )
    module.exit_json(
        changed=False,
        ended=ended,
        status=int(unit.get("ExecMainStatus") or 0),
        result=unit.get("Result", ""),
        alarm=alarm,
        errors=errors,
        live=live,
    )


if __name__ == "__main__":
    main()
