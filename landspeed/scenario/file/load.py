"""Reading a scenario file: size, encoding, YAML, `extends`, overrides, models, checks. All errors are located."""

from __future__ import annotations

import difflib
import io
import re
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML

from landspeed.base.errors import Problem, ScenarioError, Source, TextPosition
from landspeed.base.foreign_units import MTU_BYTES
from landspeed.base.near import meant
from landspeed.base.units import UnitError, parse_size, type_word
from landspeed.scenario.file.checks import check_structure
from landspeed.scenario.file.document import (
    KeyPath,
    YamlNode,
    apply_override,
    change,
    merge,
    override_text,
    parse_yaml,
    tree_of,
)
from landspeed.scenario.file.events import check_events
from landspeed.scenario.file.key_names import keys_meant
from landspeed.scenario.file.model import ScenarioFile
from landspeed.scenario.file.packaged import is_name, near_name, packaged_file

MAX_BYTES = 1_000_000
MAX_EXTENDS = 16
BUILT = "(built in Python)"  # stands for the file of a scenario that has none


@dataclass(frozen=True)
class LoadedScenario:
    """A scenario that is right in itself, with the places of its keys for later errors."""

    scenario: ScenarioFile
    path: Path
    overrides: tuple[str, ...] = ()
    tree: YamlNode = field(repr=False, default_factory=lambda: YamlNode(TextPosition(Source("")), "mapping"))

    def file_of(self, where: KeyPath) -> Path:
        """The file that has a key, which is another one where this one extends it; paths in it are relative to that."""
        named = Path(self.tree.locate(where).source.name)
        return named if named.is_file() else self.path

    @cached_property
    def text_resolved(self) -> str:
        """YAML of the merged scenario: `extends` and overrides are in it. Made when asked for."""
        return _dump(_contents(self.tree))

    def problem(self, where: KeyPath, what: str, right: str, *, key: bool = False) -> Problem:
        """A problem at a key of this scenario, for those who find one later (a world)."""
        return Problem(what, right, self.tree.locate(where, key=key))


def load_scenario(path: Path, overrides: Sequence[str] = ()) -> LoadedScenario:
    """Read and check a scenario file. Raises ScenarioError with every problem found."""
    tree = read_tree(Path(path))
    for override in overrides:
        tree = apply_override(tree, override)
    return check_tree(tree, Path(path), overrides)


def build_scenario(data: Mapping[str, Any]) -> LoadedScenario:
    """A scenario from Python's dicts, lists, texts and numbers, as a file would have them.

    Raises:
        ScenarioError: with every problem found, each at its key path.
    """
    if "extends" in data:
        mark = TextPosition(Source(BUILT), key_path="extends")
        right = "load that file and change what differs: load(FILE).with_({…})"
        raise ScenarioError([Problem("a scenario built in Python extends nothing", right, mark)])
    return check_tree(tree_of(data, Source(BUILT)), Path(BUILT), ())


def change_scenario(loaded: LoadedScenario, changes: Mapping[str, Any]) -> LoadedScenario:
    """The scenario with values laid over dotted keys, as `--set` does. Raises ScenarioError."""
    return change_tree(loaded.tree, loaded.path, loaded.overrides, changes)


def change_tree(tree: YamlNode, path: Path, overrides: Sequence[str], changes: Mapping[str, Any]) -> LoadedScenario:
    """The scenario of a tree with values, or nodes of a file, laid over dotted keys. Raises ScenarioError."""
    words = list(overrides)
    for key, value in changes.items():
        tree = change(tree, key, value, Source("with_"))
        words.append(override_text(key, value.plain() if isinstance(value, YamlNode) else value))
    return check_tree(tree, path, words)


def check_tree(tree: YamlNode, path: Path, overrides: Sequence[str]) -> LoadedScenario:
    """The scenario of a tree. Raises ScenarioError with every problem found."""
    if "vary" in tree.mapping:
        what = "this file is many scenarios: it varies " + ", ".join(tree.mapping["vary"].mapping)
        right = "run, check and show take them all; elsewhere choose one: --set vary=null and a --set for each"
        raise ScenarioError([Problem(what, right, tree.keys["vary"])])
    if halves := list(_half_characters(tree)):
        what, right = "a text with half a character in it", "write the character itself instead of \\u escapes"
        raise ScenarioError([Problem(what, right, mark) for mark in halves])
    contents = _contents(tree)
    token = MTU_BYTES.set(_mtu_of(contents))
    try:
        scenario = ScenarioFile.model_validate(contents)
    except ValidationError as error:
        raise ScenarioError(_from_pydantic(error, tree)) from None
    finally:
        MTU_BYTES.reset(token)
    if found := check_structure(scenario) or check_events(scenario):
        problems = [Problem(p.what, p.right, tree.locate(p.where, key=p.at_key)) for p in found]
        raise ScenarioError(problems)
    return LoadedScenario(scenario, path, tuple(overrides), tree)


def _mtu_of(contents: dict[str, Any]) -> int:
    """The file's MTU, of which its packets are; the usual one where it has none, or a wrong one."""
    try:
        return parse_size(str(contents["mtu"])) or MTU_BYTES.get()
    except (KeyError, UnitError):
        return MTU_BYTES.get()


def _contents(tree: YamlNode) -> dict[str, Any]:
    """The keys of a scenario as plain values."""
    data = tree.plain()
    data.pop("extends", None)
    return data


def _half_characters(node: YamlNode) -> Iterator[TextPosition]:
    """Places of texts that no encoding can write: `\\ud83d` alone is one half of a pair of UTF-16."""
    texts = [(node.scalar, node.mark), *((key, node.keys[key]) for key in node.mapping)]
    for text, mark in texts:
        if isinstance(text, str) and any("\ud800" <= each <= "\udfff" for each in text):
            yield mark
    for below in (*node.mapping.values(), *node.items):
        yield from _half_characters(below)


def read_tree(path: Path) -> YamlNode:
    """The tree of a file, laid over what it extends; nothing is checked yet. Raises ScenarioError.

    Args:
        path: of the file, or the name of a scenario that comes with landspeed, such as `first`.
    """
    return _read_with_base(packaged_file(path) or path, ())


def _read_with_base(path: Path, above: tuple[Path, ...]) -> YamlNode:
    """The file's tree laid over the trees of the files it extends."""
    tree = _read(path)
    base_node = tree.mapping.get("extends")
    if base_node is None:
        return tree
    mark = base_node.mark
    if not isinstance(base_node.scalar, str) or not base_node.scalar:
        raise ScenarioError(
            [Problem("'extends' names a file", "write extends: other.yaml, or a name such as first", mark)]
        )
    base = path.parent / base_node.scalar
    above = (*above, path.resolve())
    try:
        base = packaged_file(Path(base_node.scalar), path.parent) or base
        there, resolved = base.is_file(), base.resolve()
    except (OSError, ValueError):  # too long a name, or a character that no name has
        there, resolved = False, base
    if resolved in above:
        names = " → ".join(p.name for p in (*above, base))
        raise ScenarioError([Problem(f"files extend each other in a loop: {names}", "remove one 'extends'", mark)])
    if len(above) > MAX_EXTENDS:
        raise ScenarioError([Problem("too many files extend each other", f"use at most {MAX_EXTENDS}", mark)])
    if not there:
        near = near_name(Path(base_node.scalar))
        right = f"did you mean {near}?" if near else f"write the path of a file relative to {path.parent or '.'}"
        raise ScenarioError([Problem(f"'{base_node.scalar}' is not a file", right, mark)])
    return merge(_read_with_base(base, above), tree)


def _read(path: Path) -> YamlNode:
    name = str(path)
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise ScenarioError([Problem("no such file", _near_files(path), file=name)]) from None
    except OSError as error:
        what = f"cannot be read: {error.strerror or error}"
        raise ScenarioError([Problem(what, "name a scenario file (.yaml) that you may read", file=name)]) from None
    if len(raw) > MAX_BYTES:
        what = f"larger than {MAX_BYTES // 10**6} MB, so it is not a scenario"
        raise ScenarioError([Problem(what, "a scenario is a few kB of YAML: name that file", file=name)])
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        line = before.count(b"\n")
        lines = raw.decode("utf-8", "replace").split("\n")
        mark = TextPosition(Source(name, lines), line, len(before.rpartition(b"\n")[2].decode("utf-8", "replace")))
        what = f"byte 0x{raw[error.start]:02x} is not UTF-8"
        raise ScenarioError([Problem(what, "save the file as UTF-8 text", mark)]) from None
    text = text.replace("\r\n", "\n")
    source = Source(name, text.split("\n"))
    tree = parse_yaml(text, source)
    if tree is None:
        raise ScenarioError([Problem("the file is empty", "begin with format: 1", TextPosition(source))])
    if tree.kind != "mapping":
        what = f"the file holds {type_word(tree.plain())} and should be a mapping"
        raise ScenarioError([Problem(what, "write key: value lines, beginning with format: 1", tree.mark)])
    return tree


def _near_files(path: Path) -> str:
    folder = path.parent
    try:
        found = sorted(p.name for p in folder.glob("*.yaml"))[:500] if folder.is_dir() else []
    except OSError:
        found = []
    near = difflib.get_close_matches(path.name, found, 1) or difflib.get_close_matches(path.name + ".yaml", found, 1)
    if near:
        return f"did you mean {folder / near[0]}?"
    if packaged := near_name(path):
        return f"did you mean {packaged}?"
    return "name a file, or a scenario of `landspeed scenarios`" if is_name(path) else "check the path"


def _dump(data: dict[str, Any]) -> str:
    out = io.StringIO()
    yaml: Any = YAML(typ="rt", pure=True)  # ruamel.yaml names few of its types
    yaml.default_flow_style, yaml.width, yaml.allow_unicode = False, 120, True
    yaml.dump(data, out)
    return out.getvalue()


# --- pydantic's errors, in our words -------------------------------------------------------------------------------


def _from_pydantic(error: ValidationError, tree: YamlNode) -> list[Problem]:
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
            problem = Problem(what, right, tree.locate(where, key=at_key))
        problems.append(problem)
    return sorted(problems, key=lambda p: (p.mark.source.name, p.mark.line, p.mark.column) if p.mark else ("", 0, 0))


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
