#!/usr/bin/python
"""Ansible module: the settings that the plays changed on a host, as they were before and as they are now."""

from __future__ import annotations

DOCUMENTATION = r"""
module: landspeed_tuning
short_description: Write down the settings that were changed
description:
  - Each setting of the state file with its former value, what was asked for, and its value now. What may be secret, the
    content of files, is left out.
options:
  dest: {description: File that is written once; what is there stays., type: path, required: true}
author: landspeed
"""
EXAMPLES = r"""
- name: Keep the settings before
  landspeed_tuning:
    dest: /var/lib/landspeed/attempts/first.watch/tuning-before.json
"""
RETURN = r"""
settings: {description: How many there are., type: int, returned: always}
"""

import json  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

from ansible.module_utils.basic import AnsibleModule  # noqa: E402

from ..module_utils.landspeed_host import Unavailable, write_safely  # noqa: E402
from ..module_utils.landspeed_kinds import KINDS  # noqa: E402
from ..module_utils.landspeed_state import State, boot_id  # noqa: E402

NOT_SETTINGS = ("path", "unit", "user")  # what was installed: the first has files' contents


def settings(state: State) -> list[dict[str, Any]]:
    """Every setting that was changed."""
    found: list[dict[str, Any]] = []
    for entry in state.entries:
        kind, name = entry["kind"], entry["name"]
        if kind in NOT_SETTINGS:
            continue
        told: dict[str, Any] = {"kind": kind, "name": name, "role": entry["role"], "former": entry["former"]}
        try:
            told["now"] = KINDS[kind].read(name)
        except (Unavailable, OSError) as error:
            told["unreadable"] = str(error)
        found.append(told | dict(state.applied.get(f"{kind} {name}", {})))
    return found


def main() -> None:
    """Entry."""
    module = AnsibleModule(argument_spec={"dest": {"type": "path", "required": True}}, supports_check_mode=True)
    dest = Path(module.params["dest"])
    with State() as state:
        found = settings(state)
    if not module.check_mode and not dest.exists():
        told = {"unix_s": time.time(), "boot_id": boot_id(), "settings": found}
        write_safely(dest, (json.dumps(told, indent=1) + "\n").encode())
    module.exit_json(changed=False, settings=len(found))


if __name__ == "__main__":
    main()
