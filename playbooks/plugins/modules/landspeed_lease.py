#!/usr/bin/python
"""Ansible module: whose a host is, for which plan and until when."""

from __future__ import annotations

DOCUMENTATION = r"""
module: landspeed_lease
short_description: Take a host, or see whose it is
description:
  - A host has one owner at a time. Who comes meanwhile is told who has it, for which plan, and until when.
  - The lease is in the state file. It ends with M(landspeed_restore); or at its time, unless an attempt is running.
  - It also notes what a play made the host ready with, so that a later one can compare.
options:
  owner: {description: Who asks., type: str, required: true}
  inventory: {description: With which inventory; another one is another owner., type: str, required: true}
  plan: {description: For what., type: str, required: true}
  hours: {description: For how long from now; nothing is taken when it is 0., type: float, default: 0}
  force: {description: Take it, whosever it is., type: bool, default: false}
  ready: {description: The play that makes the host ready now., type: str, default: ""}
  rollout: {description: Digest of what the play runs with., type: str, default: ""}
  needs: {description: Plays that have to have made it ready with the same., type: list, elements: str, default: []}
author: landspeed
"""
EXAMPLES = r"""
- name: Take the host for a day
  landspeed_lease:
    owner: anna@desk
    inventory: /home/anna/inventories/first
    plan: first (0123456789ab)
    hours: 24
"""
RETURN = r"""
whose: {description: Whose it was before if it was somebody else's; else empty., type: str, returned: always}
"""

import time  # noqa: E402

from ansible.module_utils.basic import AnsibleModule  # noqa: E402

from ..module_utils.landspeed_host import Unavailable, run  # noqa: E402
from ..module_utils.landspeed_state import Lease, State  # noqa: E402


def running() -> list[str]:
    """Units of attempts that are under way."""
    try:
        shown = run("systemctl", "list-units", "--no-legend", "--plain", "--state=active", "landspeed-*@*.service")
    except Unavailable:
        return []
    return [line.split()[0] for line in shown.splitlines()]


def described(lease: Lease) -> str:
    """A lease in words."""
    until = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(lease["until_unix_s"]))
    return f"{lease['owner']}'s until {until}, for {lease['plan']} (inventory {lease['inventory']})"


def main() -> None:
    """Entry."""
    module = AnsibleModule(
        argument_spec={
            "owner": {"type": "str", "required": True},
            "inventory": {"type": "str", "required": True},
            "plan": {"type": "str", "required": True},
            "hours": {"type": "float", "default": 0.0},
            "force": {"type": "bool", "default": False},
            "ready": {"type": "str", "default": ""},
            "rollout": {"type": "str", "default": ""},
            "needs": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    wanted = module.params
    whose = ""
    with State() as state:
        lease = state.lease
        if lease and (lease["owner"], lease["inventory"]) != (wanted["owner"], wanted["inventory"]):
            whose, busy = described(lease), running()
            if not wanted["force"] and (busy or time.time() < lease["until_unix_s"]):
                more = f", and {', '.join(busy)} is running" if busy else ""
                remedy = "ask there, or wait; --force takes it"
                module.fail_json(msg=f"the host is {whose}{more}. Remedy: {remedy}", whose=whose)
            lease = None
        rollout = lease["rollout"] if lease else {}
        missing = [play for play in wanted["needs"] if play not in rollout]
        other = [play for play in wanted["needs"] if play in rollout and rollout[play] != wanted["rollout"]]
        if missing or other:
            what = (
                "not made ready since it was started or restored"
                if missing
                else f"{', '.join(other)} ran with another plan, engine or playbooks than these"
            )
            remedy = ", ".join(f"landspeed real {play}" for play in missing or other)
            module.fail_json(msg=f"{what}. Remedy: {remedy}", whose=whose)
        until = int(time.time() + 3600 * wanted["hours"])
        if wanted["hours"] and not module.check_mode:
            state.lease = {
                "owner": wanted["owner"],
                "inventory": wanted["inventory"],
                "plan": wanted["plan"],
                "until_unix_s": max(until, lease["until_unix_s"] if lease else 0),
                "rollout": rollout | ({wanted["ready"]: wanted["rollout"]} if wanted["ready"] else {}),
            }
            state.save()
    module.exit_json(changed=bool(wanted["hours"]) and lease is None, whose=whose)


if __name__ == "__main__":
    main()
