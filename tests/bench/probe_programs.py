"""Programs of other people for probe_cases.py: the transfers of docs/examples, with the windows stated there."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from docs.examples import (
    http2,
    quic,
    ssh,
)
from docs.examples.stated import Transfer
from landspeed.programs.probe.spec import USUAL_RTTS

if TYPE_CHECKING:
    from tests.bench.probe_cases import Case


def more_cases(folder: Path) -> list[Case]:
    """Those whose programs are here; what they need is made below the folder."""
    found: list[Case] = []

    if shutil.which("nghttpd") and shutil.which("nghttp"):
        found += _cases("HTTP/2", http2.transfers(_made(folder / "http2")))
        found += _cases("HTTP/2", http2.spinning_transfers(_made(folder / "spins")), rtts=("1 ms", "5 ms", "20 ms"))
    if Path(ssh.sshd()).exists() and shutil.which("rsync"):
        found += _cases("SSH", ssh.transfers(_made(folder / "ssh")))
    if find_spec("aioquic"):
        found += _cases(
            "QUIC", quic.transfers(_made(folder / "quic")), words=("application", "line rate", "slow start")
        )
    return found


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _cases(
    name: str,
    transfers: list[Transfer],
    *,
    words: tuple[str, ...] = ("application window",),
    rtts: tuple[str, ...] = USUAL_RTTS,
) -> list[Case]:
    from tests.bench.probe_cases import Case

    return [
        Case(f"{name}, {each.name}", list(each.server), list(each.client), each.way, words, each.window_bytes,
             source=each.stated, until=each.until, rtts=rtts)
        for each in transfers
    ]  # fmt: skip
