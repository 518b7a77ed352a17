"""Modules as Ansible has packed them for the servers: each play of a lab packs the same ones, a tenth of a second each.

A play begins with those that plays before it have left in the folder LANDSPEED_PACKED_MODULES.
"""

import contextlib
import gc
import os
from pathlib import Path
from typing import Any

from ansible import constants
from ansible.plugins.callback import CallbackBase

MANY_OBJECTS = 100_000  # more than a worker makes; a play's processes look for garbage every 700, a tenth of their time


class CallbackModule(CallbackBase):
    """What ansible-playbook asks for, where ANSIBLE_CALLBACKS_ENABLED has its name."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "kept_modules"
    CALLBACK_NEEDS_ENABLED = True

    def v2_playbook_on_start(self, playbook: Any) -> None:  # noqa: ARG002
        """Before any worker is forked: take what is there, and collect no garbage of what all of them have."""
        _link_all(_kept(), _own())
        gc.freeze()
        gc.set_threshold(MANY_OBJECTS)

    def v2_playbook_on_stats(self, stats: Any) -> None:  # noqa: ARG002
        """At the end: leave all, each as a whole."""
        _link_all(_own(), _kept())


def _kept() -> Path:
    return Path(os.environ["LANDSPEED_PACKED_MODULES"])


def _own() -> Path:
    temporary: Any = constants
    return Path(temporary.DEFAULT_LOCAL_TMP, "ansiballz_cache")


def _link_all(source: Path, target: Path) -> None:
    """Link the files, which nobody writes a second time, to another folder."""
    for folder in (source, target):
        folder.mkdir(parents=True, exist_ok=True)
    for file in source.iterdir():
        if file.suffix != ".lock":
            with contextlib.suppress(FileExistsError):
                (target / file.name).hardlink_to(file)
