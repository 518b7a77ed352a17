#!/usr/bin/python
"""Ansible module: settings of a host, each former value saved before it is changed."""

from __future__ import annotations

DOCUMENTATION = r"""
module: landspeed_settings
short_description: Change settings of a host, former values saved first
description:
  - Saves the present value of each setting in the state file, flushed to the disk, then sets the new one.
  - The first value saved is kept; M(landspeed_restore) puts it back.
options:
  role:
    description: Who asks; M(landspeed_restore) can leave out what the role C(deploy) made.
    type: str
    required: true
  settings:
    description:
      - Each with C(kind), C(name) and C(value). Without C(value) the former value is only saved, for another module to
        change. With C(at_least) numbers are only raised. C(why) stands beside the change in C(advice).
      - C(names) stands for several settings of one C(value), or of one of C(values) each.
      - A setting that the host does not have is reported in C(unavailable), unless C(required) is true.
    type: list
    elements: dict
    required: true
  persistent:
    description:
      - Also make them last beyond a boot, by F(/etc/sysctl.d/90-landspeed.conf) and the unit landspeed-tune.service,
        which a rule of udev starts anew for a NIC that comes later. M(landspeed_restore) takes these files away again.
    type: bool
    default: false
author: landspeed
"""
EXAMPLES = r"""
- name: Make room for the window
  landspeed_settings:
    role: tune
    settings:
      - {kind: sysctl, name: net.core.rmem_max, value: 268435456}
"""
RETURN = r"""
unavailable:
  description: What the host does not have or does not let change, with the reason.
  type: list
  returned: always
advice:
  description: Each change with its reason; in check mode what would be changed.
  type: list
  returned: always
"""

import contextlib  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any, TypedDict  # noqa: E402

from ansible.module_utils.basic import AnsibleModule  # noqa: E402

from ..module_utils.landspeed_host import Unavailable  # noqa: E402
from ..module_utils.landspeed_kinds import KINDS, AskedOtherwise, CannotPutBack  # noqa: E402
from ..module_utils.landspeed_persistent import UNIT, lasting_files  # noqa: E402
from ..module_utils.landspeed_state import State, as_text, is_lines, is_parts  # noqa: E402


class Named(TypedDict):
    """Kind and name of a setting."""

    kind: str
    name: str


class Item(Named, total=False):
    """A setting that is asked for. What `value` may be, its kind says."""

    value: Any
    at_least: bool
    required: bool
    why: str


def one_by_one(settings: list[dict[str, Any]]) -> list[Item]:
    """The settings, with those of several names written out."""
    found: list[Any] = []
    for each in settings:
        common = {key: value for key, value in each.items() if key not in ("names", "values")}
        names = each["names"] if "names" in each else [each["name"]]
        values = each.get("values", [each.get("value")] * len(names))
        for name, value in zip(names, values, strict=True):
            found.append({**common, "name": name, **({"value": value} if {"value", "values"} & {*each} else {})})
    return found


def beyond_a_boot(items: list[Item], *, check_mode: bool) -> list[Item]:
    """Files and the unit that make all of these last which this host has; in check mode the unit may not be there."""
    lasting: list[tuple[str, str, Any]] = []
    for item in items:
        with contextlib.suppress(Unavailable):
            if "value" in item:
                present = KINDS[item["kind"]].read(item["name"])
                wanted, _, _ = parts_to_set(item, normal(item, item["value"], present), present)
                lasting.append((item["kind"], item["name"], wanted))
    why = "what is set lasts beyond a boot (sysctl.d(5), systemd.unit(5))"
    found: list[Item] = [
        {"kind": "path", "name": path, "value": {"text": text, "mode": "0644"}, "required": True, "why": why}
        for path, text in lasting_files(lasting).items()
    ]
    if check_mode and not all(Path(item["name"]).exists() for item in found):
        return found
    return [*found, {"kind": "unit", "name": UNIT, "value": {"UnitFileState": "enabled"}, "required": True, "why": why}]


def normal(item: Item, value: Any, present: Any) -> Any:
    """The value as the kind reads it."""
    setting = KINDS[item["kind"]]
    if isinstance(setting, AskedOtherwise):
        return setting.wanted(item["name"], value)
    if is_lines(value):
        return value
    words = str(value).split()
    if item.get("at_least"):
        words = [str(max(int(word), int(now))) for word, now in zip(words, present.split(), strict=True)]
    return " ".join(words)


def differs(present: Any, wanted: Any) -> bool:
    """Return whether anything asked for is not so."""
    if is_parts(wanted) and is_parts(present):
        return any(present.get(key, value) != value for key, value in wanted.items())
    return present != wanted


def apply(module: AnsibleModule, state: State, item: Item) -> tuple[list[str], str, str]:
    """One setting.

    Returns:
        what the host does not have or take of it, then its value before and after; both are the same when it is as it
        should be.
    """
    kind, name = item["kind"], item["name"]
    present = KINDS[kind].read(name)
    if "value" not in item:  # another module changes it
        if not module.check_mode:
            state.remember(kind, name, present, module.params["role"])
        return [], "", ""
    wanted = normal(item, item["value"], present)
    wanted, former, unavailable = parts_to_set(item, wanted, present)
    before = state.applied.get(f"{kind} {name}", {})
    if (before.get("asked"), before.get("shown")) == (wanted, present) and (module.check_mode or is_lines(wanted)):
        refused = before.get("refused")
        return [*unavailable, *([refused] if refused else [])], "", ""
    if not differs(present, wanted):
        return unavailable, "", ""
    if module.check_mode:
        return unavailable, *as_texts(former, wanted)
    state.remember(kind, name, former, module.params["role"])
    refused, now = write(kind, name, wanted, present)
    if refused or is_lines(wanted):  # tc shows other units than it was given
        state.applied[f"{kind} {name}"] = {"asked": wanted, "shown": now}
        if refused:
            state.applied[f"{kind} {name}"]["refused"] = refused
            unavailable.append(refused)
    else:
        state.applied.pop(f"{kind} {name}", None)
    state.save()
    if refused and item.get("required"):
        raise Unavailable(refused)
    if refused and not is_parts(wanted):
        return unavailable, "", ""
    after = {key: now.get(key) for key in wanted} if is_parts(wanted) and is_parts(now) else wanted
    return unavailable, *as_texts(former, after)


def as_texts(former: Any, after: Any) -> tuple[str, str]:
    """Both values as lines of a diff, which differ where the content of a file does, too."""
    other = is_parts(former) and is_parts(after) and former.get("content") != after.get("content")
    return as_text(former), as_text(after) + (", other content" if other else "")


def parts_to_set(item: Item, wanted: Any, present: Any) -> tuple[Any, Any, list[str]]:
    """Reduce what is wanted to the parts that this driver has: each is set on its own.

    Returns:
        what is wanted, its former value, and what there is not.
    """
    if item["kind"] == "path" or not (is_parts(wanted) and is_parts(present)):
        return wanted, present, []
    missing = ", ".join(sorted(set(wanted) - set(present)))
    wanted = {key: value for key, value in wanted.items() if key in present}
    unavailable = [f"{item['name']}: this driver has no {missing} to set"] if missing else []
    return wanted, {key: present[key] for key in wanted}, unavailable


def write(kind: str, name: str, wanted: Any, present: Any) -> tuple[str, Any]:
    """Set it; a value that has no parts is put back if the system takes half of it.

    Returns:
        why the system did not take it, or not all of it, and the value after.
    """
    refused = ""
    try:
        KINDS[kind].write(name, wanted)
    except Unavailable as reason:
        refused = str(reason)
        if not is_parts(wanted):
            with contextlib.suppress(Unavailable):
                KINDS[kind].write(name, present)
    now = KINDS[kind].read(name)
    if not refused and not is_lines(wanted) and differs(now, wanted):
        refused = f"{name} stays {as_text(now)} though {as_text(wanted)} was set"
    return refused, now


def main() -> None:
    """Entry."""
    module = AnsibleModule(
        argument_spec={
            "role": {"type": "str", "required": True},
            "settings": {"type": "list", "elements": "dict", "required": True},
            "persistent": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    before: list[str] = []
    after: list[str] = []
    unavailable: list[str] = []
    advice: list[str] = []
    items = one_by_one(module.params["settings"])
    with State() as state:
        if module.params["persistent"]:
            items += beyond_a_boot(items, check_mode=module.check_mode)
        for item in items:
            try:
                missing, old, new = apply(module, state, item)
            except Unavailable as reason:
                if item.get("required"):
                    module.fail_json(msg=str(reason), unavailable=unavailable)
                unavailable.append(str(reason))
                continue
            except (CannotPutBack, OSError) as reason:  # a full disk: what cannot be written down is not changed
                module.fail_json(msg=f"{item['kind']} {item['name']} stays: {reason}", unavailable=unavailable)
                return
            unavailable += missing
            if module.params["persistent"] and not module.check_mode:
                state.make_last(item["kind"], item["name"])
            if old != new:
                before.append(f"{item['kind']} {item['name']}: {old}")
                after.append(f"{item['kind']} {item['name']}: {new}")
                advice.append(f"{item['kind']} {item['name']}: {old} → {new}: {item.get('why', '')}")
    difference = {"before": "\n".join([*before, ""]), "after": "\n".join([*after, ""])}
    module.exit_json(changed=bool(after), unavailable=unavailable, advice=advice, diff=difference)


if __name__ == "__main__":
    main()
