"""Errors of pydantic's models in our words: what is wrong, what would be right, where it stands in the file."""

from __future__ import annotations

import difflib
import re
import types
import typing
from collections.abc import Iterator
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from landspeed.base.errors import Problem
from landspeed.base.near import meant
from landspeed.base.units import RATE, SECOND, SIZE, TIME, UnitError, format_exact, kind_of, parse_exact, type_word
from landspeed.scenario.file.document import KeyPath, YamlNode
from landspeed.scenario.file.key_names import keys_meant
from landspeed.scenario.file.model import ScenarioFile


def model_problems(error: ValidationError, tree: YamlNode) -> list[Problem]:
    """Faults that the models found, each at its place in the file, in the order of the file."""
    problems: list[Problem] = []
    for item in error.errors(include_url=False):
        where: KeyPath = tuple(step for step in item["loc"] if step != "[key]")
        kind, context, value = item["type"], item.get("ctx") or {}, item.get("input")
        if kind == "extra_forbidden":
            known = _keys_at(where[:-1])
            problem = Problem(
                f"unknown key '{where[-1]}'", _near_key(str(where[-1]), known), tree.locate(where, key=True)
            )
        elif kind == "missing":
            parent = _dotted(where[:-1])
            what = f"key '{where[-1]}' is missing" + (f" in {parent}" if parent else "")
            problem = Problem(what, _missing_advice(where), tree.locate(where, key=True))
        else:
            at_key = "[key]" in item["loc"]
            what, right = _value_error(kind, context, value, item["msg"], where)
            problem = Problem(what, _other_kind(where, value, tree) or right, tree.locate(where, key=at_key))
        problems.append(problem)
    return sorted(problems, key=lambda p: (p.mark.source.name, p.mark.line, p.mark.column) if p.mark else ("", 0, 0))


_SIBLINGS = {("duration", SIZE): "bytes", ("bytes", TIME): "duration"}
"""The key that takes a quantity of another kind in the place of one."""


def _other_kind(where: KeyPath, value: Any, tree: YamlNode) -> str:
    """The advice for a quantity that another key takes, for a queue in time, for one value a direction; else empty."""
    if where[-1] in ("line_rate", "one_way_delay", "queue") and (several := _several(value)) is not None:
        first, second = [*map(str, several), "…", "…"][:2]
        return f"write {where[-1]}: {first} and, for the other direction, reverse: {{{where[-1]}: {second}}}"
    unit = re.sub(r"^[0-9.]+\s*", "", value) if isinstance(value, str) else ""
    kind = kind_of(unit)
    if kind and (key := _SIBLINGS.get((str(where[-1]), kind))):
        return f"write {key}: {value}"
    rates = [node.mapping["line_rate"].scalar for node in _way(tree, where[:-1]) if "line_rate" in node.mapping]
    rate = str(rates[-1]) if rates else ""
    if kind is not TIME or where[-1] != "queue" or not rate:
        return ""
    try:
        held = format_exact(SIZE, round(parse_exact(TIME, str(value)) * parse_exact(RATE, rate) / (8 * SECOND)))
    except UnitError:
        return ""
    return f"write {held} ({value} at {rate}), or a multiple of the path's BDP, e.g. 0.5 BDP"


def _several(value: Any) -> list[Any] | None:
    """The values of a mapping or a list; None if it is neither."""
    return (
        [*cast(Any, value.values() if isinstance(value, dict) else value)] if isinstance(value, dict | list) else None
    )


def _way(tree: YamlNode, where: KeyPath) -> Iterator[YamlNode]:
    """The nodes from a tree to a place in it."""
    yield tree
    for step in where:
        tree = tree.items[step] if isinstance(step, int) else tree.mapping[step]
        yield tree


def _value_error(kind: str, context: dict[str, Any], value: Any, message: str, where: KeyPath) -> tuple[str, str]:
    name = _dotted(where)
    if "right" in context:
        what = str(context.get("what") or message)
        return f"{name}: {what}", str(context["right"])
    shown = f"'{value}'" if isinstance(value, str | int | float) and not isinstance(value, bool) else type_word(value)
    expected = str(context.get("expected"))
    advice = {
        "literal_error": (
            "{shown} is not a value of {name}",
            meant(str(value), re.findall("'([^']+)'", expected)) + "write " + expected,
        ),
        "string_pattern_mismatch": (
            "{name}: {shown} is not a name",
            "write lower-case letters, digits and '-', beginning with a letter (of a scenario: or a digit)",
        ),
        "int_type": ("{name} is a count, not {shown}", "write a whole number without a unit"),
        "float_type": ("{name} is a number, not {shown}", "write a number without a unit"),
        "finite_number": ("{name}: {shown} is not a number", "write a number without a unit"),
        "string_type": (
            "{name} is text, not {shown}",
            f"write it in quotes: '{value}'" if _simple(value) else "write text",
        ),
        "bool_type": ("{name} is true or false, not {shown}", "write true or false"),
        "greater_than_equal": ("{name}: {shown} is too small", f"write at least {_number(context.get('ge'))}"),
        "less_than_equal": ("{name}: {shown} is too large", f"write at most {_number(context.get('le'))}"),
        "list_type": ("{name} is a list, not {shown}", "write entries that begin with '- '"),
        "dict_type": ("{name} is a mapping, not {shown}", "write key: value lines below it"),
        "model_type": ("{name} is a mapping, not {shown}", "write key: value lines below it"),
        "string_too_short": ("{name} is empty", "write something"),
        "string_too_long": ("{name} is too long", f"write at most {context.get('max_length')} characters"),
        "too_short": ("{name} has too few entries", f"write at least {context.get('min_length')}"),
        "too_long": ("{name} has too many entries", f"write at most {context.get('max_length')}"),
    }
    what, right = advice.get(kind, ("{name}: " + message, "see docs/reference/scenario.md"))
    return what.replace("{name}", name).replace("{shown}", shown), right


def _number(bound: Any) -> str:
    return f"{bound:g}" if isinstance(bound, float) else str(bound)


def _simple(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _dotted(where: KeyPath) -> str:
    return ".".join(str(step) for step in where)


def _keys_at(where: KeyPath) -> list[str]:
    """The keys that the models know at a place of the file."""
    model: Any = ScenarioFile
    for step in where:
        if isinstance(model, type) and issubclass(model, BaseModel):
            fields = {f.alias or name: f for name, f in model.model_fields.items()}
            model = fields[str(step)].annotation if step in fields else None
            model = _model_in(model, keep_container=True)
        else:
            model = _model_in(model)
    model = _model_in(model)
    if model is None:
        return []
    return [f.alias or name for name, f in model.model_fields.items()]


def _model_in(annotation: Any, *, keep_container: bool = False) -> Any:
    """The model inside `X | None`, `list[X]`, `dict[str, X]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return cast(Any, annotation)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if keep_container and origin in (list, dict):
        return cast(Any, annotation)
    if origin in (list, dict, types.UnionType, typing.Union):
        for argument in reversed(arguments):
            if argument is not types.NoneType:
                return _model_in(argument, keep_container=keep_container)
    return None


def _near_key(key: str, known: list[str]) -> str:
    listed = ", ".join(known)
    near = [each for each in keys_meant(key) if each in known] or difflib.get_close_matches(key.lower(), known, 1, 0.6)
    return (f"did you mean {' or '.join(map(repr, near))}? " if near else "") + f"known keys here: {listed}"


_EXAMPLES = {
    "format": "format: 1",
    "name": "name: my-path",
    "title": "title: what this shows",
    "hosts": "hosts: {a: {role: sender}, b: {role: receiver}}",
    "role": "role: sender (or receiver)",
    "path": "path: [{from: a, to: b, one_way_delay: 10 ms, line_rate: 1 Gbit/s}]",
    "from": "from: the node nearer to the sender",
    "to": "to: the node nearer to the receiver",
    "transfer": "transfer: {streams: 1, duration: 10 s}",
    "source": "source: where the figures come from",
    "rate": "rate: 6.7 Gbit/s",
    "label": "label: recorded name",
    "rtt": "rtt: [125 ms]",
}


def _missing_advice(where: KeyPath) -> str:
    return "add " + _EXAMPLES.get(str(where[-1]), f"{where[-1]}: …")
