"""Reading a scenario file: size, encoding, YAML, `extends`, overrides, models, checks. All errors are located."""

from __future__ import annotations

import difflib
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML

from landspeed.base.errors import Problem, ScenarioError, Source, TextPosition
from landspeed.base.foreign_units import MTU_BYTES
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
from landspeed.scenario.file.model import ScenarioFile
from landspeed.scenario.file.model_errors import model_problems
from landspeed.scenario.file.packaged import is_name, near_name, packaged_file, packaged_names
from landspeed.scenario.file.parallel import spread

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

    @property
    def contents(self) -> dict[str, Any]:
        """The merged scenario as plain values: `extends` and overrides are in it."""
        return _contents(self.tree)

    @cached_property
    def text_resolved(self) -> str:
        """YAML of the merged scenario. Made when asked for."""
        return _dump(self.contents)

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


def change_tree(
    tree: YamlNode, path: Path, overrides: Sequence[str], changes: Mapping[str, Any], source: str = "with_"
) -> LoadedScenario:
    """The scenario of a tree with values, or nodes of a file, laid over dotted keys. Raises ScenarioError.

    Args:
        source: what gives the values, for errors; a node knows its place in the file itself.
    """
    words = list(overrides)
    for key, value in changes.items():
        tree = change(tree, key, value, Source(source))
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
    tree = spread(tree)
    contents = _contents(tree)
    token = MTU_BYTES.set(_mtu_of(contents))
    try:
        scenario = ScenarioFile.model_validate(contents)
    except ValidationError as error:
        raise ScenarioError(model_problems(error, tree)) from None
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
    stems = {name.removesuffix(".yaml"): name for name in found}  # the ending alone makes any two names alike
    known = [*stems, *(packaged_names() if is_name(path) else [])]
    near = next(iter(difflib.get_close_matches(path.name.removesuffix(".yaml"), known, 1)), "")
    if near in stems:
        return f"did you mean {folder / stems[near]}?"
    if packaged := near_name(path):
        return f"did you mean {packaged}?"
    return "name a file, or a scenario of `landspeed scenarios`" if is_name(path) else "check the path"


def _dump(data: dict[str, Any]) -> str:
    out = io.StringIO()
    yaml: Any = YAML(typ="rt", pure=True)  # ruamel.yaml names few of its types
    yaml.default_flow_style, yaml.width, yaml.allow_unicode = False, 120, True
    yaml.dump(data, out)
    return out.getvalue()
