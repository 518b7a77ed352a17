"""State of a server of the lab, kept as it is and brought back without the plays that made it.

What is on the disk is packed. What the kernel and systemd know is read by the plays' own kinds of settings, of those
that the state file names, and written again. A server runs this file: `server_state.py keep|bring NAME`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from playbooks.plugins.module_utils.landspeed_kinds import KINDS
from playbooks.plugins.module_utils.landspeed_state import BOOT_ID, STATE

FOLDERS = ("/etc", "/usr/local", "/var/lib/landspeed")
ON_THE_DISK = ("path", "user")


def keep(archive: Path, values: Path) -> None:
    """Write down what there is."""
    entries = [each for each in json.loads(STATE.read_text())["entries"] if each["kind"] not in ON_THE_DISK]
    values.write_text(
        json.dumps([(each["kind"], each["name"], KINDS[each["kind"]].read(each["name"])) for each in entries])
    )
    subprocess.run(["tar", "--create", "--absolute-names", "--file", archive, *FOLDERS], check=True)


def bring(archive: Path, values: Path) -> None:
    """Make it so again, as if it had been made since the last boot."""
    subprocess.run(["tar", "--extract", "--absolute-names", "--file", archive], check=True)
    state = json.loads(STATE.read_text()) | {"boot_id": BOOT_ID.read_text().strip()}
    STATE.write_text(json.dumps(state, indent=1) + "\n")
    subprocess.run(["systemctl", "daemon-reload"], check=True)
    for kind, name, value in json.loads(values.read_text()):
        if KINDS[kind].read(name) != value:
            KINDS[kind].write(name, value)


if __name__ == "__main__":
    folder = Path(__file__).parent
    {"keep": keep, "bring": bring}[sys.argv[1]](folder / f"{sys.argv[2]}.tar", folder / f"{sys.argv[2]}.json")
