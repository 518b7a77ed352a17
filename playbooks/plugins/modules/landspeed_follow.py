#!/usr/bin/python
"""Ansible module: waits on this host for its flows, and says how far they are. Changes nothing."""

from __future__ import annotations

DOCUMENTATION = r"""
module: landspeed_follow
short_description: Wait for the flows of this host
description:
  - Waits until every unit has ended, or a rule of the watch has ended them, or some time is over.
options:
  folder: {description: The watch's., type: path, required: true}
  units: {description: Of the flows., type: list, elements: str, required: true}
  wait_s: {description: How long at most., type: float, required: true}
author: landspeed
"""
EXAMPLES = r"""
- name: Wait
  landspeed_follow:
    folder: /var/lib/landspeed/attempts/first.watch
    units: [landspeed-send@first.1.service]
    wait_s: 10
"""
RETURN = r"""
ended: {description: Whether all units have ended., type: bool, returned: always}
why: {description: The rule that was broken; empty when none was., type: str, returned: always}
said: {description: A line for each flow that this host sends., type: list, returned: always}
wrong: {description: A sentence for each unit that ended with an error., type: list, returned: always}
"""

import json  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

from ansible.module_utils.basic import AnsibleModule  # noqa: E402

from ..module_utils.landspeed_host import Unavailable, run  # noqa: E402

LOOK_S = 0.5


def states(units: list[str]) -> dict[str, dict[str, str]]:
    """Ask systemd for the state of each unit."""
    shown = run("systemctl", "show", "--property=ActiveState,ExecMainStatus,Result", *units)
    parts = (dict(line.split("=", 1) for line in part.splitlines()) for part in shown.strip().split("\n\n"))
    return dict(zip(units, parts))  # noqa: B905 (Python 3.9)


def ended(state: dict[str, str]) -> bool:
    """Return whether a unit runs no more."""
    return state["ActiveState"] in ("inactive", "failed")


def progress(folder: Path) -> list[str]:
    """A line for each flow of the watch's last look."""
    try:
        line: dict[str, Any] = json.loads((folder / "watch.jsonl").read_text().splitlines()[-1])
    except (OSError, ValueError, IndexError):
        return []
    flows: dict[str, dict[str, Any]] = line.get("flows", {})
    return [
        f"flow {name}: {flow['time_s']:.0f} s, {flow['bytes'] / 1e6:.1f} MB, {flow['goodput_bps'] / 1e6:.2f} Mbit/s, "
        f"{flow['retransmits']} retransmits"
        for name, flow in flows.items()
    ]


def last_words(unit: str) -> str:
    """Last line that a unit's engine wrote."""
    side, instance = unit.removeprefix("landspeed-").removesuffix(".service").split("@")
    try:
        return Path("/var/lib/landspeed/attempts", instance, f"{side}.log").read_text().strip().splitlines()[-1]
    except (OSError, IndexError):
        return "no message"


def main() -> None:
    """Entry."""
    module = AnsibleModule(
        argument_spec={
            "folder": {"type": "path", "required": True},
            "units": {"type": "list", "elements": "str", "required": True},
            "wait_s": {"type": "float", "required": True},
        },
        supports_check_mode=True,
    )
    folder, units = Path(module.params["folder"]), module.params["units"]
    until = time.monotonic() + module.params["wait_s"]
    try:
        found = states(units)
        while time.monotonic() < until and not all(map(ended, found.values())) and not (folder / "abort.json").exists():
            time.sleep(LOOK_S)
            found = states(units)
    except Unavailable as error:
        module.fail_json(msg=str(error))
        return
    why = json.loads((folder / "abort.json").read_text())["why"] if (folder / "abort.json").exists() else ""
    wrong = [
        f"{unit} ended with {state['Result']}, status {state['ExecMainStatus']}: {last_words(unit)}"
        for unit, state in found.items()
        if ended(state) and state["Result"] != "success"
    ]
    module.exit_json(changed=False, ended=all(map(ended, found.values())), why=why, said=progress(folder), wrong=wrong)


if __name__ == "__main__":
    main()
