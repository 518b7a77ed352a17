"""Logs of what is decided and started: standard logging, a logger for each module, silent until somebody listens.

    LOG = Log(__name__)
    LOG.info("core %d, with %d guests on it before", core, row)

`landspeed -v` and `LANDSPEED_LOG=info` show decisions; `-vv` and `LANDSPEED_LOG=debug` add figures and child processes.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
from typing import Any

from landspeed.base.errors import LandspeedError

PACKAGE = "landspeed"
VARIABLE = "LANDSPEED_LOG"
LEVELS = ("info", "debug")
_hooked: list[bool] = []


class LogError(LandspeedError):
    """LANDSPEED_LOG names no level; the message has those that there are."""


class Log:
    """Logger of one module.

    `logging` is not imported for it: where nobody else has imported it, nobody listens. That saves each command some
    milliseconds, and a silent call costs a tenth of a microsecond.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        """Take the module's name."""
        self._name = name

    def info(self, text: str, *values: Any) -> None:
        """Log a decision: what was chosen, and from what."""
        if logger := self._logger():
            logger.info(text, *values, stacklevel=2)

    def debug(self, text: str, *values: Any) -> None:
        """Log a detail: a figure, a step."""
        if logger := self._logger():
            logger.debug(text, *values, stacklevel=2)

    def _logger(self) -> Any:
        """Return the standard logger; None where nobody listens, also while another thread is importing `logging`."""
        get = getattr(sys.modules.get("logging"), "getLogger", None)
        return get(self._name) if get else None


def wanted_level(verbose: int) -> str | None:
    """Return the level that `-v` or the environment asks for, the lower of both; None: silence.

    Raises:
        LogError: the variable has another value.
    """
    named = os.environ.get(VARIABLE, "")
    if named and named not in LEVELS:
        raise LogError(f"{VARIABLE}={named}: write {' or '.join(LEVELS)}")
    asked = LEVELS[min(verbose, len(LEVELS)) - 1] if verbose else ""
    return max(filter(None, (named, asked)), key=LEVELS.index, default=None)


def listen(level: str) -> None:
    """Write the package's logs of a level and above to standard error, each with the milliseconds since this call."""
    # saves 15 ms where it is not needed
    import logging

    began = time.time()

    class Since(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            since_ms = (record.created - began) * 1e3
            return f"{since_ms:8.0f} ms {record.name.removeprefix(f'{PACKAGE}.')}: {super().format(record)}"

    handler = logging.StreamHandler()
    handler.setFormatter(Since())
    logger = logging.getLogger(PACKAGE)
    logger.handlers[:] = [handler]
    logger.setLevel(level.upper())
    logger.propagate = False
    if level == "debug" and not _hooked:
        _hooked.append(True)  # a hook cannot be taken away
        sys.addaudithook(_tell_process)


def _tell_process(event: str, values: tuple[Any, ...]) -> None:
    """Log each child process of this one, whoever starts it (sys.addaudithook)."""
    if event == "subprocess.Popen":
        _program, words, folder, _environment = values
        line = words if isinstance(words, str) else shlex.join(map(os.fsdecode, words))
        Log(f"{PACKAGE}.processes").debug("starts %s%s", line, f" (in {os.fsdecode(folder)})" if folder else "")
