"""Evidence of an attempt that can be believed later: what its bundle was made from, in a chain that is signed."""

from __future__ import annotations

from pathlib import Path

from landspeed.base.files import write_atomically
from landspeed.results.bundle import EVIDENCE, OutputError
from landspeed.results.evidence_chain import ChainEntry, write_chain
from landspeed.results.signature import sign
from landspeed.worlds.engine.command import ENGINE_BINARY
from landspeed.worlds.real.variables import variable_files

OWN_FILES = ("hosts.yml", "group_vars/all/plan.yml", "group_vars/all/rehearsal.yml")
"""What landspeed itself wrote into an inventory. Of all others the bundle has the hash alone: they may be secret."""


def seal(bundle: Path, inventory: Path, attempt: str, key: Path | None = None) -> str | None:
    """Put the inventory into a bundle, write its chain, and sign that.

    Args:
        bundle: of the attempt, with its report.
        inventory: folder from which it was made.
        attempt: its name.
        key: file of an ssh key; None: it is not signed.

    Returns:
        what signed; None where nothing did.

    Raises:
        OutputError: the bundle cannot be written.
        SignatureError: the key cannot be used; the bundle is there, with its chain.
    """
    elsewhere: list[ChainEntry] = []
    try:
        for file in (inventory / "hosts.yml", *variable_files(inventory)):
            name = file.relative_to(inventory).as_posix()
            if name in OWN_FILES:
                target = bundle / EVIDENCE / "inventory" / name
                target.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(target, file.read_bytes())
            else:
                elsewhere.append(ChainEntry.elsewhere("inventory", name, file))
        for archive in sorted((inventory / "collected" / attempt).glob("*.tar")):
            elsewhere.append(ChainEntry.elsewhere("archive", archive.name, archive))
        elsewhere.append(ChainEntry.elsewhere("binary", ENGINE_BINARY.name, ENGINE_BINARY))
    except OSError as error:
        raise OutputError(f"cannot keep the evidence of {bundle}: {error}") from error
    write_chain(bundle, elsewhere)
    return sign(bundle, key) if key else None
