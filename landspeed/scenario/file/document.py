"""YAML as a tree that knows where every key and value stands; merging (`extends`) and overrides (`--set`).

The parser's nodes are used directly rather than the loaded data, so that duplicate keys, aliases and explicit tags can
be judged at their place and nothing is ever constructed from a tag.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.nodes import Node as ParserNode
from ruamel.yaml.reader import ReaderError

from landspeed.base.errors import Problem, ScenarioError, Source, TextPosition
from landspeed.base.units import type_word

MAX_VALUES = 20_000  # values after aliases are expanded
MAX_DEPTH = 32
MAX_DIGITS = 40
EXCLUSIVE = (("bytes", "duration"), ("rtt", "one_way_delay"))  # setting one in a later layer removes the other
KeyPath = tuple[str | int, ...]


@dataclass(slots=True)
class YamlNode:
    """A value: exactly one of `mapping`, `items` and `scalar` counts, by `kind`."""

    mark: TextPosition
    kind: str  # "mapping" | "list" | "scalar"
    scalar: Any = None
    mapping: dict[str, YamlNode] = field(default_factory=dict[str, "YamlNode"])
    keys: dict[str, TextPosition] = field(default_factory=dict[str, TextPosition])
    items: list[YamlNode] = field(default_factory=list["YamlNode"])

    def plain(self) -> Any:
        """The value as dicts, lists and scalars."""
        if self.kind == "mapping":
            return {key: value.plain() for key, value in self.mapping.items()}
        return [item.plain() for item in self.items] if self.kind == "list" else self.scalar

    def child(self, step: str | int) -> YamlNode | None:
        """The value under a key or index; None if there is none."""
        if self.kind == "mapping":
            return self.mapping.get(str(step))
        in_list = self.kind == "list" and isinstance(step, int) and 0 <= step < len(self.items)
        return self.items[cast(int, step)] if in_list else None

    def locate(self, path: KeyPath, *, key: bool = False) -> TextPosition:
        """Find the place of the value (or its key) at `path`; if it is missing, of the nearest one above it."""
        node, mark = self, self.mark
        for step in path:
            if key and node.kind == "mapping" and str(step) in node.keys:
                mark = node.keys[str(step)]
            found = node.child(step)
            if found is None:
                return mark
            node = found
            if not key:
                mark = node.mark
        return mark


def parse_yaml(text: str, source: Source, *, first_line: int = 0, first_column: int = 0) -> YamlNode | None:
    """The tree of a YAML text; None if it is empty. Raises ScenarioError with the place of what is not YAML."""
    try:
        root = YAML(typ="safe", pure=True).compose(text)
    except RecursionError:
        raise ScenarioError(
            [Problem("nested too deeply", f"nest at most {MAX_DEPTH} deep", TextPosition(source))]
        ) from None
    except ReaderError as error:
        before = text[: error.position]
        line = before.count("\n")
        mark = TextPosition(
            source, first_line + line, len(before) - (before.rfind("\n") + 1) + (0 if line else first_column)
        )
        what = f"character U+{ord(text[error.position]):04X} is not allowed in YAML"
        raise ScenarioError([Problem(what, "remove it, or write it as an escape in double quotes", mark)]) from None
    except MarkedYAMLError as error:
        place = error.problem_mark or error.context_mark
        line, column = (place.line, place.column) if place else (0, 0)
        mark = TextPosition(source, first_line + line, column + (0 if line else first_column))
        opened = error.context_mark
        begun = f"{error.context} that begins in line {first_line + opened.line + 1}" if opened else error.context
        said = "; ".join(str(part) for part in (begun, error.problem) if part)
        raise ScenarioError([Problem(f"not YAML: {said}", _syntax_advice(said), mark)]) from None
    except (YAMLError, ValueError) as error:
        what = f"not YAML: {str(error).splitlines()[0]}"
        raise ScenarioError([Problem(what, "write YAML", TextPosition(source, first_line, first_column))]) from None
    return None if root is None else _Builder(source, first_line, first_column).build(root)


def _syntax_advice(said: str) -> str:
    if "'\\t'" in said or "\\t" in said:
        return "indent with spaces, never with tabs"
    if "flow" in said:
        return "close the bracket, and put a comma between entries"
    if "mapping values are not allowed" in said:
        return "put a text that contains ': ' in quotes, and check the indentation"
    if "another document" in said or "single document" in said:
        return "keep one document per file: remove the '---'"
    if "alias" in said:
        return "define the anchor (&name) before its alias (*name)"
    return "check indentation, quotes and brackets here and on the line above"


class _Builder:
    """Turns the parser's nodes into ours, and counts, so that aliases cannot multiply without end."""

    def __init__(self, source: Source, first_line: int, first_column: int) -> None:
        self.source, self.first_line, self.first_column = source, first_line, first_column
        self.count = 0
        self.problems: list[Problem] = []

    def build(self, root: ParserNode) -> YamlNode:
        """The tree; raises ScenarioError with all problems found."""
        tree = self._node(root, ())
        if self.problems:
            raise ScenarioError(self.problems)
        return tree

    def _mark(self, node: ParserNode) -> TextPosition:
        start, end = node.start_mark, node.end_mark
        shift = 0 if start.line else self.first_column
        scalar = isinstance(node, ScalarNode) and start.line == end.line
        length = end.column - start.column if scalar else 1
        return TextPosition(self.source, self.first_line + start.line, start.column + shift, max(1, length))

    def _node(self, node: ParserNode, above: tuple[int, ...]) -> YamlNode:
        mark = self._mark(node)
        self.count += 1
        if self.count > MAX_VALUES:
            what = f"the file expands to more than {MAX_VALUES} values"
            raise ScenarioError([Problem(what, "use fewer aliases", mark)])
        if id(node) in above:
            raise ScenarioError([Problem("an alias contains itself", "remove the alias", mark)])
        if len(above) > MAX_DEPTH:
            raise ScenarioError([Problem("nested too deeply", f"nest at most {MAX_DEPTH} deep", mark)])
        above = (*above, id(node))
        if isinstance(node, MappingNode):
            return self._mapping(node, mark, above)
        if isinstance(node, SequenceNode):
            return YamlNode(mark, "list", items=[self._node(item, above) for item in node.value])
        return YamlNode(mark, "scalar", scalar=self._scalar(cast(ScalarNode, node), mark))

    def _mapping(self, node: MappingNode, mark: TextPosition, above: tuple[int, ...]) -> YamlNode:
        made = YamlNode(mark, "mapping")
        merged: list[YamlNode] = []
        for key_node, value_node in node.value:
            key_mark = self._mark(key_node)
            if not isinstance(key_node, ScalarNode):
                self.problems.append(Problem("a key must be a word", "write key: value", key_mark))
                continue
            value = self._node(value_node, above)
            if value.kind == "scalar" and value.scalar is None and value.mark.line != key_mark.line:
                value.mark = TextPosition(
                    self.source, key_mark.line, key_mark.column + key_mark.length
                )  # an empty value
            if str(key_node.tag) == "tag:yaml.org,2002:merge":
                merged += value.items if value.kind == "list" else [value]
            elif key_node.value in made.mapping:
                first = made.keys[key_node.value].line + 1
                what = f"key '{key_node.value}' is here a second time (first in line {first})"
                self.problems.append(Problem(what, "keep one of the two", key_mark))
            else:
                made.mapping[key_node.value], made.keys[key_node.value] = value, key_mark
        for base in merged:
            if base.kind != "mapping":
                self.problems.append(Problem("'<<' needs a mapping", "write <<: *name of a mapping", base.mark))
            for key, value in base.mapping.items():
                if key not in made.mapping:
                    made.mapping[key], made.keys[key] = value, base.keys[key]
        return made

    def _scalar(self, node: ScalarNode, mark: TextPosition) -> Any:
        text, tag = str(node.value), str(node.tag).removeprefix("tag:yaml.org,2002:")
        try:
            if tag == "int":
                return _integer(text)
            if tag == "float":
                return float(text.replace("_", "").replace(".inf", "inf").replace(".nan", "nan").replace(".NaN", "nan"))
        except ValueError:
            self.problems.append(Problem(f"'{text[:40]}' is not a number", "write it in digits, or in quotes", mark))
            return None
        if tag == "bool":
            return text.lower() == "true"
        if tag == "null":
            return None
        if tag not in ("str", "timestamp"):
            self.problems.append(Problem(f"tag '{node.tag}' is not used in scenarios", "remove the tag", mark))
        return text


def _integer(text: str) -> int:
    digits = text.replace("_", "")
    if len(digits) > MAX_DIGITS:
        raise ValueError
    return int(digits, 0) if digits.lstrip("+-").lower().startswith(("0x", "0o", "0b")) else int(digits)


def tree_of(data: Any, source: Source, path: str = "") -> YamlNode:
    """The tree of data that was built in Python; its marks have key paths instead of lines.

    Raises:
        ScenarioError: something in it is no mapping, list, text, number, truth value or None.
    """
    mark = TextPosition(source, key_path=path or "the top")
    if isinstance(data, Mapping):
        given = cast(Mapping[Any, Any], data)
        below = {str(key): tree_of(value, source, f"{path}.{key}".lstrip(".")) for key, value in given.items()}
        return YamlNode(mark, "mapping", mapping=below, keys={key: node.mark for key, node in below.items()})
    if isinstance(data, list | tuple):
        listed = cast(Sequence[Any], data)
        below = [tree_of(each, source, f"{path}.{n}".lstrip(".")) for n, each in enumerate(listed)]
        return YamlNode(mark, "list", items=below)
    if data is None or isinstance(data, str | int | float | bool):
        return YamlNode(mark, "scalar", scalar=data)
    what = f"{type_word(data)} cannot stand in a scenario"
    raise ScenarioError([Problem(what, "write a text with its unit, a number, a list or a dict", mark)])


def change(tree: YamlNode, key: str, value: Any, source: Source) -> YamlNode:
    """The tree with a value of Python, or a node, laid over the key at a dotted path. Raises ScenarioError."""
    mark = value.mark if isinstance(value, YamlNode) else TextPosition(source, key_path=key)
    steps = [(step, mark) for step in key.split(".")]
    if not all(step.strip() for step, _ in steps):
        raise ScenarioError([Problem("an empty step in the path", "write key.key", mark)])
    return _set(tree, steps, value if isinstance(value, YamlNode) else tree_of(value, source, key))


def override_text(key: str, value: Any) -> str:
    """The `--set` that lays the same value over the same key: plain where YAML reads it back, else as JSON."""
    if isinstance(value, str):
        node = None
        with contextlib.suppress(ScenarioError):
            node = parse_yaml(value, Source("--set", [value]))
        if node is not None and node.kind == "scalar" and node.scalar == value:
            return f"{key}={value}"
    return f"{key}={json.dumps(value, ensure_ascii=False)}"


def merge(base: YamlNode, over: YamlNode) -> YamlNode:
    """`over` laid on `base`: mappings key by key, everything else replaced; `null` removes the key."""
    if base.kind != "mapping" or over.kind != "mapping":
        return over
    made = YamlNode(over.mark, "mapping", mapping=dict(base.mapping), keys=dict(base.keys))
    for key, value in over.mapping.items():
        _put(made, key, over.keys[key], merge(base.mapping[key], value) if key in base.mapping else value)
    return made


def _put(node: YamlNode, key: str, key_mark: TextPosition, value: YamlNode) -> None:
    """Set or, with null, remove a key; what excludes the new key goes."""
    if value.kind == "scalar" and value.scalar is None:
        node.mapping.pop(key, None)
        node.keys.pop(key, None)
        return
    node.mapping[key], node.keys[key] = value, key_mark
    for pair in EXCLUSIVE:
        if key in pair:
            other = pair[1 - pair.index(key)]
            if other in node.mapping and _older(node.keys[other], key_mark):
                del node.mapping[other], node.keys[other]


def _older(mark: TextPosition, than: TextPosition) -> bool:
    return mark.source is not than.source


def apply_override(tree: YamlNode, override: str) -> YamlNode:
    """The tree with `a.b.0.c=VALUE` laid over it; VALUE is YAML. Raises ScenarioError that names the override."""
    source = Source("--set", [override])
    where, equals, text = override.partition("=")
    if not equals or not where.strip() or "\n" in override:
        right = "write --set key.key=value, for example --set transfer.streams=4"
        raise ScenarioError(
            [Problem("an override is a path, '=' and a value", right, TextPosition(source, 0, 0, len(override)))]
        )
    empty = YamlNode(TextPosition(source, 0, len(where) + 1), "scalar")
    value = parse_yaml(text, source, first_column=len(where) + 1) or empty
    steps = list(_steps(where, source))
    return _set(tree, steps, value)


def _steps(where: str, source: Source) -> Iterator[tuple[str, TextPosition]]:
    column = 0
    for step in where.split("."):
        if not step.strip():
            raise ScenarioError(
                [Problem("an empty step in the path", "write key.key=value", TextPosition(source, 0, column))]
            )
        yield step.strip(), TextPosition(source, 0, column, len(step))
        column += len(step) + 1


def _set(node: YamlNode, steps: list[tuple[str, TextPosition]], value: YamlNode) -> YamlNode:
    """A copy of `node` in which the value at `steps` is replaced (mappings are merged)."""
    if not steps:
        return merge(node, value) if node.kind == value.kind == "mapping" else value
    (step, mark), rest = steps[0], steps[1:]
    if node.kind == "list":
        return _set_item(node, step, mark, rest, value)
    if node.kind == "scalar" and node.scalar is not None:
        what = f"nothing can be set below {type_word(node.scalar)} ('{node.scalar}'), and '{step}' is below it"
        raise ScenarioError([Problem(what, "shorten the path", mark)])
    made = YamlNode(node.mark, "mapping", mapping=dict(node.mapping), keys=dict(node.keys))
    below = node.mapping.get(step) or YamlNode(mark, "mapping")
    _put(made, step, mark, _set(below, rest, value))
    return made


def _set_item(
    node: YamlNode, step: str, mark: TextPosition, rest: list[tuple[str, TextPosition]], value: YamlNode
) -> YamlNode:
    last = len(node.items) - 1
    if not step.isdecimal() or int(step) > last:
        what = f"'{step}' is not an entry of a list of {last + 1}"
        raise ScenarioError([Problem(what, f"write an index from 0 to {last}; 0 is the first", mark)])
    items = list(node.items)
    items[int(step)] = _set(items[int(step)], rest, value)
    return YamlNode(node.mark, "list", items=items)
