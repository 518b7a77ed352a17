"""Dataclasses as plain values of JSON and back, strictly: nothing unknown or missing, no value of another type."""

from __future__ import annotations

import threading
from typing import Any, TypeGuard, TypeVar, cast

import msgspec

T = TypeVar("T")
# msgspec keeps what it knows of a dataclass from the first use on, before it knows all: a second thread reads what is
# not there yet, and the process dies (0.22.0; tests/results/test_json_form.py).
ONE_AT_A_TIME = threading.RLock()


class FormError(ValueError):
    """A value does not fit; the message names its key path."""


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Return whether a value of parsed JSON or YAML is an object: its keys are text, its values any value."""
    return isinstance(value, dict)


def object_of(value: object) -> dict[str, Any]:
    """The object that a value of parsed JSON or YAML is; an empty one for anything else."""
    return value if is_object(value) else {}


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Return whether a value of parsed JSON or YAML is an array."""
    return isinstance(value, list)


def to_plain(value: object) -> Any:
    """Dictionaries, lists and plain values, every field in its place."""
    return msgspec.to_builtins(value)


def from_plain(data: object, kind: type[T]) -> T:
    """An instance of a dataclass of what JSON gave.

    Raises:
        FormError: a key is unknown or missing, or has a value of another type.
    """
    try:
        with ONE_AT_A_TIME:
            made = msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        where = where.rstrip("`").lstrip(".")
        raise FormError(f"{where}: {what}" if where else what) from error
    # msgspec passes over keys that a dataclass does not have. Written out again, the instance has every key it knows.
    if unknown := _unknown(data, to_plain(made), ""):
        raise FormError(f"{unknown}: there is no such key")
    return made


def _unknown(given: object, known: object, path: str) -> str | None:
    """The path of the first key that is given and not known."""
    if isinstance(given, dict) and isinstance(known, dict):
        have = cast(dict[str, Any], known)
        for key, value in cast(dict[str, Any], given).items():
            here = f"{path}.{key}" if path else key
            if key not in have:
                return here
            if found := _unknown(value, have[key], here):
                return found
    elif isinstance(given, list) and isinstance(known, list):
        pairs = zip(cast(list[Any], given), cast(list[Any], known), strict=True)
        for number, (value, other) in enumerate(pairs):
            if found := _unknown(value, other, f"{path}[{number}]"):
                return found
    return None
