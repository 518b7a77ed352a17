"""`report.html`: one self-contained page per bundle. It loads nothing from anywhere."""

from __future__ import annotations

from pathlib import Path

from .bundle import OutputError, load_record
from .compare import plan_of, rows


def write_report(bundle_dir: Path) -> Path:
    """Write `report.html` into a bundle.

    Returns:
        the file.

    Raises:
        OutputError: it cannot be written.
        ValueError: the bundle's `result.json` cannot be read.
    """
    from html import escape

    record = load_record(bundle_dir)
    body = "".join(
        f"<tr><th>{escape(row.name)}<td>{escape(row.recorded)}<td>{escape(row.rehearsed)}<td>{escape(row.share)}"
        for row in rows(record, plan_of(record))
    )
    target = bundle_dir / "report.html"
    try:
        target.write_text(
            f"<!doctype html><meta charset=utf-8><title>{escape(record.title)}</title><table>{body}</table>"
        )
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror}") from error
    return target
