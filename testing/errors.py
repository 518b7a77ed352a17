"""What can go wrong with a path in a test's hands. Each message says what, when in virtual time, what would help."""

from __future__ import annotations

from ..scenarios.errors import LandspeedError


class PathError(LandspeedError):
    """A path was asked for what it cannot do: no such node, a time that is past, a program that is not there."""


class ProgramNotStarted(PathError):  # noqa: N818 (these say what happened, as TimeoutExpired does)
    """There is no such program, or it cannot be run; the message says what to do."""


class ProgramEnded(PathError):  # noqa: N818
    """A program ended before what was waited for."""


class ProgramTimeout(PathError, TimeoutError):  # noqa: N818
    """What was waited for has not come within a time of the path's clock."""


class LandspeedWarning(UserWarning):
    """Something in a test that hardly was meant so."""
