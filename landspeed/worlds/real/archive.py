"""Archive of an attempt as `collect` fetched it of a host."""

from __future__ import annotations

import tarfile
from pathlib import Path

from landspeed.worlds.real.errors import RealError

LARGEST_BYTES = 1 << 30


def unpack(archive: Path, attempt: str) -> dict[str, bytes]:
    """Files of a host's archive by name. Only ordinary files right in the attempt's folder count.

    Raises:
        RealError: it is missing or no archive.
    """
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                folder, _, name = member.name.partition("/")
                if member.isreg() and folder == attempt and "/" not in name and member.size < LARGEST_BYTES:
                    content = tar.extractfile(member)
                    assert content is not None
                    found[name] = content.read()
    except (OSError, tarfile.TarError) as error:
        raise RealError(f"{archive}: {error}; run `landspeed real collect`") from error
    return found
