"""Parts that pages share: templates, plotly inside the page or beside it, data inside a script element."""

from __future__ import annotations

import contextlib
import filecmp
import json
import shutil
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landspeed.base.files import replacing

if TYPE_CHECKING:
    from jinja2 import Environment

PLOTLY = "plotly.min.js"
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


def plotly_js() -> str:
    """plotly.js, whose text must not end the script element that holds it."""
    return _installed_plotly().read_text(encoding="utf-8").replace("</script", "<\\/script")


def place_plotly(folder: Path) -> None:
    """Put plotly.js into a bundle's folder: a hard link to that of a neighbour, else a copy.

    It has 4.6 MB, forty times a report. Bundles side by side hold it once; a folder copied alone still has it.

    Raises:
        OSError: it cannot be written.
    """
    target, installed = folder / PLOTLY, _installed_plotly()
    if _same(target, installed):
        return
    with replacing(target) as beside:
        for neighbour in folder.resolve().parent.glob(f"*/{PLOTLY}"):
            if _same(neighbour, installed):
                with contextlib.suppress(OSError):  # another owner's, too many links, or a file system without
                    beside.hardlink_to(neighbour)
                    return
        shutil.copyfile(installed, beside)


def _installed_plotly() -> Path:
    import plotly

    return Path(plotly.__file__).parent / "package_data" / PLOTLY


def _same(one: Path, other: Path) -> bool:
    return one.is_file() and filecmp.cmp(one, other, shallow=False)


def script_json(value: Any) -> str:
    """JSON that can stand inside a script element."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
