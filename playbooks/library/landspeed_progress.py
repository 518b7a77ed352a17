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
from pathlib import Path  # noqa: E402

from ansible.module_utils.basic import AnsibleModule  # noqa: E402
from ansible.module_utils.landspeed_state import Unavailable, run  # type: ignore[import-not-found] # noqa: E402

ERRORS = ("rx_errors", "tx_errors", "rx_crc_errors", "rx_frame_errors", "tx_carrier_errors", "rx_length_errors")


def last_line(path):
    """The last whole line of JSON; empty when there is none."""
    try:
        lines = Path(path).read_text().split("\n")[:-1]
        return json.loads(lines[-1]) if lines else {}
    except (OSError, ValueError):
        return {}


def main():
    """Entry."""
    module = AnsibleModule(
        argument_spec={
            "unit": {"type": "str", "required": True},
            "live": {"type": "str", "default": ""},
            "interface": {"type": "str", "required": True},
            "errors_before": {"type": "int", "default": -1},
        },
        supports_check_mode=True,
    )
    wanted = module.params
    try:
        shown = run("systemctl", "show", "--property=ActiveState,ExecMainStatus,ExecMainCode,Result", wanted["unit"])
    except Unavailable as error:
        module.fail_json(msg=str(error))
    unit = dict(line.split("=", 1) for line in shown.splitlines())
    device = Path("/sys/class/net", wanted["interface"])
    counters = device / "statistics"
    errors = sum(int((counters / name).read_text()) for name in ERRORS if (counters / name).exists())
    alarm, name = "", wanted["interface"]
    operstate = (device / "operstate").read_text().strip() if device.exists() else "gone"
    if operstate not in ("up", "unknown"):
        remedy = f"look at cable, optics and switch port, then ip link set {name} up"
        alarm = f"the NIC {name} is {operstate}. Remedy: {remedy}"
    elif wanted["errors_before"] >= 0 and errors > wanted["errors_before"]:
        more = errors - wanted["errors_before"]
        alarm = f"the NIC {name} counts {more} errors since the start. Remedy: cable and optics (ethtool -S {name})"
    module.exit_json(
        changed=False,
        ended=unit["ActiveState"] in ("inactive", "failed"),
        status=int(unit.get("ExecMainStatus") or 0),
        result=unit.get("Result", ""),
        alarm=alarm,
        errors=errors,
        live=last_line(wanted["live"]),
    )


if __name__ == "__main__":
    main()
