"""The course for a class on one host with systemd: each student a JupyterLab with a limit of memory and cores.

One environment of Python has jupyterhub, jupyterhub-systemdspawner, jupyterhub-idle-culler, jupyterlab and the wheel
with [course,notebook]; the host has configurable-http-proxy. As root: `jupyterhub --config jupyterhub_config.py`.
"""

import os
import sys
from pathlib import Path
from typing import Any

MEMORY_BYTES = 2 << 30  # of a student: JupyterLab, a notebook and two runs of a lesson at once
CORES = 2.0  # of a student at most; while others work, systemd shares the cores evenly
HOST_BYTES = 2 << 30  # of the host itself and the hub
IDLE_S = 1800

c: Any = get_config()  # type: ignore[name-defined]  # noqa: F821
memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

c.JupyterHub.spawner_class = "systemd"
c.SystemdSpawner.mem_limit = MEMORY_BYTES
c.SystemdSpawner.cpu_limit = CORES
c.SystemdSpawner.isolate_tmp = True
c.SystemdSpawner.disable_user_sudo = True
c.SystemdSpawner.default_url = "/lab"
c.SystemdSpawner.extra_paths = [str(Path(sys.executable).parent)]
# Nobody's run is killed because another one began: no more students at once than there is memory.
c.JupyterHub.active_server_limit = max(1, (memory_bytes - HOST_BYTES) // MEMORY_BYTES)
c.JupyterHub.concurrent_spawn_limit = max(1, (os.cpu_count() or 1) * 2)
# Who may enter: every user of the host's group `students`.
c.PAMAuthenticator.allowed_groups = {"students"}
# Whoever does nothing for half an hour makes room; files stay.
c.JupyterHub.load_roles = [
    {
        "name": "idle-culler",
        "scopes": ["list:users", "read:users:activity", "read:servers", "delete:servers"],
        "services": ["idle-culler"],
    }
]
c.JupyterHub.services = [
    {"name": "idle-culler", "command": [sys.executable, "-m", "jupyterhub_idle_culler", f"--timeout={IDLE_S}"]}
]
