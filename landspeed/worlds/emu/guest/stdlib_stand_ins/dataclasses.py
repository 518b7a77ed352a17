"""Stand-in for dataclasses: Python's own imports inspect and compiles each class's methods at its start.

Everything is a keyword or positional in the order of the class; nothing is frozen. The host uses Python's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

_FIELDS = "__dataclass_fields__"


class _Made:
    """A default that is made anew for each instance."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


def field(*, default_factory: Callable[[], Any]) -> Any:
    """A field whose default is made by a function."""
    return _Made(default_factory)


def dataclass(cls: type | None = None, **_: object) -> Any:
    """Give a class a constructor, equality and a text of its fields."""
    return _made if cls is None else _made(cls)


def _made(cls: type) -> type:
    names = tuple(cls.__annotations__)
    defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
    known = set(names)
    made = {name: value.make for name, value in defaults.items() if isinstance(value, _Made)}

    def construct(self: Any, *values: Any, **more: Any) -> None:  # a large network has thousands of instances
        given = dict(zip(names, values, strict=False)) | more if values else more
        if len(given) < len(values) + len(more) or not given.keys() <= known:
            wrong = more.keys() & {*names[: len(values)], *(more.keys() - known)}
            why = f"twice, or unknown: {', '.join(sorted(wrong))}"
            raise TypeError(f"{cls.__name__}: {why if wrong else f'{len(values)} values for {len(names)} fields'}")
        own = defaults | given
        if len(own) < len(names):
            raise TypeError(f"{cls.__name__}: {', '.join(sorted(known - own.keys()))} is missing")
        for name, make in made.items():
            if name not in given:
                own[name] = make()
        self.__dict__ = own

    def equal(self: Any, other: object) -> bool:
        return type(other) is type(self) and repr(other) == repr(self)

    def text(self: Any) -> str:
        return f"{cls.__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    for name, method in (("__init__", construct), ("__eq__", equal), ("__repr__", text), (_FIELDS, names)):
        setattr(cls, name, method)
    return cls


def is_dataclass(value: object) -> bool:
    """Return whether it is a dataclass, or an instance of one."""
    return hasattr(value, _FIELDS)


def replace(instance: Any, **changes: Any) -> Any:
    """A copy with other values of some fields."""
    return type(instance)(**(vars(instance) | changes))


def asdict(value: Any) -> Any:
    """Dictionaries and lists, all the way down."""
    if is_dataclass(value):
        return {name: asdict(getattr(value, name)) for name in getattr(value, _FIELDS)}
    if isinstance(value, list | tuple):
        return [asdict(each) for each in cast(list[Any], value)]
    if isinstance(value, dict):
        return {name: asdict(each) for name, each in cast(dict[Any, Any], value).items()}
    return value


def fields(value: Any) -> Any:
    """Raise NotImplementedError; nothing in the guest asks for fields."""
    raise NotImplementedError(
        f"the fields of {value}: in the guest, dataclasses are the light ones (guest/stdlib_stand_ins)"
    )
