"""A bundle as one file to send: a zip archive whose only folder is the bundle."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path, PurePosixPath

from landspeed.base.failures import BundleError
from landspeed.base.files import replacing
from landspeed.results.bundle import RESULT, OutputError

SUFFIX = ".landspeed.zip"
MOST_BYTES = 16 << 30  # unpacked: more is no bundle
SAME_TIME = (1980, 1, 1, 0, 0, 0)  # the same bundle makes the same file


def pack(bundle: Path, target: Path) -> Path:
    """Pack a bundle into one file.

    Raises:
        OutputError: it cannot be written.
    """
    files = sorted(each for each in bundle.rglob("*") if each.is_file() and not each.is_symlink())
    name = bundle.resolve().name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target) as beside, zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in files:
                entry = zipfile.ZipInfo(f"{name}/{file.relative_to(bundle).as_posix()}", SAME_TIME)
                entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                with file.open("rb") as source, archive.open(entry, "w", force_zip64=True) as sink:
                    shutil.copyfileobj(source, sink)
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}") from error
    return target


def unpack(file: Path, folder: Path) -> Path:
    """Unpack a bundle below a folder. If the same bundle is there already, it stays.

    Returns:
        the bundle.

    Raises:
        BundleError: the file is no packed bundle, or another bundle of this name is there.
        OutputError: it cannot be written.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            name = _name(archive, file)
            target, beside = folder / name, folder / f".{name}.new"
            if target.exists():
                if (target / RESULT).is_file() and (target / RESULT).read_bytes() == archive.read(f"{name}/{RESULT}"):
                    return target
                raise BundleError(f"{file}: {target} is there already, and is another run; move it away first")
            shutil.rmtree(beside, ignore_errors=True)
            try:
                archive.extractall(beside)
                (beside / name).rename(target)
            finally:
                shutil.rmtree(beside, ignore_errors=True)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise BundleError(f"{file}: no packed bundle ({error}); `landspeed bundle NAME` makes one") from error
    except OSError as error:
        raise OutputError(f"cannot unpack {file} below {folder}: {error.strerror or error}") from error
    return target


def _name(archive: zipfile.ZipFile, file: Path) -> str:
    """The folder in the archive; every file must lie in it, and one of them must be a record.

    Raises:
        BundleError: it is no packed bundle.
    """
    entries = archive.infolist()
    parts = [PurePosixPath(each.filename).parts for each in entries]
    names = {each[0] for each in parts if each}
    (name,) = names if len(names) == 1 else ("",)
    outside = any(".." in each or each[:1] in {("/",), ()} for each in parts) or name.startswith(".")
    if outside or f"{name}/{RESULT}" not in archive.namelist():
        raise BundleError(
            f"{file}: no packed bundle (it has no folder with {RESULT}); `landspeed bundle NAME` makes one"
        )
    if sum(each.file_size for each in entries) > MOST_BYTES:
        raise BundleError(f"{file}: it would take more than {MOST_BYTES >> 30} GiB; it is no bundle of a run")
    try:
        json.loads(archive.read(f"{name}/{RESULT}"))
    except ValueError as error:
        raise BundleError(f"{file}: {name}/{RESULT}: {error}") from error
    return name
