"""How a run can fail, the same for every world: before anything was started, or once it ran."""

from __future__ import annotations


class NotReady(Exception):  # noqa: N818 (these say what happened, as KeyboardInterrupt does)
    """This host cannot run the world: something is missing. The message says what, and what to do."""


class RunFailed(Exception):  # noqa: N818
    """The run broke; the bundle has what was measured. The message says what happened."""
