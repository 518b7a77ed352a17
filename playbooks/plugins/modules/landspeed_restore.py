#!/usr/bin/python
"""Ansible module: put every saved value back, from the state file alone."""

from __future__ import annotations

DOCUMENTATION = r"""
module: landspeed_restore
short_description: Put back what landspeed changed on a host
description:
  - Goes through the state file backwards and puts each former value back; what is back is taken from the file.
  - Needs nothing but the state file, so it works after a crash in any play.
  - What was saved before the last boot of the kernel is forgotten, unless it is on the disk.
  - Attempts that were begun and not collected are never removed.
  - Then the host is nobody's.
options:
  roles:
    description: Only what these roles changed; all when empty.
    type: list
    elements: str
    default: []
  attempts: {description: Folder of the attempts., type: path, default: /var/lib/landspeed/attempts}
author: landspeed
"""
EXAMPLES = r"""
- name: Put everything back
  landspeed_restore:
"""
RETURN = r"""
restored:
  description: What was put back.
  type: list
  returned: always
forgotten:
  description: What a boot of the kernel has undone meanwhile.
  type: list
  returned: always
"""

import contextlib  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

from ansible.module_utils.basic import AnsibleModule  # noqa: E402

from ..module_utils.landspeed_host import Unavailable  # noqa: E402
from ..module_utils.landspeed_kinds import KINDS, CannotPutBack  # noqa: E402
from ..module_utils.landspeed_state import Entry, State, as_text, is_parts  # noqa: E402


def put_back(entry: Entry, *, check_mode: bool) -> Any:
    """One entry. Returns what it is now when that is not the former value, else None."""
    setting = KINDS[entry["kind"]]
    try:
        present = setting.read(entry["name"])
    except Unavailable:
        if entry["kind"] in ("mtu", "txqueuelen", "ring", "coalesce", "offload", "qdisc"):
            return None  # the interface is gone, and its settings with it
        raise
    former = entry["former"]
    if is_parts(former) and is_parts(present):
        same = all(present.get(key) == value for key, value in former.items())
    else:
        same = present == former
    if same:
        return None
    if is_parts(former) and is_parts(present):
        present = {key: present.get(key) for key in former}
    if not check_mode:
        setting.write(entry["name"], former)
    return present


def uncollected(attempts: Path) -> list[str]:
    """Names of attempts that were begun, so that an engine has written something, and of which nobody has a copy."""
    return sorted({log.parent.name for log in attempts.glob("*/*.log") if not (log.parent / "collected").exists()})


def main() -> None:
    """Entry."""
    module = AnsibleModule(
        argument_spec={
            "roles": {"type": "list", "elements": "str", "default": []},
            "attempts": {"type": "path", "default": "/var/lib/landspeed/attempts"},
        },
        supports_check_mode=True,
    )
    roles: list[str] = module.params["roles"]
    restored: list[str] = []
    failures: list[str] = []
    before: list[str] = []
    after: list[str] = []
    with State() as state:
        kept = uncollected(Path(module.params["attempts"]))
        if kept and not roles:
            module.fail_json(
                msg=f"not collected: {', '.join(kept)}. Nothing was removed. Remedy: landspeed real collect INVENTORY "
                f"--attempt {kept[0]}; what nobody wants is removed by hand, in {module.params['attempts']}"
            )
        forgotten = [f"{entry['kind']} {entry['name']}" for entry in state.forgotten]
        for entry in reversed(list(state.entries)):
            if roles and entry["role"] not in roles:
                continue
            line = f"{entry['kind']} {entry['name']}"
            try:
                present = put_back(entry, check_mode=module.check_mode)
            except (Unavailable, CannotPutBack, OSError) as reason:
                failures.append(f"{line}: {reason}")
                continue
            restored.append(line)
            if present is not None or entry["former"] is None:
                before.append(f"{line}: {as_text(present)}")
                after.append(f"{line}: {as_text(entry['former'])}")
            if not module.check_mode:
                state.entries.remove(entry)
                with contextlib.suppress(OSError):  # a full disk: to put it back once more does no harm
                    state.save()
        difference = {"before": "\n".join([*before, ""]), "after": "\n".join([*after, ""])}
        if failures:
            module.fail_json(
                msg="not everything could be put back (it stays in the state file; run restore again): "
                + "; ".join(failures),
                restored=restored,
                diff=difference,
            )
        changed = bool(restored or forgotten or state.lease)
        if not module.check_mode:
            state.lease = None
            state.save()
        module.exit_json(changed=changed, restored=restored, forgotten=forgotten, diff=difference)


if __name__ == "__main__":
    main()
