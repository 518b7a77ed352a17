"""Errors before or while plays run."""

from landspeed.base.errors import LandspeedError


class RealError(LandspeedError):
    """Bad input, or something missing; the message names what and the remedy."""


class PlayFailed(RealError):  # noqa: N818 (it says what happened)
    """A play ended with a failure; the message has the first failure of each host."""

    exit_status = 1
