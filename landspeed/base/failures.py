"""Failures of a run, the same for every world: before anything was started, or once it ran."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from pathlib import Path

from landspeed.base.errors import LandspeedError


class NotReady(LandspeedError):  # noqa: N818 (these say what happened, as KeyboardInterrupt does)
    """Missing part of this host that the world needs. The message says what, and what to do."""

    about_machine = True


class NotPossible(NotReady):
    """A request that no host can serve: no such world, tool or option, or not of this world."""

    about_machine = False


class RunFailed(LandspeedError):  # noqa: N818
    """The run failed; the bundle has what was measured. The message says what happened.

    Attributes:
        run: the run with what it had, where the library raises this (runs/one_run.py).
    """

    exit_status = 1
    run: object | None = None


class RunInterrupted(RunFailed):
    """The run was interrupted, by its user or by the program that began it."""


class BundleError(LandspeedError, ValueError):
    """A file of a bundle cannot be read. The message names the file, the place in it, and what is wrong."""


@contextlib.contextmanager
def telling_of(bundle: Path) -> Generator[None]:
    """Reading what a bundle tells: members that do not fit together are the bundle's fault and no traceback.

    The types of result.json are checked when it is read; that its parts belong together is not.

    Raises:
        BundleError: the block met a figure that cannot be; the message names the bundle.
    """
    try:
        yield
    except LandspeedError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        said = f"{type(error).__name__}: {error}"
        raise BundleError(f"{bundle}: its files do not fit together, it may be damaged ({said})") from error
