"""Ansible's own shell for hosts, which also takes away the folder of temporary files when the last of them goes.

Ansible makes `remote_tmp` and leaves it, empty. group_vars/all.yml names this plugin.
"""

from __future__ import annotations

from ansible.plugins.shell.sh import ShellModule as PlainShell

DOCUMENTATION = """
name: landspeed_sh
short_description: POSIX shell that leaves no empty folder
description:
  - As Ansible's own C(sh).
  - With a folder of temporary files goes the one around it, C(remote_tmp), if it is the plays' own and empty.
extends_documentation_fragment:
  - shell_common
"""
PREFIX = "landspeed-ansible"  # of the plays' folders (ansible.cfg, worlds/real/runner.py)


class ShellModule(PlainShell):
    """Entry point of the plug-in for Ansible."""

    # Closed, not /dev/null: on a host where ordinary users may not write to that, nothing would be removed.
    _SHELL_REDIRECT_ALLNULL = ">&- 2>&-"

    def remove(self, path: str, recurse: bool = False) -> str:
        """A command that removes a path.

        Args:
            path: on the host.
            recurse: with all in it.
        """
        command = super().remove(path, recurse)
        base = path.rstrip("/").rpartition("/")[0]
        if not base.rpartition("/")[2].startswith(PREFIX):
            return command
        # Not empty: another task of a play is at work there.
        return f"{command} && {{ rmdir {self.quote(base)} {self._SHELL_REDIRECT_ALLNULL} || true; }}"
