"""Parts that pages share: templates, style sheets and scripts, data inside a script element."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).resolve().parent / "templates"


@cache
def environment(folder: Path = TEMPLATES) -> Environment:
    """The templates of a folder, each compiled once; what they lack is an error, and everything is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def template_text(name: str) -> str:
    """A style sheet or script as it is."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


def report_address(bundle: Path, folder: Path) -> str | None:
    """Address of a bundle's report, as a page in `folder` names it; None if there is no report."""
    file = bundle / "report.html"
    return quote(os.path.relpath(file, folder)) if file.is_file() else None


def script_json(value: Any) -> str:
    """JSON that can stand inside a script element."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
