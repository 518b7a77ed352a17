"""Registry of the readers: every module of readers/ that has a `READER`, and which of them a file is for."""

from __future__ import annotations

import functools
import gzip
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from landspeed.base.captures import MAGICS, SECTION
from landspeed.scenario.importers import readers
from landspeed.scenario.importers.path_evidence import MeasurementError, PathEvidence

SAMPLE_BYTES = 200_000  # as much of a file tells of which program it is


@dataclass(frozen=True)
class Reader:
    """A reader of one program's files.

    Attributes:
        kind: its word on the command line and in Python.
        what: the files are, for messages, such as "iperf3's JSON".
        suits: whether the beginning of a file looks like one, a broken one too.
        read: a file's evidence; raises MeasurementError.
    """

    kind: str
    what: str
    suits: Callable[[str], object]
    read: Callable[[Path], PathEvidence]


@functools.cache
def all_readers() -> dict[str, Reader]:
    """Each reader by its kind."""
    modules = [import_module(f"{readers.__name__}.{each.name}") for each in iter_modules(readers.__path__)]
    found = [module.READER for module in modules]
    return {each.kind: each for each in found}


def reader_of(file: Path) -> Reader:
    """The reader that a file is for.

    Raises:
        MeasurementError: none, or more than one; or the file cannot be read.
    """
    text = _beginning(file)
    suiting = [each for each in all_readers().values() if each.suits(text)]
    if len(suiting) == 1:
        return suiting[0]
    if suiting:
        kinds = " and ".join(f"{each.what} ({each.kind})" for each in suiting)
        raise MeasurementError(f"{file}: looks like {kinds}; say which it is: --as {suiting[0].kind} {file}")
    known = ", ".join(sorted(each.what for each in all_readers().values()))
    raise MeasurementError(f"{file}: of no program whose output is known; give one of: {known}")


def _beginning(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            content = opened.read(SAMPLE_BYTES)
    except OSError as error:
        raise MeasurementError(f"{file}: {error.strerror or error}; give what a measuring program printed") from error
    if content.startswith(b"\x1f\x8b"):
        try:
            content = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(content, SAMPLE_BYTES)
        except (zlib.error, gzip.BadGzipFile) as error:
            raise MeasurementError(f"{file}: not gzip as it says ({error}); give the whole file") from error
    if content.startswith((*MAGICS, SECTION)):
        return content[:4].decode("latin-1")  # packets may have anything in them, other programs' output too
    if not content.strip():
        raise MeasurementError(f"{file}: empty; give what the program printed")
    marked = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    return content.decode("utf-16" if marked else "utf-8-sig", errors="replace")
