"""The JSON result of the C transfer engine (`send --json`), read as the result of every tool."""

from __future__ import annotations

import json

from pydantic import ValidationError

from landspeed.base.json_form import is_object
from landspeed.results.tool_result import TransferResult

ALWAYS = ("engine", "complete", "error", "bytes", "duration_s", "streams", "start_unix_ns")
"""Members that the engine's result has whatever happened."""


class ResultError(ValueError):
    """A file is not a result of the engine; the message names the file and the member."""


def parse_result(content: bytes, name: str) -> TransferResult:
    """Read the engine's report on a transfer.

    Args:
        content: JSON in UTF-8.
        name: what the message of an error calls it.

    Raises:
        ResultError: it is not a result of the engine.
    """
    try:
        told = json.loads(content)
        if not is_object(told):
            raise ResultError(f"{name}: an object should be there")
        if missing := [member for member in ALWAYS if member not in told]:
            raise ResultError(f"{name}: {', '.join(missing)}: missing")
        return TransferResult.of(told)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part != "tool_result")
        raise ResultError(f"{name}: {where}: {first['msg']}") from error
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ResultError(f"{name}: {error}") from error
