"""Errors of a path in a test's hands. Each message says what, when in virtual time, what would help."""

from __future__ import annotations

from landspeed.base.errors import LandspeedError


class PathError(LandspeedError):
    """A path cannot do what was asked: no such node, a time in the past, a program that does not exist."""


class ProgramNotStarted(PathError):  # noqa: N818 (these say what happened, as TimeoutExpired does)
    """The program does not exist, or cannot be run; the message says what to do."""


class ProgramEnded(PathError):  # noqa: N818
    """A program ended before the condition that was waited for."""


class ProgramTimeout(PathError, TimeoutError):  # noqa: N818
    """The condition did not hold within the given time of the path's clock."""


class LandspeedWarning(UserWarning):
    """A test does something that was probably not meant."""
