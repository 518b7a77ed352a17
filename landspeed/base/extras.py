"""Extras of the package: which commands need them, and which of their packages are not installed."""

from __future__ import annotations

from importlib.util import find_spec

from landspeed.base.failures import NotReady
from landspeed.base.finding import Finding

EXTRAS = {
    "course": ("lesson", ("distributed", "scipy", "jupytext", "mdit_py_plugins", "latex2mathml", "pytest", "aioquic")),
    "explore": ("explore --serve", ("distributed", "tornado")),
    "notebook": ("to_pandas() in Python", ("pandas",)),
    "sweep": ("sweep, find, predict, explore", ("distributed", "bokeh", "scipy", "adaptive")),
}
"""Extra → what needs it, and the modules of its packages. Of `real`, the real world's own findings tell."""


def examine_extras() -> list[Finding]:
    """A finding for each extra; none of them is imported."""
    return [_finding(extra) for extra in EXTRAS]


def require_extra(extra: str) -> None:
    """Check for an extra before anything long begins.

    Raises:
        NotReady: one of its packages is not installed.
    """
    found = _finding(extra)
    if found.state != "ok":
        raise NotReady(f"{found.text}: {found.remedy}")


def _finding(extra: str) -> Finding:
    users, modules = EXTRAS[extra]
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        text = f"{users}: not installed: {', '.join(missing)}"
        return Finding(f"extra {extra}", "warn", text, f"pip install 'landspeed[{extra}]'")
    return Finding(f"extra {extra}", "ok", f"for {users}")
