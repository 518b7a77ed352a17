#!/usr/bin/python
"""Ansible module: several small files and folders, in one call."""

from __future__ import annotations

DOCUMENTATION = r"""
module: landspeed_files
short_description: Write several small files and folders at once
description:
  - Each call of a module costs a host some tenths of a second; this one takes all files of a step together.
  - Their former values are not saved; where they matter, M(landspeed_settings) with C(kind) C(path) saves them first.
options:
  files:
    description:
      - Each with C(path) and C(mode) (octal, a string), and C(text) if it is no folder. It is C(owner)'s, else root's.
    type: list
    elements: dict
    required: true
author: landspeed
"""
EXAMPLES = r"""
- name: Tell the watch what to watch
  landspeed_files:
    files:
      - {path: /var/lib/landspeed/attempts/first.watch, mode: "0755"}
      - {path: /var/lib/landspeed/attempts/first.watch/job.json, mode: "0644", text: "{}"}
"""
RETURN = r"""
written:
  description: Paths of those that were not as they should be.
  type: list
  returned: always
"""

from ansible.module_utils.basic import AnsibleModule  # noqa: E402

from ..module_utils.landspeed_host import Unavailable  # noqa: E402
from ..module_utils.landspeed_kinds import CannotPutBack, PathSetting  # noqa: E402


def main() -> None:
    """Entry."""
    module = AnsibleModule(
        argument_spec={"files": {"type": "list", "elements": "dict", "required": True}}, supports_check_mode=True
    )
    setting, written = PathSetting(), list[str]()
    for file in module.params["files"]:
        path = file["path"]
        try:
            wanted = setting.wanted(path, file)
            if setting.read(path) == wanted:
                continue
            if not module.check_mode:
                setting.write(path, wanted)
        except (Unavailable, CannotPutBack, OSError) as reason:
            module.fail_json(msg=f"{path}: {reason}", written=written)
        written.append(path)
    module.exit_json(changed=bool(written), written=written)


if __name__ == "__main__":
    main()
