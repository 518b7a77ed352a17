"""Access of the plays' modules to a host: commands, files, counters of its NICs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ERRORS = ("rx_errors", "tx_errors", "rx_crc_errors", "rx_frame_errors", "tx_carrier_errors", "rx_length_errors")


class Unavailable(Exception):  # noqa: N818
    """Missing setting of this host, or one that nobody may change."""


def run(*words: str, given: str = "") -> str:
    """Output of a command, which reads what is `given`.

    Raises:
        Unavailable: it is not installed, or failed.
    """
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, input=given)
    except FileNotFoundError as error:
        raise Unavailable(f"{words[0]} is not installed") from error
    if done.returncode:
        raise Unavailable(f"{' '.join(words)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def cpu_mask(bits: int) -> str:
    """Mask of processors as sysfs takes it: hexadecimal, in words of 32 bits."""
    words: list[str] = []
    while bits or not words:
        words.append(f"{bits & 0xFFFFFFFF:x}" if bits <= 0xFFFFFFFF else f"{bits & 0xFFFFFFFF:08x}")
        bits >>= 32
    return ",".join(reversed(words))


def below(device: Path) -> list[Path]:
    """An interface, whose folder in /sys/class/net this is, and all that it stands on, the lowest first."""
    found: list[Path] = []
    for link in sorted(device.glob("lower_*")):
        found += (each for each in below(device.parent / link.name.removeprefix("lower_")) if each not in found)
    return [*found, device]


def cards(device: Path) -> list[Path]:
    """NICs of an interface: a VLAN's, those of a bond or bridge, else itself."""
    return [each for each in below(device) if (each / "device").exists()] or [device]


def nic_errors(device: Path) -> int:
    """Sum of the error counters of an interface's NICs."""
    counters = [card / "statistics" / name for card in cards(device) for name in ERRORS]
    return sum(int(counter.read_text()) for counter in counters if counter.exists())


def beside(path: Path) -> Path:
    """Path of the new file before it replaces the one that is there."""
    return path.with_name(f".{path.name}.new")


def write_safely(path: Path, content: bytes) -> None:
    """Write beside, flush, rename, flush the folder: never half a file, whatever dies when; its owner's alone."""
    new = beside(path)
    new.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as handle:
            handle.write(content)
            handle.flush()
            os.fsync(handle.fileno())
        new.replace(path)
    except OSError:  # such as a full disk
        new.unlink(missing_ok=True)
        raise
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
