"""Jinja filters of the plays."""

from __future__ import annotations


def landspeed_setting(name: str, value: str) -> dict[str, str]:
    """A value of a file in /sys or /proc as an item of landspeed_settings."""
    return {"kind": "sysfs", "name": name, "value": value}


class FilterModule:
    """Entry point of the plug-in for Ansible."""

    def filters(self) -> dict[str, object]:
        """Names and functions."""
        return {"landspeed_setting": landspeed_setting}
