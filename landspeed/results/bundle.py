"""The bundle: one run's folder, made as `NAME.partial` and renamed to `NAME` when its result is written.

`result.json` is there from the first moment with `complete: false`, so a run that was killed, or whose disk filled up,
still says what it was. Readers list a `NAME.partial` as incomplete. Importing this costs nothing but pydantic.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pydantic import ValidationError

from landspeed.base.failures import BundleError, LandspeedError
from landspeed.base.files import write_atomically
from landspeed.base.json_form import is_object, object_of
from landspeed.base.version import __version__
from landspeed.results.record import RECORD_SCHEMA_VERSION, RunRecord

PARTIAL = ".partial"
RESULT = "result.json"
SAMPLES = "samples.parquet"
LINKS = "links.parquet"
PINGS = "pings.parquet"  # echoes beside the transfers
EVIDENCE = "evidence"  # a folder: captures, pings, traceroutes, settings
RAW_SAMPLES = ("sender.csv", "receiver.csv")
RAW_LINKS = "links.csv"
RAW_PINGS = "pings.csv"
_RESERVE = ".reserve"  # given back when the disk is full, so that the result can still say so
_RESERVE_BYTES = 256 * 1024


class OutputError(LandspeedError):
    """The output folder cannot take the bundle; the message names the path and what would help."""


class BundleWriter:
    """Writes one bundle. As a context manager it marks the bundle incomplete if the block raises.

    Attributes:
        name: the bundle's name: scenario, UTC time, random suffix; two runs at once never meet.
        path: the folder to write into now; the final one after `finish` or `fail`.
        record: what is known so far; what was written, after `finish` or `fail`.
        links_origin_ns: the transfer's start on the clock of `links.csv`; 0: its times count from there already.
    """

    def __init__(self, out_dir: Path, name: str, record: RunRecord | None = None) -> None:
        """Make the folder.

        Args:
            out_dir: folder of bundles; made if missing.
            name: the scenario's name.
            record: what is known so far; kept in the bundle if the run dies.

        Raises:
            OutputError: the folder cannot be made or written.
        """
        self.out_dir = Path(out_dir)
        self.record = record or RunRecord(scenario=name)
        self.finished = False
        self.links_origin_ns = 0
        stem = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "run"
        try:
            self.out_dir.mkdir(parents=True, exist_ok=True)
            while True:
                stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
                self.name = f"{stem}-{stamp}-{secrets.token_hex(3)}"
                self.path = self.out_dir / (self.name + PARTIAL)
                if (self.out_dir / self.name).exists():
                    continue
                try:
                    self.path.mkdir()
                    break
                except FileExistsError:
                    continue
        except OSError as error:
            raise _output_error(error, self.out_dir) from error
        try:
            (self.path / "log").mkdir()
            with (self.path / _RESERVE).open("wb") as reserve:
                os.posix_fallocate(reserve.fileno(), 0, _RESERVE_BYTES)
            self.note(self.record)
        except OutputError:
            shutil.rmtree(self.path, ignore_errors=True)
            raise  # `from` itself would be a chain without end, which Dask follows to its end
        except OSError as error:
            shutil.rmtree(self.path, ignore_errors=True)
            raise _output_error(error, self.path) from error

    def note(self, record: RunRecord) -> None:
        """Keep what is known so far (marked incomplete), in case the run dies.

        Raises:
            OutputError: it cannot be written.
        """
        self.record = record
        self._write_result(record.model_copy(update={"complete": False}))

    def write_text(self, name: str, text: str) -> Path:
        """Write a file of the bundle.

        Raises:
            OutputError: it cannot be written.
        """
        target = self.path / name
        try:
            write_atomically(target, text.encode())
        except OSError as error:
            raise _output_error(error, target) from error
        return target

    def convert(self) -> None:
        """Turn the raw CSV files (`sender.csv`, `receiver.csv`, `links.csv`, `pings.csv`) into parquet and remove them.

        Raises:
            OutputError: the parquet files cannot be written; the CSV files are kept.
            SamplesError: a CSV file has not the expected columns; it is kept.
        """
        # saves 28 ms where it is not needed
        from landspeed.results.sample_columns import RawFlow, convert_flows, convert_links, convert_pings

        sender, receiver = RAW_SAMPLES
        flows = [RawFlow(self.path / sender, self.path / receiver)]
        folders = {flow.name: self.path / "flows" / flow.name for flow in self.record.flows}
        for flow in self.record.flows:
            if not (folder := folders[flow.name]).is_dir():
                continue  # a path's one flow has its files in the bundle's folder
            begins_s = flow.start_s if flow.begins_s is None else flow.begins_s
            flows.append(RawFlow(folder / sender, folder / receiver, flow.name, round(begins_s * 1e9)))
        raw = [file for flow in flows for file in (flow.sender_csv, flow.receiver_csv) if file and file.exists()]
        try:
            if raw:
                convert_flows(flows, self.path / SAMPLES)
                for file in raw:
                    file.unlink()
            if (self.path / RAW_LINKS).exists():
                convert_links(self.path / RAW_LINKS, self.path / LINKS, self.links_origin_ns)
                (self.path / RAW_LINKS).unlink()
            if pings := {flow: file for flow, file in self._raw_pings(folders).items() if file.exists()}:
                convert_pings(pings, self.path / PINGS, self.links_origin_ns)
                for file in pings.values():
                    file.unlink()
            _remove_empty(list(folders.values()), self.path / "flows")
        except OSError as error:
            raise _output_error(error, self.path) from error

    def _raw_pings(self, folders: Mapping[str, Path]) -> dict[str, Path]:
        """The file of each flow; that of a path's one flow is in the bundle's folder."""
        return {flow: (folder if folder.is_dir() else self.path) / RAW_PINGS for flow, folder in folders.items()}

    def finish(self, record: RunRecord) -> Path:
        """Write `result.json` with `complete: true` and give the bundle its final name.

        Returns:
            the bundle's folder.

        Raises:
            OutputError: it cannot be written; call `fail` to keep the rest.
        """
        self.record = record.model_copy(update={"complete": True, "error": None})
        self._write_result(self.record)
        return self._settle()

    def fail(self, error: str, record: RunRecord | None = None) -> Path:
        """Keep everything measured so far and mark the bundle incomplete.

        A full disk is not a reason to lose it: the reserve is given back first, and what cannot be converted
        stays as it is.

        Returns:
            the bundle's folder.

        Raises:
            OutputError: not even the mark could be written; the folder stays as `NAME.partial`.
        """
        (self.path / _RESERVE).unlink(missing_ok=True)
        self.record = (record or self.record).model_copy(update={"complete": False, "error": error})
        self._write_result(self.record)
        try:
            self.convert()
        except Exception as problem:
            self.record.error = f"{error} (samples left as CSV: {problem})"
            self._write_result(self.record)
        return self._settle()

    def _write_result(self, record: RunRecord) -> None:
        target = self.path / RESULT
        record.versions.setdefault("landspeed", __version__)
        try:
            write_atomically(target, (record.model_dump_json(indent=1) + "\n").encode())
        except OSError as error:
            raise _output_error(error, target) from error

    def _settle(self) -> Path:
        final = self.out_dir / self.name
        try:
            (self.path / _RESERVE).unlink(missing_ok=True)
            _sync_folder(self.path)
            self.path.rename(final)
            _sync_folder(self.out_dir)
        except OSError as error:
            raise _output_error(error, final) from error
        self.path = final
        self.finished = True
        return final

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.finished:
            return
        if error is None:
            self.fail("the run ended without a result")
            return
        with contextlib.suppress(OutputError):  # the first error is the one to tell
            self.fail("interrupted" if isinstance(error, KeyboardInterrupt) else str(error) or type(error).__name__)


def load_record(bundle: Path) -> RunRecord:
    """Read a bundle's `result.json`.

    Raises:
        BundleError: it is missing, broken, or of a newer schema; the message names the file.
    """
    file = Path(bundle) / RESULT
    try:
        record = RunRecord.model_validate(read_result(bundle))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise BundleError(f"{file}: {where}: {first['msg']}") from error
    return record


def read_result(bundle: Path) -> dict[str, Any]:
    """The content of a bundle's `result.json`, its members unchecked.

    Raises:
        BundleError: it is missing, no JSON, or of another schema; the message names the file and the place.
    """
    file = Path(bundle) / RESULT
    try:
        data = json.loads(file.read_bytes(), parse_constant=_no_number)
    except OSError as error:
        raise BundleError(f"{file}: {error.strerror}") from error
    except json.JSONDecodeError as error:
        raise BundleError(f"{file}:{error.lineno}:{error.colno}: {error.msg}") from error
    except UnicodeDecodeError as error:
        raise BundleError(f"{file}: byte {error.start}: not UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{file}: {error}") from error
    version = data.get("schema_version", 1) if is_object(data) else None
    if not isinstance(version, int) or isinstance(version, bool):
        raise BundleError(f"{file}: schema_version: a record of landspeed has a whole number there")
    if version != RECORD_SCHEMA_VERSION:
        by = object_of(data.get("versions")).get("landspeed", "of an unknown version")
        raise BundleError(
            f"{file}: schema version {version}, written by landspeed {by}; this landspeed, {__version__}, reads "
            f"{RECORD_SCHEMA_VERSION}: read it with that version, or run the bundle's scenario again"
        )
    if Path(bundle).name.endswith(PARTIAL):
        data["complete"] = False
    return data


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON")


def list_bundles(runs_dir: Path) -> Iterator[Path]:
    """All bundles of a folder in the order of their names, the incomplete ones (`NAME.partial`) too."""
    if not runs_dir.is_dir():
        return
    for folder in sorted(runs_dir.iterdir()):
        if folder.is_dir() and (folder / RESULT).is_file():
            yield folder


def _remove_empty(folders: list[Path], parent: Path) -> None:
    """Remove the folders in which nothing is, and then the one that they were in."""
    for folder in (*folders, parent):
        with contextlib.suppress(OSError):
            folder.rmdir()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _output_error(error: OSError, path: Path) -> OutputError:
    remedies = {
        errno.ENOSPC: "the disk is full; free some space or give another folder with --out",
        errno.EDQUOT: "the quota is used up; free some space or give another folder with --out",
        errno.EFBIG: "a limit on file size was hit (ulimit -f); raise it or give another folder with --out",
        errno.EACCES: "no permission to write there; give another folder with --out",
        errno.EPERM: "no permission to write there; give another folder with --out",
        errno.EROFS: "the file system is read-only; give another folder with --out",
        errno.ENOTDIR: "a part of this path is a file; give another folder with --out",
        errno.EEXIST: "a file has this name; give another folder with --out",
    }
    why = remedies.get(error.errno or 0, f"{error.strerror or error}; give another folder with --out")
    return OutputError(f"cannot write {path}: {why}")
