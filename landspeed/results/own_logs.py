"""Logs that programs write of their own connections: TLS keys and qlog, where their variables tell them to.

SSLKEYLOGFILE is the file to which OpenSSL's users, NSS, Go and Rust programs append the secrets of TLS, which Wireshark
reads. QLOGDIR is the folder in which implementations of QUIC write a file of qlog for each connection. A program of a
path finds both variables set, to a place that it may write; what it wrote there stays in the run's folder.
"""

# The guest imports this: dataclasses and typing are guest/stdlib_stand_ins there.
from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "own-logs"
KEYS = "tls-keys.log"


def environment(out: str) -> dict[str, str]:
    """Make the folder, and return the variables that tell programs of it.

    Args:
        out: the run's folder, as the programs see it.
    """
    folder = f"{out}/{FOLDER}"
    os.makedirs(folder, exist_ok=True)  # noqa: PTH103 (pathlib takes its time to import, and the guest needs this)
    return {"SSLKEYLOGFILE": f"{folder}/{KEYS}", "QLOGDIR": folder}


def written_logs(run: str | os.PathLike[str]) -> list[str]:
    """List what programs wrote into the folder of a run, relative to it; no file that is empty."""
    found: list[str] = []
    top = os.path.join(run, FOLDER)  # noqa: PTH118
    for folder, _, files in os.walk(top):
        whole = [os.path.join(folder, name) for name in files]  # noqa: PTH118
        found += [os.path.relpath(each, run) for each in whole if os.path.getsize(each)]  # noqa: PTH202
    return sorted(found)


def keep_logs(run: Path, folder: Path) -> list[str]:
    """Copy what programs wrote into the folder of a run to another one, and list it; nothing: nothing is made."""
    import shutil  # saves 8 ms of the guest's start, which needs none of it

    if logs := written_logs(run):
        shutil.copytree(run / FOLDER, folder / FOLDER, dirs_exist_ok=True)
    return logs
