"""Stand-in for typing: names without meaning. Python's own takes longer to import than the rest."""

from __future__ import annotations

TYPE_CHECKING = False


class _Name:
    """Stands for any type."""

    def __getitem__(self, _: object) -> _Name:
        return self

    def __call__(self, *_: object, **__: object) -> _Name:
        return self

    def __or__(self, _: object) -> _Name:
        return self

    __ror__ = __or__


class Protocol:
    """A base class."""


def cast(_: object, value: object) -> object:
    """The value."""
    return value


def __getattr__(name: str) -> _Name:
    if name.startswith("__"):
        raise AttributeError(name)
    return _Name()
