"""What self-contained pages share: templates, plotly inside the page, data inside a script element."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).resolve().parent / "templates"


def environment() -> Environment:
    """The templates; what they lack is an error, and everything is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(TEMPLATES),
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
    import plotly

    file = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    return file.read_text(encoding="utf-8").replace("</script", "<\\/script")


def script_json(value: Any) -> str:
    """JSON that can stand inside a script element."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
